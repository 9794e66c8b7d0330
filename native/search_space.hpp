// The states, the successor generator and the search tree of all searches; see planning/engines/search_space.py.
#pragma once

#include <optional>
#include <vector>

#include "bitset.hpp"
#include "problem.hpp"
#include "symmetry.hpp"

namespace needful {

// States contain only relevant atoms: those in the goal, in a precondition or in a negative precondition.
class SearchSpace {
public:
    // Throws `DeadlineExpired`.
    SearchSpace(ProblemPointer problem, bool symmetries, DeadlinePoller& deadline);

    const Problem& problem() const { return *problem_; }
    const Bits& initial() const { return initial_; }
    std::size_t words() const { return relevant_atoms_.size(); }
    std::size_t max_states() const;

    bool is_goal(const Word* state) const { return has_all(state, problem_->goal); }
    // Writes the applicable operators in ascending order. Throws `DeadlineExpired`.
    void applicable(const Word* state, std::vector<Id>& ops, DeadlinePoller& deadline) const;
    // With symmetries, the successor is in canonical form.
    void successor(const Word* state, Id op, Bits& child) const;
    // Converts a path through canonical states into a plan of the problem.
    std::vector<Id> reconstruct_plan(const std::vector<Id>& steps) const;

private:
    void apply(const Word* state, Id op, Bits& child) const;

    ProblemPointer problem_;
    Bits relevant_atoms_;
    Bits initial_;
    std::optional<Symmetry> symmetry_;
    std::vector<Id> operators_without_preconditions_;
    // For each atom, the operators whose rarest precondition it is: the precondition that the fewest operators have.
    CsrLists operators_by_rarest_precondition_;
};

// Stores each distinct state once and gives it an id.
class StateRegistry {
public:
    explicit StateRegistry(std::size_t words) : words_(words), slots_(64, absent) {}

    std::size_t size() const { return hashes_.size(); }
    const Word* operator[](Id state) const { return data_.data() + to_index(state) * words_; }
    Id find_or_add(const Bits& state);

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

    Id add(Id parent, Id op);
    Id step_cost(Id op) const { return costs_ ? costs_[to_index(op)] : 1; }
    // Computes the state of a node on the first call. The state of its parent must be computed before.
    Id state(Id node);
    Id cost(Id node) const { return nodes_[to_index(node)].cost; }
    const Word* bits(Id state) const { return states_[state]; }
    std::size_t state_count() const { return states_.size(); }
    std::vector<Id> plan(Id node) const;

private:
    static constexpr Id not_computed = -1;
    struct Node {
        Id parent;
        Id op;
        Id cost;
        Id state;
    };

    const SearchSpace& space_;
    // The costs of all operators, or null if they are 1.
    const Id* costs_;
    StateRegistry states_;
    std::vector<Node> nodes_;
    Bits scratch_;
};

}  // namespace needful
