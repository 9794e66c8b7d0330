// Grounding by relaxed reachability; see planning/grounding.py.
#pragma once

#include <vector>

#include "problem.hpp"

namespace needful {

// A lifted atom. Each argument is the index of an operator parameter.
struct LiftedAtom {
    Id predicate;
    std::vector<Id> parameters;
};

// A quantified delete. Each argument is the index of an operator parameter, or -1 - (the id of a type).
struct DeletePattern {
    Id predicate;
    std::vector<Id> arguments;
};

struct LiftedOperator {
    std::vector<Id> parameter_types;
    std::vector<LiftedAtom> preconditions;
    std::vector<LiftedAtom> negative_preconditions;
    std::vector<LiftedAtom> adds;
    std::vector<LiftedAtom> deletes;
    std::vector<DeletePattern> delete_patterns;
};

// Predicate ids follow the order of names, and object ids the order of objects.
struct AbstractTask {
    std::vector<Id> predicate_arities;
    std::vector<Id> object_types;
    // For each type the objects of the type and its subtypes, in ascending order.
    std::vector<std::vector<Id>> type_members;
    std::vector<LiftedOperator> operators;
    // Flat lists of atoms: for each atom its predicate, then its objects.
    std::vector<Id> initial;
    std::vector<Id> goal;
};

// Returns null if the deadline expires or there are more than `max_operators` ground operators.
ProblemPointer ground(const AbstractTask& task, DeadlinePoller& deadline, std::int64_t max_operators);

}  // namespace needful
