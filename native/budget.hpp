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

struct Effort {
    std::int64_t created = 0;
    std::int64_t expanded = 0;
    std::int64_t evaluated = 0;
};

enum class Ended { not_yet, no_plan, timeout, out_of_nodes };

}  // namespace needful
