// A* that goes on: a stream of the cheapest abstract plans; see a_star.py.
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
    // Throws `DeadlineExpired`, as `next` does.
    AStar(ProblemPointer problem, Id weight, bool symmetries, std::uint64_t seed, DeadlinePoller& deadline,
          SearchStatistics& statistics);

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
    SearchStatus status() const override { return status_; }

private:
    struct Entry {
        std::int64_t f;
        std::uint64_t tie;
        Id h;
        Id node;
        bool operator>(const Entry& other) const {
            return std::tie(f, h, tie, node) > std::tie(other.f, other.h, other.tie, other.node);
        }
    };
    struct Known {
        bool evaluated = false;
        Id value = 0;
        Id landmarks = 0;
        // Which part of `in_landmarks_` is about it.
        std::size_t first = 0, last = 0;
        // The costs of the paths from which the state was expanded.
        std::vector<Id> expansions;
    };
    static constexpr Id no_node = -1;

    Id next_goal_node(const Budget& budget, SearchStatistics& statistics);
    void evaluate(Known& about, const Word* state, DeadlinePoller& deadline, SearchStatistics& statistics);
    bool expanded_enough(const Known& known, Id cost) const;
    Known& known(Id state);
    void expand(Id node, Id state, Id bound, DeadlinePoller& deadline, SearchStatistics& statistics);
    void enqueue(Id node, Id bound, SearchStatistics& statistics);
    std::int64_t f(Id cost, Id h) const { return cost + std::int64_t{weight_} * h; }

    ProblemPointer problem_;
    SearchSpace space_;
    LmCut heuristic_;
    Id weight_;
    SplitMix64 random_;
    SearchTree tree_;
    std::vector<Known> known_;
    // The operators in landmarks of states, only the applicable ones: there can be very many others.
    std::vector<Id> in_landmarks_;
    std::size_t expansion_limit_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
    std::vector<Entry> parked_;
    std::vector<Id> steps_;
    std::vector<char> is_in_landmark_;
    SearchStatus status_ = SearchStatus::in_progress;
};

}  // namespace needful
