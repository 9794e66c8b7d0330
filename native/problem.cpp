#include "problem.hpp"

#include <algorithm>

namespace needful {

Id Problem::find_operator(Id lifted_operator, const std::vector<Id>& bound) const {
    std::size_t low = 0, high = operator_count();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const Span there = objects[middle];
        const bool before =
            lifted[middle] != lifted_operator
                ? lifted[middle] < lifted_operator
                : std::lexicographical_compare(there.begin(), there.end(), bound.begin(), bound.end());
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return static_cast<Id>(low);
}

ProblemPointer with_failure(const Problem& problem, Id step, Id object) {
    auto changed = std::make_shared<Problem>(problem);
    const Id fresh = static_cast<Id>(problem.atom_count());
    changed->failure_atoms += 1;
    changed->failures.emplace_back(step, object);
    changed->preconditions = Lists();
    changed->adds = Lists();
    for (std::size_t index = 0; index < problem.operator_count(); ++index) {
        const Span bound = problem.objects[index];
        const bool failed = static_cast<Id>(index) == step;
        const bool deals_with_it = std::find(bound.begin(), bound.end(), object) != bound.end();
        // The fresh atom has the highest number, so the lists still ascend.
        for (Id atom : problem.preconditions[index]) changed->preconditions.push(atom);
        if (failed) changed->preconditions.push(fresh);
        changed->preconditions.close();
        for (Id atom : problem.adds[index]) changed->adds.push(atom);
        if (!failed && deals_with_it) changed->adds.push(fresh);
        changed->adds.close();
    }
    return changed;
}

}  // namespace needful
