#include "problem.hpp"

#include <algorithm>
#include <map>

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

// Finds the operators that deal with an object; see `deals_with` in planning/engines/python_planner.py.
class Remedies {
public:
    Remedies(const Problem& problem, Id object, DeadlinePoller& deadline)
        : problem_(problem), is_of_object_(words_for(problem.atom_count())) {
        for (std::size_t atom = 0; atom < problem.atom_predicates.size(); ++atom)
            if (contains(problem.atom_objects[atom], object)) insert(is_of_object_.data(), static_cast<Id>(atom));
        for (std::size_t pattern = 0; pattern < problem.pattern_atoms.size(); ++pattern) {
            deadline.poll(1 + problem.pattern_atoms[pattern].size());
            for (Id atom : problem.pattern_atoms[pattern])
                if (has(is_of_object_.data(), atom)) pattern_atoms_of_object_.add_item(atom);
            pattern_atoms_of_object_.end_list();
        }
        std::vector<char> mentions;
        bool any = false;
        for (std::size_t op = 0; op < problem.operator_count(); ++op) {
            deadline.poll(1 + problem.adds[op].size() + problem.deletes[op].size());
            const bool mentions_object = contains(problem.operator_objects[op], object);
            mentions.push_back(mentions_object);
            deals_.push_back(changes_object(op) || (mentions_object && !changes_any(op)));
            any = any || deals_.back();
        }
        if (!any) deals_ = std::move(mentions);
    }

    bool operator[](std::size_t op) const { return deals_[op] != 0; }

private:
    static bool contains(Span items, Id item) { return std::find(items.begin(), items.end(), item) != items.end(); }

    // Adding an atom that is a precondition changes nothing. Deleting an atom that is also added, or that is a negative
    // precondition, changes nothing either.
    bool is_new(std::size_t op, Id added) const { return !contains(problem_.preconditions[op], added); }
    bool is_removed(std::size_t op, Id deleted) const {
        return !contains(problem_.adds[op], deleted) && !contains(problem_.negative_preconditions[op], deleted);
    }

    bool changes_object(std::size_t op) const {
        for (Id atom : problem_.adds[op])
            if (has(is_of_object_.data(), atom) && is_new(op, atom)) return true;
        for (Id atom : problem_.deletes[op])
            if (has(is_of_object_.data(), atom) && is_removed(op, atom)) return true;
        for (Id pattern : problem_.delete_patterns[op])
            for (Id atom : pattern_atoms_of_object_[to_index(pattern)])
                if (is_removed(op, atom)) return true;
        return false;
    }

    bool changes_any(std::size_t op) const {
        for (Id atom : problem_.adds[op])
            if (is_new(op, atom)) return true;
        for (Id atom : problem_.deletes[op])
            if (is_removed(op, atom)) return true;
        for (Id pattern : problem_.delete_patterns[op])
            for (Id atom : problem_.pattern_atoms[to_index(pattern)])
                if (is_removed(op, atom)) return true;
        return false;
    }

    const Problem& problem_;
    Bits is_of_object_;
    // For each delete pattern the atoms that contain the object.
    CsrLists pattern_atoms_of_object_;
    std::vector<char> deals_;
};

// See `establishes` in planning/engines/python_planner.py.
std::vector<char> establishes(const Problem& problem, Id failed_op, DeadlinePoller& deadline) {
    Bits distrusted(words_for(problem.atom_count()));
    for (Id atom : problem.preconditions[to_index(failed_op)])
        if (std::binary_search(problem.initial.begin(), problem.initial.end(), atom)) insert(distrusted.data(), atom);
    std::vector<char> found;
    bool others = false;
    for (std::size_t op = 0; op < problem.operator_count(); ++op) {
        deadline.poll(1 + problem.adds[op].size());
        const Span adds = problem.adds[op], needs = problem.preconditions[op];
        found.push_back(std::any_of(adds.begin(), adds.end(), [&](Id atom) {
            return has(distrusted.data(), atom) && !std::binary_search(needs.begin(), needs.end(), atom);
        }));
        others = others || (found.back() && static_cast<Id>(op) != failed_op);
    }
    if (!others) found.assign(problem.operator_count(), 1);
    return found;
}

void apply_failures(Problem& problem, const std::vector<Failure>& failures, DeadlinePoller& deadline) {
    if (failures.empty()) return;
    // For each object, the operators that deal with it; for each failed operator, those that establish a precondition.
    std::map<Id, Remedies> remedies;
    std::map<Id, std::vector<char>> establishing;
    for (const auto& [op, object] : failures) {
        if (object == Problem::absent)
            establishing.emplace(op, establishes(problem, op, deadline));
        else if (!remedies.count(object))
            remedies.emplace(object, Remedies(problem, object, deadline));
    }
    CsrLists preconditions, adds;
    preconditions.reserve(problem.operator_count(), problem.preconditions.item_count() + failures.size());
    const Id first_failure_atom = static_cast<Id>(problem.atom_count());
    for (std::size_t op = 0; op < problem.operator_count(); ++op) {
        deadline.poll(problem.preconditions[op].size() + problem.adds[op].size() + failures.size());
        for (Id atom : problem.preconditions[op]) preconditions.add_item(atom);
        for (Id atom : problem.adds[op]) adds.add_item(atom);
        // Failure atoms have the highest ids, so the lists stay in ascending order.
        Id failure_atom = first_failure_atom;
        for (const auto& [failed_op, object] : failures) {
            if (static_cast<Id>(op) == failed_op)
                preconditions.add_item(failure_atom);
            else if (object == Problem::absent ? establishing.at(failed_op)[op] != 0 : remedies.at(object)[op])
                adds.add_item(failure_atom);
            ++failure_atom;
        }
        preconditions.end_list();
        adds.end_list();
    }
    problem.preconditions = std::move(preconditions);
    problem.adds = std::move(adds);
    problem.failures = failures;
    problem.failure_atom_count = failures.size();
}

void apply_costs(Problem& problem, const Discoveries& discoveries) {
    if (discoveries.lifted_costs.empty()) return;
    for (Id lifted : problem.lifted_operators) problem.costs.push_back(discoveries.lifted_costs[to_index(lifted)]);
    for (const auto& [op, surcharge] : discoveries.surcharges) {
        problem.costs[to_index(op)] += surcharge;
        problem.surcharged_operators.push_back(op);
    }
}

}  // namespace

Id Problem::find_atom(Id predicate, const std::vector<Id>& arguments) const {
    return find(predicate, arguments, atom_predicates, atom_objects);
}

Id Problem::find_operator(Id lifted_operator, const std::vector<Id>& arguments) const {
    return find(lifted_operator, arguments, lifted_operators, operator_objects);
}

ProblemPointer with_discoveries(ProblemPointer problem, const Discoveries& discoveries, DeadlinePoller& deadline) {
    if (discoveries.failures.empty() && discoveries.lifted_costs.empty()) return problem;
    const auto changed = std::make_shared<Problem>();
    changed->object_types = problem->object_types;
    changed->atom_predicates = problem->atom_predicates;
    changed->initial = problem->initial;
    changed->goal = problem->goal;
    changed->goal_reachable = problem->goal_reachable;
    changed->lifted_operators = problem->lifted_operators;
    for (CsrLists Problem::* lists :
         {&Problem::atom_objects, &Problem::operator_objects, &Problem::preconditions,
          &Problem::negative_preconditions, &Problem::adds, &Problem::deletes, &Problem::delete_patterns,
          &Problem::pattern_atoms}) {
        (*changed).*lists = (*problem).*lists;
        deadline.poll(((*problem).*lists).item_count());
    }
    apply_failures(*changed, discoveries.failures, deadline);
    apply_costs(*changed, discoveries);
    return changed;
}

}  // namespace needful
