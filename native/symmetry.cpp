#include "symmetry.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "splitmix.hpp"

namespace needful {

namespace {

constexpr Id placeholder = -1;

// The initial and goal atoms that each object occurs in.
class Facts {
public:
    explicit Facts(const Problem& problem)
        : problem_(problem), about_(problem.object_count()), holds_{Bits(words_for(problem.atom_count())), {}} {
        holds_[in_goal] = holds_[at_first];
        collect(problem.initial, at_first);
        collect(problem.goal, in_goal);
    }

    bool can_be_exchanged(Id one, Id other) const {
        const auto &of_one = about_[to_index(one)], &of_other = about_[to_index(other)];
        return problem_.object_types[to_index(one)] == problem_.object_types[to_index(other)] &&
               of_one.size() == of_other.size() &&
               std::all_of(of_other.begin(), of_other.end(), [&](const Fact& fact) {
                   const Id image = exchanged(fact.atom, one, other);
                   return image != Problem::absent && has(holds_[fact.where].data(), image);
               });
    }

    std::size_t count(Id object) const { return about_[to_index(object)].size(); }

    // A number that is the same for two objects of which the same is said.
    std::uint64_t description(Id object) const {
        std::uint64_t sum = 0;
        for (const Fact& fact : about_[to_index(object)]) {
            std::uint64_t hash = SplitMix64::mixed(2 * predicate(fact.atom) + fact.where + 1);
            for (Id other : problem_.atom_objects[to_index(fact.atom)])
                hash = SplitMix64::mixed(hash + static_cast<std::uint64_t>(other == object ? 0 : other + 1));
            sum += hash;
        }
        return sum;
    }

    // The objects in the atoms that an object occurs in.
    template <class Use>
    void for_each_related(Id object, Use use) const {
        for (const Fact& fact : about_[to_index(object)])
            for (Id other : problem_.atom_objects[to_index(fact.atom)]) use(other);
    }

private:
    enum { at_first, in_goal };
    struct Fact {
        Id atom;
        unsigned where;
    };

    std::uint64_t predicate(Id atom) const { return static_cast<std::uint64_t>(problem_.atom_predicates[to_index(atom)]); }

    void collect(const std::vector<Id>& atoms, unsigned where) {
        for (Id atom : atoms) {
            insert(holds_[where].data(), atom);
            for (Id object : problem_.atom_objects[to_index(atom)]) {
                auto& facts = about_[to_index(object)];
                // An object may occur twice in an atom.
                if (facts.empty() || facts.back().atom != atom || facts.back().where != where)
                    facts.push_back({atom, where});
            }
        }
    }

    Id exchanged(Id atom, Id one, Id other) const {
        std::vector<Id> image;
        for (Id object : problem_.atom_objects[to_index(atom)])
            image.push_back(object == one ? other : object == other ? one : object);
        return problem_.find_atom(problem_.atom_predicates[to_index(atom)], image);
    }

    const Problem& problem_;
    std::vector<std::vector<Fact>> about_;
    std::array<Bits, 2> holds_;
};

}  // namespace

std::vector<std::vector<Id>> interchangeable_objects(const Problem& problem, DeadlinePoller& deadline) {
    const std::size_t count = problem.object_count();
    std::vector<char> fixed(count, 0);
    for (const auto& [step, object] : problem.failures) {
        fixed[to_index(object)] = 1;
        for (Id bound : problem.objects[to_index(step)]) fixed[to_index(bound)] = 1;
    }
    const Facts facts(problem);
    std::vector<std::vector<Id>> classes;
    // The classes under the descriptions of their first members, and under those members.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_description;
    std::vector<std::size_t> by_first(count, count);
    std::vector<std::size_t> candidates;
    for (std::size_t object = 0; object < count; ++object) {
        if (fixed[object]) continue;
        const Id one = static_cast<Id>(object);
        // The same is said of two objects that can be exchanged, unless something is said of both.
        auto& alike = by_description[facts.description(one)];
        candidates = alike;
        facts.for_each_related(one, [&](Id other) {
            const std::size_t home = by_first[to_index(other)];
            if (home < count) candidates.push_back(home);
        });
        const auto home = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t candidate) {
            deadline.poll(facts.count(one));
            return facts.can_be_exchanged(one, classes[candidate][0]);
        });
        if (home != candidates.end()) {
            classes[*home].push_back(one);
            continue;
        }
        alike.push_back(classes.size());
        by_first[object] = classes.size();
        classes.push_back({one});
    }
    classes.erase(std::remove_if(classes.begin(), classes.end(),
                                 [](const std::vector<Id>& members) { return members.size() < 2; }),
                  classes.end());
    return classes;
}

std::optional<Symmetry> Symmetry::of(const Problem& problem, const Bits& asked_for, DeadlinePoller& deadline) {
    auto classes = interchangeable_objects(problem, deadline);
    if (classes.empty()) return std::nullopt;
    return Symmetry(problem, asked_for, std::move(classes), deadline);
}

Symmetry::Symmetry(const Problem& problem, const Bits& asked_for, std::vector<std::vector<Id>> classes,
                   DeadlinePoller& deadline)
    : problem_(&problem),
      classes_(std::move(classes)),
      about_(problem.atom_count(), none),
      statement_(problem.atom_count(), none),
      involved_(words_for(problem.atom_count())) {
    std::vector<char> exchangeable(problem.object_count(), 0);
    for (const auto& members : classes_)
        for (Id object : members) exchangeable[to_index(object)] = 1;
    // A statement is an atom with its exchangeable object left open.
    std::map<std::vector<Id>, std::vector<Id>> statements;
    for (std::size_t atom = 0; atom < problem.atom_predicates.size(); ++atom) {
        const Id number = static_cast<Id>(atom);
        deadline.poll(16);
        if (!has(asked_for.data(), number)) continue;
        const Span objects = problem.atom_objects[atom];
        std::vector<Id> open{problem.atom_predicates[atom]};
        Id member = none;
        bool several = false;
        for (Id object : objects) {
            const bool is_member = exchangeable[to_index(object)];
            open.push_back(is_member ? placeholder : object);
            if (!is_member) continue;
            several = several || (member != none && member != object);
            member = object;
        }
        if (member == none) continue;
        insert(involved_.data(), number);
        if (several) continue;
        about_[atom] = member;
        statements[open].push_back(number);
    }
    Id next = 0;
    for (const auto& [open, atoms] : statements) {
        for (Id atom : atoms) statement_[to_index(atom)] = next;
        ++next;
    }
}

Renaming Symmetry::identity() const {
    Renaming renaming(problem_->object_count());
    std::iota(renaming.begin(), renaming.end(), 0);
    return renaming;
}

bool Symmetry::exchange(const Bits& state, Renaming& renaming) const {
    std::map<Id, std::vector<Id>> said;
    for (std::size_t w = 0; w < state.size(); ++w) {
        const Word word = state[w] & involved_[w];
        for_each_bit(&word, 1, [&](Id bit) {
            const std::size_t atom = 64 * w + static_cast<std::size_t>(bit);
            if (about_[atom] != none) said[about_[atom]].push_back(statement_[atom]);
        });
    }
    for (auto& [object, statements] : said) std::sort(statements.begin(), statements.end());
    static const std::vector<Id> nothing;
    const auto said_of = [&](Id object) -> const std::vector<Id>& {
        const auto place = said.find(object);
        return place == said.end() ? nothing : place->second;
    };
    renaming = identity();
    bool changed = false;
    for (const auto& members : classes_) {
        std::vector<Id> sorted = members;
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](Id one, Id other) { return said_of(one) < said_of(other); });
        for (std::size_t place = 0; place < members.size(); ++place) {
            renaming[to_index(sorted[place])] = members[place];
            changed = changed || sorted[place] != members[place];
        }
    }
    return changed;
}

void Symmetry::rename_state(Bits& state, const Renaming& renaming) const {
    Bits image = state;
    for (std::size_t w = 0; w < state.size(); ++w) image[w] &= ~involved_[w];
    for (std::size_t w = 0; w < state.size(); ++w) {
        const Word word = state[w] & involved_[w];
        for_each_bit(&word, 1, [&](Id bit) {
            insert(image.data(), renamed_atom(static_cast<Id>(64 * w) + bit, renaming));
        });
    }
    state = std::move(image);
}

Id Symmetry::renamed_atom(Id atom, const Renaming& renaming) const {
    std::vector<Id> image;
    for (Id object : problem_->atom_objects[to_index(atom)])
        image.push_back(renaming[to_index(object)]);
    return problem_->find_atom(problem_->atom_predicates[to_index(atom)], image);
}

Id Symmetry::renamed_step(Id step, const Renaming& renaming) const {
    std::vector<Id> image;
    for (Id object : problem_->objects[to_index(step)])
        image.push_back(renaming[to_index(object)]);
    return problem_->find_operator(problem_->lifted[to_index(step)], image);
}

}  // namespace needful
