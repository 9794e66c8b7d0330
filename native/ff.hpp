// The FF heuristic; see ff.py.
#pragma once

#include <vector>

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

struct RelaxedPlan {
    static constexpr Id unreachable = -1;
    Id length = 0;
    // The operators of the plan that are applicable now.
    std::vector<Id> preferred;
};

class Ff {
public:
    // Both throw `DeadlineExpired`.
    Ff(const Problem& problem, DeadlinePoller& deadline);
    RelaxedPlan operator()(const Word* state, std::size_t words, DeadlinePoller& deadline);

private:
    void achieve(const Word* state, std::size_t words, DeadlinePoller& deadline);
    void offer(std::size_t step);
    void enqueue(Id cost, Id atom);

    const Problem& problem_;
    CsrLists effects_, needed_by_;
    std::vector<Id> free_;

    // How near an operator is to being applicable: how many preconditions are open, and its cost so far.
    struct Progress {
        Id open;
        Id cost;
    };
    struct Achieved {
        Id cost;
        Id by;
    };
    std::vector<Progress> at_first_;

    // The work on one state. Atoms wait in buckets by cost; those beyond the last in a heap.
    std::vector<Progress> progress_;
    std::vector<Achieved> achieved_;
    std::vector<char> asked_, chosen_;
    std::vector<std::vector<Id>> buckets_;
    std::vector<std::pair<Id, Id>> beyond_;
};

}  // namespace needful
