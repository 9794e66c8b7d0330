#include "distinct_plans.hpp"

#include <queue>

#include "operator_masks.hpp"

namespace needful {

namespace {

constexpr int max_postponed_in_a_row = 64;

std::vector<OperatorMasks> masks_of(const Problem& problem, const Plan& plan) {
    std::vector<OperatorMasks> masks;
    for (Id step : plan) masks.emplace_back(problem, step);
    return masks;
}

bool changes_any(const OperatorMasks& step, const Bits& atoms) {
    for (std::size_t w = 0; w < atoms.size(); ++w)
        if ((step.adds[w] | step.deletes[w]) & atoms[w]) return true;
    return false;
}

bool independent(const OperatorMasks& a, const OperatorMasks& b) {
    for (std::size_t w = 0; w < a.preconditions.size(); ++w)
        if (((a.adds[w] | a.deletes[w]) & b.preconditions[w]) | ((b.adds[w] | b.deletes[w]) & a.preconditions[w]) |
            (a.adds[w] & b.deletes[w]) | (b.adds[w] & a.deletes[w]))
            return false;
    return !changes_any(a, b.negative_preconditions) && !changes_any(b, a.negative_preconditions);
}

// Returns the lexicographically smallest order of the steps that results from swapping independent neighbours.
Plan normal_form(const Plan& steps, const std::vector<OperatorMasks>& masks) {
    // The partial order of the steps, by their indices in the plan.
    std::vector<std::vector<std::size_t>> successors(steps.size());
    std::vector<std::size_t> predecessor_counts(steps.size(), 0);
    for (std::size_t later = 0; later < steps.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier)
            if (steps[earlier] == steps[later] || !independent(masks[earlier], masks[later])) {
                successors[earlier].push_back(later);
                ++predecessor_counts[later];
            }
    using Entry = std::pair<Id, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
    for (std::size_t index = 0; index < steps.size(); ++index)
        if (predecessor_counts[index] == 0) ready.emplace(steps[index], index);
    Plan ordered;
    while (!ready.empty()) {
        const auto [step, index] = ready.top();
        ready.pop();
        ordered.push_back(step);
        for (std::size_t later : successors[index])
            if (--predecessor_counts[later] == 0) ready.emplace(steps[later], later);
    }
    return ordered;
}

bool revisits_state(const Problem& problem, const std::vector<OperatorMasks>& masks) {
    Bits state = initial_state(problem);
    std::set<Bits> visited{state};
    for (const OperatorMasks& step : masks) {
        step.apply(state);
        if (!visited.insert(state).second) return true;
    }
    return false;
}

}  // namespace

DistinctPlans::DistinctPlans(std::unique_ptr<PlanStream> source, ProblemPointer problem,
                             const std::vector<Plan>& tried)
    : PostponingStream(std::move(source), std::move(problem)) {
    for (const Plan& plan : tried) seen_.insert(normal_form(plan, masks_of(*problem_, plan)));
}

bool DistinctPlans::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    for (int postponed_now = 0; postponed_now < max_postponed_in_a_row || postponed_.empty(); ++postponed_now) {
        if (!source_->next(budget, statistics, plan)) break;
        const std::vector<OperatorMasks> masks = masks_of(*problem_, plan);
        Plan form = normal_form(plan, masks);
        if (!seen_.count(form) && !revisits_state(*problem_, masks)) {
            seen_.insert(std::move(form));
            return true;
        }
        postponed_.push_back(plan);
    }
    if (postponed_.empty()) return false;
    plan = std::move(postponed_.front());
    postponed_.pop_front();
    return true;
}

}  // namespace needful
