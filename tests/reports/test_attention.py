"""What comes first in a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from needful.reports.write_report import Issue, find_issues
from needful.sweeps.jobs import Job
from needful.sweeps.results import DamagedFile, JobResult, Results
from synthetic_results import make_result, make_sweep

JOB = Job("screws", "necessary", seed=3)
NAMED = f"screws, necessary, seed 3, 50 demos ({replace(JOB, tasks=2).key})"


def concerns_of(*results: JobResult) -> tuple[Issue, ...]:
    return find_issues(Results(results))


def test_good_results_are_no_concern() -> None:
    assert find_issues(Results()) == ()
    assert concerns_of(*make_sweep(["screws"], ["necessary", "ci"], seeds=2)) == ()
    assert concerns_of(make_result(JOB, ["not_learned", "not_learned"], operators=0)) == ()


def test_damaged_files_come_before_errors_and_these_before_doubts() -> None:
    error = "Traceback (most recent call last):\n  File\nValueError: no  \n"
    results = Results(
        (make_result(JOB, ["goal_missed", "solved"]), JobResult(replace(JOB, tasks=2), {}, (), error)),
        (DamagedFile(Path("jobs/x.jsonl.gz"), "cut off"),),
    )
    assert find_issues(results) == (
        Issue("jobs/x.jsonl.gz", "damaged file", "cut off"),
        Issue(NAMED, "ValueError: no", error),
        Issue(NAMED, "1 of 2 tasks ended with goal_missed", "task 0: goal missed"),
    )


def test_an_error_without_a_message_is_an_error() -> None:
    (concern,) = concerns_of(JobResult(JOB, {}, (), ""))
    assert concern.what == "an error without a message"


def test_many_unexplained_tasks_are_told_briefly() -> None:
    (concern,) = concerns_of(make_result(JOB, ["goal_missed"] * 8 + ["solved", "timeout"]))
    assert concern.what == "8 of 10 tasks ended with goal_missed"
    assert concern.detail.splitlines() == [
        *(f"task {task}: goal missed" for task in range(5)),
        "and 3 more",
    ]


def test_failures_that_say_why_are_no_concern() -> None:
    outcomes = ["environment_failure", "timeout", "sampler_exhausted", "not_learned"]
    assert concerns_of(make_result(JOB, outcomes)) == ()


def test_records_that_are_missing_are_told() -> None:
    cut = replace(make_result(JOB, ["solved", "timeout"]), job=replace(JOB, tasks=50))
    (concern,) = concerns_of(cut)
    assert concern.what == "50 tasks were to be tried, there are 2 records"


def test_summaries_that_contradict_their_records_are_told() -> None:
    good = make_result(JOB, ["solved", "timeout"])
    (concern,) = concerns_of(replace(good, summary={**good.summary, "solved": 2}))
    assert concern == Issue(NAMED, "the summary says 2 tasks were solved, the records 1")
    (concern,) = concerns_of(replace(good, summary={**good.summary, "operators": None}))
    assert concern.what == "the summary does not say how many operators there are"
    (concern,) = concerns_of(replace(good, summary={}))
    assert concern.what == "the summary does not say how long learning took"
