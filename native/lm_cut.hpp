// The LM-cut heuristic for operators of cost 1; see lm_cut.py.
#pragma once

#include <queue>
#include <vector>

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

struct Estimate {
    static constexpr Id unreachable = -1;
    Id value = 0;
    Id landmarks = 0;
    // The ground operators in landmarks.
    std::vector<Id> in_landmark;
};

class LmCut {
public:
    // Both throw `DeadlineExpired`.
    LmCut(const Problem& problem, DeadlinePoller& deadline);
    Estimate operator()(const Word* state, std::size_t words, DeadlinePoller& deadline);

private:
    void h_max(DeadlinePoller& deadline);
    void find_cut(Id target, DeadlinePoller& deadline);
    void find_zone(Id target, DeadlinePoller& deadline);
    void find_reached(DeadlinePoller& deadline);
    void lower(DeadlinePoller& deadline);
    void offer(std::size_t step, Id value);
    Id hardest(Span atoms) const;

    Id always_;
    std::vector<Id> goal_;
    // Only operators that can contribute to the goal; of each its number in the problem.
    std::vector<Id> original_;
    CsrLists preconditions_, effects_, needed_by_, added_by_;
    std::vector<Id> precondition_counts_;

    // The work on one state.
    std::vector<Id> true_, values_, supporters_, waiting_for_, frontier_, ready_, entering_, cut_, stack_;
    std::vector<char> free_, zone_, entered_, reached_;
    using Entry = std::pair<Id, Id>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

}  // namespace needful
