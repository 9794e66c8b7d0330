"""The published numbers: checked by the paper's column sums, and by comparing its tables."""

from __future__ import annotations

import math

import pytest

from needful.paper import published
from needful.paper.published import DOMAINS, DOWN_EVAL, HOUSEHOLD, NO_COMPLEXITY, OURS, PublishedTable
from needful.reports.statistics import intervals_overlap, mark_best, within_spread_of_best

TABLES = {
    "success": published.SUCCESS,
    "seconds": published.LEARNING_SECONDS,
    "operators": published.OPERATORS,
    "ablations": published.ABLATION_SUCCESS,
}

# The sums of the means and of the spreads of each column of the paper.
SUMS = {
    ("success", OURS): (932.6, 28.47),
    ("success", "loft"): (17.2, 5.46),
    ("success", "loft-replay"): (132.2, 6.19),
    ("success", "ci"): (382.6, 24.36),
    ("success", "ci-qe"): (509.4, 37.18),
    ("success", "gnn-shooting"): (308.0, 18.5),
    ("success", "gnn-model-free"): (206.0, 5.43),
    ("seconds", OURS): (9012.02, 24036.04),
    ("seconds", "loft"): (10522.9, 1360.51),
    ("seconds", "loft-replay"): (14920.88, 1621.89),
    ("seconds", "ci"): (3002.0, 322.04),
    ("seconds", "ci-qe"): (4616.1, 2751.34),
    ("seconds", "gnn"): (22026.18, 1477.94),
    ("operators", OURS): (68.5, 14.63),
    ("operators", "loft"): (245.2, 27.2),
    ("operators", "loft-replay"): (377.64, 22.25),
    ("operators", "ci"): (230.4, 26.12),
    ("operators", "ci-qe"): (89.8, 9.95),
    ("ablations", OURS): (932.6, 90.09),
    ("ablations", NO_COMPLEXITY): (900.8, 97.59),
    ("ablations", DOWN_EVAL): (770.6, 110.18),
}

# The bold entries of Tables 1 to 3 other than `necessary`, and the domains where `necessary` is not bold.
ALSO_BOLD = {
    "success": {
        ("painting", "loft-replay"),
        ("painting", "ci"),
        ("satellites", "ci"),
        ("satellites", "ci-qe"),
    },
    "seconds": {
        ("painting", "ci"),
        ("painting", "ci-qe"),
        ("satellites", "ci-qe"),
        ("screws", "ci"),
        ("collecting-cans", "ci"),
        ("sorting-books", "ci"),
    },
    "operators": set(),
}
OURS_NOT_BOLD = {
    "success": set(),
    "seconds": {"screws", "collecting-cans", "sorting-books"},
    "operators": set(),
}


@pytest.mark.parametrize(("name", "method"), sorted(SUMS))
def test_columns_add_up_to_the_papers(name: str, method: str) -> None:
    column = [row[method] for row in TABLES[name].values() if method in row]
    means, spreads = SUMS[name, method]
    assert sum(one.mean for one in column) == pytest.approx(means)
    assert sum(one.spread or 0.0 for one in column) == pytest.approx(spreads)
    assert {one.count for one in column} == {10}


def test_there_is_a_sum_for_every_column() -> None:
    columns = {(name, method) for name, table in TABLES.items() for row in table.values() for method in row}
    assert columns == set(SUMS)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_rows_are_the_papers_domains_in_its_order(name: str) -> None:
    assert list(TABLES[name]) == list(DOMAINS)


def test_what_the_paper_leaves_blank_is_blank() -> None:
    blank = {(name, d, "loft-replay") for name in ("success", "seconds", "operators") for d in HOUSEHOLD}
    blank |= {(name, "sorting-books", "ci-qe") for name in ("seconds", "operators")}
    for name, table in TABLES.items():
        methods = {method for row in table.values() for method in row}
        missing = {(name, d, m) for d, row in table.items() for m in methods if m not in row}
        assert missing == {entry for entry in blank if entry[0] == name}


def test_the_same_runs_are_in_two_tables() -> None:
    """Table 1 has the standard errors, Table 4 the standard deviations of the same numbers."""
    for domain, row in published.ABLATION_SUCCESS.items():
        again = published.SUCCESS[domain][OURS]
        assert row[OURS].mean == again.mean
        assert (row[OURS].spread or 0.0) / math.sqrt(10) == pytest.approx(again.spread, abs=0.01)


@pytest.mark.parametrize(
    ("name", "higher_is_better", "rule"),
    [
        ("success", True, intervals_overlap),
        ("seconds", False, within_spread_of_best),
        ("operators", False, within_spread_of_best),
    ],
)
def test_the_rules_for_bold_entries_give_the_papers(
    name: str, higher_is_better: bool, rule: object
) -> None:
    expected = {(domain, OURS) for domain in DOMAINS if domain not in OURS_NOT_BOLD[name]} | ALSO_BOLD[name]
    assert _bold(TABLES[name], higher_is_better, rule) == expected


def _bold(table: PublishedTable, higher_is_better: bool, rule: object) -> set[tuple[str, str]]:
    found = set()
    for domain, row in table.items():
        best = mark_best(list(row.values()), higher_is_better, rule)  # type: ignore[arg-type]
        found |= {(domain, method) for method, bold in zip(row, best, strict=True) if bold}
    return found


def test_published_numbers_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        published.SUCCESS["painting"] = {}  # type: ignore[index]
    with pytest.raises(TypeError):
        published.SUCCESS["painting"]["ci"] = None  # type: ignore[index]
