"""Deadlines of the C++ engine: its poller, compiled into a small program, and timeouts of a search."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_clock import FakeClock
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.engines.native_planner import ENGINE_BUILT, NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.engines.searches import AStar
from needful.planning.portfolio import Portfolio, Stage
from planning_problems import toy_problem

NATIVE = Path(__file__).parents[3] / "native"
COMPILER = shutil.which(os.environ.get("CXX", "c++"))

PROGRAM = """
#include <cassert>
#include <thread>

#include "deadline_poller.hpp"

using needful::DeadlineExpired;
using needful::DeadlinePoller;

int interrupt_checks = 0;

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

template <class Function>
bool throws(Function function) {
    try {
        function();
    } catch (const DeadlineExpired&) {
        return true;
    }
    return false;
}

int main() {
    DeadlinePoller unlimited, huge(1e300), expired(0.0), soon(0.1);
    DeadlinePoller interrupted(1000.0, [] { return ++interrupt_checks == 1; });

    wait(150);
    // The interrupt check is due now, and the default has none.
    assert(!unlimited.expired() && !huge.expired());
    assert(!throws([&] { unlimited.poll(1000000); }));
    assert(soon.expired());
    assert(interrupted.expired() && interrupt_checks == 1);
    // An interrupt is final.
    wait(60);
    assert(interrupted.expired() && interrupt_checks == 1);

    assert(throws([&] { expired.check(); }));
    assert(!throws([&] { expired.poll(1); }));
    assert(throws([&] {
        for (int i = 0; i < 10000; ++i) expired.poll(1);
    }));
}
"""


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_deadline_poller(tmp_path: Path) -> None:
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(PROGRAM)
    command = [COMPILER or "", "-std=c++17", "-UNDEBUG", "-pthread", f"-I{NATIVE}", str(source)]
    subprocess.run([*command, "-o", str(program)], check=True, timeout=120)
    subprocess.run([str(program)], check=True, timeout=30)


@pytest.mark.skipif(not ENGINE_BUILT, reason="needs the C++ engine")
def test_postponed_plans_follow_after_a_timeout() -> None:
    """Both engines return the plans that they already have when the deadline expires."""
    transcripts = []
    for engine in (PythonPlanner, NativePlanner):
        clock = FakeClock()
        budget = Budget.seconds(1000.0, clock=clock)
        toy = toy_problem(balls=3)
        problem = engine(Portfolio((Stage(AStar()),), distinct=True))(toy.operators, toy.task, budget)
        assert problem is not None
        stream = problem.plans(0, budget, SearchStatistics())
        first = [next(stream) for _ in range(2)]
        clock.now = 2000.0
        transcripts.append((first, list(stream), stream.end_reason))
    python, native = transcripts
    assert python[1] != []
    assert python[2] is Outcome.TIMEOUT
    assert native == python
