#include "symmetry.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "splitmix.hpp"

namespace needful {

namespace {

constexpr Id placeholder = -1;

// The initial and goal atoms in which each object occurs.
class ObjectOccurrences {
public:
    explicit ObjectOccurrences(const Problem& problem)
        : problem_(problem),
          occurrences_(problem.object_count()),
          atoms_{Bits(words_for(problem.atom_count())), Bits(words_for(problem.atom_count()))} {
        collect(problem.initial, in_initial);
        collect(problem.goal, in_goal);
    }

    // Whether swapping the two objects maps the initial atoms and the goal onto themselves.
    bool interchangeable(Id a, Id b) const {
        const auto &of_a = occurrences_[to_index(a)], &of_b = occurrences_[to_index(b)];
        return problem_.object_types[to_index(a)] == problem_.object_types[to_index(b)] &&
               of_a.size() == of_b.size() &&
               std::all_of(of_b.begin(), of_b.end(), [&](const Occurrence& occurrence) {
                   const Id image = swapped(occurrence.atom, a, b);
                   return image != Problem::absent && has(atoms_[occurrence.section].data(), image);
               });
    }

    std::size_t count(Id object) const { return occurrences_[to_index(object)].size(); }

    // Returns a hash of the atoms that contain an object; the object itself is replaced by a placeholder.
    std::uint64_t hash(Id object) const {
        std::uint64_t sum = 0;
        for (const Occurrence& occurrence : occurrences_[to_index(object)]) {
            std::uint64_t atom_hash = SplitMix64::mix(2 * predicate(occurrence.atom) + occurrence.section + 1);
            for (Id other : problem_.atom_objects[to_index(occurrence.atom)])
                atom_hash = SplitMix64::mix(atom_hash + static_cast<std::uint64_t>(other == object ? 0 : other + 1));
            sum += atom_hash;
        }
        return sum;
    }

    // Calls `visit` for each object in the atoms of an object.
    template <class Visit>
    void for_each_related(Id object, Visit visit) const {
        for (const Occurrence& occurrence : occurrences_[to_index(object)])
            for (Id other : problem_.atom_objects[to_index(occurrence.atom)]) visit(other);
    }

private:
    enum { in_initial, in_goal };
    struct Occurrence {
        Id atom;
        unsigned section;
    };

    std::uint64_t predicate(Id atom) const {
        return static_cast<std::uint64_t>(problem_.atom_predicates[to_index(atom)]);
    }

    void collect(const std::vector<Id>& atoms, unsigned section) {
        for (Id atom : atoms) {
            insert(atoms_[section].data(), atom);
            for (Id object : problem_.atom_objects[to_index(atom)]) {
                auto& of_object = occurrences_[to_index(object)];
                // An object can occur twice in an atom.
                if (of_object.empty() || of_object.back().atom != atom || of_object.back().section != section)
                    of_object.push_back({atom, section});
            }
        }
    }

    Id swapped(Id atom, Id a, Id b) const {
        std::vector<Id> image;
        for (Id object : problem_.atom_objects[to_index(atom)])
            image.push_back(object == a ? b : object == b ? a : object);
        return problem_.find_atom(problem_.atom_predicates[to_index(atom)], image);
    }

    const Problem& problem_;
    std::vector<std::vector<Occurrence>> occurrences_;
    // The initial atoms and the goal atoms.
    std::array<Bits, 2> atoms_;
};

}  // namespace

std::vector<std::vector<Id>> interchangeable_objects(const Problem& problem, DeadlinePoller& deadline) {
    const std::size_t count = problem.object_count();
    // Objects of discovered failures, and arguments of operators with a surcharge, are not interchangeable.
    std::vector<char> excluded(count, 0);
    const auto exclude_arguments = [&](Id op) {
        for (Id argument : problem.operator_objects[to_index(op)]) excluded[to_index(argument)] = 1;
    };
    for (const auto& [op, object] : problem.failures) {
        if (object != Problem::absent) excluded[to_index(object)] = 1;
        exclude_arguments(op);
    }
    for (Id op : problem.surcharged_operators) exclude_arguments(op);
    const ObjectOccurrences occurrences(problem);
    std::vector<std::vector<Id>> classes;
    // Indices of classes, by the hash of the first member and by the first member itself.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> classes_by_hash;
    std::vector<std::size_t> class_by_first_member(count, count);
    std::vector<std::size_t> candidates;
    for (std::size_t index = 0; index < count; ++index) {
        if (excluded[index]) continue;
        const Id object = static_cast<Id>(index);
        // Interchangeable objects have equal hashes, unless an atom contains both of them.
        auto& same_hash = classes_by_hash[occurrences.hash(object)];
        candidates = same_hash;
        occurrences.for_each_related(object, [&](Id other) {
            const std::size_t candidate = class_by_first_member[to_index(other)];
            if (candidate < count) candidates.push_back(candidate);
        });
        const auto match = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t candidate) {
            deadline.poll(occurrences.count(object));
            return occurrences.interchangeable(object, classes[candidate][0]);
        });
        if (match != candidates.end()) {
            classes[*match].push_back(object);
            continue;
        }
        same_hash.push_back(classes.size());
        class_by_first_member[index] = classes.size();
        classes.push_back({object});
    }
    classes.erase(std::remove_if(classes.begin(), classes.end(),
                                 [](const std::vector<Id>& members) { return members.size() < 2; }),
                  classes.end());
    return classes;
}

std::optional<Symmetry> Symmetry::detect(const Problem& problem, const Bits& relevant_atoms,
                                         DeadlinePoller& deadline) {
    auto classes = interchangeable_objects(problem, deadline);
    if (classes.empty()) return std::nullopt;
    return Symmetry(problem, relevant_atoms, std::move(classes), deadline);
}

Symmetry::Symmetry(const Problem& problem, const Bits& relevant_atoms, std::vector<std::vector<Id>> classes,
                   DeadlinePoller& deadline)
    : problem_(&problem),
      classes_(std::move(classes)),
      atom_object_(problem.atom_count(), none),
      atom_property_(problem.atom_count(), none),
      symmetric_atoms_(words_for(problem.atom_count())) {
    std::vector<char> in_class(problem.object_count(), 0);
    for (const auto& members : classes_)
        for (Id object : members) in_class[to_index(object)] = 1;
    // A property is an atom with a placeholder for its interchangeable object.
    std::map<std::vector<Id>, std::vector<Id>> atoms_by_property;
    for (std::size_t index = 0; index < problem.atom_predicates.size(); ++index) {
        const Id atom = static_cast<Id>(index);
        deadline.poll(16);
        if (!has(relevant_atoms.data(), atom)) continue;
        std::vector<Id> property{problem.atom_predicates[index]};
        Id member = none;
        bool several_members = false;
        for (Id object : problem.atom_objects[index]) {
            const bool is_member = in_class[to_index(object)];
            property.push_back(is_member ? placeholder : object);
            if (!is_member) continue;
            several_members = several_members || (member != none && member != object);
            member = object;
        }
        if (member == none) continue;
        insert(symmetric_atoms_.data(), atom);
        if (several_members) continue;
        atom_object_[index] = member;
        atoms_by_property[property].push_back(atom);
    }
    Id next_property = 0;
    for (const auto& [property, atoms] : atoms_by_property) {
        for (Id atom : atoms) atom_property_[to_index(atom)] = next_property;
        ++next_property;
    }
}

Permutation Symmetry::identity() const {
    Permutation permutation(problem_->object_count());
    std::iota(permutation.begin(), permutation.end(), 0);
    return permutation;
}

// In a canonical state the objects of each class are sorted by their properties.
bool Symmetry::find_canonical(const Bits& state, Permutation& permutation) const {
    std::map<Id, std::vector<Id>> properties_by_object;
    for (std::size_t w = 0; w < state.size(); ++w) {
        const Word word = state[w] & symmetric_atoms_[w];
        for_each_bit(&word, 1, [&](Id bit) {
            const std::size_t atom = 64 * w + to_index(bit);
            if (atom_object_[atom] != none) properties_by_object[atom_object_[atom]].push_back(atom_property_[atom]);
        });
    }
    for (auto& [object, properties] : properties_by_object) std::sort(properties.begin(), properties.end());
    static const std::vector<Id> empty;
    const auto properties_of = [&](Id object) -> const std::vector<Id>& {
        const auto entry = properties_by_object.find(object);
        return entry == properties_by_object.end() ? empty : entry->second;
    };
    permutation = identity();
    bool changed = false;
    for (const auto& members : classes_) {
        std::vector<Id> sorted = members;
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](Id a, Id b) { return properties_of(a) < properties_of(b); });
        for (std::size_t i = 0; i < members.size(); ++i) {
            permutation[to_index(sorted[i])] = members[i];
            changed = changed || sorted[i] != members[i];
        }
    }
    return changed;
}

void Symmetry::permute_state(Bits& state, const Permutation& permutation) const {
    Bits image = state;
    for (std::size_t w = 0; w < state.size(); ++w) image[w] &= ~symmetric_atoms_[w];
    for (std::size_t w = 0; w < state.size(); ++w) {
        const Word word = state[w] & symmetric_atoms_[w];
        for_each_bit(&word, 1, [&](Id bit) {
            insert(image.data(), permute_atom(static_cast<Id>(64 * w) + bit, permutation));
        });
    }
    state = std::move(image);
}

Id Symmetry::permute_atom(Id atom, const Permutation& permutation) const {
    std::vector<Id> image;
    for (Id object : problem_->atom_objects[to_index(atom)]) image.push_back(permutation[to_index(object)]);
    return problem_->find_atom(problem_->atom_predicates[to_index(atom)], image);
}

Id Symmetry::permute_operator(Id op, const Permutation& permutation) const {
    std::vector<Id> image;
    for (Id object : problem_->operator_objects[to_index(op)]) image.push_back(permutation[to_index(object)]);
    return problem_->find_operator(problem_->lifted_operators[to_index(op)], image);
}

}  // namespace needful
