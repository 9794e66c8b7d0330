// Several searches in a row; see policy.py.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "plan_stream.hpp"
#include "problem.hpp"

namespace needful {

struct Stage {
    bool greedy;
    Id weight;
    bool symmetries;
    // Nodes times ground operators, or 0 for all that is left.
    std::int64_t work;
};

class StagedPlans : public PlanStream {
public:
    // Throws `DeadlineExpired`, as `next` does.
    StagedPlans(ProblemPointer problem, std::vector<Stage> stages, std::uint64_t seed, DeadlinePoller& deadline,
                Effort& effort);

    bool next(const Budget& budget, Effort& effort, Plan& plan) override;
    Ended ended() const override { return current_->ended(); }

private:
    void start_stage(DeadlinePoller& deadline, Effort& effort);
    bool another_may_do(const Budget& budget, const Effort& effort) const;

    ProblemPointer problem_;
    std::vector<Stage> stages_;
    std::uint64_t seed_;
    std::size_t stage_ = 0;
    std::int64_t stage_nodes_ = unlimited_nodes;
    std::unique_ptr<PlanStream> current_;
    std::set<Plan> seen_;
};

// Throws `DeadlineExpired`.
std::unique_ptr<PlanStream> start_search(ProblemPointer problem, std::vector<Stage> stages, bool distinct,
                                         std::uint64_t seed, DeadlinePoller& deadline, Effort& effort);

}  // namespace needful
