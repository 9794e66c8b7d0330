#include "ff.hpp"

#include <algorithm>
#include <functional>

namespace needful {

namespace {

constexpr Id most = (Id{1} << 30) - 1;
constexpr Id unreached = Id{1} << 30;
constexpr Id no_operator = -1;
constexpr std::size_t bucket_count = 1024;


}  // namespace

Ff::Ff(const Problem& problem, DeadlinePoller& deadline)
    : problem_(problem),
      asked_(problem.atom_count(), 0),
      chosen_(problem.operator_count(), 0),
      buckets_(bucket_count) {
    needed_by_ = problem.preconditions.inverted(problem.atom_count(), deadline);
    std::vector<Id> effects;
    for (std::size_t step = 0; step < problem.operator_count(); ++step) {
        const Span adds = problem.adds[step], needs = problem.preconditions[step];
        deadline.poll(1 + adds.size() + needs.size());
        effects.clear();
        std::set_difference(adds.begin(), adds.end(), needs.begin(), needs.end(), std::back_inserter(effects));
        effects_.add_list(effects);
        at_first_.push_back({static_cast<Id>(needs.size()), 1});
        if (needs.empty()) free_.push_back(static_cast<Id>(step));
    }
}

RelaxedPlan Ff::operator()(const Word* state, std::size_t words, DeadlinePoller& deadline) {
    achieve(state, words, deadline);
    RelaxedPlan plan;
    for (Id atom : problem_.goal)
        if (achieved_[to_index(atom)].cost == unreached) {
            plan.length = RelaxedPlan::unreachable;
            return plan;
        }
    std::vector<Id> asked(problem_.goal), chosen;
    for (Id atom : asked) asked_[to_index(atom)] = 1;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const Id step = achieved_[to_index(asked[i])].by;
        if (step == no_operator || chosen_[to_index(step)]) continue;
        chosen_[to_index(step)] = 1;
        chosen.push_back(step);
        bool applicable = true;
        for (Id atom : problem_.preconditions[to_index(step)]) {
            applicable = applicable && achieved_[to_index(atom)].cost == 0;
            if (asked_[to_index(atom)]) continue;
            asked_[to_index(atom)] = 1;
            asked.push_back(atom);
        }
        if (applicable) plan.preferred.push_back(step);
    }
    for (Id atom : asked) asked_[to_index(atom)] = 0;
    for (Id step : chosen) chosen_[to_index(step)] = 0;
    plan.length = static_cast<Id>(chosen.size());
    return plan;
}

void Ff::enqueue(Id cost, Id atom) {
    if (to_index(cost) < bucket_count) {
        buckets_[to_index(cost)].push_back(atom);
        return;
    }
    beyond_.emplace_back(cost, atom);
    std::push_heap(beyond_.begin(), beyond_.end(), std::greater<>());
}

void Ff::offer(std::size_t step) {
    const Id cost = progress_[step].cost, number = static_cast<Id>(step);
    for (Id effect : effects_[step]) {
        Achieved& achieved = achieved_[to_index(effect)];
        if (cost < achieved.cost) {
            achieved = {cost, number};
            enqueue(cost, effect);
        } else if (cost == achieved.cost && cost < most && number < achieved.by) {
            achieved.by = number;
        }
    }
}

// Finds the cost of each atom and the operator that achieves it; stops when the goal is done.
void Ff::achieve(const Word* state, std::size_t words, DeadlinePoller& deadline) {
    achieved_.assign(problem_.atom_count(), {unreached, no_operator});
    progress_ = at_first_;
    for (auto& bucket : buckets_) bucket.clear();
    beyond_.clear();
    for_each_bit(state, words, [&](Id atom) {
        achieved_[to_index(atom)].cost = 0;
        buckets_[0].push_back(atom);
    });
    for (Id step : free_) offer(to_index(step));
    for (Id atom : problem_.goal) asked_[to_index(atom)] = 1;
    std::size_t open_goals = problem_.goal.size();
    const auto settle = [&](Id cost, Id atom) {
        if (cost > achieved_[to_index(atom)].cost) return;
        if (asked_[to_index(atom)]) {
            asked_[to_index(atom)] = 0;
            --open_goals;
        }
        for_each(needed_by_[to_index(atom)], deadline, [&](Id step) {
            Progress& progress = progress_[to_index(step)];
            progress.cost = static_cast<Id>(std::min<std::int64_t>(std::int64_t{progress.cost} + cost, most));
            if (--progress.open == 0) offer(to_index(step));
        });
    };
    for (std::size_t cost = 0; cost < bucket_count && open_goals; ++cost)
        for (std::size_t i = 0; i < buckets_[cost].size() && open_goals; ++i)
            settle(static_cast<Id>(cost), buckets_[cost][i]);
    while (!beyond_.empty() && open_goals) {
        const auto [cost, atom] = beyond_.front();
        std::pop_heap(beyond_.begin(), beyond_.end(), std::greater<>());
        beyond_.pop_back();
        settle(cost, atom);
    }
    for (Id atom : problem_.goal) asked_[to_index(atom)] = 0;
}

}  // namespace needful
