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
      is_in_landmark_(problem_->operator_count(), 0) {
    enqueue(0, 0, statistics);
}

bool AStar::next(const Budget& budget, SearchStatistics& statistics, Plan& plan) {
    if (status_ != SearchStatus::in_progress) return false;
    ++expansion_limit_;
    for (const Entry& entry : parked_) queue_.push(entry);
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

Id AStar::next_goal_node(const Budget& budget, SearchStatistics& statistics) {
    while (!queue_.empty()) {
        budget.deadline.check();
        const Entry entry = queue_.top();
        queue_.pop();
        const Id state = tree_.state(entry.node), cost = tree_.cost(entry.node);
        if (space_.is_goal(tree_.bits(state))) return entry.node;
        Known& about = known(state);
        if (expanded_enough(about, cost)) {
            parked_.push_back(entry);
            continue;
        }
        if (!about.evaluated) evaluate(about, tree_.bits(state), budget.deadline, statistics);
        if (about.value == Estimate::unreachable) continue;
        if (about.value > entry.h) {
            queue_.push({f(cost, about.value), entry.tie, about.value, entry.node});
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

AStar::Known& AStar::known(Id state) {
    if (known_.size() <= to_index(state)) known_.resize(to_index(state) + 1);
    return known_[to_index(state)];
}

void AStar::evaluate(Known& about, const Word* state, DeadlinePoller& deadline, SearchStatistics& statistics) {
    const Estimate estimate = heuristic_(state, space_.words(), deadline);
    ++statistics.nodes_evaluated;
    about.evaluated = true;
    about.value = estimate.value;
    about.landmarks = estimate.landmarks;
    about.first = in_landmarks_.size();
    for (Id step : estimate.in_landmark) {
        deadline.poll(4);
        if (has_all(state, problem_->preconditions[to_index(step)])) in_landmarks_.push_back(step);
    }
    about.last = in_landmarks_.size();
}

bool AStar::expanded_enough(const Known& about, Id cost) const {
    const auto as_good = std::count_if(about.expansions.begin(), about.expansions.end(),
                                       [&](Id earlier) { return earlier <= cost; });
    return static_cast<std::size_t>(as_good) >= expansion_limit_;
}

void AStar::expand(Id node, Id state, Id bound, DeadlinePoller& deadline, SearchStatistics& statistics) {
    ++statistics.nodes_expanded;
    Known& about = known(state);
    about.expansions.push_back(tree_.cost(node));
    const Span in_landmarks{in_landmarks_.data() + about.first, in_landmarks_.data() + about.last};
    for (Id step : in_landmarks) is_in_landmark_[to_index(step)] = 1;
    space_.applicable(tree_.bits(state), steps_, deadline);
    for (Id step : steps_) {
        deadline.poll(32);
        const Id remaining = about.landmarks - is_in_landmark_[to_index(step)];
        enqueue(tree_.add(node, step), std::max({bound - 1, remaining, Id{0}}), statistics);
    }
    for (Id step : in_landmarks) is_in_landmark_[to_index(step)] = 0;
}

void AStar::enqueue(Id node, Id bound, SearchStatistics& statistics) {
    ++statistics.nodes_created;
    queue_.push({f(tree_.cost(node), bound), random_.next(), bound, node});
}

}  // namespace needful
