#include "portfolio.hpp"

#include <algorithm>

#include "a_star.hpp"
#include "action_elimination.hpp"
#include "distinct_plans.hpp"
#include "greedy.hpp"

namespace needful {

PortfolioStream::PortfolioStream(ProblemPointer problem, std::vector<Stage> stages, const std::vector<Plan>& tried,
                                 std::uint64_t seed, DeadlinePoller& deadline, SearchStatistics& statistics)
    : problem_(std::move(problem)), stages_(std::move(stages)), seed_(seed), seen_(tried.begin(), tried.end()) {
    start_stage(deadline, statistics);
}

void PortfolioStream::start_stage(DeadlinePoller& deadline, SearchStatistics& statistics) {
    const Stage& stage = stages_[stage_index_];
    stage_max_nodes_ = unlimited_nodes;
    if (stage.max_work) {
        const auto operators = std::max<std::int64_t>(1, static_cast<std::int64_t>(problem_->operator_count()));
        stage_max_nodes_ = statistics.nodes_created + std::max<std::int64_t>(1, stage.max_work / operators);
    }
    search_.reset();  // Free the memory of the previous stage first.
    if (stage.greedy)
        search_ = std::make_unique<Greedy>(problem_, stage.symmetries, seed_, deadline, statistics);
    else
        search_ = std::make_unique<AStar>(problem_, stage.weight, stage.symmetries, seed_, deadline, statistics);
    // Optimal plans are not trimmed; see planning/engines/searches.py.
    if (stage.greedy || stage.weight > 1) search_ = std::make_unique<TrimmedPlans>(std::move(search_), problem_);
}

bool PortfolioStream::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    while (true) {
        const Budget stage_budget{budget.deadline, std::min(budget.max_nodes, stage_max_nodes_)};
        if (search_->next(stage_budget, statistics, plan)) {
            if (seen_.insert(plan).second) return true;
        } else if (can_start_next_stage(budget, statistics)) {
            ++stage_index_;
            start_stage(budget.deadline, statistics);
        } else {
            return false;
        }
    }
}

bool PortfolioStream::can_start_next_stage(const Budget& budget, const SearchStatistics& statistics) const {
    return stage_index_ + 1 < stages_.size() && search_->status() == SearchStatus::out_of_nodes &&
           statistics.nodes_created < budget.max_nodes;
}

std::unique_ptr<PlanStream> start_portfolio(ProblemPointer problem, std::vector<Stage> stages, bool distinct,
                                            const std::vector<Plan>& tried, std::uint64_t seed,
                                            DeadlinePoller& deadline, SearchStatistics& statistics) {
    auto plans = std::make_unique<PortfolioStream>(problem, std::move(stages), tried, seed, deadline, statistics);
    if (!distinct) return plans;
    return std::make_unique<DistinctPlans>(std::move(plans), std::move(problem), tried);
}

}  // namespace needful
