#include "grounding.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "atom_index.hpp"

namespace needful {

namespace {

constexpr Id unbound = -1;

// Groundings as they are found, with the numbers of the atoms that were matched and added.
struct Groundings {
    std::vector<Id> lifted;
    CsrLists objects;
    CsrLists preconditions;
    CsrLists adds;
};

// Atoms are taken up one after the other. Each is matched with every precondition that it can be the
// youngest atom of: those before that precondition must be older, those after it may be as young.
// So every grounding is found exactly once.
class Reacher {
public:
    Reacher(const Question& question, DeadlinePoller& deadline, std::int64_t most, AtomIndex& atoms)
        : question_(question),
          deadline_(deadline),
          most_(static_cast<std::size_t>(most)),
          atoms_(atoms),
          triggers_(question.predicate_arities.size()) {}

    // Returns false if there are too many groundings. Throws `DeadlineExpired`.
    bool run() {
        for (std::size_t index = 0; index < question_.operators.size(); ++index) {
            const LiftedOperator& lifted = question_.operators[index];
            if (!question_.allow_noops && lifted.adds.empty() && lifted.deletes.empty()) continue;
            for (std::size_t p = 0; p < lifted.preconditions.size(); ++p)
                triggers_[to_index(lifted.preconditions[p].predicate)].push_back({index, p});
            if (lifted.preconditions.empty()) {
                start(index);
                bind_rest(0);
            }
        }
        for (youngest_ = 0; to_index(youngest_) < atoms_.size() && !stopped_; ++youngest_)
            for (const auto& [index, precondition] :
                 triggers_[to_index(atoms_.predicate(youngest_))])
                match_first(index, precondition);
        return !stopped_;
    }

    Groundings found;

private:
    void start(std::size_t index) {
        index_ = index;
        lifted_ = &question_.operators[index];
        binding_.assign(lifted_->parameter_types.size(), unbound);
        matched_.assign(lifted_->preconditions.size(), unbound);
    }

    void match_first(std::size_t index, std::size_t pivot) {
        start(index);
        pivot_ = pivot;
        match(pivot, youngest_, lifted_->preconditions.size() - 1);
    }

    // Takes an atom for a precondition and goes on with the `waiting` others.
    void match(std::size_t precondition, Id atom, std::size_t waiting) {
        deadline_.poll(16);
        if (stopped_) return;
        const std::vector<Id>& places = lifted_->preconditions[precondition].places;
        const Span objects = atoms_.objects(atom);
        const std::size_t bound_before = bound_.size();
        bool fits = true;
        for (std::size_t position = 0; position < places.size() && fits; ++position) {
            const std::size_t place = to_index(places[position]);
            if (binding_[place] == objects[position]) continue;
            fits = binding_[place] == unbound && may_bind(place, objects[position]);
            if (fits) {
                binding_[place] = objects[position];
                bound_.push_back(place);
            }
        }
        if (fits) {
            matched_[precondition] = atom;
            extend(waiting);
            matched_[precondition] = unbound;
        }
        for (; bound_.size() > bound_before; bound_.pop_back()) binding_[bound_.back()] = unbound;
    }

    void extend(std::size_t waiting) {
        if (waiting == 0) return bind_rest(0);
        std::size_t chosen = 0;
        const std::vector<Id>* fewest = nullptr;
        for (std::size_t p = 0; p < matched_.size(); ++p) {
            if (matched_[p] != unbound) continue;
            const std::vector<Id>& found = candidates(lifted_->preconditions[p]);
            if (!fewest || found.size() < fewest->size()) {
                chosen = p;
                fewest = &found;
            }
        }
        // The list may grow while it is being read, by atoms that are younger than all that count.
        for (std::size_t i = 0; i < fewest->size() && !stopped_; ++i) {
            const Id atom = (*fewest)[i];
            if (chosen < pivot_ ? atom >= youngest_ : atom > youngest_) break;
            match(chosen, atom, waiting - 1);
        }
    }

    // The shortest list that contains all atoms which a precondition can become.
    const std::vector<Id>& candidates(const PlacedAtom& precondition) const {
        const std::vector<Id>* best = &atoms_.of(precondition.predicate);
        for (std::size_t position = 0; position < precondition.places.size(); ++position) {
            const Id object = binding_[to_index(precondition.places[position])];
            if (object == unbound) continue;
            const std::vector<Id>& found = atoms_.with(precondition.predicate, position, object);
            if (found.size() < best->size()) best = &found;
        }
        return *best;
    }

    // Binds the variables that no precondition mentions, in every way.
    void bind_rest(std::size_t place) {
        deadline_.poll(16);
        if (stopped_) return;
        while (place < binding_.size() && binding_[place] != unbound) ++place;
        if (place == binding_.size()) return emit();
        const std::size_t type = to_index(lifted_->parameter_types[place]);
        for (Id object : question_.type_members[type]) {
            if (std::find(binding_.begin(), binding_.end(), object) != binding_.end()) continue;
            binding_[place] = object;
            bind_rest(place + 1);
            binding_[place] = unbound;
            if (stopped_) return;
        }
    }

    bool may_bind(std::size_t place, Id object) const {
        const auto& members = question_.type_members[to_index(lifted_->parameter_types[place])];
        return std::find(binding_.begin(), binding_.end(), object) == binding_.end() &&
               std::binary_search(members.begin(), members.end(), object);
    }

    void emit() {
        if (found.lifted.size() == most_) {
            stopped_ = true;
            return;
        }
        found.lifted.push_back(static_cast<Id>(index_));
        found.objects.add_list(binding_);
        found.preconditions.add_list(matched_);
        for (const PlacedAtom& add : lifted_->adds) {
            arguments_.clear();
            for (Id place : add.places) arguments_.push_back(binding_[to_index(place)]);
            found.adds.add_item(atoms_.number(add.predicate, arguments_));
        }
        found.adds.end_list();
    }

    const Question& question_;
    DeadlinePoller& deadline_;
    const std::size_t most_;
    AtomIndex& atoms_;
    // For each predicate the preconditions of it: (operator, place among its preconditions).
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> triggers_;
    std::size_t index_ = 0;
    const LiftedOperator* lifted_ = nullptr;
    std::size_t pivot_ = 0;
    Id youngest_ = 0;
    std::vector<Id> binding_;
    // The places that preconditions have bound, in the order of binding.
    std::vector<std::size_t> bound_;
    std::vector<Id> matched_;
    std::vector<Id> arguments_;
    bool stopped_ = false;
};

// Keeps one list of atoms for each ground delete pattern.
class Patterns {
public:
    Patterns(const Question& question, const AtomIndex& atoms, const std::vector<Id>& rank, CsrLists& matches)
        : question_(question), atoms_(atoms), rank_(rank), matches_(matches) {}

    Id number(const PlacedPattern& pattern, Span binding) {
        key_.assign(1, pattern.predicate);
        for (Id argument : pattern.arguments)
            key_.push_back(argument < 0 ? argument : binding[to_index(argument)]);
        const auto [place, is_new] = numbers_.try_emplace(key_, static_cast<Id>(numbers_.size()));
        if (is_new) matches_.add_list(matching());
        return place->second;
    }

private:
    std::vector<Id> matching() const {
        const Id predicate = key_[0];
        const std::vector<Id>* candidates = &atoms_.of(predicate);
        for (std::size_t position = 0; position + 1 < key_.size(); ++position)
            if (key_[position + 1] >= 0) {
                const std::vector<Id>& found = atoms_.with(predicate, position, key_[position + 1]);
                if (found.size() < candidates->size()) candidates = &found;
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
                const auto& members = question_.type_members[to_index(-1 - argument)];
                if (!std::binary_search(members.begin(), members.end(), objects[position])) return false;
            }
        }
        return true;
    }

    const Question& question_;
    const AtomIndex& atoms_;
    const std::vector<Id>& rank_;
    CsrLists& matches_;
    std::vector<Id> key_;
    std::map<std::vector<Id>, Id> numbers_;
};

// The numbers below `count`, sorted first by a key and then by objects. Throws `DeadlineExpired`.
template <class Key, class Objects>
std::vector<Id> sorted(std::size_t count, DeadlinePoller& deadline, Key key, Objects objects) {
    std::vector<Id> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Id a, Id b) {
        deadline.poll(8);
        if (key(a) != key(b)) return key(a) < key(b);
        const Span one = objects(a), other = objects(b);
        return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
    });
    return order;
}

// The number of each atom when they are sorted by predicate and objects. Throws `DeadlineExpired`.
std::vector<Id> sorted_atoms(const AtomIndex& atoms, DeadlinePoller& deadline, Problem& problem) {
    const std::vector<Id> order =
        sorted(atoms.size(), deadline, [&](Id atom) { return atoms.predicate(atom); },
               [&](Id atom) { return atoms.objects(atom); });
    std::vector<Id> rank(atoms.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
        rank[to_index(order[place])] = static_cast<Id>(place);
        problem.atom_predicates.push_back(atoms.predicate(order[place]));
        problem.atom_objects.add_list(atoms.objects(order[place]));
    }
    return rank;
}

void sort_unique(std::vector<Id>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

// The numbers of atoms that are given one after the other, each as its predicate and then its objects.
std::vector<Id> numbers_of(const std::vector<Id>& given, const std::vector<Id>& arities, AtomIndex& atoms) {
    std::vector<Id> numbers, objects;
    for (auto next = given.begin(); next != given.end();) {
        const Id predicate = *next++;
        const auto end = next + arities[to_index(predicate)];
        objects.assign(next, end);
        numbers.push_back(atoms.number(predicate, objects));
        next = end;
    }
    return numbers;
}

// Writes the groundings into the problem, atoms under their sorted numbers. Throws `DeadlineExpired`.
void encode(const Question& question, DeadlinePoller& deadline, const Groundings& found,
            const AtomIndex& atoms, const std::vector<Id>& rank, Problem& problem) {
    Patterns patterns(question, atoms, rank, problem.pattern_atoms);
    std::vector<Id> scratch, arguments;
    const auto add_ranked = [&](CsrLists& lists, Span items) {
        scratch.clear();
        for (Id atom : items) scratch.push_back(rank[to_index(atom)]);
        sort_unique(scratch);
        lists.add_list(scratch);
    };
    const std::vector<Id> order =
        sorted(found.lifted.size(), deadline, [&](Id one) { return found.lifted[to_index(one)]; },
               [&](Id one) { return found.objects[to_index(one)]; });
    for (Id one : order) {
        const std::size_t index = to_index(one);
        deadline.poll(256);
        const Span binding = found.objects[index];
        const LiftedOperator& lifted = question.operators[to_index(found.lifted[index])];
        problem.lifted.push_back(found.lifted[index]);
        problem.objects.add_list(binding);
        add_ranked(problem.preconditions, found.preconditions[index]);
        add_ranked(problem.adds, found.adds[index]);
        scratch.clear();
        for (const PlacedAtom& atom : lifted.deletes) {
            arguments.clear();
            for (Id place : atom.places) arguments.push_back(binding[to_index(place)]);
            // An atom without a number never holds, so there is no need to delete it.
            const Id number = atoms.find(atom.predicate, arguments);
            if (number != AtomIndex::absent) scratch.push_back(rank[to_index(number)]);
        }
        sort_unique(scratch);
        problem.deletes.add_list(scratch);
        for (const PlacedPattern& pattern : lifted.patterns)
            problem.patterns.add_item(patterns.number(pattern, binding));
        problem.patterns.end_list();
    }
}

}  // namespace

ProblemPointer ground(const Question& question, DeadlinePoller& deadline, std::int64_t most) {
    AtomIndex atoms(question.predicate_arities, question.object_types.size());
    std::vector<Id> initial = numbers_of(question.initial, question.predicate_arities, atoms);
    try {
        Reacher reacher(question, deadline, most, atoms);
        if (!reacher.run()) return nullptr;
        deadline.check();
        const Id reached = static_cast<Id>(atoms.size());
        std::vector<Id> goal = numbers_of(question.goal, question.predicate_arities, atoms);

        auto problem = std::make_shared<Problem>();
        problem->object_types = question.object_types;
        problem->goal_reachable = std::all_of(goal.begin(), goal.end(), [&](Id atom) { return atom < reached; });
        const std::vector<Id> rank = sorted_atoms(atoms, deadline, *problem);
        for (Id atom : initial) problem->initial.push_back(rank[to_index(atom)]);
        for (Id atom : goal) problem->goal.push_back(rank[to_index(atom)]);
        sort_unique(problem->initial);
        sort_unique(problem->goal);
        encode(question, deadline, reacher.found, atoms, rank, *problem);
        return problem;
    } catch (const DeadlineExpired&) {
        return nullptr;
    }
}

}  // namespace needful
