"""The live table of a sweep: what it counts, and that it is only shown to people."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from command_line import COLOUR
from needful.cli.sweep_progress import SweepTable, showing
from needful.sweeps.jobs import Job, JobResult, Results

JOBS = [Job(domain, "necessary", seed) for domain in ("screws", "painting") for seed in range(3)]


def lasting(job: Job, seconds: float) -> JobResult:
    return JobResult(job, {"seconds": {"operators": seconds}}, ())


def broken(job: Job) -> JobResult:
    return JobResult(job, {}, (), "Traceback")


def drawn(table: SweepTable) -> list[list[str]]:
    """Return the words of the rows as they are shown, without the lines between them."""
    console = Console(file=io.StringIO(), width=100)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue().translate(str.maketrans("┃│", "  "))
    return [line.split() for line in text.splitlines() if any(map(str.isalpha, line))]


def test_jobs_are_counted_by_domain() -> None:
    table = SweepTable()
    earlier = Results((lasting(JOBS[0], 10.0), broken(JOBS[1]), broken(replace(JOBS[0], seed=9))))
    table.on_sweep_start(JOBS, JOBS[2:], earlier)
    table.on_job_start(JOBS[2])
    table.on_job_start(JOBS[3])
    table.on_job_end(lasting(JOBS[2], 10.0))
    assert drawn(table)[:3] == [
        ["domain", "jobs", "done", "running", "failed"],
        ["screws", "3", "3", "1"],
        ["painting", "3", "1"],
    ]
    # Three of Painting are left, each expected to last as long as those of its learner; one runs.
    assert table.line() == "3 of 6 jobs done, 1 failed, about 30 s left"
    table.on_job_end(broken(JOBS[3]))
    for job in JOBS[4:]:
        table.on_job_start(job)
        table.on_job_end(lasting(job, 10.0))
    assert table.line() == "6 of 6 jobs done, 2 failed"


def test_a_job_that_is_repeated_has_not_failed_yet() -> None:
    table = SweepTable()
    table.on_sweep_start(JOBS[:1], JOBS[:1], Results((broken(JOBS[0]),)))
    assert table.line() == "0 of 1 job done"
    table.on_job_start(JOBS[0])
    table.on_job_start(JOBS[0])  # it died and began anew
    table.on_job_end(lasting(JOBS[0], 1.0))
    assert table.line() == "1 of 1 job done"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(5.4, "5 s"), (89.0, "89 s"), (150.0, "2 min"), (7100.0, "118 min"), (9000.0, "2 h")],
)
def test_times_are_rounded_to_what_matters(seconds: float, shown: str) -> None:
    table = SweepTable()
    table.on_sweep_start(JOBS[:2], JOBS[1:2], Results((lasting(JOBS[0], seconds),)))
    assert table.line() == f"1 of 2 jobs done, about {shown} left"


class Stream(io.StringIO):
    """A stderr that says whether it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_is_drawn_on(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Stream(terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stderr)
    table = SweepTable()
    with showing(table):
        table.on_sweep_start(JOBS, JOBS, Results())
    shown = COLOUR.sub("", stderr.getvalue())
    assert ("0 of 6 jobs done" in shown) == terminal
    assert bool(shown) == terminal
