#include "distinct_plans.hpp"

#include <queue>

#include "changes.hpp"

namespace needful {

namespace {

constexpr int patience = 64;

bool independent(const Change& a, const Change& b) {
    for (std::size_t w = 0; w < a.needs.size(); ++w)
        if (((a.adds[w] | a.deletes[w]) & b.needs[w]) | ((b.adds[w] | b.deletes[w]) & a.needs[w]) |
            (a.adds[w] & b.deletes[w]) | (b.adds[w] & a.deletes[w]))
            return false;
    return true;
}

// The least order of the steps that exchanging independent neighbours can lead to.
Plan normal_form(const Plan& steps, const std::vector<Change>& changes) {
    // Of each place the places after it that must stay after it, and how many before it must stay before.
    std::vector<std::vector<std::size_t>> followers(steps.size());
    std::vector<std::size_t> waiting_for(steps.size(), 0);
    for (std::size_t later = 0; later < steps.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier)
            if (steps[earlier] == steps[later] || !independent(changes[earlier], changes[later])) {
                followers[earlier].push_back(later);
                ++waiting_for[later];
            }
    using Entry = std::pair<Id, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> free;
    for (std::size_t place = 0; place < steps.size(); ++place)
        if (waiting_for[place] == 0) free.emplace(steps[place], place);
    Plan ordered;
    while (!free.empty()) {
        const auto [step, place] = free.top();
        free.pop();
        ordered.push_back(step);
        for (std::size_t later : followers[place])
            if (--waiting_for[later] == 0) free.emplace(steps[later], later);
    }
    return ordered;
}

bool revisits_a_state(const Problem& problem, const std::vector<Change>& changes) {
    Bits state = initial_state(problem);
    std::set<Bits> visited{state};
    for (const Change& change : changes) {
        change.apply(state);
        if (!visited.insert(state).second) return true;
    }
    return false;
}

}  // namespace

bool DistinctPlans::next(const Budget& budget, Effort& effort, Plan& plan) {
    for (int waited = 0; waited < patience || put_off_.empty(); ++waited) {
        if (!plans_->next(budget, effort, plan)) break;
        std::vector<Change> changes;
        for (Id step : plan) changes.emplace_back(*problem_, step);
        Plan form = normal_form(plan, changes);
        if (!seen_.count(form) && !revisits_a_state(*problem_, changes)) {
            seen_.insert(std::move(form));
            return true;
        }
        put_off_.push_back(plan);
    }
    if (put_off_.empty()) return false;
    plan = std::move(put_off_.front());
    put_off_.pop_front();
    return true;
}

}  // namespace needful
