"""The paper's tables filled with results: entries, differences, bold and notes, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from needful.paper.experiments import preset_job
from needful.paper.published import Estimate
from needful.reports.paper_tables import TABLES, fill_table, fill_tables, kinder_table
from needful.reports.runs import group_runs, learning_seconds, operator_count
from needful.reports.table import Cell, Table, one_decimal, table_rows, three_digits
from needful.sweeps.jobs import Job, JobResult
from synthetic_results import make_result, make_sweep

SOLVED, FAILED = "solved", "timeout"
SCREWS = Job("screws", "necessary")


def solving(job: Job, *shares: Sequence[str]) -> list[JobResult]:
    return [make_result(replace(job, seed=seed), outcomes) for seed, outcomes in enumerate(shares)]


def cell(table: Table, domain: str, column: str) -> Cell:
    (row,) = [row for row in table.rows if row.domain == domain]
    return row.cells[table.columns.index(column)]


def test_an_entry_is_mean_and_standard_error_beside_the_published() -> None:
    results = solving(SCREWS, [SOLVED] * 4, [SOLVED] * 2 + [FAILED] * 2)
    found = cell(fill_table("main", group_runs(results)), "screws", "Necessary")
    # 100 and 50: mean 75, deviation 25, error 25 / sqrt(2)
    assert found.measured == Estimate(75.0, pytest.approx(17.6777, abs=1e-4), 2)  # type: ignore[arg-type]
    assert found.published == Estimate(100.0, 0.0, 10)
    assert found.difference == -25.0
    assert found.notes == ("n = 2 × 4",)
    assert found.tasks == 4


def test_kinder_has_costs_beside_success() -> None:
    button, motion = "kinder/StickButton2D-b10", "kinder/Motion2D-p1"
    runs = solving(Job(motion, "necessary"), [SOLVED])
    buttons = solving(Job(button, "necessary"), [SOLVED] * 2, [SOLVED, FAILED])
    for run, count in zip(buttons, (90, 100), strict=True):
        runs.append(replace(run, summary={**run.summary, "low_level_actions": count}))
    table = kinder_table(group_runs(runs))
    assert [row.domain for row in table.rows] == [button, motion]
    found = cell(table, button, "Learned")
    assert found.measured is not None
    assert found.measured.mean == 75.0
    assert found.notes == ("n = 2 × 2", "0.20 s (max 0.2)", "95 actions")
    assert cell(table, button, "Hand-written").measured is None


def test_the_caption_names_limits_on_learning() -> None:
    limited = [replace(SCREWS, learner=name, learning_timeout=600.0) for name in ("ci", "loft")]
    results = [run for job in (SCREWS, *limited) for run in solving(job, [SOLVED])]
    for name in ("main", "times", "operators"):
        caption = fill_table(name, group_runs(results)).caption
        assert caption.endswith(" Learning was limited to 600 s for LOFT, CI.")
    assert "limited" not in fill_table("main", group_runs(results[:1])).caption


def test_ablations_are_given_with_standard_deviations() -> None:
    jobs = [SCREWS, replace(SCREWS, learner="necessary-no-complexity"), replace(SCREWS, abstract_plans=1)]
    results = [run for job in jobs for run in solving(job, [SOLVED], [FAILED])]
    table = fill_table("ablations", group_runs(results))
    assert table.columns == ("Necessary", "No complexity", "Down Eval")
    for column in table.columns:
        found = cell(table, "screws", column)
        assert found.measured == Estimate(50.0, 50.0, 2)
        assert not found.best


def test_what_was_not_run_is_a_dash_beside_the_published() -> None:
    table = fill_table("main", group_runs(solving(SCREWS, [SOLVED])))
    found = cell(table, "screws", "CI+QE")
    assert found == Cell(None, Estimate(50.0, 15.81, 10))
    assert table.estimate_text(found.measured) == "–"
    assert found.difference is None
    assert [row.domain for row in table.rows] == ["screws"]


def test_a_full_sweep_needs_no_note() -> None:
    results = make_sweep(["painting"], ["necessary"], seeds=10, tasks=50)
    assert cell(fill_table("main", group_runs(results)), "painting", "Necessary").notes == ()
    results = make_sweep(["locking-windows"], ["necessary"], seeds=10, tasks=10, demos=10)
    assert cell(fill_table("main", group_runs(results)), "locking-windows", "Necessary").notes == ()


def test_fewer_seeds_tasks_or_demonstrations_are_noted() -> None:
    few_seeds = group_runs(make_sweep(["painting"], ["necessary"], seeds=9, tasks=50))
    assert cell(fill_table("main", few_seeds), "painting", "Necessary").notes == ("n = 9 × 50",)
    assert cell(fill_table("times", few_seeds), "painting", "Necessary").notes == ("n = 9",)
    few_tasks = group_runs(make_sweep(["painting"], ["necessary"], seeds=10, tasks=49))
    assert cell(fill_table("main", few_tasks), "painting", "Necessary").notes == ("n = 10 × 49",)
    assert cell(fill_table("operators", few_tasks), "painting", "Necessary").notes == ()
    few_demos = group_runs(make_sweep(["painting"], ["necessary"], seeds=10, tasks=50, demos=25))
    assert cell(fill_table("main", few_demos), "painting", "Necessary").notes == ("25 demos",)


def test_another_planner_is_noted() -> None:
    results = make_sweep(["painting"], ["necessary"], seeds=10, tasks=50)
    slow = [replace(result, job=replace(result.job, planner="paper")) for result in results]
    assert cell(fill_table("main", group_runs(slow)), "painting", "Necessary").notes == ("planner paper",)
    both = cell(fill_table("main", group_runs([*slow, *results])), "painting", "Necessary")
    assert both.notes == ()


def test_policies_have_no_operators_to_be_counted() -> None:
    groups = group_runs(make_sweep(["screws"], ["necessary", "gnn-shooting", "zebra"], seeds=2))
    table = fill_table("operators", groups)
    assert table.columns[-1] == "zebra"
    assert "GNN Shoot" not in table.columns
    assert cell(table, "screws", "Necessary").best


def test_learners_out_of_time_are_noted_and_counted() -> None:
    seconds = {"operators": 30.0, "samplers": 0.0}
    unlearned = make_result(replace(SCREWS, seed=1), ["not_learned"] * 2, seconds, operators=0)
    groups = group_runs([make_result(SCREWS, [SOLVED] * 2, operators=6), unlearned])
    success, time, operators = (
        cell(fill_table(name, groups), "screws", "Necessary") for name in ("main", "times", "operators")
    )
    for found in (success, time, operators):
        assert found.notes[-1] == "1 of 2 not learned"
        assert found.unlearned == 1
    assert success.measured == Estimate(50.0, pytest.approx(50.0 / 2**0.5), 2)  # type: ignore[arg-type]
    assert time.measured == Estimate(16.0, 14.0, 2)  # 2 and 30
    assert operators.measured == Estimate(6.0, None, 1)


def test_a_time_that_was_cut_short_is_never_the_best() -> None:
    limited = Job("screws", "ci", learning_timeout=1.0)
    cut = make_result(limited, ["not_learned"], {"operators": 1.0, "samplers": 0.0}, operators=0)
    table = fill_table("times", group_runs([make_result(SCREWS), cut]))
    assert not cell(table, "screws", "CI").best
    assert cell(table, "screws", "Necessary").best


def test_errors_are_noted() -> None:
    failed = [JobResult(replace(SCREWS, seed=seed, tasks=1), {}, (), "no") for seed in (1, 2)]
    groups = group_runs([make_result(SCREWS), *failed])
    assert cell(fill_table("main", groups), "screws", "Necessary").notes == ("n = 1 × 1", "2 errors")
    alone = cell(fill_table("main", group_runs(failed[:1])), "screws", "Necessary")
    assert (alone.measured, alone.notes) == (None, ("1 error",))


def test_bold_are_those_within_the_standard_errors_of_the_best() -> None:
    def runs(learner: str, *solved: int) -> list[JobResult]:
        return solving(
            replace(SCREWS, learner=learner), *([SOLVED] * n + [FAILED] * (10 - n) for n in solved)
        )

    results = [
        *runs("necessary", 10, 10),  # 100 (0)
        *runs("ci", 9, 10),  # 95 (3.54)
        *runs("ci-qe", 8, 10),  # 90 (7.07)
        *runs("loft", 5, 10),  # 75 (17.68)
        *runs("loft-replay", 4, 10),  # 70 (21.21)
        *runs("gnn-shooting", 10, 10),
    ]
    table = fill_table("main", group_runs(results))
    bold = {column for column in table.columns if cell(table, "screws", column).best}
    # The others differ from the two best by sqrt(2) times their standard error.
    assert bold == {"Necessary", "GNN Shoot"}
    table = fill_table("main", group_runs([*runs("necessary", 9, 10), *runs("ci", 8, 10)]))
    # 5 apart, errors 3.54 + 7.07
    assert {column for column in table.columns if cell(table, "screws", column).best} == {"Necessary", "CI"}


def test_less_is_better_for_times_and_operators() -> None:
    quick = make_result(SCREWS, seconds={"operators": 1.0, "samplers": 1.0}, operators=9)
    slow = make_result(replace(SCREWS, learner="ci"), seconds={"operators": 5.0}, operators=3)
    groups = group_runs([quick, slow])
    times, operators = fill_table("times", groups), fill_table("operators", groups)
    assert cell(times, "screws", "Necessary").best
    assert not cell(times, "screws", "CI").best
    assert cell(operators, "screws", "CI").best
    assert not cell(operators, "screws", "Necessary").best
    assert cell(times, "screws", "CI").difference == pytest.approx(5.0 - 0.32)


def test_learning_takes_as_long_as_all_its_stages() -> None:
    run = make_result(SCREWS, seconds={"operators": 1.0, "samplers": 2.0, "experiments": 4.0})
    assert learning_seconds(run) == 7.0
    policy = make_result(SCREWS, seconds={"operators": 0.0, "samplers": 0.0, "policy": 8.0})
    assert learning_seconds(policy) == 8.0


@pytest.mark.parametrize(
    "summary",
    [{}, {"seconds": 3.0}, {"seconds": {"collect": 1.0}}, {"seconds": {"operators": "long"}}],
)
def test_an_incomplete_summary_has_no_numbers(summary: dict[str, object]) -> None:
    run = replace(make_result(SCREWS), summary=summary)  # type: ignore[arg-type]
    assert learning_seconds(run) is None
    assert operator_count(run) is None
    assert cell(fill_table("times", group_runs([run])), "screws", "Necessary").measured is None


def test_both_policies_fill_the_column_of_their_network() -> None:
    shooting, free = (replace(SCREWS, learner=name) for name in ("gnn-shooting", "gnn-model-free"))
    results = [make_result(free, seconds={"policy": 3.0})]
    assert cell(fill_table("times", group_runs(results)), "screws", "GNN").measured == Estimate(
        3.0, None, 1
    )
    results.append(make_result(shooting, seconds={"policy": 4.0}))
    found = cell(fill_table("times", group_runs(results)), "screws", "GNN")
    assert found.measured == Estimate(4.0, None, 1)
    assert found.published == Estimate(1369.59, 68.44, 10)


def test_unknown_learners_and_domains_are_last() -> None:
    results = [make_result(SCREWS), make_result(Job("attic", "zebra"), [SOLVED, FAILED])]
    table = fill_table("main", group_runs(results))
    assert table.columns[-1] == "zebra"
    assert [row.title for row in table.rows] == ["Screws", "attic"]
    found = cell(table, "attic", "zebra")
    assert (found.published, found.notes) == (None, ("n = 1 × 2", "50 demos"))
    # The table of ablations omits rows without numbers.
    assert [row.domain for row in fill_table("ablations", group_runs(results)).rows] == ["screws"]


def test_ablations_have_no_column_among_the_learners() -> None:
    results = [make_result(SCREWS), make_result(replace(SCREWS, abstract_plans=1))]
    assert len(fill_table("main", group_runs(results)).columns) == 7


@pytest.mark.parametrize("name", sorted(TABLES))
def test_without_results_a_table_has_no_rows(name: str) -> None:
    assert fill_table(name, ()).rows == ()


def test_rows_for_programs_hold_everything() -> None:
    rows = table_rows(fill_table("main", group_runs(solving(SCREWS, [SOLVED], [FAILED]))))
    assert len(rows) == 7
    assert rows[0] == {
        "table": "main",
        "domain": "screws",
        "column": "Necessary",
        "mean": 50.0,
        "spread": pytest.approx(35.3553, abs=1e-4),
        "seeds": 2,
        "tasks": 1,
        "not_learned": 0,
        "published_mean": 100.0,
        "published_spread": 0.0,
        "difference": -50.0,
        "interval_low": pytest.approx(5.4621, abs=1e-4),
        "interval_high": pytest.approx(94.5379, abs=1e-4),
        "best": True,
        "notes": "n = 2 × 1",
        "demos": 50,
        "timeout": 10.0,
        "learning_timeout": None,
        "abstract_plans": 8,
        "planner": "anytime",
        "preset": "",
        "cpu_time": False,
        "sources": "",
    }
    assert rows[1]["mean"] is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.04, "0.04"),
        (0.0123, "0.012"),
        (0.0004, "0.00"),
        (0.32, "0.32"),
        (0.854, "0.854"),
        (1.31, "1.31"),
        (19.38, "19.4"),
        (999.6, "1000"),
        (14460.37, "14460"),
    ],
)
def test_seconds_are_written_with_three_digits(number: float, text: str) -> None:
    assert three_digits(number) == text


@pytest.mark.parametrize(
    ("difference", "text"), [(0.04, "±0.0"), (-0.04, "±0.0"), (1.25, "+1.2"), (-20.0, "−20.0")]
)
def test_differences_have_a_sign(difference: float, text: str) -> None:
    table = Table("t", "t", "c", (), (), one_decimal)
    assert table.difference_text(difference) == text


def test_a_mean_without_a_spread_stands_alone() -> None:
    table = Table("t", "t", "c", (), (), one_decimal)
    assert table.estimate_text(Estimate(98.76, None, 1)) == "98.8"
    assert table.estimate_text(Estimate(98.76, 0.44, 10)) == "98.8 (0.4)"


def test_single_seeds_are_not_compared_with_several() -> None:
    one = [make_result(replace(SCREWS, learner="ci"), [SOLVED] * 2)]
    several = [make_result(replace(SCREWS, seed=seed), [SOLVED, FAILED]) for seed in range(2)]
    table = fill_table("main", group_runs([*one, *several]))
    assert cell(table, "screws", "Necessary").best
    assert not cell(table, "screws", "CI").best
    assert cell(fill_table("main", group_runs(one)), "screws", "CI").best


def test_both_tables_and_their_methods() -> None:
    preset = preset_job("screws", "necessary", 0)
    gnn = replace(SCREWS, learner="gnn-shooting")
    groups = group_runs([make_result(job) for job in (preset, SCREWS, gnn)])
    published, needful = fill_tables("main", groups)
    assert (published.name, needful.name) == ("main_as_published", "main")
    for table, job in ((published, preset), (needful, SCREWS)):
        found = cell(table, "screws", "Necessary")
        assert found.setting is not None
        assert found.setting.learner == job.learner
        assert cell(table, "screws", "GNN Shoot").measured is not None


def test_results_of_different_code_are_not_averaged() -> None:
    runs = [
        make_result(replace(SCREWS, seed=seed), [outcome]) for seed, outcome in ((0, SOLVED), (1, FAILED))
    ]
    records = tuple(replace(one, versions={"sources": "a"}) for one in runs[1].records)
    groups = group_runs([runs[0], replace(runs[1], records=records)])
    assert [(group.sources, len(group.runs)) for group in groups] == [("", 1), ("a", 1)]
    assert cell(fill_table("main", groups), "screws", "Necessary").sources == "a"
