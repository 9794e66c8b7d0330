// Deadlines and interrupts. Everything in the engine that can run for long polls this class.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>

namespace needful {

// Thrown when the deadline has passed. The object that threw it is left half-updated: discard it.
struct DeadlineExpired {};

class DeadlinePoller {
public:
    using InterruptCheck = bool (*)();

    // The default never expires. `interrupted` may be null; if it returns true, the deadline has passed.
    explicit DeadlinePoller(double seconds = std::numeric_limits<double>::infinity(),
                            InterruptCheck interrupted = nullptr)
        : interrupted_(interrupted) {
        const auto now = Clock::now();
        next_interrupt_check_ = now + interrupt_check_interval;
        // More seconds than this could overflow the clock.
        if (seconds < 1e9)
            end_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }

    // Copies would count their work separately.
    DeadlinePoller(const DeadlinePoller&) = delete;
    DeadlinePoller& operator=(const DeadlinePoller&) = delete;

    // Reads the clock.
    bool expired() {
        const auto now = Clock::now();
        if (interrupted_ && now >= next_interrupt_check_) {
            next_interrupt_check_ = now + interrupt_check_interval;
            was_interrupted_ = was_interrupted_ || interrupted_();
        }
        return was_interrupted_ || now >= end_;
    }

    // Reads the clock. Throws `DeadlineExpired`.
    void check() {
        if (expired()) throw DeadlineExpired();
    }

    // Adds to the work done, in units of roughly a nanosecond, and checks every `check_interval` units:
    // a check per loop iteration could take longer than the iteration. Throws `DeadlineExpired`.
    void poll(std::size_t work) {
        work_since_check_ += work;
        if (work_since_check_ < check_interval) return;
        work_since_check_ = 0;
        check();
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds interrupt_check_interval{50};
    static constexpr std::size_t check_interval = 4096;

    std::size_t work_since_check_ = 0;
    Clock::time_point end_ = Clock::time_point::max();
    InterruptCheck interrupted_;
    Clock::time_point next_interrupt_check_;
    bool was_interrupted_ = false;
};

}  // namespace needful
