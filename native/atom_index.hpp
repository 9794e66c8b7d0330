// Atoms numbered as they are met, and which of them have an object at a position.
#pragma once

#include <algorithm>
#include <vector>

#include "csr_lists.hpp"
#include "splitmix.hpp"

namespace needful {

class AtomIndex {
public:
    AtomIndex(const std::vector<Id>& arities, std::size_t object_count)
        : by_predicate_(arities.size()), by_argument_(arities.size()), slots_(64) {
        for (std::size_t p = 0; p < arities.size(); ++p)
            by_argument_[p].resize(to_index(arities[p]),
                                   std::vector<std::vector<Id>>(object_count));
    }

    static constexpr Id absent = -1;

    std::size_t size() const { return predicates_.size(); }
    Id predicate(Id atom) const { return predicates_[to_index(atom)]; }
    Span objects(Id atom) const { return objects_[to_index(atom)]; }

    // The numbers of a predicate's atoms, ascending.
    const std::vector<Id>& of(Id predicate) const { return by_predicate_[to_index(predicate)]; }

    // Those of them that have an object at a position.
    const std::vector<Id>& with(Id predicate, std::size_t position, Id object) const {
        return by_argument_[to_index(predicate)][position][to_index(object)];
    }

    Id find(Id predicate, const std::vector<Id>& objects) const {
        return slots_[place_of(predicate, objects, hash_of(predicate, objects))].atom;
    }

    // The number of an atom, the next one if it is new.
    Id number(Id predicate, const std::vector<Id>& objects) {
        const std::uint32_t hash = hash_of(predicate, objects);
        const std::size_t place = place_of(predicate, objects, hash);
        if (slots_[place].atom != absent) return slots_[place].atom;
        const Id atom = static_cast<Id>(size());
        slots_[place] = {atom, hash};
        predicates_.push_back(predicate);
        objects_.add_list(objects);
        by_predicate_[to_index(predicate)].push_back(atom);
        for (std::size_t position = 0; position < objects.size(); ++position)
            by_argument_[to_index(predicate)][position]
                        [to_index(objects[position])]
                            .push_back(atom);
        if (2 * size() > slots_.size()) grow();
        return atom;
    }

private:
    // A place of the hash table; the hash spares most looks at the atom.
    struct Slot {
        Id atom = absent;
        std::uint32_t hash = 0;
    };

    static std::uint32_t hash_of(Id predicate, const std::vector<Id>& objects) {
        std::uint64_t hash = static_cast<std::uint64_t>(predicate) + 1;
        for (Id object : objects) hash = SplitMix64::mixed(hash + static_cast<std::uint64_t>(object) + 1);
        return static_cast<std::uint32_t>(SplitMix64::mixed(hash));
    }

    std::size_t place_of(Id predicate, const std::vector<Id>& objects, std::uint32_t hash) const {
        std::size_t place = hash & (slots_.size() - 1);
        while (slots_[place].atom != absent &&
               !(slots_[place].hash == hash && is(slots_[place].atom, predicate, objects)))
            place = (place + 1) & (slots_.size() - 1);
        return place;
    }

    bool is(Id atom, Id predicate, const std::vector<Id>& wanted) const {
        const Span there = objects(atom);
        return this->predicate(atom) == predicate &&
               std::equal(there.begin(), there.end(), wanted.begin(), wanted.end());
    }

    void grow() {
        std::vector<Slot> larger(2 * slots_.size());
        for (const Slot& slot : slots_) {
            if (slot.atom == absent) continue;
            std::size_t place = slot.hash & (larger.size() - 1);
            while (larger[place].atom != absent) place = (place + 1) & (larger.size() - 1);
            larger[place] = slot;
        }
        slots_.swap(larger);
    }

    std::vector<Id> predicates_;
    CsrLists objects_;
    std::vector<std::vector<Id>> by_predicate_;
    std::vector<std::vector<std::vector<std::vector<Id>>>> by_argument_;
    std::vector<Slot> slots_;
};

}  // namespace needful
