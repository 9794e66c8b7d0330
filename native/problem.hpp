// A grounded planning problem in compact form; see planning/grounding.py.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bitset.hpp"

namespace needful {

// A discovered failure: the ground operator that failed, and the object that made it fail. If the object is
// `Problem::absent`, the operator must not rely on initial atoms; see planning/engines/python_planner.py.
using Failure = std::pair<Id, Id>;

struct Problem {
    std::vector<Id> object_types;

    // Atoms, sorted by predicate and objects. The atoms of discovered failures follow; they have no objects.
    std::vector<Id> atom_predicates;
    CsrLists atom_objects;
    std::size_t failure_atom_count = 0;

    std::vector<Id> initial;
    std::vector<Id> goal;
    // Whether the goal is reachable if deletes are ignored.
    bool goal_reachable = true;

    // Ground operators, sorted by lifted operator and objects. Each list of atoms is in ascending order.
    std::vector<Id> lifted_operators;
    CsrLists operator_objects;
    CsrLists preconditions;
    // Atoms that never hold are left out.
    CsrLists negative_preconditions;
    CsrLists adds;
    CsrLists deletes;
    // Quantified deletes: pattern ids per operator, and the matching atoms per pattern.
    CsrLists delete_patterns;
    CsrLists pattern_atoms;

    std::vector<Failure> failures;

    // The cost of each ground operator; empty if all costs are 1.
    std::vector<Id> costs;
    // The ground operators whose cost was raised individually (a surcharge).
    std::vector<Id> surcharged_operators;

    Id cost(Id op) const { return costs.empty() ? 1 : costs[to_index(op)]; }

    std::size_t object_count() const { return object_types.size(); }
    std::size_t atom_count() const { return atom_predicates.size() + failure_atom_count; }
    std::size_t operator_count() const { return lifted_operators.size(); }

    bool applicable(Id op, const Word* state) const {
        return has_all(state, preconditions[to_index(op)]) &&
               (negative_preconditions.item_count() == 0 || has_none(state, negative_preconditions[to_index(op)]));
    }

    static constexpr Id absent = -1;
    Id find_atom(Id predicate, const std::vector<Id>& arguments) const;
    Id find_operator(Id lifted_operator, const std::vector<Id>& arguments) const;
};

using ProblemPointer = std::shared_ptr<const Problem>;

// What refinement discovered in the simulator: failures, and operators that should become more expensive; see
// planning/engines/python_planner.py and planning/costs.py.
struct Discoveries {
    std::vector<Failure> failures;
    // The cost of all groundings of each lifted operator; empty if no operator has a surcharge.
    std::vector<Id> lifted_costs;
    // Additional costs of ground operators: (ground operator, surcharge).
    std::vector<std::pair<Id, Id>> surcharges;
};

// Returns a copy of the problem with new costs and failure atoms. Each failure has an atom: the failed operator needs
// it, and it is added by operators that deal with the object, or by those that establish a precondition of the failed
// operator. The given problem must not contain discoveries. Throws `DeadlineExpired`.
ProblemPointer with_discoveries(ProblemPointer problem, const Discoveries& discoveries, DeadlinePoller& deadline);

}  // namespace needful
