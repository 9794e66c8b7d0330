"""The groups of runs, and the choice of the setting that represents a method."""

from __future__ import annotations

from dataclasses import replace

import pytest

from needful.paper.published import (
    DOWN_EVAL,
    METHODS,
    in_column_order,
    in_paper_order,
    method_of,
    method_style,
)
from needful.reports.runs import (
    RunGroup,
    group_runs,
    main_group,
    main_groups,
    success_percentages,
    was_learned,
)
from needful.sweeps.jobs import Job, JobResult
from synthetic_results import make_result

SOLVED, FAILED = "solved", "timeout"
JOB = Job("screws", "necessary", demos=50)


def test_runs_that_differ_in_their_seed_belong_together() -> None:
    results = [make_result(replace(JOB, seed=seed)) for seed in (3, 1, 2)]
    (group,) = group_runs(results)
    assert [run.job.seed for run in group.runs] == [1, 2, 3]
    assert (group.domain, group.method, group.setting.seed) == ("screws", "necessary", 0)
    assert len(group.records) == 3


def test_every_other_difference_separates() -> None:
    jobs = [
        JOB,
        replace(JOB, domain="painting"),
        replace(JOB, learner="ci"),
        replace(JOB, demos=10),
        replace(JOB, timeout=1.0),
        replace(JOB, abstract_plans=1),
        replace(JOB, learning_timeout=5.0),
        replace(JOB, planner="python"),
    ]
    assert len(group_runs([make_result(job) for job in jobs])) == len(jobs)
    assert len(group_runs([make_result(JOB), make_result(JOB, [SOLVED, FAILED])])) == 2


def test_groups_come_in_the_papers_order_whatever_the_files_order() -> None:
    results = [
        make_result(Job(domain, learner, demos=demos))
        for domain in ("screws", "attic", "painting")
        for learner in ("ci", "zebra", "necessary")
        for demos in (50, 5)
    ]
    groups = group_runs(results)
    assert groups == group_runs(results[::-1])
    assert [group.domain for group in groups[::6]] == ["painting", "screws", "attic"]
    assert [group.method for group in groups[:6:2]] == ["necessary", "ci", "zebra"]
    assert [group.setting.demos for group in groups[:2]] == [5, 50]


def test_errors_are_counted_and_left_out() -> None:
    failed = JobResult(replace(JOB, seed=1, tasks=1), {}, (), "Traceback\nValueError: no")
    (group,) = group_runs([make_result(JOB), failed])
    assert (len(group.runs), group.errors) == (1, 1)


def test_success_is_counted_run_by_run() -> None:
    runs = [make_result(JOB, [SOLVED, SOLVED, FAILED, FAILED]), make_result(JOB, [SOLVED])]
    assert success_percentages(runs) == (50.0, 100.0)
    assert success_percentages([make_result(JOB, [])]) == ()


def test_runs_without_a_learned_model_are_separated() -> None:
    learned, unlearned = make_result(JOB, [SOLVED]), make_result(replace(JOB, seed=1), ["not_learned"])
    assert was_learned(learned)
    assert not was_learned(unlearned)
    (group,) = group_runs([learned, unlearned])
    assert group.learned == (learned,)


def test_tasks_are_those_of_the_smallest_run() -> None:
    few = replace(make_result(JOB, [SOLVED] * 3), job=replace(JOB, tasks=5))
    many = replace(make_result(JOB, [SOLVED] * 5), job=replace(JOB, tasks=5, seed=1))
    (group,) = group_runs([few, many])
    assert group.tasks == 3
    assert group_runs([JobResult(JOB, {}, (), "no")])[0].tasks == 0


def test_the_papers_number_of_demonstrations_represents_a_method() -> None:
    groups = group_runs([make_result(replace(JOB, demos=demos)) for demos in (5, 50, 100)])
    assert _chosen(groups) == 50
    groups = group_runs([make_result(replace(JOB, demos=demos)) for demos in (5, 20)])
    assert _chosen(groups) == 20
    groups = group_runs([make_result(Job("attic", "necessary", demos=demos)) for demos in (10, 50, 100)])
    chosen = main_group(groups, "attic", "necessary")
    assert chosen is not None
    assert chosen.setting.demos == 100
    assert main_group(groups, "screws", "necessary") is None


def test_a_setting_with_runs_is_preferred() -> None:
    groups = group_runs([JobResult(JOB, {}, (), "no"), make_result(replace(JOB, demos=5))])
    assert _chosen(groups) == 5


def test_of_equal_settings_the_one_with_more_tasks_is_preferred() -> None:
    small = [make_result(replace(JOB, seed=seed), [SOLVED] * 2) for seed in range(3)]
    large = make_result(JOB, [FAILED] * 5)
    groups = group_runs([large, *small])
    chosen = main_group(groups, "screws", "necessary")
    assert chosen is not None
    assert len(chosen.records) == 6
    assert main_groups(groups) == (chosen,)
    slow, fast = (make_result(replace(JOB, timeout=seconds)) for seconds in (60.0, 10.0))
    chosen = main_group(group_runs([slow, fast]), "screws", "necessary")
    assert chosen is not None
    assert chosen.setting.timeout == 60.0


def _chosen(groups: tuple[RunGroup, ...]) -> int:
    chosen = main_group(groups, "screws", "necessary")
    assert chosen is not None
    assert main_groups(groups) == (chosen,)
    return chosen.setting.demos


@pytest.mark.parametrize(
    ("learner", "plans", "method"),
    [
        ("necessary", 8, "necessary"),
        ("necessary", 1, DOWN_EVAL),
        ("ci", 1, "ci, one abstract plan"),
        ("gnn-shooting", 1, "gnn-shooting"),
    ],
)
def test_planning_with_one_abstract_plan_is_another_method(learner: str, plans: int, method: str) -> None:
    assert method_of(Job("screws", learner, abstract_plans=plans)) == method


def test_methods_and_domains_that_are_not_in_the_paper_come_last() -> None:
    assert in_column_order(["zebra", "ci", "ant", "necessary", "ci"]) == ("necessary", "ci", "ant", "zebra")
    assert in_paper_order(["attic", "screws", "painting", "screws"]) == ("painting", "screws", "attic")
    assert method_style("zebra").label == "zebra"


def test_methods_look_different() -> None:
    styles = [*METHODS.values(), method_style("zebra")]
    assert len({style.colour for style in styles}) == len(styles)
    assert len({style.marker for style in styles}) == len(styles)
    assert len({style.label for style in styles}) == len(styles)
