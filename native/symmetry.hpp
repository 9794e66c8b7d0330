// Symmetry reduction: states that differ only in interchangeable objects become one;
// see planning/engines/search_space.py.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

// The image of each object.
using Permutation = std::vector<Id>;

class Symmetry {
public:
    // Returns nothing if no two objects are interchangeable. Throws `DeadlineExpired`.
    static std::optional<Symmetry> detect(const Problem& problem, const Bits& relevant_atoms,
                                          DeadlinePoller& deadline);

    // Writes the permutation that makes a state canonical. Returns false if the state is canonical already.
    bool find_canonical(const Bits& state, Permutation& permutation) const;
    void permute_state(Bits& state, const Permutation& permutation) const;
    Id permute_operator(Id op, const Permutation& permutation) const;
    Permutation identity() const;

private:
    Symmetry(const Problem& problem, const Bits& relevant_atoms, std::vector<std::vector<Id>> classes,
             DeadlinePoller& deadline);
    Id permute_atom(Id atom, const Permutation& permutation) const;

    static constexpr Id none = -1;

    const Problem* problem_;
    std::vector<std::vector<Id>> classes_;
    // For each atom with exactly one interchangeable object: that object, and the property that the atom gives it.
    std::vector<Id> atom_object_;
    std::vector<Id> atom_property_;
    // The relevant atoms with interchangeable objects.
    Bits symmetric_atoms_;
};

// Returns the classes of two or more interchangeable objects, each in ascending order. Throws `DeadlineExpired`.
std::vector<std::vector<Id>> interchangeable_objects(const Problem& problem, DeadlinePoller& deadline);

}  // namespace needful
