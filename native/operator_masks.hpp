// A ground operator as bit masks; see planning/grounding.py.
#pragma once

#include "bitset.hpp"
#include "problem.hpp"

namespace needful {

// `adds` leaves out preconditions. `deletes` leaves out negative preconditions and atoms that the operator also adds.
struct OperatorMasks {
    Bits preconditions, adds, deletes;
    // An empty vector if the operator has no negative preconditions, as is usual.
    Bits negative_preconditions;

    OperatorMasks(const Problem& problem, Id op);

    bool applicable(const Bits& state) const;
    void apply(Bits& state) const;
};

Bits initial_state(const Problem& problem);

}  // namespace needful
