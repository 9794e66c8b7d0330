#include "policy.hpp"

#include <algorithm>

#include "a_star.hpp"
#include "action_elimination.hpp"
#include "distinct_plans.hpp"
#include "greedy.hpp"

namespace needful {

StagedPlans::StagedPlans(ProblemPointer problem, std::vector<Stage> stages, std::uint64_t seed,
                         DeadlinePoller& deadline, Effort& effort)
    : problem_(std::move(problem)), stages_(std::move(stages)), seed_(seed) {
    start_stage(deadline, effort);
}

void StagedPlans::start_stage(DeadlinePoller& deadline, Effort& effort) {
    const Stage& stage = stages_[stage_];
    stage_nodes_ = unlimited_nodes;
    if (stage.work) {
        const auto operators = std::max<std::int64_t>(1, static_cast<std::int64_t>(problem_->operator_count()));
        stage_nodes_ = effort.created + std::max<std::int64_t>(1, stage.work / operators);
    }
    current_.reset();  // What the stage before has stored is no longer needed.
    if (stage.greedy)
        current_ = std::make_unique<Greedy>(problem_, stage.symmetries, seed_, deadline, effort);
    else
        current_ = std::make_unique<AStar>(problem_, stage.weight, stage.symmetries, seed_, deadline, effort);
    // The cheapest plans stay as they are; see a_star.py.
    if (stage.greedy || stage.weight > 1) current_ = std::make_unique<TrimmedPlans>(std::move(current_), problem_);
}

bool StagedPlans::next(const Budget& budget, Effort& effort, Plan& plan) {
    while (true) {
        const Budget part{budget.deadline, std::min(budget.max_nodes, stage_nodes_)};
        if (current_->next(part, effort, plan)) {
            if (seen_.insert(plan).second) return true;
        } else if (another_may_do(budget, effort)) {
            ++stage_;
            start_stage(budget.deadline, effort);
        } else {
            return false;
        }
    }
}

bool StagedPlans::another_may_do(const Budget& budget, const Effort& effort) const {
    return stage_ + 1 < stages_.size() && current_->ended() == Ended::out_of_nodes &&
           effort.created < budget.max_nodes;
}

std::unique_ptr<PlanStream> start_search(ProblemPointer problem, std::vector<Stage> stages, bool distinct,
                                         std::uint64_t seed, DeadlinePoller& deadline, Effort& effort) {
    auto plans = std::make_unique<StagedPlans>(problem, std::move(stages), seed, deadline, effort);
    if (!distinct) return plans;
    return std::make_unique<DistinctPlans>(std::move(plans), std::move(problem));
}

}  // namespace needful
