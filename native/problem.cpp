#include "problem.hpp"

#include <algorithm>

namespace needful {

namespace {

// Returns the first index i with (keys[i], rows[i]) not less than (key, row). These pairs are sorted.
std::size_t lower_bound(Id key, const std::vector<Id>& row, const std::vector<Id>& keys, const CsrLists& rows) {
    std::size_t low = 0, high = keys.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const Span candidate = rows[middle];
        const bool less = keys[middle] != key ? keys[middle] < key
                                              : std::lexicographical_compare(candidate.begin(), candidate.end(),
                                                                             row.begin(), row.end());
        if (less)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Id find(Id key, const std::vector<Id>& row, const std::vector<Id>& keys, const CsrLists& rows) {
    const std::size_t index = lower_bound(key, row, keys, rows);
    const bool found = index < keys.size() && keys[index] == key &&
                       std::equal(row.begin(), row.end(), rows[index].begin(), rows[index].end());
    return found ? static_cast<Id>(index) : Problem::absent;
}

}  // namespace

Id Problem::find_atom(Id predicate, const std::vector<Id>& arguments) const {
    return find(predicate, arguments, atom_predicates, atom_objects);
}

Id Problem::find_operator(Id lifted_operator, const std::vector<Id>& arguments) const {
    return find(lifted_operator, arguments, lifted_operators, operator_objects);
}

ProblemPointer with_failures(ProblemPointer problem, const std::vector<Failure>& failures, DeadlinePoller& deadline) {
    if (failures.empty()) return problem;
    auto changed = std::make_shared<Problem>();
    changed->object_types = problem->object_types;
    changed->atom_predicates = problem->atom_predicates;
    changed->initial = problem->initial;
    changed->goal = problem->goal;
    changed->goal_reachable = problem->goal_reachable;
    changed->lifted_operators = problem->lifted_operators;
    for (CsrLists Problem::* lists :
         {&Problem::atom_objects, &Problem::operator_objects, &Problem::negative_preconditions, &Problem::deletes,
          &Problem::delete_patterns, &Problem::pattern_atoms}) {
        (*changed).*lists = (*problem).*lists;
        deadline.poll(((*problem).*lists).item_count());
    }
    changed->failures = failures;
    changed->failure_atom_count = failures.size();
    changed->preconditions.reserve(problem->operator_count(), problem->preconditions.item_count() + failures.size());
    const Id first_failure_atom = static_cast<Id>(problem->atom_count());
    for (std::size_t op = 0; op < problem->operator_count(); ++op) {
        const Span preconditions = problem->preconditions[op], adds = problem->adds[op];
        const Span objects = problem->operator_objects[op];
        deadline.poll(preconditions.size() + adds.size() + failures.size());
        for (Id atom : preconditions) changed->preconditions.add_item(atom);
        for (Id atom : adds) changed->adds.add_item(atom);
        // Failure atoms have the highest ids, so the lists stay in ascending order.
        Id failure_atom = first_failure_atom;
        for (const auto& [failed_op, object] : failures) {
            if (static_cast<Id>(op) == failed_op)
                changed->preconditions.add_item(failure_atom);
            else if (std::find(objects.begin(), objects.end(), object) != objects.end())
                changed->adds.add_item(failure_atom);
            ++failure_atom;
        }
        changed->preconditions.end_list();
        changed->adds.end_list();
    }
    return changed;
}

}  // namespace needful
