// A stream of plans that is computed only as far as it is read; see planner.py.
#pragma once

#include <memory>
#include <vector>

#include "budget.hpp"
#include "csr_lists.hpp"

namespace needful {

using Plan = std::vector<Id>;

class PlanStream {
public:
    virtual ~PlanStream() = default;

    // False if there is no further plan; `ended` then says why. Throws `DeadlineExpired` if that is found out in
    // the middle of a step; the stream is of no use then.
    virtual bool next(const Budget& budget, Effort& effort, Plan& plan) = 0;
    virtual Ended ended() const = 0;
};

}  // namespace needful
