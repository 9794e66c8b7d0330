// The LM-cut heuristic; see planning/heuristics.py.
#pragma once

#include <queue>
#include <vector>

#include "delete_relaxation.hpp"

namespace needful {

// A ground operator of a landmark, and the cost of the landmark.
struct LandmarkOperator {
    Id op;
    Id cost;
};

struct Estimate {
    static constexpr Id unreachable = -1;
    // The sum of the costs of all landmarks.
    Id value = 0;
    // The ground operators of all landmarks. The landmarks that contain an operator cost, in total, at most as much as
    // the operator.
    std::vector<LandmarkOperator> landmark_operators;
};

class LmCut {
public:
    // Throws `DeadlineExpired`, and so does the call operator.
    LmCut(const Problem& problem, DeadlinePoller& deadline);
    Estimate operator()(const Word* state, std::size_t words, DeadlinePoller& deadline);

private:
    void compute_h_max(DeadlinePoller& deadline);
    void compute_h_max_by_level(DeadlinePoller& deadline);
    void compute_h_max_by_cost(DeadlinePoller& deadline);
    void find_cut(Id target, DeadlinePoller& deadline);
    void find_goal_zone(Id target, DeadlinePoller& deadline);
    void find_before_goal_zone(DeadlinePoller& deadline);
    void update_h_max(DeadlinePoller& deadline);
    void lower_effects(std::size_t op, Id value);
    Id find_supporter(Span atoms) const;

    // An artificial atom that is always true: the precondition of operators that have none.
    Id true_atom_;
    Complements complements_;
    std::vector<Id> goal_;
    // Only relevant operators are numbered here; this list maps their numbers to ids in the problem.
    std::vector<Id> operator_ids_;
    CsrLists preconditions_, effects_, precondition_of_, added_by_;
    std::vector<Id> precondition_counts_, initial_costs_;
    bool unit_costs_;

    // Buffers of one evaluation. The supporter of an operator is its precondition with the greatest h-max.
    std::vector<Id> state_atoms_, h_max_, supporters_, unsatisfied_, frontier_, ready_, cut_, cut_values_, stack_;
    // The cost of each operator, without the costs of the landmarks that contain it.
    std::vector<Id> costs_;
    // The operators that add an atom of the goal zone.
    std::vector<Id> zone_achievers_;
    std::vector<char> goal_zone_, is_zone_achiever_, before_goal_zone_;
    using Entry = std::pair<Id, Id>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

}  // namespace needful
