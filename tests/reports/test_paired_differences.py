"""The paired comparison of two methods on the same tasks."""

from __future__ import annotations

from dataclasses import replace

from needful.reports.method_figures import compare, compare_with_ours
from needful.reports.runs import RunGroup, group_runs
from needful.sweeps.jobs import Job, JobResult
from synthetic_results import make_result, make_sweep

OURS, CI = Job("screws", "necessary"), Job("screws", "ci")


def group(job: Job, *runs: str) -> RunGroup:
    """Return a group with one run per word, one task per letter, and + for solved."""
    results = [
        make_result(replace(job, seed=seed), ["solved" if sign == "+" else "timeout" for sign in signs])
        for seed, signs in enumerate(runs)
    ]
    (found,) = group_runs(results)
    return found


def test_a_comparison_worked_by_hand() -> None:
    found = compare(group(OURS, "++++", "++--"), group(CI, "--++", "-++-"))
    assert found is not None
    # Seed 0: 2 of 4 more; seed 1: one more, one less.
    assert (found.difference.mean, found.difference.low, found.difference.high) == (25.0, 0.0, 50.0)
    assert (found.seeds, found.tasks, found.wins, found.losses) == (2, 8, 3, 1)
    assert (found.domain, found.method, found.other) == ("screws", "necessary", "ci")


def test_swapping_the_methods_changes_the_sign() -> None:
    one, other = group(OURS, "+++", "++-", "+--"), group(CI, "---", "+--", "+-+")
    there, back = compare(one, other), compare(other, one)
    assert there is not None
    assert back is not None
    assert there.difference.mean == -back.difference.mean
    assert (there.wins, there.losses) == (back.losses, back.wins)


def test_a_method_is_no_better_than_itself() -> None:
    one = group(OURS, "+-+", "--+")
    found = compare(one, one)
    assert found is not None
    assert (found.difference.mean, found.difference.low, found.difference.high) == (0.0, 0.0, 0.0)
    assert (found.wins, found.losses) == (0, 0)


def test_only_seeds_and_tasks_of_both_count() -> None:
    short = make_result(replace(CI, seed=0), ["timeout", "timeout"])
    lonely = make_result(replace(CI, seed=9), ["solved", "solved"])
    (other,) = group_runs([short, lonely])
    found = compare(group(OURS, "+-++++", "++++++"), other)
    assert found is not None
    assert (found.seeds, found.tasks, found.difference.mean) == (1, 2, 50.0)
    assert found.difference.low is None


def test_without_a_common_task_there_is_no_comparison() -> None:
    (elsewhere,) = group_runs([make_result(replace(CI, seed=5))])
    assert compare(group(OURS, "+"), elsewhere) is None
    (empty,) = group_runs([make_result(CI, [])])
    assert compare(group(OURS, "+"), empty) is None


def test_ours_is_compared_with_every_other_method_of_its_domain() -> None:
    results: tuple[JobResult, ...] = (
        *make_sweep(["screws", "painting"], ["necessary", "ci", "loft"], seeds=2, tasks=3),
        *make_sweep(["satellites"], ["ci"], seeds=2, tasks=3),
    )
    found = compare_with_ours(group_runs(results))
    assert [(one.domain, one.other) for one in found] == [
        ("painting", "loft"),
        ("painting", "ci"),
        ("screws", "loft"),
        ("screws", "ci"),
    ]
    assert found == compare_with_ours(group_runs(results[::-1]))
