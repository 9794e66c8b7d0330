// Bit sets as arrays of 64-bit words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csr_lists.hpp"

namespace needful {

using Word = std::uint64_t;
using Bits = std::vector<Word>;

inline std::size_t words_for(std::size_t bits) { return bits / 64 + 1; }

inline bool has(const Word* bits, Id index) {
    return bits[to_index(index) / 64] >> (to_index(index) % 64) & 1;
}

inline void insert(Word* bits, Id index) {
    bits[to_index(index) / 64] |= Word{1} << (to_index(index) % 64);
}

inline void erase(Word* bits, Id index) {
    bits[to_index(index) / 64] &= ~(Word{1} << (to_index(index) % 64));
}

template <class Range>
bool has_all(const Word* bits, const Range& indices) {
    for (Id index : indices)
        if (!has(bits, index)) return false;
    return true;
}

template <class Range>
bool has_none(const Word* bits, const Range& indices) {
    for (Id index : indices)
        if (has(bits, index)) return false;
    return true;
}

// Calls `visit` with the index of each set bit, in ascending order.
template <class Visit>
void for_each_bit(const Word* bits, std::size_t words, Visit visit) {
    for (std::size_t w = 0; w < words; ++w)
        for (Word rest = bits[w]; rest; rest &= rest - 1)
            visit(static_cast<Id>(64 * w + static_cast<std::size_t>(__builtin_ctzll(rest))));
}

}  // namespace needful
