// Objects that can be exchanged without changing a problem; see symmetry.py.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

// For each object the object that takes its place.
using Renaming = std::vector<Id>;

class Symmetry {
public:
    // Nothing if no two objects can be exchanged. Throws `DeadlineExpired`.
    static std::optional<Symmetry> of(const Problem& problem, const Bits& asked_for, DeadlinePoller& deadline);

    // The renaming under which a state becomes canonical; false if it is canonical already.
    bool exchange(const Bits& state, Renaming& renaming) const;
    void rename_state(Bits& state, const Renaming& renaming) const;
    Id renamed_step(Id step, const Renaming& renaming) const;
    Renaming identity() const;

private:
    Symmetry(const Problem& problem, const Bits& asked_for, std::vector<std::vector<Id>> classes, DeadlinePoller& deadline);
    Id renamed_atom(Id atom, const Renaming& renaming) const;

    static constexpr Id none = -1;

    const Problem* problem_;
    std::vector<std::vector<Id>> classes_;
    // What an atom says about the one exchangeable object in it.
    std::vector<Id> about_;
    std::vector<Id> statement_;
    Bits involved_;
};

// The classes of two and more interchangeable objects, each in ascending order.
std::vector<std::vector<Id>> interchangeable_objects(const Problem& problem, DeadlinePoller& deadline);

}  // namespace needful
