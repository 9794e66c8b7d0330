// A stream that passes on the plans of another one and puts some of them off; none is lost.
#pragma once

#include <deque>
#include <memory>
#include <set>

#include "plan_stream.hpp"
#include "problem.hpp"

namespace needful {

class PostponingStream : public PlanStream {
public:
    PostponingStream(std::unique_ptr<PlanStream> plans, ProblemPointer problem)
        : plans_(std::move(plans)), problem_(std::move(problem)) {}

    Ended ended() const override { return put_off_.empty() ? plans_->ended() : Ended::not_yet; }

protected:
    std::unique_ptr<PlanStream> plans_;
    ProblemPointer problem_;
    std::set<Plan> seen_;
    std::deque<Plan> put_off_;
};

}  // namespace needful
