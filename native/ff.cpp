#include "ff.hpp"

#include <algorithm>
#include <functional>

namespace needful {

namespace {

// Costs are capped at this value.
constexpr Id max_cost = (Id{1} << 30) - 1;
constexpr Id unreached = Id{1} << 30;
constexpr Id no_operator = -1;
constexpr std::size_t bucket_count = 1024;

}  // namespace

Ff::Ff(const Problem& problem, DeadlinePoller& deadline)
    : goal_(problem.goal),
      relaxation_(problem, deadline),
      atom_marked_(relaxation_.atom_count, 0),
      operator_marked_(problem.operator_count(), 0),
      buckets_(bucket_count) {
    precondition_of_ = relaxation_.preconditions.inverted(relaxation_.atom_count, deadline);
    for (std::size_t op = 0; op < problem.operator_count(); ++op) {
        const Span preconditions = relaxation_.preconditions[op];
        initial_operators_.push_back({static_cast<Id>(preconditions.size()), problem.cost(static_cast<Id>(op))});
        if (preconditions.empty()) operators_without_preconditions_.push_back(static_cast<Id>(op));
    }
}

RelaxedPlan Ff::operator()(const Word* state, std::size_t words, DeadlinePoller& deadline) {
    compute_h_add(state, words, deadline);
    RelaxedPlan plan;
    for (Id atom : goal_)
        if (atoms_[to_index(atom)].cost == unreached) {
            plan.cost = RelaxedPlan::unreachable;
            return plan;
        }
    // Follow the achievers back from the goal.
    std::vector<Id> subgoals(goal_), plan_operators;
    for (Id atom : subgoals) atom_marked_[to_index(atom)] = 1;
    for (std::size_t i = 0; i < subgoals.size(); ++i) {
        const Id op = atoms_[to_index(subgoals[i])].achiever;
        if (op == no_operator || operator_marked_[to_index(op)]) continue;
        operator_marked_[to_index(op)] = 1;
        plan_operators.push_back(op);
        plan.cost += initial_operators_[to_index(op)].cost;
        bool applicable = true;
        for (Id atom : relaxation_.preconditions[to_index(op)]) {
            applicable = applicable && atoms_[to_index(atom)].cost == 0;
            if (atom_marked_[to_index(atom)]) continue;
            atom_marked_[to_index(atom)] = 1;
            subgoals.push_back(atom);
        }
        if (applicable) plan.preferred_operators.push_back(op);
    }
    for (Id atom : subgoals) atom_marked_[to_index(atom)] = 0;
    for (Id op : plan_operators) operator_marked_[to_index(op)] = 0;
    return plan;
}

void Ff::enqueue(Id cost, Id atom) {
    if (to_index(cost) < bucket_count) {
        buckets_[to_index(cost)].push_back(atom);
        return;
    }
    overflow_heap_.emplace_back(cost, atom);
    std::push_heap(overflow_heap_.begin(), overflow_heap_.end(), std::greater<>());
}

// Among achievers of equal cost, the one with the lowest id is kept.
void Ff::lower_effects(std::size_t op) {
    const Id cost = operators_[op].cost, id = static_cast<Id>(op);
    for (Id effect : relaxation_.effects[op]) {
        AtomState& atom = atoms_[to_index(effect)];
        if (cost < atom.cost) {
            atom = {cost, id};
            enqueue(cost, effect);
        } else if (cost == atom.cost && cost < max_cost && id < atom.achiever) {
            atom.achiever = id;
        }
    }
}

// Computes additive costs and achievers in order of cost, until all goal atoms are done.
void Ff::compute_h_add(const Word* state, std::size_t words, DeadlinePoller& deadline) {
    atoms_.assign(relaxation_.atom_count, {unreached, no_operator});
    operators_ = initial_operators_;
    for (auto& bucket : buckets_) bucket.clear();
    overflow_heap_.clear();
    const auto add_true = [&](Id atom) {
        atoms_[to_index(atom)].cost = 0;
        buckets_[0].push_back(atom);
    };
    for_each_bit(state, words, add_true);
    relaxation_.complements.for_each_true(state, add_true);
    for (Id op : operators_without_preconditions_) lower_effects(to_index(op));
    // In this function, the marked atoms are the goal atoms that are not reached yet.
    for (Id atom : goal_) atom_marked_[to_index(atom)] = 1;
    std::size_t open_goals = goal_.size();
    const auto settle = [&](Id cost, Id atom) {
        if (cost > atoms_[to_index(atom)].cost) return;
        if (atom_marked_[to_index(atom)]) {
            atom_marked_[to_index(atom)] = 0;
            --open_goals;
        }
        for_each(precondition_of_[to_index(atom)], deadline, [&](Id op) {
            OperatorState& entry = operators_[to_index(op)];
            entry.cost = static_cast<Id>(std::min<std::int64_t>(std::int64_t{entry.cost} + cost, max_cost));
            if (--entry.unsatisfied_preconditions == 0) lower_effects(to_index(op));
        });
    };
    for (std::size_t cost = 0; cost < bucket_count && open_goals; ++cost)
        for (std::size_t i = 0; i < buckets_[cost].size() && open_goals; ++i)
            settle(static_cast<Id>(cost), buckets_[cost][i]);
    while (!overflow_heap_.empty() && open_goals) {
        const auto [cost, atom] = overflow_heap_.front();
        std::pop_heap(overflow_heap_.begin(), overflow_heap_.end(), std::greater<>());
        overflow_heap_.pop_back();
        settle(cost, atom);
    }
    for (Id atom : goal_) atom_marked_[to_index(atom)] = 0;
}

}  // namespace needful
