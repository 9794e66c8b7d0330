#include "problem.hpp"

#include <algorithm>

namespace needful {

namespace {

// Where a row is, or would be, among rows that are sorted by their heads and then by what is in them.
std::size_t place_of(Id head, const std::vector<Id>& row, const std::vector<Id>& heads, const Lists& rows) {
    std::size_t low = 0, high = heads.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const Span there = rows[middle];
        const bool before = heads[middle] != head ? heads[middle] < head
                                                  : std::lexicographical_compare(there.begin(), there.end(),
                                                                                 row.begin(), row.end());
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Id find(Id head, const std::vector<Id>& row, const std::vector<Id>& heads, const Lists& rows) {
    const std::size_t place = place_of(head, row, heads, rows);
    const bool found = place < heads.size() && heads[place] == head &&
                       std::equal(row.begin(), row.end(), rows[place].begin(), rows[place].end());
    return found ? static_cast<Id>(place) : Problem::absent;
}

}  // namespace

Id Problem::find_atom(Id predicate, const std::vector<Id>& bound) const {
    return find(predicate, bound, atom_predicates, atom_objects);
}

Id Problem::find_operator(Id lifted_operator, const std::vector<Id>& bound) const {
    return find(lifted_operator, bound, lifted, objects);
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
