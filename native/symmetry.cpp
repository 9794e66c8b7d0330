#include "symmetry.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace needful {

namespace {

constexpr Id placeholder = -1;

// A fact about an object: whether it is of the goal, the predicate, and the objects.
using Fact = std::vector<Id>;

Fact exchanged(Fact fact, Id one, Id other) {
    for (std::size_t i = 2; i < fact.size(); ++i) {
        if (fact[i] == one)
            fact[i] = other;
        else if (fact[i] == other)
            fact[i] = one;
    }
    return fact;
}

bool can_be_exchanged(const std::set<Fact>& facts, const std::set<Fact>& others, Id one, Id other) {
    return facts.size() == others.size() && std::all_of(others.begin(), others.end(), [&](const Fact& fact) {
               return facts.count(exchanged(fact, one, other)) > 0;
           });
}

}  // namespace

std::vector<std::vector<Id>> interchangeable_objects(const Problem& problem) {
    const std::size_t count = problem.object_count();
    std::vector<char> fixed(count, 0);
    for (const auto& [step, object] : problem.failures) {
        fixed[static_cast<std::size_t>(object)] = 1;
        for (Id bound : problem.objects[static_cast<std::size_t>(step)]) fixed[static_cast<std::size_t>(bound)] = 1;
    }
    std::vector<std::set<Fact>> facts(count);
    const auto collect = [&](const std::vector<Id>& atoms, Id in_goal) {
        for (Id atom : atoms) {
            const Span objects = problem.atom_objects[static_cast<std::size_t>(atom)];
            Fact fact{in_goal, problem.atom_predicates[static_cast<std::size_t>(atom)]};
            fact.insert(fact.end(), objects.begin(), objects.end());
            for (Id object : objects) facts[static_cast<std::size_t>(object)].insert(fact);
        }
    };
    collect(problem.initial, 0);
    collect(problem.goal, 1);
    std::vector<std::vector<Id>> classes;
    for (std::size_t object = 0; object < count; ++object) {
        if (fixed[object]) continue;
        const Id one = static_cast<Id>(object);
        const auto home = std::find_if(classes.begin(), classes.end(), [&](const std::vector<Id>& members) {
            const std::size_t other = static_cast<std::size_t>(members[0]);
            return problem.object_types[object] == problem.object_types[other] &&
                   can_be_exchanged(facts[object], facts[other], one, members[0]);
        });
        if (home == classes.end())
            classes.push_back({one});
        else
            home->push_back(one);
    }
    classes.erase(std::remove_if(classes.begin(), classes.end(),
                                 [](const std::vector<Id>& members) { return members.size() < 2; }),
                  classes.end());
    return classes;
}

std::optional<Symmetry> Symmetry::of(const Problem& problem, const Bits& asked_for) {
    auto classes = interchangeable_objects(problem);
    if (classes.empty()) return std::nullopt;
    return Symmetry(problem, asked_for, std::move(classes));
}

Symmetry::Symmetry(const Problem& problem, const Bits& asked_for, std::vector<std::vector<Id>> classes)
    : problem_(&problem),
      classes_(std::move(classes)),
      about_(problem.atom_count(), none),
      statement_(problem.atom_count(), none),
      involved_(words_for(problem.atom_count())) {
    std::vector<char> exchangeable(problem.object_count(), 0);
    for (const auto& members : classes_)
        for (Id object : members) exchangeable[static_cast<std::size_t>(object)] = 1;
    // A statement is an atom with its exchangeable object left open.
    std::map<Fact, std::vector<Id>> statements;
    for (std::size_t atom = 0; atom < problem.atom_predicates.size(); ++atom) {
        const Id number = static_cast<Id>(atom);
        if (!has(asked_for.data(), number)) continue;
        const Span objects = problem.atom_objects[atom];
        Fact open{problem.atom_predicates[atom]};
        int members = 0;
        for (Id object : objects) {
            const bool is_member = exchangeable[static_cast<std::size_t>(object)];
            if (is_member) {
                ++members;
                about_[atom] = object;
            }
            open.push_back(is_member ? placeholder : object);
        }
        if (members) insert(involved_.data(), number);
        if (members == 1)
            statements[open].push_back(number);
        else
            about_[atom] = none;
    }
    Id next = 0;
    for (const auto& [open, atoms] : statements) {
        for (Id atom : atoms) statement_[static_cast<std::size_t>(atom)] = next;
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
            renaming[static_cast<std::size_t>(sorted[place])] = members[place];
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

// Atoms are sorted by predicate and objects, so the image is found by halving.
Id Symmetry::renamed_atom(Id atom, const Renaming& renaming) const {
    const Id predicate = problem_->atom_predicates[static_cast<std::size_t>(atom)];
    std::vector<Id> image;
    for (Id object : problem_->atom_objects[static_cast<std::size_t>(atom)])
        image.push_back(renaming[static_cast<std::size_t>(object)]);
    std::size_t low = 0, high = problem_->atom_predicates.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const Span there = problem_->atom_objects[middle];
        const bool before =
            problem_->atom_predicates[middle] != predicate
                ? problem_->atom_predicates[middle] < predicate
                : std::lexicographical_compare(there.begin(), there.end(), image.begin(), image.end());
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return static_cast<Id>(low);
}

Id Symmetry::renamed_step(Id step, const Renaming& renaming) const {
    std::vector<Id> image;
    for (Id object : problem_->objects[static_cast<std::size_t>(step)])
        image.push_back(renaming[static_cast<std::size_t>(object)]);
    return problem_->find_operator(problem_->lifted[static_cast<std::size_t>(step)], image);
}

}  // namespace needful
