// How long a call may take and how many nodes may be created; what was spent; why a stream ended.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace needful {

class Deadline {
public:
    // Infinite, or more than a clock can hold: never. Before that, `interrupted` is asked now and then.
    static Deadline after(double seconds, bool (*interrupted)()) {
        Deadline deadline;
        deadline.interrupted_ = interrupted;
        deadline.next_question_ = Clock::now() + time_between_questions;
        if (seconds < 1e9) {
            deadline.limited_ = true;
            deadline.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(seconds));
        }
        return deadline;
    }

    bool passed() const {
        const auto now = Clock::now();
        if (now >= next_question_) {
            next_question_ = now + time_between_questions;
            stopped_ = stopped_ || interrupted_();
        }
        return stopped_ || (limited_ && now >= end_);
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds time_between_questions{50};

    bool limited_ = false;
    Clock::time_point end_{};
    bool (*interrupted_)() = nullptr;
    mutable Clock::time_point next_question_{};
    mutable bool stopped_ = false;
};

// Thrown by work that is given up because time is up. What threw it cannot be used any more.
struct TimeIsUp {};

// Looks at the clock now and then, where looking at each step would take longer than the step.
class Lookout {
public:
    explicit Lookout(const Deadline& deadline) : deadline_(deadline) {}

    // Tells of work, in steps of nanoseconds. Throws `TimeIsUp`.
    void after(std::size_t work) {
        done_ += work;
        if (done_ < work_between_looks) return;
        done_ = 0;
        if (deadline_.passed()) throw TimeIsUp();
    }

private:
    static constexpr std::size_t work_between_looks = 4096;

    const Deadline& deadline_;
    std::size_t done_ = 0;
};

constexpr std::int64_t unlimited_nodes = std::numeric_limits<std::int64_t>::max();

struct Budget {
    Deadline deadline;
    std::int64_t max_nodes = unlimited_nodes;
};

struct Effort {
    std::int64_t created = 0;
    std::int64_t expanded = 0;
    std::int64_t evaluated = 0;
};

enum class Ended { not_yet, no_plan, timeout, out_of_nodes };

}  // namespace needful
