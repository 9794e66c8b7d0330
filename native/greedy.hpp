// Lazy greedy best-first search with the FF heuristic and preferred operators; see planning/engines/searches.py.
#pragma once

#include <array>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "ff.hpp"
#include "plan_stream.hpp"
#include "search_space.hpp"
#include "splitmix.hpp"

namespace needful {

class Greedy : public PlanStream {
public:
    // Throws `DeadlineExpired`.
    Greedy(ProblemPointer problem, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline,
           SearchStatistics& statistics);

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
    SearchStatus status() const override { return status_; }

private:
    struct Entry {
        Id h;
        Id cost;
        std::uint64_t tie_breaker;
        Id node;
        bool operator>(const Entry& other) const {
            return std::tie(h, cost, tie_breaker, node) >
                   std::tie(other.h, other.cost, other.tie_breaker, other.node);
        }
    };
    struct StateInfo {
        bool evaluated = false;
        RelaxedPlan relaxed_plan;
        std::size_t expansion_count = 0;
    };
    static constexpr Id no_node = -1;
    // The queue of all nodes, and the queue of nodes that a preferred operator leads to.
    enum { regular, preferred };

    Id next_goal_node(const Budget& budget, SearchStatistics& statistics);
    std::size_t select_queue();
    StateInfo& state_info(Id state);
    void evaluate(StateInfo& info, Id state, DeadlinePoller& deadline, SearchStatistics& statistics);
    void expand(Id node, Id state, DeadlinePoller& deadline, SearchStatistics& statistics);
    void enqueue(Id node, Id h, bool is_preferred, SearchStatistics& statistics);

    ProblemPointer problem_;
    SearchSpace space_;
    Ff heuristic_;
    SplitMix64 random_;
    SearchTree tree_;
    std::vector<StateInfo> state_info_;
    std::size_t expansion_limit_ = 0;
    Id best_h_;
    std::array<std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>, 2> queues_;
    // The queue with the lowest priority value is used next.
    std::array<std::int64_t, 2> priorities_{0, 0};
    // Whether a node was popped from one of its queues.
    std::vector<char> is_popped_;
    // Entries, each with its queue, that wait until the expansion limit rises.
    std::vector<std::pair<std::size_t, Entry>> deferred_;
    // Buffers of `expand`.
    std::vector<Id> applicable_;
    std::vector<char> is_preferred_;
    SearchStatus status_ = SearchStatus::in_progress;
};

}  // namespace needful
