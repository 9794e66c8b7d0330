// The limits of a search, its statistics, and its status.
#pragma once

#include <cstdint>
#include <limits>

#include "deadline_poller.hpp"

namespace needful {

constexpr std::int64_t unlimited_nodes = std::numeric_limits<std::int64_t>::max();

struct Budget {
    DeadlinePoller& deadline;
    std::int64_t max_nodes = unlimited_nodes;
};

struct SearchStatistics {
    std::int64_t nodes_created = 0;
    std::int64_t nodes_expanded = 0;
    std::int64_t nodes_evaluated = 0;
};

enum class SearchStatus { in_progress, exhausted, timeout, out_of_nodes };

}  // namespace needful
