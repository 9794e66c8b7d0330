// A lazy stream of plans: plans are computed when they are requested; see planning/interfaces.py.
#pragma once

#include <memory>
#include <vector>

#include "budget.hpp"
#include "csr_lists.hpp"

namespace needful {

// The ids of ground operators, in order of execution.
using Plan = std::vector<Id>;

class PlanStream {
public:
    virtual ~PlanStream() = default;

    // Returns false if there is no further plan; `status` is then the reason. May throw `DeadlineExpired`;
    // discard the stream in that case.
    virtual bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) = 0;
    virtual SearchStatus status() const = 0;
};

}  // namespace needful
