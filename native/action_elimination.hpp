// Plans without needless steps; see action_elimination.py.
#pragma once

#include <deque>
#include <memory>
#include <set>

#include "plan_stream.hpp"
#include "problem.hpp"

namespace needful {

class TrimmedPlans : public PlanStream {
public:
    TrimmedPlans(std::unique_ptr<PlanStream> plans, ProblemPointer problem)
        : plans_(std::move(plans)), problem_(std::move(problem)) {}

    bool next(const Budget& budget, Effort& effort, Plan& plan) override;
    Ended ended() const override { return put_off_.empty() ? plans_->ended() : Ended::not_yet; }

private:
    std::unique_ptr<PlanStream> plans_;
    ProblemPointer problem_;
    std::set<Plan> seen_;
    std::deque<Plan> put_off_;
};

}  // namespace needful
