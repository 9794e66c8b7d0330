// Removes redundant steps from plans; see planning/action_elimination.py.
#pragma once

#include "postponing_stream.hpp"

namespace needful {

class TrimmedPlans : public PostponingStream {
public:
    using PostponingStream::PostponingStream;

    bool next(const Budget& budget, SearchStatistics& statistics, Plan& plan) override;
};

}  // namespace needful
