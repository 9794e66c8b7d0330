"""Tables of measured numbers beside published ones, before they are written in any format.

Tables as comma-separated values: one line a cell, for spreadsheets and programs.

Tables as LaTeX, without any package.

Tables as Markdown.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from needful.paper.published_numbers import Estimate
from needful.storage.json_fields import JsonValue
from needful.sweeps.jobs import Job

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


FIELDS = (
    "table",
    "domain",
    "column",
    "mean",
    "spread",
    "seeds",
    "tasks",
    "not_learned",
    "published_mean",
    "published_spread",
    "difference",
    "best",
    "notes",
    "demos",
    "timeout",
    "learning_timeout",
    "abstract_plans",
    "planner",
)


def as_csv(table: Table) -> str:
    """Return a table as CSV: numbers in full, yes and no as 1 and 0, nothing for what is missing."""
    buffer = io.StringIO()
    # All text is quoted: left to itself, the writer takes a lone carriage return for harmless.
    writer = csv.DictWriter(buffer, FIELDS, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows({**row, "best": int(bool(row["best"]))} for row in table_rows(table))
    return buffer.getvalue()


_ESCAPES = MappingProxyType(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # A row must not begin with these: after a line break they would be taken for its arguments.
        "[": "{[}",
        "*": "{*}",
        "–": "--",
        "−": "$-$",
        "±": r"$\pm$",
        "×": r"$\times$",
        **{sign: "\\" + sign for sign in "&%$#_{}"},
    }
)
_LATEX_SPECIAL = re.compile("|".join(re.escape(sign) for sign in _ESCAPES))
_BLANK = re.compile(r"\s+")


def escape_latex(text: str) -> str:
    """Return text that LaTeX sets as it is."""
    return _LATEX_SPECIAL.sub(lambda found: _ESCAPES[found[0]], _BLANK.sub(" ", text).strip())


def as_latex(table: Table) -> str:
    """Return a table with four lines a domain: measured, published, difference and notes.

    Lines without any entry are left out.
    """
    lines = [
        r"\begin{table}",
        r"\centering\small",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\hline",
        _latex_line("Domain", [rf"\textbf{{{escape_latex(column)}}}" for column in table.columns]),
        r"\hline",
    ]
    for row in table.rows:
        lines.append(_latex_line(escape_latex(row.title), [_measured(table, cell) for cell in row.cells]))
        for label, part in _PARTS:
            entries = [escape_latex(part(table, cell)) for cell in row.cells]
            if any(entries):
                lines.append(_latex_line(rf"\quad {label}", entries))
    caption = escape_latex(f"{table.title}. {table.caption}")
    lines += [r"\hline", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}", ""]
    return "\n".join(lines)


def _latex_line(label: str, entries: list[str]) -> str:
    return " & ".join([label, *entries]) + r" \\"


def _measured(table: Table, cell: Cell) -> str:
    text = escape_latex(table.estimate_text(cell.measured))
    return rf"\textbf{{{text}}}" if cell.best else text


def _published(table: Table, cell: Cell) -> str:
    return "" if cell.published is None else table.estimate_text(cell.published)


def _difference(table: Table, cell: Cell) -> str:
    return "" if cell.difference is None else table.difference_text(cell.difference)


def _notes(table: Table, cell: Cell) -> str:
    return ", ".join(cell.notes)


_PARTS: tuple[tuple[str, Callable[[Table, Cell], str]], ...] = (
    ("paper", _published),
    ("difference", _difference),
    ("notes", _notes),
)


# What Markdown, or the HTML or formulas in it, could take for markup within a line.
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in one line."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", _BLANK.sub(" ", text).strip())


def as_markdown(table: Table) -> str:
    """Return a table whose entries are the measured number, the published one and the difference."""
    lines = [
        _markdown_line(["Domain", *map(escape_markdown, table.columns)]),
        _markdown_line([":---", *("---:" for _ in table.columns)]),
    ]
    lines += [
        _markdown_line([escape_markdown(row.title), *(_entry(table, cell) for cell in row.cells)])
        for row in table.rows
    ]
    return "\n".join([*lines, ""])


def _markdown_line(entries: list[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _entry(table: Table, cell: Cell) -> str:
    measured = table.estimate_text(cell.measured)
    parts = [f"**{measured}**" if cell.best else measured]
    if cell.published is not None:
        published = f"paper {table.estimate_text(cell.published)}"
        difference = cell.difference
        parts.append(
            published if difference is None else f"{published}, {table.difference_text(difference)}"
        )
    parts += [escape_markdown(note) for note in cell.notes]
    return "<br>".join(parts)


_TEXT_HEADINGS = ("domain", "learner", "measured", "published", "difference", "")


def as_text(table: Table) -> str:
    """Return a line for each domain and learner that there are results of."""
    lines = [_TEXT_HEADINGS]
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.measured is not None or cell.notes:
                lines.append((row.title, column, *_text_entries(table, cell)))
    widths = [max(map(len, entries)) for entries in zip(*lines, strict=True)]
    shown = ("  ".join(map(str.ljust, entries, widths)).rstrip() for entries in lines)
    # The rest of the caption speaks of how the table looks in a report.
    numbers, _, _ = table.caption.partition(". ")
    return "\n".join([f"{table.title}. {numbers.rstrip('.')}.", "", *shown, ""])


def _text_entries(table: Table, cell: Cell) -> tuple[str, str, str, str]:
    difference = "" if cell.difference is None else table.difference_text(cell.difference)
    measured, published = map(table.estimate_text, (cell.measured, cell.published))
    return measured, published, difference, ", ".join(cell.notes)
