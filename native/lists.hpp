// Lists of numbers in two flat arrays: small, and read from front to back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "budget.hpp"

namespace needful {

using Id = std::int32_t;

struct Span {
    const Id* first;
    const Id* last;
    const Id* begin() const { return first; }
    const Id* end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
    bool empty() const { return first == last; }
    Id operator[](std::size_t index) const { return first[index]; }
};

// Goes through numbers and looks at the clock now and then. Throws `TimeIsUp`.
template <class Use>
void for_each(Span items, Lookout& lookout, Use use) {
    constexpr std::ptrdiff_t at_once = 1024;
    for (const Id* next = items.first; next != items.last;) {
        const Id* end = next + std::min(items.last - next, at_once);
        lookout.after(static_cast<std::size_t>(end - next));
        for (; next != end; ++next) use(*next);
    }
}

class Lists {
public:
    std::size_t size() const { return starts_.size() - 1; }
    std::size_t item_count() const { return items_.size(); }

    Span operator[](std::size_t index) const {
        return {items_.data() + starts_[index], items_.data() + starts_[index + 1]};
    }

    // Adds an item to the list that is being written; `close` ends it.
    void push(Id item) { items_.push_back(item); }
    void close() { starts_.push_back(items_.size()); }

    template <class Range>
    void add(const Range& items) {
        items_.insert(items_.end(), items.begin(), items.end());
        close();
    }

    void reserve(std::size_t lists, std::size_t items) {
        starts_.reserve(lists + 1);
        items_.reserve(items);
    }

    // For each number below `count`, the indices of the lists that contain it, in ascending order.
    Lists inverted(std::size_t count, Lookout& lookout) const {
        Lists result;
        result.starts_.assign(count + 1, 0);
        for (Id item : items_) ++result.starts_[static_cast<std::size_t>(item) + 1];
        for (std::size_t i = 0; i < count; ++i) result.starts_[i + 1] += result.starts_[i];
        result.items_.resize(items_.size());
        std::vector<std::size_t> next(result.starts_.begin(), result.starts_.end() - 1);
        for (std::size_t list = 0; list < size(); ++list) {
            lookout.after(1 + (*this)[list].size());
            for (Id item : (*this)[list])
                result.items_[next[static_cast<std::size_t>(item)]++] = static_cast<Id>(list);
        }
        return result;
    }

private:
    std::vector<std::size_t> starts_{0};
    std::vector<Id> items_;
};

}  // namespace needful
