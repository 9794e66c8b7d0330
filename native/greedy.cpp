#include "greedy.hpp"

#include <limits>

namespace needful {

namespace {
// How many turns progress is worth.
constexpr std::int64_t boost = 1000;
}  // namespace

Greedy::Greedy(ProblemPointer problem, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline, SearchStatistics& statistics)
    : problem_(std::move(problem)),
      space_(problem_, symmetries, deadline),
      heuristic_(*problem_, deadline),
      random_(seed),
      tree_(space_),
      least_(std::numeric_limits<Id>::max()),
      is_preferred_(problem_->operator_count(), 0) {
    enqueue(0, 0, false, statistics);
}

bool Greedy::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    if (status_ != SearchStatus::in_progress) return false;
    ++expansion_limit_;
    for (const auto& [queue, entry] : parked_) {
        queues_[queue].push(entry);
        taken_[to_index(entry.node)] = 0;
    }
    parked_.clear();
    Id found = no_node;
    try {
        found = next_goal_node(budget, statistics);
    } catch (const DeadlineExpired&) {
        // Caught here and not further out, so that streams around this one can still return postponed plans.
        status_ = SearchStatus::timeout;
    }
    if (found == no_node) return false;
    plan = tree_.plan(found);
    return true;
}

Id Greedy::next_goal_node(const Budget& budget, SearchStatistics& statistics) {
    while (!queues_[all].empty() || !queues_[preferred].empty()) {
        budget.deadline.check();
        const std::size_t queue = next_queue();
        const Entry entry = queues_[queue].top();
        queues_[queue].pop();
        if (taken_[to_index(entry.node)]) continue;
        taken_[to_index(entry.node)] = 1;
        const Id state = tree_.state(entry.node);
        if (space_.is_goal(tree_.bits(state))) return entry.node;
        Known& about = known(state);
        if (about.expansions >= expansion_limit_) {
            parked_.emplace_back(queue, entry);
            continue;
        }
        if (!about.evaluated) evaluate(about, state, budget.deadline, statistics);
        if (about.relaxed_plan.length == RelaxedPlan::unreachable) continue;
        if (statistics.nodes_created >= budget.max_nodes || tree_.state_count() > space_.max_states()) {
            status_ = SearchStatus::out_of_nodes;
            return no_node;
        }
        expand(entry.node, state, budget.deadline, statistics);
    }
    status_ = SearchStatus::exhausted;
    return no_node;
}

std::size_t Greedy::next_queue() {
    std::size_t queue = turns_[preferred] < turns_[all] ? preferred : all;
    if (queues_[queue].empty()) queue = 1 - queue;
    ++turns_[queue];
    return queue;
}

Greedy::Known& Greedy::known(Id state) {
    if (known_.size() <= to_index(state)) known_.resize(to_index(state) + 1);
    return known_[to_index(state)];
}

void Greedy::evaluate(Known& about, Id state, DeadlinePoller& deadline, SearchStatistics& statistics) {
    about.relaxed_plan = heuristic_(tree_.bits(state), space_.words(), deadline);
    about.evaluated = true;
    ++statistics.nodes_evaluated;
    const Id length = about.relaxed_plan.length;
    if (length != RelaxedPlan::unreachable && length < least_) {
        least_ = length;
        turns_[preferred] -= boost;
    }
}

void Greedy::expand(Id node, Id state, DeadlinePoller& deadline, SearchStatistics& statistics) {
    ++statistics.nodes_expanded;
    Known& about = known(state);
    ++about.expansions;
    const RelaxedPlan& relaxed_plan = about.relaxed_plan;
    for (Id step : relaxed_plan.preferred) is_preferred_[to_index(step)] = 1;
    space_.applicable(tree_.bits(state), steps_, deadline);
    for (Id step : steps_) {
        deadline.poll(32);
        enqueue(tree_.add(node, step), relaxed_plan.length, is_preferred_[to_index(step)] != 0, statistics);
    }
    for (Id step : relaxed_plan.preferred) is_preferred_[to_index(step)] = 0;
}

void Greedy::enqueue(Id node, Id bound, bool is_preferred, SearchStatistics& statistics) {
    ++statistics.nodes_created;
    taken_.push_back(0);
    const Entry entry{bound, tree_.cost(node), random_.next(), node};
    queues_[all].push(entry);
    if (is_preferred) queues_[preferred].push(entry);
}

}  // namespace needful
