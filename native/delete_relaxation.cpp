#include "delete_relaxation.hpp"

#include <algorithm>

namespace needful {

Complements::Complements(const Problem& problem, DeadlinePoller& deadline) {
    Bits is_negated(words_for(problem.atom_count()));
    for (std::size_t op = 0; op < problem.operator_count(); ++op) {
        deadline.poll(1 + problem.negative_preconditions[op].size());
        for (Id atom : problem.negative_preconditions[op]) insert(is_negated.data(), atom);
    }
    for_each_bit(is_negated.data(), is_negated.size(), [&](Id atom) { originals_.push_back(atom); });
    complements_.assign(problem.atom_count(), absent);
    Id next = static_cast<Id>(problem.atom_count());
    for (Id atom : originals_) complements_[to_index(atom)] = next++;
}

DeleteRelaxation::DeleteRelaxation(const Problem& problem, DeadlinePoller& deadline)
    : complements(problem, deadline), atom_count(problem.atom_count() + complements.size()) {
    // For each delete pattern the complements of the atoms that it deletes.
    CsrLists pattern_complements;
    for (std::size_t pattern = 0; pattern < problem.pattern_atoms.size(); ++pattern) {
        if (!complements.empty())
            for_each(problem.pattern_atoms[pattern], deadline, [&](Id atom) {
                if (complements.of(atom) != Complements::absent) pattern_complements.add_item(complements.of(atom));
            });
        pattern_complements.end_list();
    }
    preconditions.reserve(problem.operator_count(),
                          problem.preconditions.item_count() + problem.negative_preconditions.item_count());
    effects.reserve(problem.operator_count(), problem.adds.item_count());
    std::vector<Id> achieved, excluded;
    for (std::size_t op = 0; op < problem.operator_count(); ++op) {
        const Span adds = problem.adds[op], needed = problem.preconditions[op];
        deadline.poll(1 + adds.size() + needed.size());
        for (Id atom : needed) preconditions.add_item(atom);
        for (Id atom : problem.negative_preconditions[op]) preconditions.add_item(complements.of(atom));
        preconditions.end_list();
        achieved.clear();
        std::set_difference(adds.begin(), adds.end(), needed.begin(), needed.end(), std::back_inserter(achieved));
        for (Id atom : achieved) effects.add_item(atom);
        if (!complements.empty()) {
            // An operator adds the complements of the atoms that it deletes, unless it adds or forbids these atoms.
            achieved.clear();
            for (Id atom : problem.deletes[op])
                if (complements.of(atom) != Complements::absent) achieved.push_back(complements.of(atom));
            for (Id pattern : problem.delete_patterns[op])
                for_each(pattern_complements[to_index(pattern)], deadline,
                         [&](Id complement) { achieved.push_back(complement); });
            std::sort(achieved.begin(), achieved.end());
            achieved.erase(std::unique(achieved.begin(), achieved.end()), achieved.end());
            excluded.clear();
            for (Span atoms : {adds, problem.negative_preconditions[op]})
                for (Id atom : atoms) excluded.push_back(complements.of(atom));
            std::sort(excluded.begin(), excluded.end());
            for (Id complement : achieved)
                if (!std::binary_search(excluded.begin(), excluded.end(), complement)) effects.add_item(complement);
        }
        effects.end_list();
    }
}

}  // namespace needful
