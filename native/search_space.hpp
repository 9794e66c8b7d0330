// States and paths as every search sees them; see search_space.py.
#pragma once

#include <optional>
#include <vector>

#include "bitset.hpp"
#include "problem.hpp"
#include "symmetry.hpp"

namespace needful {

class SearchSpace {
public:
    // Throws `DeadlineExpired`.
    SearchSpace(ProblemPointer problem, bool symmetries, DeadlinePoller& deadline);

    const Problem& problem() const { return *problem_; }
    const Bits& initial() const { return initial_; }
    std::size_t words() const { return asked_for_.size(); }
    std::size_t max_states() const;

    bool is_goal(const Word* state) const { return has_all(state, problem_->goal); }
    // The ground operators whose preconditions hold, in ascending order. Throws `DeadlineExpired`.
    void applicable(const Word* state, std::vector<Id>& steps, DeadlinePoller& deadline) const;
    void successor(const Word* state, Id step, Bits& child) const;
    std::vector<Id> true_steps(const std::vector<Id>& steps) const;

private:
    void after(const Word* state, Id step, Bits& child) const;

    ProblemPointer problem_;
    Bits asked_for_;
    Bits initial_;
    std::optional<Symmetry> symmetry_;
    // Each operator is listed under the precondition that the fewest others have.
    std::vector<Id> always_applicable_;
    CsrLists listed_under_;
};

// States that have been met, each stored once and numbered.
class States {
public:
    explicit States(std::size_t words) : words_(words), slots_(64, absent) {}

    std::size_t size() const { return hashes_.size(); }
    const Word* operator[](Id state) const { return data_.data() + to_index(state) * words_; }
    Id number(const Bits& state);

private:
    static constexpr Id absent = -1;
    void grow();

    std::size_t words_;
    std::vector<Word> data_;
    std::vector<std::uint64_t> hashes_;
    std::vector<Id> slots_;
};

class SearchTree {
public:
    explicit SearchTree(const SearchSpace& space);

    Id add(Id parent, Id step);
    // The number of the state in which a node's path ends; its parent's must have been asked for before.
    Id state(Id node);
    Id cost(Id node) const { return nodes_[to_index(node)].cost; }
    const Word* bits(Id state) const { return states_[state]; }
    std::size_t state_count() const { return states_.size(); }
    std::vector<Id> plan(Id node) const;

private:
    static constexpr Id unknown = -1;
    struct Node {
        Id parent;
        Id step;
        Id cost;
        Id state;
    };

    const SearchSpace& space_;
    States states_;
    std::vector<Node> nodes_;
    Bits scratch_;
};

}  // namespace needful
