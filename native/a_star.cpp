#include "a_star.hpp"

#include <algorithm>

namespace needful {

AStar::AStar(ProblemPointer problem, Id weight, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline,
             SearchStatistics& statistics)
    : problem_(std::move(problem)),
      space_(problem_, symmetries, deadline),
      heuristic_(*problem_, deadline),
      weight_(weight),
      random_(seed),
      tree_(space_),
      savings_(problem_->operator_count(), 0) {
    enqueue(0, 0, statistics);
}

bool AStar::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    if (status_ != SearchStatus::in_progress) return false;
    ++expansion_limit_;
    for (const Entry& entry : deferred_) queue_.push(entry);
    deferred_.clear();
    Id goal_node = no_node;
    try {
        goal_node = next_goal_node(budget, statistics);
    } catch (const DeadlineExpired&) {
        // Caught here so that enclosing streams can still return the plans that they postponed.
        status_ = SearchStatus::timeout;
    }
    if (goal_node == no_node) return false;
    plan = tree_.plan(goal_node);
    return true;
}

Id AStar::next_goal_node(const Budget& budget, SearchStatistics& statistics) {
    while (!queue_.empty()) {
        budget.deadline.check();
        const Entry entry = queue_.top();
        queue_.pop();
        const Id state = tree_.state(entry.node), cost = tree_.cost(entry.node);
        if (space_.is_goal(tree_.bits(state))) return entry.node;
        StateInfo& info = state_info(state);
        if (reached_expansion_limit(info, cost)) {
            deferred_.push_back(entry);
            continue;
        }
        if (!info.evaluated) evaluate(info, tree_.bits(state), budget.deadline, statistics);
        if (info.h == Estimate::unreachable) continue;
        // Lazy evaluation: the entry was queued with a lower bound computed from its parent.
        if (info.h > entry.h) {
            queue_.push({f(cost, info.h), entry.tie_breaker, info.h, entry.node});
            continue;
        }
        if (statistics.nodes_created >= budget.max_nodes || tree_.state_count() > space_.max_states()) {
            status_ = SearchStatus::out_of_nodes;
            return no_node;
        }
        expand(entry.node, state, entry.h, budget.deadline, statistics);
    }
    status_ = SearchStatus::exhausted;
    return no_node;
}

AStar::StateInfo& AStar::state_info(Id state) {
    if (state_info_.size() <= to_index(state)) state_info_.resize(to_index(state) + 1);
    return state_info_[to_index(state)];
}

void AStar::evaluate(StateInfo& info, const Word* state, DeadlinePoller& deadline, SearchStatistics& statistics) {
    const Estimate estimate = heuristic_(state, space_.words(), deadline);
    ++statistics.nodes_evaluated;
    info.evaluated = true;
    info.h = estimate.value;
    info.landmark_cost = estimate.value;
    info.landmarks_begin = landmark_operators_.size();
    for (const LandmarkOperator& entry : estimate.landmark_operators) {
        deadline.poll(4);
        if (problem_->applicable(entry.op, state)) landmark_operators_.push_back(entry);
    }
    info.landmarks_end = landmark_operators_.size();
}

bool AStar::reached_expansion_limit(const StateInfo& info, Id cost) const {
    const auto count = std::count_if(info.expansion_costs.begin(), info.expansion_costs.end(),
                                     [&](Id earlier) { return earlier <= cost; });
    return static_cast<std::size_t>(count) >= expansion_limit_;
}

void AStar::expand(Id node, Id state, Id h, DeadlinePoller& deadline, SearchStatistics& statistics) {
    ++statistics.nodes_expanded;
    StateInfo& info = state_info(state);
    info.expansion_costs.push_back(tree_.cost(node));
    for (std::size_t i = info.landmarks_begin; i < info.landmarks_end; ++i)
        savings_[to_index(landmark_operators_[i].op)] += landmark_operators_[i].cost;
    space_.applicable(tree_.bits(state), applicable_, deadline);
    for (Id op : applicable_) {
        deadline.poll(32);
        const Id remaining_landmarks = info.landmark_cost - savings_[to_index(op)];
        enqueue(tree_.add(node, op), std::max({h - tree_.step_cost(op), remaining_landmarks, Id{0}}), statistics);
    }
    for (std::size_t i = info.landmarks_begin; i < info.landmarks_end; ++i)
        savings_[to_index(landmark_operators_[i].op)] = 0;
}

void AStar::enqueue(Id node, Id h, SearchStatistics& statistics) {
    ++statistics.nodes_created;
    queue_.push({f(tree_.cost(node), h), random_.next(), h, node});
}

}  // namespace needful
