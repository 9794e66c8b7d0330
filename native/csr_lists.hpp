// Lists of ids in compressed sparse row (CSR) form: two flat arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "deadline_poller.hpp"

namespace needful {

using Id = std::int32_t;

constexpr std::size_t to_index(Id id) { return static_cast<std::size_t>(id); }

struct Span {
    const Id* first;
    const Id* last;
    const Id* begin() const { return first; }
    const Id* end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
    bool empty() const { return first == last; }
    Id operator[](std::size_t index) const { return first[index]; }
};

inline Span span_of(const std::vector<Id>& items) { return {items.data(), items.data() + items.size()}; }

// Calls `visit` for each item and polls the deadline. Throws `DeadlineExpired`.
template <class Visit>
void for_each(Span items, DeadlinePoller& deadline, Visit visit) {
    constexpr std::ptrdiff_t chunk_size = 1024;
    for (const Id* next = items.first; next != items.last;) {
        const Id* end = next + std::min(items.last - next, chunk_size);
        deadline.poll(static_cast<std::size_t>(end - next));
        for (; next != end; ++next) visit(*next);
    }
}

class CsrLists {
public:
    std::size_t size() const { return starts_.size() - 1; }
    std::size_t item_count() const { return items_.size(); }

    Span operator[](std::size_t index) const {
        return {items_.data() + starts_[index], items_.data() + starts_[index + 1]};
    }

    // Appends an item to the unfinished last list; `end_list` finishes that list.
    void add_item(Id item) { items_.push_back(item); }
    void end_list() { starts_.push_back(items_.size()); }

    template <class Range>
    void add_list(const Range& items) {
        items_.insert(items_.end(), items.begin(), items.end());
        end_list();
    }

    void reserve(std::size_t lists, std::size_t items) {
        starts_.reserve(lists + 1);
        items_.reserve(items);
    }

    // Returns for each id below `count` the indices of the lists that contain it, in ascending order.
    CsrLists inverted(std::size_t count, DeadlinePoller& deadline) const {
        CsrLists result;
        result.starts_.assign(count + 1, 0);
        for (Id item : items_) ++result.starts_[to_index(item) + 1];
        for (std::size_t i = 0; i < count; ++i) result.starts_[i + 1] += result.starts_[i];
        result.items_.resize(items_.size());
        std::vector<std::size_t> next(result.starts_.begin(), result.starts_.end() - 1);
        for (std::size_t list = 0; list < size(); ++list) {
            deadline.poll(1 + (*this)[list].size());
            for (Id item : (*this)[list]) result.items_[next[to_index(item)]++] = static_cast<Id>(list);
        }
        return result;
    }

private:
    std::vector<std::size_t> starts_{0};
    std::vector<Id> items_;
};

}  // namespace needful
