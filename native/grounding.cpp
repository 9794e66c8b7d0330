#include "grounding.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "atom_index.hpp"

namespace needful {

namespace {

constexpr Id unbound = -1;

// Groundings in the order of discovery. Atoms have the ids of an `AtomIndex`.
struct Groundings {
    std::vector<Id> lifted_operators;
    CsrLists objects;
    CsrLists preconditions;
    CsrLists adds;
};

// Finds all groundings that are reachable if deletes are ignored, by semi-naive evaluation: each newly reached atom
// is matched with each precondition of each operator. The matched precondition is called the pivot. Preconditions
// before the pivot match only older atoms; preconditions after the pivot can also match the new atom. So every
// grounding is found exactly once.
class RelaxedReachability {
public:
    RelaxedReachability(const AbstractTask& task, DeadlinePoller& deadline, std::int64_t max_operators,
                        AtomIndex& atoms)
        : task_(task),
          deadline_(deadline),
          max_operators_(static_cast<std::size_t>(max_operators)),
          atoms_(atoms),
          initial_count_(static_cast<Id>(atoms.size())),
          never_deleted_(task.predicate_arities.size(), 1),
          occurrences_(task.predicate_arities.size()) {
        for (const LiftedOperator& lifted : task.operators) {
            for (const LiftedAtom& atom : lifted.deletes) never_deleted_[to_index(atom.predicate)] = 0;
            for (const DeletePattern& pattern : lifted.delete_patterns) never_deleted_[to_index(pattern.predicate)] = 0;
        }
    }

    // Returns false if there are too many groundings. Throws `DeadlineExpired`.
    bool run() {
        for (std::size_t index = 0; index < task_.operators.size(); ++index) {
            const LiftedOperator& lifted = task_.operators[index];
            for (std::size_t p = 0; p < lifted.preconditions.size(); ++p)
                occurrences_[to_index(lifted.preconditions[p].predicate)].push_back({index, p});
            if (lifted.preconditions.empty()) {
                select_operator(index);
                bind_free_parameters(0);
            }
        }
        for (new_atom_ = 0; to_index(new_atom_) < atoms_.size() && !limit_exceeded_; ++new_atom_)
            for (const auto& [index, precondition] : occurrences_[to_index(atoms_.predicate(new_atom_))])
                match_pivot(index, precondition);
        return !limit_exceeded_;
    }

    const Groundings& groundings() const { return groundings_; }

private:
    void select_operator(std::size_t index) {
        operator_index_ = index;
        operator_ = &task_.operators[index];
        binding_.assign(operator_->parameter_types.size(), unbound);
        matches_.assign(operator_->preconditions.size(), unbound);
    }

    void match_pivot(std::size_t index, std::size_t pivot) {
        select_operator(index);
        pivot_ = pivot;
        match(pivot, new_atom_, operator_->preconditions.size() - 1);
    }

    // Matches a precondition with an atom, then the `unmatched` other preconditions.
    void match(std::size_t precondition, Id atom, std::size_t unmatched) {
        deadline_.poll(16);
        if (limit_exceeded_) return;
        const std::vector<Id>& parameters = operator_->preconditions[precondition].parameters;
        const Span objects = atoms_.objects(atom);
        const std::size_t trail_size = trail_.size();
        bool consistent = true;
        for (std::size_t position = 0; position < parameters.size() && consistent; ++position) {
            const std::size_t parameter = to_index(parameters[position]);
            if (binding_[parameter] == objects[position]) continue;
            consistent = binding_[parameter] == unbound && can_bind(parameter, objects[position]);
            if (consistent) {
                binding_[parameter] = objects[position];
                trail_.push_back(parameter);
            }
        }
        if (consistent) {
            matches_[precondition] = atom;
            match_next(unmatched);
            matches_[precondition] = unbound;
        }
        for (; trail_.size() > trail_size; trail_.pop_back()) binding_[trail_.back()] = unbound;
    }

    // Matches the precondition with the fewest candidates.
    void match_next(std::size_t unmatched) {
        if (unmatched == 0) return bind_free_parameters(0);
        std::size_t chosen = 0;
        const std::vector<Id>* fewest = nullptr;
        for (std::size_t p = 0; p < matches_.size(); ++p) {
            if (matches_[p] != unbound) continue;
            const std::vector<Id>& atoms = candidates(operator_->preconditions[p]);
            if (!fewest || atoms.size() < fewest->size()) {
                chosen = p;
                fewest = &atoms;
            }
        }
        // The list can grow during the loop. The appended atoms are newer than `new_atom_`, so the loop ends there.
        for (std::size_t i = 0; i < fewest->size() && !limit_exceeded_; ++i) {
            const Id atom = (*fewest)[i];
            if (chosen < pivot_ ? atom >= new_atom_ : atom > new_atom_) break;
            match(chosen, atom, unmatched - 1);
        }
    }

    // Returns the shortest list that contains all atoms which match a precondition.
    const std::vector<Id>& candidates(const LiftedAtom& precondition) const {
        const std::vector<Id>* shortest = &atoms_.with_predicate(precondition.predicate);
        for (std::size_t position = 0; position < precondition.parameters.size(); ++position) {
            const Id object = binding_[to_index(precondition.parameters[position])];
            if (object == unbound) continue;
            const std::vector<Id>& atoms = atoms_.with_argument(precondition.predicate, position, object);
            if (atoms.size() < shortest->size()) shortest = &atoms;
        }
        return *shortest;
    }

    // Enumerates all bindings of the parameters that occur in no precondition.
    void bind_free_parameters(std::size_t parameter) {
        deadline_.poll(16);
        if (limit_exceeded_) return;
        while (parameter < binding_.size() && binding_[parameter] != unbound) ++parameter;
        if (parameter == binding_.size()) return add_grounding();
        const std::size_t type = to_index(operator_->parameter_types[parameter]);
        for (Id object : task_.type_members[type]) {
            if (std::find(binding_.begin(), binding_.end(), object) != binding_.end()) continue;
            binding_[parameter] = object;
            bind_free_parameters(parameter + 1);
            binding_[parameter] = unbound;
            if (limit_exceeded_) return;
        }
    }

    // Parameters are bound to different objects.
    bool can_bind(std::size_t parameter, Id object) const {
        const auto& members = task_.type_members[to_index(operator_->parameter_types[parameter])];
        return std::find(binding_.begin(), binding_.end(), object) == binding_.end() &&
               std::binary_search(members.begin(), members.end(), object);
    }

    // Whether a negative precondition always holds: it holds at the start, and no operator deletes its predicate.
    bool never_applicable() {
        for (const LiftedAtom& atom : operator_->negative_preconditions) {
            if (!never_deleted_[to_index(atom.predicate)]) continue;
            arguments_.clear();
            for (Id parameter : atom.parameters) arguments_.push_back(binding_[to_index(parameter)]);
            const Id found = atoms_.find(atom.predicate, arguments_);
            if (found != AtomIndex::absent && found < initial_count_) return true;
        }
        return false;
    }

    void add_grounding() {
        if (never_applicable()) return;
        if (groundings_.lifted_operators.size() == max_operators_) {
            limit_exceeded_ = true;
            return;
        }
        groundings_.lifted_operators.push_back(static_cast<Id>(operator_index_));
        groundings_.objects.add_list(binding_);
        groundings_.preconditions.add_list(matches_);
        for (const LiftedAtom& add : operator_->adds) {
            arguments_.clear();
            for (Id parameter : add.parameters) arguments_.push_back(binding_[to_index(parameter)]);
            groundings_.adds.add_item(atoms_.find_or_add(add.predicate, arguments_));
        }
        groundings_.adds.end_list();
    }

    const AbstractTask& task_;
    DeadlinePoller& deadline_;
    const std::size_t max_operators_;
    AtomIndex& atoms_;
    // The number of initial atoms, which have the lowest ids.
    const Id initial_count_;
    // For each predicate whether no operator deletes its atoms.
    std::vector<char> never_deleted_;
    // For each predicate the preconditions with it: (operator, index of the precondition).
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> occurrences_;
    Groundings groundings_;
    bool limit_exceeded_ = false;

    // The current join.
    std::size_t operator_index_ = 0;
    const LiftedOperator* operator_ = nullptr;
    std::size_t pivot_ = 0;
    Id new_atom_ = 0;
    std::vector<Id> binding_;
    // The parameters that preconditions have bound, in order of binding.
    std::vector<std::size_t> trail_;
    // The atom that each precondition is matched with.
    std::vector<Id> matches_;
    std::vector<Id> arguments_;
};

// Stores each ground delete pattern once, with the atoms that it matches.
class PatternTable {
public:
    PatternTable(const AbstractTask& task, const AtomIndex& atoms, const std::vector<Id>& rank,
                 CsrLists& pattern_atoms)
        : task_(task), atoms_(atoms), rank_(rank), pattern_atoms_(pattern_atoms) {}

    Id find_or_add(const DeletePattern& pattern, Span binding) {
        key_.assign(1, pattern.predicate);
        for (Id argument : pattern.arguments) key_.push_back(argument < 0 ? argument : binding[to_index(argument)]);
        const auto [entry, is_new] = ids_.try_emplace(key_, static_cast<Id>(ids_.size()));
        if (is_new) pattern_atoms_.add_list(matching_atoms());
        return entry->second;
    }

private:
    std::vector<Id> matching_atoms() const {
        const Id predicate = key_[0];
        const std::vector<Id>* candidates = &atoms_.with_predicate(predicate);
        for (std::size_t position = 0; position + 1 < key_.size(); ++position)
            if (key_[position + 1] >= 0) {
                const std::vector<Id>& atoms = atoms_.with_argument(predicate, position, key_[position + 1]);
                if (atoms.size() < candidates->size()) candidates = &atoms;
            }
        std::vector<Id> result;
        for (Id atom : *candidates)
            if (matches(atoms_.objects(atom))) result.push_back(rank_[to_index(atom)]);
        std::sort(result.begin(), result.end());
        return result;
    }

    bool matches(Span objects) const {
        for (std::size_t position = 0; position < objects.size(); ++position) {
            const Id argument = key_[position + 1];
            if (argument >= 0 && argument != objects[position]) return false;
            if (argument < 0) {
                const auto& members = task_.type_members[to_index(-1 - argument)];
                if (!std::binary_search(members.begin(), members.end(), objects[position])) return false;
            }
        }
        return true;
    }

    const AbstractTask& task_;
    const AtomIndex& atoms_;
    const std::vector<Id>& rank_;
    CsrLists& pattern_atoms_;
    // The predicate and arguments of the current pattern.
    std::vector<Id> key_;
    std::map<std::vector<Id>, Id> ids_;
};

// Returns the ids below `count`, sorted by key and then by objects. Throws `DeadlineExpired`.
template <class Key, class Objects>
std::vector<Id> sorted_ids(std::size_t count, DeadlinePoller& deadline, Key key, Objects objects) {
    std::vector<Id> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Id a, Id b) {
        deadline.poll(8);
        if (key(a) != key(b)) return key(a) < key(b);
        const Span objects_a = objects(a), objects_b = objects(b);
        return std::lexicographical_compare(objects_a.begin(), objects_a.end(), objects_b.begin(), objects_b.end());
    });
    return order;
}

// Writes the sorted atoms into the problem. Returns the new id of each atom. Throws `DeadlineExpired`.
std::vector<Id> write_atoms(const AtomIndex& atoms, DeadlinePoller& deadline, Problem& problem) {
    const std::vector<Id> order =
        sorted_ids(atoms.size(), deadline, [&](Id atom) { return atoms.predicate(atom); },
                   [&](Id atom) { return atoms.objects(atom); });
    std::vector<Id> rank(atoms.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        rank[to_index(order[i])] = static_cast<Id>(i);
        problem.atom_predicates.push_back(atoms.predicate(order[i]));
        problem.atom_objects.add_list(atoms.objects(order[i]));
    }
    return rank;
}

void sort_unique(std::vector<Id>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

// Adds atoms from a flat list and returns their ids; see `AbstractTask`.
std::vector<Id> add_atoms(const std::vector<Id>& flat, const std::vector<Id>& arities, AtomIndex& atoms) {
    std::vector<Id> ids, objects;
    for (auto next = flat.begin(); next != flat.end();) {
        const Id predicate = *next++;
        const auto end = next + arities[to_index(predicate)];
        objects.assign(next, end);
        ids.push_back(atoms.find_or_add(predicate, objects));
        next = end;
    }
    return ids;
}

// Writes the sorted groundings into the problem. `rank` maps atoms to their new ids. Throws `DeadlineExpired`.
void write_operators(const AbstractTask& task, DeadlinePoller& deadline, const Groundings& groundings,
                     const AtomIndex& atoms, const std::vector<Id>& rank, Problem& problem) {
    PatternTable patterns(task, atoms, rank, problem.pattern_atoms);
    std::vector<Id> scratch, arguments;
    const auto add_ranked = [&](CsrLists& lists, Span items) {
        scratch.clear();
        for (Id atom : items) scratch.push_back(rank[to_index(atom)]);
        sort_unique(scratch);
        lists.add_list(scratch);
    };
    // Leaves out atoms that are not in the index: they never hold.
    const auto add_known = [&](CsrLists& lists, const std::vector<LiftedAtom>& lifted_atoms, Span binding) {
        scratch.clear();
        for (const LiftedAtom& atom : lifted_atoms) {
            arguments.clear();
            for (Id parameter : atom.parameters) arguments.push_back(binding[to_index(parameter)]);
            const Id found = atoms.find(atom.predicate, arguments);
            if (found != AtomIndex::absent) scratch.push_back(rank[to_index(found)]);
        }
        sort_unique(scratch);
        lists.add_list(scratch);
    };
    const std::vector<Id> order =
        sorted_ids(groundings.lifted_operators.size(), deadline,
                   [&](Id id) { return groundings.lifted_operators[to_index(id)]; },
                   [&](Id id) { return groundings.objects[to_index(id)]; });
    for (Id id : order) {
        const std::size_t index = to_index(id);
        deadline.poll(256);
        const Span binding = groundings.objects[index];
        const LiftedOperator& lifted = task.operators[to_index(groundings.lifted_operators[index])];
        problem.lifted_operators.push_back(groundings.lifted_operators[index]);
        problem.operator_objects.add_list(binding);
        add_ranked(problem.preconditions, groundings.preconditions[index]);
        add_ranked(problem.adds, groundings.adds[index]);
        add_known(problem.negative_preconditions, lifted.negative_preconditions, binding);
        add_known(problem.deletes, lifted.deletes, binding);
        for (const DeletePattern& pattern : lifted.delete_patterns)
            problem.delete_patterns.add_item(patterns.find_or_add(pattern, binding));
        problem.delete_patterns.end_list();
    }
}

}  // namespace

ProblemPointer ground(const AbstractTask& task, DeadlinePoller& deadline, std::int64_t max_operators) {
    AtomIndex atoms(task.predicate_arities, task.object_types.size());
    const std::vector<Id> initial = add_atoms(task.initial, task.predicate_arities, atoms);
    try {
        RelaxedReachability reachability(task, deadline, max_operators, atoms);
        if (!reachability.run()) return nullptr;
        deadline.check();
        const Id reachable_count = static_cast<Id>(atoms.size());
        const std::vector<Id> goal = add_atoms(task.goal, task.predicate_arities, atoms);

        auto problem = std::make_shared<Problem>();
        problem->object_types = task.object_types;
        problem->goal_reachable =
            std::all_of(goal.begin(), goal.end(), [&](Id atom) { return atom < reachable_count; });
        const std::vector<Id> rank = write_atoms(atoms, deadline, *problem);
        for (Id atom : initial) problem->initial.push_back(rank[to_index(atom)]);
        for (Id atom : goal) problem->goal.push_back(rank[to_index(atom)]);
        sort_unique(problem->initial);
        sort_unique(problem->goal);
        write_operators(task, deadline, reachability.groundings(), atoms, rank, *problem);
        return problem;
    } catch (const DeadlineExpired&) {
        return nullptr;
    }
}

}  // namespace needful
