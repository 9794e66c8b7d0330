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
        // The state's entries in `landmark_operators_`: the indices from begin to end - 1.
        std::size_t landmarks_begin = 0, landmarks_end = 0;
        // The cost of the path to the state, once per expansion of the state.
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
    // The operators in the landmarks of each state, with the cost of the landmark. To save memory, operators that are
    // not applicable in the state are left out.
    std::vector<LandmarkOperator> landmark_operators_;
    std::size_t expansion_limit_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
    // Entries that wait until the expansion limit rises.
    std::vector<Entry> deferred_;
    // Buffers of `expand`.
    std::vector<Id> applicable_;
    // A buffer of `expand`: for each operator, the total cost of the state's landmarks that contain it.
    std::vector<Id> savings_;
    SearchStatus status_ = SearchStatus::in_progress;
};

}  // namespace needful
