// A hash table of ground atoms. Ids follow the order of insertion. Atoms can be looked up by argument.
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

    // The atoms of a predicate, in ascending order.
    const std::vector<Id>& with_predicate(Id predicate) const { return by_predicate_[to_index(predicate)]; }

    // The atoms of a predicate with an object as the argument at `position`, in ascending order.
    const std::vector<Id>& with_argument(Id predicate, std::size_t position, Id object) const {
        return by_argument_[to_index(predicate)][position][to_index(object)];
    }

    Id find(Id predicate, const std::vector<Id>& objects) const {
        return slots_[find_slot(predicate, objects, hash_of(predicate, objects))].atom;
    }

    Id find_or_add(Id predicate, const std::vector<Id>& objects) {
        const std::uint32_t hash = hash_of(predicate, objects);
        const std::size_t slot = find_slot(predicate, objects, hash);
        if (slots_[slot].atom != absent) return slots_[slot].atom;
        const Id atom = static_cast<Id>(size());
        slots_[slot] = {atom, hash};
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
    // The stored hash avoids most comparisons of atoms.
    struct Slot {
        Id atom = absent;
        std::uint32_t hash = 0;
    };

    static std::uint32_t hash_of(Id predicate, const std::vector<Id>& objects) {
        std::uint64_t hash = static_cast<std::uint64_t>(predicate) + 1;
        for (Id object : objects) hash = SplitMix64::mix(hash + static_cast<std::uint64_t>(object) + 1);
        return static_cast<std::uint32_t>(SplitMix64::mix(hash));
    }

    std::size_t find_slot(Id predicate, const std::vector<Id>& objects, std::uint32_t hash) const {
        std::size_t slot = hash & (slots_.size() - 1);
        while (slots_[slot].atom != absent &&
               !(slots_[slot].hash == hash && equals(slots_[slot].atom, predicate, objects)))
            slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    bool equals(Id atom, Id predicate, const std::vector<Id>& arguments) const {
        const Span stored = objects(atom);
        return this->predicate(atom) == predicate &&
               std::equal(stored.begin(), stored.end(), arguments.begin(), arguments.end());
    }

    void grow() {
        std::vector<Slot> larger(2 * slots_.size());
        for (const Slot& old : slots_) {
            if (old.atom == absent) continue;
            std::size_t slot = old.hash & (larger.size() - 1);
            while (larger[slot].atom != absent) slot = (slot + 1) & (larger.size() - 1);
            larger[slot] = old;
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
