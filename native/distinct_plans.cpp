#include "distinct_plans.hpp"

#include <algorithm>

#include "bitset.hpp"

namespace needful {

namespace {

constexpr int patience = 64;

// What a step of a plan needs, adds and deletes, as bits.
struct Change {
    Bits needs, adds, deletes;

    Change(const Problem& problem, Id step)
        : needs(words_for(problem.atom_count())), adds(needs.size()), deletes(needs.size()) {
        const std::size_t index = static_cast<std::size_t>(step);
        for (Id atom : problem.preconditions[index]) insert(needs.data(), atom);
        for (Id atom : problem.deletes[index]) insert(deletes.data(), atom);
        for (Id pattern : problem.patterns[index])
            for (Id atom : problem.pattern_atoms[static_cast<std::size_t>(pattern)]) insert(deletes.data(), atom);
        for (Id atom : problem.adds[index]) {
            insert(adds.data(), atom);
            erase(deletes.data(), atom);
        }
    }
};

bool independent(const Change& a, const Change& b) {
    for (std::size_t w = 0; w < a.needs.size(); ++w)
        if (((a.adds[w] | a.deletes[w]) & b.needs[w]) | ((b.adds[w] | b.deletes[w]) & a.needs[w]) |
            (a.adds[w] & b.deletes[w]) | (b.adds[w] & a.deletes[w]))
            return false;
    return true;
}

// The least order of the steps that exchanging independent neighbours can lead to.
Plan normal_form(const Plan& steps, const std::vector<Change>& changes) {
    std::vector<std::size_t> waiting(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) waiting[i] = i;
    Plan ordered;
    while (!waiting.empty()) {
        std::size_t best = waiting.size();
        for (std::size_t place = 0; place < waiting.size(); ++place) {
            if (best < waiting.size() && steps[waiting[place]] >= steps[waiting[best]]) continue;
            const bool is_free = std::all_of(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(place),
                                             [&](std::size_t earlier) {
                                                 return steps[earlier] != steps[waiting[place]] &&
                                                        independent(changes[earlier], changes[waiting[place]]);
                                             });
            if (is_free) best = place;
        }
        ordered.push_back(steps[waiting[best]]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return ordered;
}

bool revisits_a_state(const Problem& problem, const std::vector<Change>& changes) {
    Bits state(words_for(problem.atom_count()));
    for (Id atom : problem.initial) insert(state.data(), atom);
    std::set<Bits> visited{state};
    for (const Change& change : changes) {
        for (std::size_t w = 0; w < state.size(); ++w) state[w] = (state[w] & ~change.deletes[w]) | change.adds[w];
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
