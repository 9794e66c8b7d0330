#include "changes.hpp"

namespace needful {

Change::Change(const Problem& problem, Id step)
    : needs(words_for(problem.atom_count())), adds(needs.size()), deletes(needs.size()) {
    const std::size_t index = to_index(step);
    for (Id atom : problem.preconditions[index]) insert(needs.data(), atom);
    for (Id atom : problem.deletes[index]) insert(deletes.data(), atom);
    for (Id pattern : problem.patterns[index])
        for (Id atom : problem.pattern_atoms[to_index(pattern)]) insert(deletes.data(), atom);
    for (Id atom : problem.adds[index]) {
        if (!has(needs.data(), atom)) insert(adds.data(), atom);
        erase(deletes.data(), atom);
    }
}

bool Change::applicable(const Bits& state) const {
    for (std::size_t w = 0; w < state.size(); ++w)
        if (needs[w] & ~state[w]) return false;
    return true;
}

void Change::apply(Bits& state) const {
    for (std::size_t w = 0; w < state.size(); ++w) state[w] = (state[w] & ~deletes[w]) | adds[w];
}

Bits initial_state(const Problem& problem) {
    Bits state(words_for(problem.atom_count()));
    for (Id atom : problem.initial) insert(state.data(), atom);
    return state;
}

}  // namespace needful
