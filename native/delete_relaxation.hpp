// The ground operators without deletes and negative preconditions, for the heuristics; see planning/heuristics.py.
#pragma once

#include <vector>

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

// Additional atoms, one for each atom that occurs in a negative precondition. Such a complement holds if and only if
// the original atom does not hold.
class Complements {
public:
    Complements() = default;
    // Throws `DeadlineExpired`.
    Complements(const Problem& problem, DeadlinePoller& deadline);

    bool empty() const { return originals_.empty(); }
    std::size_t size() const { return originals_.size(); }

    // Returns the complement of an atom, or `absent`.
    static constexpr Id absent = -1;
    Id of(Id atom) const { return complements_[to_index(atom)]; }

    // Calls `visit` with each complement that holds in a state, in ascending order.
    template <class Visit>
    void for_each_true(const Word* state, Visit visit) const {
        for (Id atom : originals_)
            if (!has(state, atom)) visit(of(atom));
    }

private:
    // The original atoms, in ascending order. Their complements are numbered in the same order, after all atoms.
    std::vector<Id> originals_;
    std::vector<Id> complements_;
};

struct DeleteRelaxation {
    // Throws `DeadlineExpired`.
    DeleteRelaxation(const Problem& problem, DeadlinePoller& deadline);

    Complements complements;
    // The number of atoms and complements.
    std::size_t atom_count;
    // Complements stand for negative preconditions. All lists are in ascending order.
    CsrLists preconditions;
    // The atoms that each operator adds, except those that are also its preconditions.
    CsrLists effects;
};

}  // namespace needful
