// Ground operators by joins over the atoms that can be reached at all; see grounding.py.
#pragma once

#include <vector>

#include "problem.hpp"

namespace needful {

// A lifted atom: at each position the place of the variable in a binding.
struct PlacedAtom {
    Id predicate;
    std::vector<Id> places;
};

// A quantified delete: at each position a place in a binding, or -1 - (the number of a type).
struct PlacedPattern {
    Id predicate;
    std::vector<Id> arguments;
};

struct LiftedOperator {
    std::vector<Id> parameter_types;
    std::vector<PlacedAtom> preconditions;
    std::vector<PlacedAtom> adds;
    std::vector<PlacedAtom> deletes;
    std::vector<PlacedPattern> patterns;
};

// Predicates are numbered in the order of their names, objects in their own order.
struct Question {
    std::vector<Id> predicate_arities;
    std::vector<Id> object_types;
    // For each type the objects of it and of its subtypes, ascending.
    std::vector<std::vector<Id>> type_members;
    std::vector<LiftedOperator> operators;
    // Atoms one after the other, each as its predicate and then its objects.
    std::vector<Id> initial;
    std::vector<Id> goal;
    bool allow_noops = true;
};

// Null if time ran out, or if there are more than so many ground operators.
ProblemPointer ground(const Question& question, DeadlinePoller& deadline, std::int64_t most);

}  // namespace needful
