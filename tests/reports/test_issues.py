"""The issues at the start of a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from needful.reports.write_report import Issue, find_issues
from needful.sweeps.jobs import DamagedFile, Job, JobResult, Results
from synthetic_results import make_result, make_sweep

JOB = Job("screws", "necessary", seed=3)
DESCRIBED = f"screws, necessary, seed 3, 50 demos ({replace(JOB, tasks=2).key})"


def issues_of(*results: JobResult) -> tuple[Issue, ...]:
    return find_issues(Results(results))


def test_good_results_have_no_issues() -> None:
    assert find_issues(Results()) == ()
    assert issues_of(*make_sweep(["screws"], ["necessary", "ci"], seeds=2)) == ()
    assert issues_of(make_result(JOB, ["not_learned", "not_learned"], operators=0)) == ()


def test_damaged_files_come_before_errors_and_errors_before_implausible_results() -> None:
    error = "Traceback (most recent call last):\n  File\nValueError: no  \n"
    results = Results(
        (make_result(JOB, ["goal_missed", "solved"]), JobResult(replace(JOB, tasks=2), {}, (), error)),
        (DamagedFile(Path("jobs/x.jsonl.gz"), "cut off"),),
    )
    assert find_issues(results) == (
        Issue("jobs/x.jsonl.gz", "damaged file", "cut off"),
        Issue(DESCRIBED, "ValueError: no", error),
        Issue(DESCRIBED, "1 of 2 tasks ended with goal_missed", "task 0: goal missed"),
    )


def test_an_error_without_a_message_is_an_error() -> None:
    (issue,) = issues_of(JobResult(JOB, {}, (), ""))
    assert issue.what == "an error without a message"


def test_a_long_list_of_unexplained_tasks_is_shortened() -> None:
    (issue,) = issues_of(make_result(JOB, ["goal_missed"] * 8 + ["solved", "timeout"]))
    assert issue.what == "8 of 10 tasks ended with goal_missed"
    assert issue.detail.splitlines() == [
        *(f"task {task}: goal missed" for task in range(5)),
        "and 3 more",
    ]


def test_explained_failures_are_no_issue() -> None:
    outcomes = ["environment_failure", "timeout", "sampler_exhausted", "not_learned"]
    assert issues_of(make_result(JOB, outcomes)) == ()


def test_missing_records_are_an_issue() -> None:
    cut = replace(make_result(JOB, ["solved", "timeout"]), job=replace(JOB, tasks=50))
    (issue,) = issues_of(cut)
    assert issue.what == "expected 50 tasks, found 2 records"


def test_a_summary_that_contradicts_its_records_is_an_issue() -> None:
    good = make_result(JOB, ["solved", "timeout"])
    (issue,) = issues_of(replace(good, summary={**good.summary, "solved": 2}))
    assert issue == Issue(DESCRIBED, "the summary counts 2 solved tasks, the records 1")
    (issue,) = issues_of(replace(good, summary={**good.summary, "operators": None}))
    assert issue.what == "the summary has no number of operators"
    (issue,) = issues_of(replace(good, summary={}))
    assert issue.what == "the summary has no learning time"
