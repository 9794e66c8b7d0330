#include "problem.hpp"

#include <algorithm>

namespace needful {

namespace {

// Where a row is, or would be, among rows that are sorted by their heads and then by what is in them.
std::size_t place_of(Id head, const std::vector<Id>& row, const std::vector<Id>& heads, const CsrLists& rows) {
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

Id find(Id head, const std::vector<Id>& row, const std::vector<Id>& heads, const CsrLists& rows) {
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

ProblemPointer with_failures(ProblemPointer problem, const std::vector<std::pair<Id, Id>>& failures,
                             DeadlinePoller& deadline) {
    if (failures.empty()) return problem;
    auto changed = std::make_shared<Problem>();
    changed->object_types = problem->object_types;
    changed->atom_predicates = problem->atom_predicates;
    changed->initial = problem->initial;
    changed->goal = problem->goal;
    changed->goal_reachable = problem->goal_reachable;
    changed->lifted = problem->lifted;
    for (CsrLists Problem::* lists : {&Problem::atom_objects, &Problem::objects, &Problem::deletes, &Problem::patterns,
                                   &Problem::pattern_atoms}) {
        (*changed).*lists = (*problem).*lists;
        deadline.poll(((*problem).*lists).item_count());
    }
    changed->failures = failures;
    changed->failure_atoms = failures.size();
    changed->preconditions.reserve(problem->operator_count(), problem->preconditions.item_count() + failures.size());
    const Id first_fresh = static_cast<Id>(problem->atom_count());
    for (std::size_t index = 0; index < problem->operator_count(); ++index) {
        const Span needs = problem->preconditions[index], adds = problem->adds[index], bound = problem->objects[index];
        deadline.poll(needs.size() + adds.size() + failures.size());
        for (Id atom : needs) changed->preconditions.add_item(atom);
        for (Id atom : adds) changed->adds.add_item(atom);
        // The fresh atoms have the highest numbers, so the lists still ascend.
        Id fresh = first_fresh;
        for (const auto& [step, object] : failures) {
            if (static_cast<Id>(index) == step)
                changed->preconditions.add_item(fresh);
            else if (std::find(bound.begin(), bound.end(), object) != bound.end())
                changed->adds.add_item(fresh);
            ++fresh;
        }
        changed->preconditions.end_list();
        changed->adds.end_list();
    }
    return changed;
}

}  // namespace needful
