// Plans without needless steps; see action_elimination.py.
#pragma once

#include "postponing_stream.hpp"

namespace needful {

class TrimmedPlans : public PostponingStream {
public:
    using PostponingStream::PostponingStream;

    bool next(const Budget& budget, Effort& effort, Plan& plan) override;
};

}  // namespace needful
