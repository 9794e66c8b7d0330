// Base of streams that return some plans of another stream later. No plan is lost.
#pragma once

#include <deque>
#include <memory>
#include <set>

#include "plan_stream.hpp"
#include "problem.hpp"

namespace needful {

class PostponingStream : public PlanStream {
public:
    PostponingStream(std::unique_ptr<PlanStream> source, ProblemPointer problem)
        : source_(std::move(source)), problem_(std::move(problem)) {}

    SearchStatus status() const override { return postponed_.empty() ? source_->status() : SearchStatus::in_progress; }

protected:
    std::unique_ptr<PlanStream> source_;
    ProblemPointer problem_;
    std::set<Plan> seen_;
    std::deque<Plan> postponed_;
};

}  // namespace needful
