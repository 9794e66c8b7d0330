// Postpones plans that differ from earlier plans only in the order of independent steps, and plans that revisit a
// state; see planning/portfolio.py.
#pragma once

#include "postponing_stream.hpp"

namespace needful {

class DistinctPlans : public PostponingStream {
public:
    // Plans that are similar to a plan in `tried` are postponed too.
    DistinctPlans(std::unique_ptr<PlanStream> source, ProblemPointer problem, const std::vector<Plan>& tried);

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
};

}  // namespace needful
