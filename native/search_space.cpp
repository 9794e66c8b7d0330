#include "search_space.hpp"

#include <algorithm>
#include <cstring>

#include "splitmix.hpp"

namespace needful {

namespace {
constexpr std::size_t state_bytes = std::size_t{1} << 31;
}

SearchSpace::SearchSpace(ProblemPointer problem, bool symmetries, DeadlinePoller& deadline)
    : problem_(std::move(problem)),
      asked_for_(words_for(problem_->atom_count())),
      initial_(words_for(problem_->atom_count())) {
    std::vector<Id> users(problem_->atom_count(), 0);
    for (Id atom : problem_->goal) insert(asked_for_.data(), atom);
    for (std::size_t step = 0; step < problem_->operator_count(); ++step) {
        deadline.poll(problem_->preconditions[step].size());
        for (Id atom : problem_->preconditions[step]) {
            insert(asked_for_.data(), atom);
            ++users[to_index(atom)];
        }
    }
    CsrLists rarest;
    for (std::size_t step = 0; step < problem_->operator_count(); ++step) {
        const Span atoms = problem_->preconditions[step];
        deadline.poll(1 + atoms.size());
        if (atoms.empty())
            always_applicable_.push_back(static_cast<Id>(step));
        else
            rarest.add_item(*std::min_element(atoms.begin(), atoms.end(), [&](Id a, Id b) {
                return users[to_index(a)] < users[to_index(b)];
            }));
        rarest.end_list();
    }
    listed_under_ = rarest.inverted(problem_->atom_count(), deadline);
    for (Id atom : problem_->initial)
        if (has(asked_for_.data(), atom)) insert(initial_.data(), atom);
    if (symmetries) symmetry_ = Symmetry::of(*problem_, asked_for_, deadline);
}

std::size_t SearchSpace::max_states() const { return state_bytes / (problem_->atom_count() / 64 * 8 + 8); }

void SearchSpace::applicable(const Word* state, std::vector<Id>& steps, DeadlinePoller& deadline) const {
    steps = always_applicable_;
    for_each_bit(state, words(), [&](Id atom) {
        deadline.poll(listed_under_[to_index(atom)].size());
        for (Id step : listed_under_[to_index(atom)])
            if (has_all(state, problem_->preconditions[to_index(step)])) steps.push_back(step);
    });
    std::sort(steps.begin(), steps.end());
}

void SearchSpace::after(const Word* state, Id step, Bits& child) const {
    const std::size_t index = to_index(step);
    child.assign(state, state + words());
    for (Id atom : problem_->deletes[index]) erase(child.data(), atom);
    for (Id pattern : problem_->patterns[index])
        for (Id atom : problem_->pattern_atoms[to_index(pattern)]) erase(child.data(), atom);
    for (Id atom : problem_->adds[index])
        if (has(asked_for_.data(), atom)) insert(child.data(), atom);
}

void SearchSpace::successor(const Word* state, Id step, Bits& child) const {
    after(state, step, child);
    Renaming exchange;
    if (symmetry_ && symmetry_->exchange(child, exchange)) symmetry_->rename_state(child, exchange);
}

std::vector<Id> SearchSpace::true_steps(const std::vector<Id>& steps) const {
    if (!symmetry_) return steps;
    std::vector<Id> plan;
    Bits state = initial_, raw;
    Renaming renaming = symmetry_->identity(), exchange;
    for (Id step : steps) {
        plan.push_back(symmetry_->renamed_step(step, renaming));
        after(state.data(), step, raw);
        if (symmetry_->exchange(raw, exchange)) {
            symmetry_->rename_state(raw, exchange);
            Renaming next(renaming.size());
            for (std::size_t object = 0; object < exchange.size(); ++object)
                next[to_index(exchange[object])] = renaming[object];
            renaming = std::move(next);
        }
        state.swap(raw);
    }
    return plan;
}

Id States::number(const Bits& state) {
    std::uint64_t hash = 0;
    for (Word word : state) hash = SplitMix64::mixed(hash + word + 1);
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash & mask;
    while (slots_[place] != absent) {
        const Id there = slots_[place];
        if (hashes_[to_index(there)] == hash &&
            std::memcmp((*this)[there], state.data(), words_ * sizeof(Word)) == 0)
            return there;
        place = (place + 1) & mask;
    }
    const Id number = static_cast<Id>(size());
    slots_[place] = number;
    hashes_.push_back(hash);
    data_.insert(data_.end(), state.begin(), state.end());
    if (2 * size() > slots_.size()) grow();
    return number;
}

void States::grow() {
    slots_.assign(2 * slots_.size(), absent);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t state = 0; state < size(); ++state) {
        std::size_t place = hashes_[state] & mask;
        while (slots_[place] != absent) place = (place + 1) & mask;
        slots_[place] = static_cast<Id>(state);
    }
}

SearchTree::SearchTree(const SearchSpace& space) : space_(space), states_(space.words()) {
    nodes_.push_back({-1, -1, 0, states_.number(space.initial())});
}

Id SearchTree::add(Id parent, Id step) {
    nodes_.push_back({parent, step, cost(parent) + 1, unknown});
    return static_cast<Id>(nodes_.size() - 1);
}

Id SearchTree::state(Id node) {
    Node& one = nodes_[to_index(node)];
    if (one.state == unknown) {
        const Id before = nodes_[to_index(one.parent)].state;
        space_.successor(states_[before], one.step, scratch_);
        one.state = states_.number(scratch_);
    }
    return one.state;
}

std::vector<Id> SearchTree::plan(Id node) const {
    std::vector<Id> steps;
    for (; nodes_[to_index(node)].parent >= 0; node = nodes_[to_index(node)].parent)
        steps.push_back(nodes_[to_index(node)].step);
    std::reverse(steps.begin(), steps.end());
    return space_.true_steps(steps);
}

}  // namespace needful
