"""The results in the repository are whole, as large as promised, and what the tables show."""

from __future__ import annotations

from pathlib import Path

import pytest

from make_readme_results import readme_with_table, success_table, table_of_means
from needful.paper.domains import ANALYTIC, HOUSEHOLD
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.paper_tables import TABLES, fill_table
from needful.reports.runs import group_runs, learning_seconds, success_percentages
from needful.reports.statistics import mean
from needful.reports.table import as_markdown
from needful.sweeps.results import JobResult, read_results

ROOT = Path(__file__).parents[1]
RESULTS = read_results(ROOT / "results")
BASELINES = ("ci", "ci-qe", "loft", "loft-replay", "gnn-shooting", "gnn-model-free")


def runs(domain: str, learner: str, demos: int) -> list[JobResult]:
    """Return the runs with the default planner and as many abstract plans as in the paper."""
    return [
        result
        for result in RESULTS.results
        if (result.job.domain, result.job.learner, result.job.demos) == (domain, learner, demos)
        and (result.job.abstract_plans, result.job.planner) == (8, DEFAULT_PLANNER)
    ]


def test_nothing_is_damaged_and_nothing_went_wrong() -> None:
    assert not RESULTS.damaged
    assert [result.job for result in RESULTS.results if result.error is not None] == []


@pytest.mark.parametrize("domain", ANALYTIC)
def test_analytic_domains(domain: str) -> None:
    ours = runs(domain, "necessary", 50)
    assert {result.job.seed for result in ours} == set(range(10))
    assert all(len(result.records) == 50 for result in ours)
    for learner in BASELINES:
        found = runs(domain, learner, 50)
        assert {result.job.seed for result in found} >= {0, 1}
        assert all(len(result.records) >= 20 for result in found)
        assert all((result.job.learning_timeout or 0) >= 600 for result in found)


@pytest.mark.parametrize("domain", HOUSEHOLD)
def test_household_domains(domain: str) -> None:
    for learner in ("necessary", "ci"):
        assert {result.job.seed for result in runs(domain, learner, 10)} == set(range(5))
    for learner in ("ci-qe", "gnn-shooting", "gnn-model-free"):
        assert runs(domain, learner, 10)
    assert all(len(result.records) == 10 for result in RESULTS.results if result.job.domain == domain)


@pytest.mark.parametrize("domain", ANALYTIC)
def test_policies_are_trained_within_five_minutes(domain: str) -> None:
    for learner in ("gnn-shooting", "gnn-model-free"):
        assert all(learning_seconds(result) <= 300 for result in runs(domain, learner, 50))


@pytest.mark.parametrize("domain", ANALYTIC + HOUSEHOLD)
def test_no_baseline_is_better_than_ours(domain: str) -> None:
    demos = 50 if domain in ANALYTIC else 10
    ours = mean(success_percentages(runs(domain, "necessary", demos)))
    for learner in BASELINES:
        percentages = success_percentages(runs(domain, learner, demos))
        assert not percentages or mean(percentages) <= ours


def test_no_search_ended_before_todays_cap() -> None:
    """One that did was made with a lower cap. Where no node was created, no search began."""
    most = PlanningConfig().max_nodes
    assert most is not None
    created = [
        record.nodes_created
        for result in RESULTS.results
        for record in result.records
        if record.outcome == "out_of_nodes" and record.nodes_created
    ]
    assert [nodes for nodes in created if nodes < most] == []


def test_nothing_ends_long_after_its_deadline() -> None:
    """Every task ended at most 0.2 s after its time was up."""
    late = [
        (result.job, record.task, record.seconds["total"])
        for result in RESULTS.results
        for record in result.records
        if record.seconds["total"] > result.job.timeout + 0.2
    ]
    assert late == []


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_what_the_records_say(name: str) -> None:
    table = fill_table(name, group_runs(RESULTS.results))
    stored = _read(f"results/tables/{name}.md")
    assert as_markdown(table) in stored
    assert table.caption in stored


def test_the_table_in_the_readme_is_the_one_of_the_results() -> None:
    readme = _read("README.md")
    assert readme_with_table(readme, table_of_means(success_table())) == readme


def test_the_table_in_the_readme_has_every_domain_and_method() -> None:
    table = success_table()
    assert [row.domain for row in table.rows] == [*ANALYTIC, *HOUSEHOLD]
    shown = table_of_means(table).splitlines()
    assert len(shown) == 2 + 10
    assert {line.count("|") for line in shown} == {1 + 1 + 7}


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
