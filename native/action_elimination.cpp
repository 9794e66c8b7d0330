#include "action_elimination.hpp"

#include <numeric>

#include "operator_masks.hpp"

namespace needful {

namespace {

// Tries to remove each step together with all later steps that become inapplicable. If the deadline
// expires, the rest of the plan stays as it is.
Plan elimination_pass(const Problem& problem, const Plan& plan, DeadlinePoller& deadline) {
    std::vector<OperatorMasks> masks;
    for (Id step : plan) masks.emplace_back(problem, step);
    // Indices into `plan`.
    std::vector<std::size_t> kept(plan.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    Bits state = initial_state(problem);
    for (std::size_t index = 0; index < kept.size() && !deadline.expired();) {
        Bits end_state = state;
        std::vector<std::size_t> rest;
        for (std::size_t later = index + 1; later < kept.size(); ++later)
            if (masks[kept[later]].applicable(end_state)) {
                rest.push_back(kept[later]);
                masks[kept[later]].apply(end_state);
            }
        if (has_all(end_state.data(), problem.goal)) {
            kept.resize(index);
            kept.insert(kept.end(), rest.begin(), rest.end());
        } else {
            masks[kept[index]].apply(state);
            ++index;
        }
    }
    Plan trimmed;
    for (std::size_t index : kept) trimmed.push_back(plan[index]);
    return trimmed;
}

// Repeats the pass, because removing a step can make an earlier step redundant.
Plan without_redundant_steps(const Problem& problem, const Plan& plan, DeadlinePoller& deadline) {
    Plan trimmed = elimination_pass(problem, plan, deadline);
    return trimmed.size() == plan.size() ? plan : without_redundant_steps(problem, trimmed, deadline);
}

}  // namespace

bool TrimmedPlans::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    while (source_->next(budget, statistics, plan)) {
        Plan trimmed = without_redundant_steps(*problem_, plan, budget.deadline);
        if (trimmed != plan && seen_.insert(trimmed).second) {
            postponed_.push_back(std::move(plan));
            plan = std::move(trimmed);
            return true;
        }
        if (seen_.insert(plan).second) return true;
    }
    while (!postponed_.empty()) {
        plan = std::move(postponed_.front());
        postponed_.pop_front();
        if (seen_.insert(plan).second) return true;
    }
    return false;
}

}  // namespace needful
