// A sequential portfolio: several searches, one after the other; see planning/portfolio.py.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "plan_stream.hpp"
#include "problem.hpp"

namespace needful {

struct Stage {
    bool greedy;
    Id weight;
    bool symmetries;
    // The limit on (nodes created) * (ground operators), or 0 for no limit.
    std::int64_t max_work;
};

// The plans of all stages in order, without duplicates and without the plans in `tried`.
class PortfolioStream : public PlanStream {
public:
    // Throws `DeadlineExpired`, and so does `next`.
    PortfolioStream(ProblemPointer problem, std::vector<Stage> stages, const std::vector<Plan>& tried,
                    std::uint64_t seed, DeadlinePoller& deadline, SearchStatistics& statistics);

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
    SearchStatus status() const override { return search_->status(); }

private:
    void start_stage(DeadlinePoller& deadline, SearchStatistics& statistics);
    bool can_start_next_stage(const Budget& budget, const SearchStatistics& statistics) const;

    ProblemPointer problem_;
    std::vector<Stage> stages_;
    std::uint64_t seed_;
    std::size_t stage_index_ = 0;
    std::int64_t stage_max_nodes_ = unlimited_nodes;
    std::unique_ptr<PlanStream> search_;
    std::set<Plan> seen_;
};

// Plans in `tried` are not returned. Throws `DeadlineExpired`.
std::unique_ptr<PlanStream> start_portfolio(ProblemPointer problem, std::vector<Stage> stages, bool distinct,
                                            const std::vector<Plan>& tried, std::uint64_t seed,
                                            DeadlinePoller& deadline, SearchStatistics& statistics);

}  // namespace needful
