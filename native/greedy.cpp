#include "greedy.hpp"

#include <limits>

namespace needful {

namespace {
// The number of extra turns of the preferred queue after a new best estimate.
constexpr std::int64_t boost = 1000;
}  // namespace

Greedy::Greedy(ProblemPointer problem, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline,
               SearchStatistics& statistics)
    : problem_(std::move(problem)),
      space_(problem_, symmetries, deadline),
      heuristic_(*problem_, deadline),
      random_(seed),
      tree_(space_),
      best_h_(std::numeric_limits<Id>::max()),
      is_preferred_(problem_->operator_count(), 0) {
    enqueue(0, 0, false, statistics);
}

bool Greedy::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    if (status_ != SearchStatus::in_progress) return false;
    ++expansion_limit_;
    for (const auto& [queue, entry] : deferred_) {
        queues_[queue].push(entry);
        is_popped_[to_index(entry.node)] = 0;
    }
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

Id Greedy::next_goal_node(const Budget& budget, SearchStatistics& statistics) {
    while (!queues_[regular].empty() || !queues_[preferred].empty()) {
        budget.deadline.check();
        const std::size_t queue = select_queue();
        const Entry entry = queues_[queue].top();
        queues_[queue].pop();
        if (is_popped_[to_index(entry.node)]) continue;
        is_popped_[to_index(entry.node)] = 1;
        const Id state = tree_.state(entry.node);
        if (space_.is_goal(tree_.bits(state))) return entry.node;
        StateInfo& info = state_info(state);
        if (info.expansion_count >= expansion_limit_) {
            deferred_.emplace_back(queue, entry);
            continue;
        }
        if (!info.evaluated) evaluate(info, state, budget.deadline, statistics);
        if (info.relaxed_plan.cost == RelaxedPlan::unreachable) continue;
        if (statistics.nodes_created >= budget.max_nodes || tree_.state_count() > space_.max_states()) {
            status_ = SearchStatus::out_of_nodes;
            return no_node;
        }
        expand(entry.node, state, budget.deadline, statistics);
    }
    status_ = SearchStatus::exhausted;
    return no_node;
}

std::size_t Greedy::select_queue() {
    std::size_t queue = priorities_[preferred] < priorities_[regular] ? preferred : regular;
    if (queues_[queue].empty()) queue = 1 - queue;
    ++priorities_[queue];
    return queue;
}

Greedy::StateInfo& Greedy::state_info(Id state) {
    if (state_info_.size() <= to_index(state)) state_info_.resize(to_index(state) + 1);
    return state_info_[to_index(state)];
}

void Greedy::evaluate(StateInfo& info, Id state, DeadlinePoller& deadline, SearchStatistics& statistics) {
    info.relaxed_plan = heuristic_(tree_.bits(state), space_.words(), deadline);
    info.evaluated = true;
    ++statistics.nodes_evaluated;
    const Id h = info.relaxed_plan.cost;
    if (h != RelaxedPlan::unreachable && h < best_h_) {
        best_h_ = h;
        priorities_[preferred] -= boost;
    }
}

void Greedy::expand(Id node, Id state, DeadlinePoller& deadline, SearchStatistics& statistics) {
    ++statistics.nodes_expanded;
    StateInfo& info = state_info(state);
    ++info.expansion_count;
    const RelaxedPlan& relaxed_plan = info.relaxed_plan;
    for (Id op : relaxed_plan.preferred_operators) is_preferred_[to_index(op)] = 1;
    space_.applicable(tree_.bits(state), applicable_, deadline);
    for (Id op : applicable_) {
        deadline.poll(32);
        enqueue(tree_.add(node, op), relaxed_plan.cost, is_preferred_[to_index(op)] != 0, statistics);
    }
    for (Id op : relaxed_plan.preferred_operators) is_preferred_[to_index(op)] = 0;
}

void Greedy::enqueue(Id node, Id h, bool is_preferred, SearchStatistics& statistics) {
    ++statistics.nodes_created;
    is_popped_.push_back(0);
    const Entry entry{h, tree_.cost(node), random_.next(), node};
    queues_[regular].push(entry);
    if (is_preferred) queues_[preferred].push(entry);
}

}  // namespace needful
