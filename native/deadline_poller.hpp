// Deadlines and interrupts. Everything in the engine that can run for long polls this class.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <limits>

namespace needful {

// Thrown when the deadline has passed. The object that threw it is left half-updated: discard it.
struct DeadlineExpired {};

class DeadlinePoller {
public:
    using InterruptCheck = bool (*)();

    // The default never expires. `interrupted` may be null; if it returns true, the deadline has passed.
    // With `cpu_time`, the seconds are those in which the calling thread runs, not those on the wall clock.
    explicit DeadlinePoller(double seconds = std::numeric_limits<double>::infinity(),
                            InterruptCheck interrupted = nullptr, bool cpu_time = false)
        : cpu_time_(cpu_time), interrupted_(interrupted) {
        next_interrupt_check_ = Clock::now() + interrupt_check_interval;
        // More seconds than this could overflow the clock.
        if (seconds < 1e9)
            end_ = now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }

    // Not copyable: each copy would count the work separately.
    DeadlinePoller(const DeadlinePoller&) = delete;
    DeadlinePoller& operator=(const DeadlinePoller&) = delete;

    // Reads the clock.
    bool expired() {
        const auto wall_clock = Clock::now();
        if (interrupted_ && wall_clock >= next_interrupt_check_) {
            next_interrupt_check_ = wall_clock + interrupt_check_interval;
            was_interrupted_ = was_interrupted_ || interrupted_();
        }
        return was_interrupted_ || (cpu_time_ ? now() : wall_clock) >= end_;
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

    // The clock of the deadline. Systems without a clock per thread use the wall clock.
    Clock::time_point now() const {
#ifdef CLOCK_THREAD_CPUTIME_ID
        timespec time;
        if (cpu_time_ && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
            return Clock::time_point(std::chrono::duration_cast<Clock::duration>(
                std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
#endif
        return Clock::now();
    }

    bool cpu_time_;
    std::size_t work_since_check_ = 0;
    Clock::time_point end_ = Clock::time_point::max();
    InterruptCheck interrupted_;
    Clock::time_point next_interrupt_check_;
    bool was_interrupted_ = false;
};

}  // namespace needful
