#include "operator_masks.hpp"

namespace needful {

OperatorMasks::OperatorMasks(const Problem& problem, Id op)
    : preconditions(words_for(problem.atom_count())), adds(preconditions.size()), deletes(preconditions.size()) {
    const std::size_t index = to_index(op);
    for (Id atom : problem.preconditions[index]) insert(preconditions.data(), atom);
    for (Id atom : problem.deletes[index]) insert(deletes.data(), atom);
    for (Id pattern : problem.delete_patterns[index])
        for (Id atom : problem.pattern_atoms[to_index(pattern)]) insert(deletes.data(), atom);
    for (Id atom : problem.adds[index]) {
        if (!has(preconditions.data(), atom)) insert(adds.data(), atom);
        erase(deletes.data(), atom);
    }
    if (!problem.negative_preconditions[index].empty()) negative_preconditions.resize(preconditions.size());
    for (Id atom : problem.negative_preconditions[index]) {
        insert(negative_preconditions.data(), atom);
        erase(deletes.data(), atom);
    }
}

bool OperatorMasks::applicable(const Bits& state) const {
    for (std::size_t w = 0; w < state.size(); ++w)
        if (preconditions[w] & ~state[w]) return false;
    for (std::size_t w = 0; w < negative_preconditions.size(); ++w)
        if (negative_preconditions[w] & state[w]) return false;
    return true;
}

void OperatorMasks::apply(Bits& state) const {
    for (std::size_t w = 0; w < state.size(); ++w) state[w] = (state[w] & ~deletes[w]) | adds[w];
}

Bits initial_state(const Problem& problem) {
    Bits state(words_for(problem.atom_count()));
    for (Id atom : problem.initial) insert(state.data(), atom);
    return state;
}

}  // namespace needful
