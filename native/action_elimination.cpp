#include "action_elimination.hpp"

#include <numeric>

#include "changes.hpp"

namespace needful {

namespace {

// One step after the other is left out, with all later ones that cannot be applied then.
Plan one_pass(const Problem& problem, const Plan& plan, DeadlinePoller& deadline) {
    std::vector<Change> changes;
    for (Id step : plan) changes.emplace_back(problem, step);
    // The places in the plan of the steps that are kept.
    std::vector<std::size_t> kept(plan.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    Bits state = initial_state(problem);
    for (std::size_t place = 0; place < kept.size() && !deadline.expired();) {
        Bits reached = state;
        std::vector<std::size_t> rest;
        for (std::size_t later = place + 1; later < kept.size(); ++later)
            if (changes[kept[later]].applicable(reached)) {
                rest.push_back(kept[later]);
                changes[kept[later]].apply(reached);
            }
        if (has_all(reached.data(), problem.goal)) {
            kept.resize(place);
            kept.insert(kept.end(), rest.begin(), rest.end());
        } else {
            changes[kept[place]].apply(state);
            ++place;
        }
    }
    Plan trimmed;
    for (std::size_t place : kept) trimmed.push_back(plan[place]);
    return trimmed;
}

Plan without_needless_steps(const Problem& problem, const Plan& plan, DeadlinePoller& deadline) {
    Plan trimmed = one_pass(problem, plan, deadline);
    return trimmed.size() == plan.size() ? plan : without_needless_steps(problem, trimmed, deadline);
}

}  // namespace

bool TrimmedPlans::next(const Budget& budget, Effort& effort, Plan& plan) {
    while (plans_->next(budget, effort, plan)) {
        Plan trimmed = without_needless_steps(*problem_, plan, budget.deadline);
        if (trimmed != plan && seen_.insert(trimmed).second) {
            put_off_.push_back(std::move(plan));
            plan = std::move(trimmed);
            return true;
        }
        if (seen_.insert(plan).second) return true;
    }
    while (!put_off_.empty()) {
        plan = std::move(put_off_.front());
        put_off_.pop_front();
        if (seen_.insert(plan).second) return true;
    }
    return false;
}

}  // namespace needful
