#include "search_space.hpp"

#include <algorithm>
#include <cstring>

#include "splitmix.hpp"

namespace needful {

namespace {
constexpr std::size_t max_state_bytes = std::size_t{1} << 31;
}

SearchSpace::SearchSpace(ProblemPointer problem, bool symmetries, DeadlinePoller& deadline)
    : problem_(std::move(problem)),
      relevant_atoms_(words_for(problem_->atom_count())),
      initial_(words_for(problem_->atom_count())) {
    // For each atom the number of operators with it as a precondition.
    std::vector<Id> frequency(problem_->atom_count(), 0);
    for (Id atom : problem_->goal) insert(relevant_atoms_.data(), atom);
    for (std::size_t op = 0; op < problem_->operator_count(); ++op) {
        deadline.poll(problem_->preconditions[op].size() + problem_->negative_preconditions[op].size());
        for (Id atom : problem_->preconditions[op]) {
            insert(relevant_atoms_.data(), atom);
            ++frequency[to_index(atom)];
        }
        for (Id atom : problem_->negative_preconditions[op]) insert(relevant_atoms_.data(), atom);
    }
    CsrLists rarest_preconditions;
    for (std::size_t op = 0; op < problem_->operator_count(); ++op) {
        const Span atoms = problem_->preconditions[op];
        deadline.poll(1 + atoms.size());
        if (atoms.empty())
            operators_without_preconditions_.push_back(static_cast<Id>(op));
        else
            rarest_preconditions.add_item(*std::min_element(atoms.begin(), atoms.end(), [&](Id a, Id b) {
                return frequency[to_index(a)] < frequency[to_index(b)];
            }));
        rarest_preconditions.end_list();
    }
    operators_by_rarest_precondition_ = rarest_preconditions.inverted(problem_->atom_count(), deadline);
    for (Id atom : problem_->initial)
        if (has(relevant_atoms_.data(), atom)) insert(initial_.data(), atom);
    if (symmetries) symmetry_ = Symmetry::detect(*problem_, relevant_atoms_, deadline);
}

std::size_t SearchSpace::max_states() const { return max_state_bytes / (problem_->atom_count() / 64 * 8 + 8); }

void SearchSpace::applicable(const Word* state, std::vector<Id>& ops, DeadlinePoller& deadline) const {
    ops.clear();
    const auto add_applicable = [&](Span candidates) {
        deadline.poll(candidates.size());
        for (Id op : candidates)
            if (problem_->applicable(op, state)) ops.push_back(op);
    };
    add_applicable(span_of(operators_without_preconditions_));
    for_each_bit(state, words(), [&](Id atom) {
        add_applicable(operators_by_rarest_precondition_[to_index(atom)]);
    });
    std::sort(ops.begin(), ops.end());
}

void SearchSpace::apply(const Word* state, Id op, Bits& child) const {
    const std::size_t index = to_index(op);
    child.assign(state, state + words());
    for (Id atom : problem_->deletes[index]) erase(child.data(), atom);
    for (Id pattern : problem_->delete_patterns[index])
        for (Id atom : problem_->pattern_atoms[to_index(pattern)]) erase(child.data(), atom);
    for (Id atom : problem_->adds[index])
        if (has(relevant_atoms_.data(), atom)) insert(child.data(), atom);
}

void SearchSpace::successor(const Word* state, Id op, Bits& child) const {
    apply(state, op, child);
    Permutation permutation;
    if (symmetry_ && symmetry_->find_canonical(child, permutation)) symmetry_->permute_state(child, permutation);
}

std::vector<Id> SearchSpace::reconstruct_plan(const std::vector<Id>& steps) const {
    if (!symmetry_) return steps;
    std::vector<Id> plan;
    Bits state = initial_, child;
    // `inverse` maps objects in the canonical state back to objects of the problem.
    Permutation inverse = symmetry_->identity(), permutation;
    for (Id step : steps) {
        plan.push_back(symmetry_->permute_operator(step, inverse));
        apply(state.data(), step, child);
        if (symmetry_->find_canonical(child, permutation)) {
            symmetry_->permute_state(child, permutation);
            Permutation next(inverse.size());
            for (std::size_t object = 0; object < permutation.size(); ++object)
                next[to_index(permutation[object])] = inverse[object];
            inverse = std::move(next);
        }
        state.swap(child);
    }
    return plan;
}

Id StateRegistry::find_or_add(const Bits& state) {
    std::uint64_t hash = 0;
    for (Word word : state) hash = SplitMix64::mix(hash + word + 1);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    while (slots_[slot] != absent) {
        const Id candidate = slots_[slot];
        if (hashes_[to_index(candidate)] == hash &&
            std::memcmp((*this)[candidate], state.data(), words_ * sizeof(Word)) == 0)
            return candidate;
        slot = (slot + 1) & mask;
    }
    const Id id = static_cast<Id>(size());
    slots_[slot] = id;
    hashes_.push_back(hash);
    data_.insert(data_.end(), state.begin(), state.end());
    if (2 * size() > slots_.size()) grow();
    return id;
}

void StateRegistry::grow() {
    slots_.assign(2 * slots_.size(), absent);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t state = 0; state < size(); ++state) {
        std::size_t slot = hashes_[state] & mask;
        while (slots_[slot] != absent) slot = (slot + 1) & mask;
        slots_[slot] = static_cast<Id>(state);
    }
}

SearchTree::SearchTree(const SearchSpace& space)
    : space_(space),
      costs_(space.problem().costs.empty() ? nullptr : space.problem().costs.data()),
      states_(space.words()) {
    nodes_.push_back({-1, -1, 0, states_.find_or_add(space.initial())});
}

Id SearchTree::add(Id parent, Id op) {
    nodes_.push_back({parent, op, cost(parent) + step_cost(op), not_computed});
    return static_cast<Id>(nodes_.size() - 1);
}

Id SearchTree::state(Id node) {
    Node& entry = nodes_[to_index(node)];
    if (entry.state == not_computed) {
        const Id parent_state = nodes_[to_index(entry.parent)].state;
        space_.successor(states_[parent_state], entry.op, scratch_);
        entry.state = states_.find_or_add(scratch_);
    }
    return entry.state;
}

std::vector<Id> SearchTree::plan(Id node) const {
    std::vector<Id> steps;
    for (; nodes_[to_index(node)].parent >= 0; node = nodes_[to_index(node)].parent)
        steps.push_back(nodes_[to_index(node)].op);
    std::reverse(steps.begin(), steps.end());
    return space_.reconstruct_plan(steps);
}

}  // namespace needful
