// The compact form of an abstract planning problem; see ground_problem.py.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "csr_lists.hpp"

namespace needful {

struct Problem {
    // Of each object the number of its type.
    std::vector<Id> object_types;
    // Atoms, sorted by predicate and objects. Those of discovered failures follow and have no objects.
    std::vector<Id> atom_predicates;
    CsrLists atom_objects;
    std::size_t failure_atoms = 0;

    std::vector<Id> initial;
    std::vector<Id> goal;
    bool goal_reachable = true;

    // Ground operators, sorted by lifted operator and objects; all lists of atoms ascend.
    std::vector<Id> lifted;
    CsrLists objects;
    CsrLists preconditions;
    CsrLists adds;
    CsrLists deletes;
    // Quantified deletes: indices of patterns, and the atoms that each pattern matches.
    CsrLists patterns;
    CsrLists pattern_atoms;

    // Discovered failures: (ground operator, object).
    std::vector<std::pair<Id, Id>> failures;

    std::size_t object_count() const { return object_types.size(); }
    std::size_t atom_count() const { return atom_predicates.size() + failure_atoms; }
    std::size_t operator_count() const { return lifted.size(); }

    static constexpr Id absent = -1;
    // The atom of a predicate for some objects, and the ground operator of a lifted one.
    Id find_atom(Id predicate, const std::vector<Id>& bound) const;
    Id find_operator(Id lifted_operator, const std::vector<Id>& bound) const;
};

using ProblemPointer = std::shared_ptr<const Problem>;

// The problem in which ground operators need objects dealt with; see discovered_failures.py. The problem
// must be without failures. Throws `DeadlineExpired`.
ProblemPointer with_failures(ProblemPointer problem, const std::vector<std::pair<Id, Id>>& failures,
                             DeadlinePoller& deadline);

}  // namespace needful
