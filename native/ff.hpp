// The FF heuristic; see planning/heuristics.py.
#pragma once

#include <vector>

#include "delete_relaxation.hpp"

namespace needful {

struct RelaxedPlan {
    static constexpr Id unreachable = -1;
    // The sum of the costs of the operators in the relaxed plan.
    Id cost = 0;
    // The operators of the relaxed plan that are applicable in the state.
    std::vector<Id> preferred_operators;
};

class Ff {
public:
    // Throws `DeadlineExpired`, and so does the call operator.
    Ff(const Problem& problem, DeadlinePoller& deadline);
    RelaxedPlan operator()(const Word* state, std::size_t words, DeadlinePoller& deadline);

private:
    void compute_h_add(const Word* state, std::size_t words, DeadlinePoller& deadline);
    void lower_effects(std::size_t op);
    void enqueue(Id cost, Id atom);

    const std::vector<Id> goal_;
    const DeleteRelaxation relaxation_;
    CsrLists precondition_of_;
    std::vector<Id> operators_without_preconditions_;

    struct OperatorState {
        Id unsatisfied_preconditions;
        // The cost of the operator plus the costs of the satisfied preconditions.
        Id cost;
    };
    struct AtomState {
        Id cost;
        // The cheapest operator that adds the atom.
        Id achiever;
    };
    std::vector<OperatorState> initial_operators_;

    // Buffers of one evaluation.
    std::vector<OperatorState> operators_;
    std::vector<AtomState> atoms_;
    std::vector<char> atom_marked_, operator_marked_;
    // The queue of atoms: a bucket per cost, and a heap of (cost, atom) for costs beyond the last bucket.
    std::vector<std::vector<Id>> buckets_;
    std::vector<std::pair<Id, Id>> overflow_heap_;
};

}  // namespace needful
