// Lazy greedy best-first search with the FF heuristic and preferred operators; see greedy.py.
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
    // Throws `DeadlineExpired`, as `next` does.
    Greedy(ProblemPointer problem, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline, SearchStatistics& statistics);

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
    SearchStatus status() const override { return status_; }

private:
    struct Entry {
        Id h;
        Id cost;
        std::uint64_t tie;
        Id node;
        bool operator>(const Entry& other) const {
            return std::tie(h, cost, tie, node) > std::tie(other.h, other.cost, other.tie, other.node);
        }
    };
    struct Known {
        bool evaluated = false;
        RelaxedPlan relaxed_plan;
        std::size_t expansions = 0;
    };
    static constexpr Id no_node = -1;
    enum { all, preferred };

    Id next_goal_node(const Budget& budget, SearchStatistics& statistics);
    std::size_t next_queue();
    Known& known(Id state);
    void evaluate(Known& about, Id state, DeadlinePoller& deadline, SearchStatistics& statistics);
    void expand(Id node, Id state, DeadlinePoller& deadline, SearchStatistics& statistics);
    void enqueue(Id node, Id bound, bool is_preferred, SearchStatistics& statistics);

    ProblemPointer problem_;
    SearchSpace space_;
    Ff heuristic_;
    SplitMix64 random_;
    SearchTree tree_;
    std::vector<Known> known_;
    std::size_t expansion_limit_ = 0;
    Id least_;
    std::array<std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>, 2> queues_;
    std::array<std::int64_t, 2> turns_{0, 0};
    std::vector<char> taken_;
    std::vector<std::pair<std::size_t, Entry>> parked_;
    std::vector<Id> steps_;
    std::vector<char> is_preferred_;
    SearchStatus status_ = SearchStatus::in_progress;
};

}  // namespace needful
