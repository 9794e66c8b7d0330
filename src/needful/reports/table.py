"""Tables of measured numbers beside published ones, before they are written in any format."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from needful.evaluation.job import Job
from needful.reports.statistics import Estimate
from needful.storage.json_fields import JsonValue

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table.

    Attributes:
        measured: what the results say, None if they say nothing.
        published: what the paper says, None if it says nothing.
        tasks: the number of tasks of each seed.
        unlearned: how many seeds' learners ran out of time.
        best: whether it is to be shown in bold.
        notes: what a reader must know: fewer seeds or tasks than in the paper, and what went wrong.
        setting: how it was measured, but for the seed; None if it was not.
    """

    measured: Estimate | None
    published: Estimate | None
    tasks: int = 0
    unlearned: int = 0
    best: bool = False
    notes: tuple[str, ...] = ()
    setting: Job | None = None

    @property
    def difference(self) -> float | None:
        """How much more was measured than published, None unless there are both."""
        if self.measured is None or self.published is None:
            return None
        return self.measured.mean - self.published.mean


@dataclass(frozen=True, slots=True)
class Row:
    """The entries of one domain, one a column."""

    domain: str
    title: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is ready to be written.

    Attributes:
        name: what its files are called.
        title: one line about what it shows.
        caption: what the numbers are, in sentences.
        columns: what the columns are called.
        rows: one a domain.
        text: how a number is written.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    text: Callable[[float], str]

    def estimate_text(self, found: Estimate | None) -> str:
        """Return a mean with its spread in brackets, or a dash."""
        if found is None:
            return MISSING
        spread = "" if found.spread is None else f" ({self.text(found.spread)})"
        return self.text(found.mean) + spread

    def difference_text(self, difference: float) -> str:
        """Return a difference with its sign; one that is written as zero is ±0."""
        size = self.text(abs(difference))
        if float(size) == 0.0:
            return f"±{size}"
        return ("+" if difference > 0 else "−") + size


def one_decimal(number: float) -> str:
    """Return a number with one digit after the point."""
    return f"{number:.1f}"


def three_digits(number: float) -> str:
    """Return a number that is not negative with three digits that matter, but at most three decimals.

    A third decimal that is zero is left out, so that 0.32 stays 0.32.
    """
    if number == 0.0:
        return "0"
    decimals = 2 - math.floor(math.log10(number))
    return f"{number:.{max(decimals, 0)}f}" if decimals < 3 else f"{number:.3f}".removesuffix("0")


def table_rows(table: Table) -> list[dict[str, JsonValue]]:
    """Return a table with one flat record a cell, for programs."""
    return [
        {"table": table.name, "domain": row.domain, "column": column, **_cell_fields(cell)}
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    ]


def _cell_fields(cell: Cell) -> Mapping[str, JsonValue]:
    measured, published, setting = cell.measured, cell.published, cell.setting
    return {
        "mean": measured.mean if measured else None,
        "spread": measured.spread if measured else None,
        "seeds": measured.count if measured else 0,
        "tasks": cell.tasks,
        "not_learned": cell.unlearned,
        "published_mean": published.mean if published else None,
        "published_spread": published.spread if published else None,
        "difference": cell.difference,
        "best": cell.best,
        "notes": "; ".join(cell.notes),
        "demos": setting.demos if setting else None,
        "timeout": setting.timeout if setting else None,
        "learning_timeout": setting.learning_timeout if setting else None,
        "abstract_plans": setting.abstract_plans if setting else None,
        "planner": setting.planner if setting else None,
    }
