"""The results in the repository can be read, are complete and consistent, and are what the tables show.

What the numbers say about the methods is in the report; no test depends on it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from make_readme_results import readme_with_table, success_tables, table_of_means
from needful.paper.published import ANALYTIC, HOUSEHOLD
from needful.reports.paper_check import UNEXPLAINED, Verdict, check_tables
from needful.reports.paper_tables import TABLES, fill_tables
from needful.reports.runs import group_runs, main_groups, summary_fault, with_preset, without_preset
from needful.reports.table import as_markdown
from needful.sweeps.jobs import read_results

ROOT = Path(__file__).parents[1]
RESULTS = read_results(ROOT / "results")
GROUPS = group_runs(RESULTS.results)


def test_nothing_is_damaged_and_nothing_went_wrong() -> None:
    assert not RESULTS.damaged
    assert [result.job for result in RESULTS.results if result.error is not None] == []


def test_every_run_is_complete_and_agrees_with_its_summary() -> None:
    for result in RESULTS.results:
        assert len(result.records) == result.job.tasks
        assert {record.preset for record in result.records} == {result.job.preset}
        assert len({record.config_hash for record in result.records}) == 1
        assert summary_fault(result) is None


def test_seeds_are_counted_from_zero() -> None:
    for group in GROUPS:
        assert [run.job.seed for run in group.runs] == list(range(len(group.runs))), group.setting


def test_the_method_has_the_sample_size_of_the_paper() -> None:
    for groups in (with_preset(GROUPS), without_preset(GROUPS)):
        sizes = {
            group.domain: (len(group.runs), group.tasks)
            for group in main_groups(groups)
            if group.method == "necessary"
        }
        assert {sizes[domain] for domain in ANALYTIC} == {(10, 50)}


def test_a_cell_never_mixes_codes_or_settings() -> None:
    for group in GROUPS:
        assert len({run.sources for run in group.runs}) == 1
        hashes = defaultdict(set)
        for record in group.records:
            hashes[record.seed].add(record.config_hash)
        assert all(len(found) == 1 for found in hashes.values())


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
    for table in fill_tables(name, GROUPS):
        stored = _read(f"results/tables/{table.name}.md")
        assert as_markdown(table) in stored
        assert table.caption in stored


def test_every_difference_from_the_paper_has_a_reason() -> None:
    cells = check_tables([table for name in TABLES for table in fill_tables(name, GROUPS)])
    different = [cell for cell in cells if cell.verdict in (Verdict.HIGHER, Verdict.LOWER, Verdict.NOT_RUN)]
    assert all(cell.reason for cell in different)
    assert {cell.reason for cell in different} - {UNEXPLAINED}


def test_the_table_in_the_readme_is_the_one_of_the_results() -> None:
    readme = _read("README.md")
    assert readme_with_table(readme, table_of_means(*success_tables())) == readme


def test_the_table_in_the_readme_has_every_domain_and_method() -> None:
    published, needful = success_tables()
    assert [row.domain for row in published.rows] == [*ANALYTIC, *HOUSEHOLD]
    shown = table_of_means(published, needful).splitlines()
    assert len(shown) == 2 + 10
    assert {line.count("|") for line in shown} == {1 + 1 + 8}


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
