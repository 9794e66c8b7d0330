// What a ground operator changes, as bits; see changes.py.
#pragma once

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

// What a step of a plan needs, adds and deletes. What it needs and adds was there before.
struct Change {
    Bits needs, adds, deletes;

    Change(const Problem& problem, Id step);

    bool applicable(const Bits& state) const;
    void apply(Bits& state) const;
};

Bits initial_state(const Problem& problem);

}  // namespace needful
