// A* that continues after each plan: a stream of plans, cheapest first; see planning/engines/searches.py.
#pragma once

#include <queue>
#include <tuple>
#include <vector>

#include "lm_cut.hpp"
#include "plan_stream.hpp"
#include "search_space.hpp"
#include "splitmix.hpp"

namespace needful {

class AStar : public PlanStream {
public:
    // Throws `DeadlineExpired`.
    AStar(ProblemPointer problem, Id weight, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline,
          SearchStatistics& statistics);

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
    SearchStatus status() const override { return status_; }

private:
    struct Entry {
        std::int64_t f;
        std::uint64_t tie_breaker;
        Id h;
        Id node;
        bool operator>(const Entry& other) const {
            return std::tie(f, h, tie_breaker, node) > std::tie(other.f, other.h, other.tie_breaker, other.node);
        }
    };
    struct StateInfo {
        bool evaluated = false;
        Id h = 0;
        Id landmark_cost = 0;
        // The range of the state in `landmark_operators_`.
        std::size_t landmarks_begin = 0, landmarks_end = 0;
        // The path cost at each expansion of the state.
        std::vector<Id> expansion_costs;
    };
    static constexpr Id no_node = -1;

    Id next_goal_node(const Budget& budget, SearchStatistics& statistics);
    void evaluate(StateInfo& info, const Word* state, DeadlinePoller& deadline, SearchStatistics& statistics);
    bool reached_expansion_limit(const StateInfo& info, Id cost) const;
    StateInfo& state_info(Id state);
    void expand(Id node, Id state, Id h, DeadlinePoller& deadline, SearchStatistics& statistics);
    void enqueue(Id node, Id h, SearchStatistics& statistics);
    std::int64_t f(Id cost, Id h) const { return cost + std::int64_t{weight_} * h; }

    ProblemPointer problem_;
    SearchSpace space_;
    LmCut heuristic_;
    Id weight_;
    SplitMix64 random_;
    SearchTree tree_;
    std::vector<StateInfo> state_info_;
    // The landmark operators of all states, each with the cost of its landmark. Only applicable ones are stored, to save
    // memory.
    std::vector<LandmarkOperator> landmark_operators_;
    std::size_t expansion_limit_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
    // Entries that wait until the expansion limit rises.
    std::vector<Entry> deferred_;
    // Buffers of `expand`.
    std::vector<Id> applicable_;
    // For each operator the cost of the landmarks that contain it.
    std::vector<Id> savings_;
    SearchStatus status_ = SearchStatus::in_progress;
};

}  // namespace needful
