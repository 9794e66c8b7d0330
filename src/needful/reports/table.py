"""Tables of measured numbers beside published ones, as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from needful.paper.published import Estimate
from needful.storage.json_fields import JsonValue
from needful.sweeps.jobs import Job

MISSING = "–"
TEXT_HEADINGS = ("domain", "learner", "measured", "published", "difference", "")
CSV_FIELDS = (
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
    "interval_low",
    "interval_high",
    "best",
    "notes",
    "demos",
    "timeout",
    "learning_timeout",
    "abstract_plans",
    "planner",
    "preset",
    "cpu_time",
    "sources",
)

_WHITESPACE = re.compile(r"\s+")
# Characters with a special meaning in Markdown, or in HTML or formulas inside Markdown.
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
_LATEX_ESCAPES = MappingProxyType(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # Directly after a line break (\\), LaTeX would read "[" or "*" as an option of the line break.
        "[": "{[}",
        "*": "{*}",
        "–": "--",
        "−": "$-$",
        "±": r"$\pm$",
        "×": r"$\times$",
        **{sign: "\\" + sign for sign in "&%$#_{}"},
    }
)
_LATEX_SPECIAL = re.compile("|".join(re.escape(sign) for sign in _LATEX_ESCAPES))


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table.

    Attributes:
        measured: the estimate from the results, None if there is none.
        published: the estimate in the paper, None if there is none.
        tasks: the number of tasks per seed.
        unlearned: the number of seeds whose learner ran out of time.
        best: whether the entry is shown in bold.
        notes: differences from the paper's protocol, and failed runs.
        setting: the settings of the runs, as a job with seed 0; None if there are no runs. The jobs of the
            runs differ from it only in their seed.
        interval: the 95 % interval of the measured mean, None if the table has none.
        sources: the digest of the code of the runs; empty if unknown.
    """

    measured: Estimate | None
    published: Estimate | None
    tasks: int = 0
    unlearned: int = 0
    best: bool = False
    notes: tuple[str, ...] = ()
    setting: Job | None = None
    interval: tuple[float, float] | None = None
    sources: str = ""

    @property
    def difference(self) -> float | None:
        """The measured mean minus the published mean, None if one of them is missing."""
        if self.measured is None or self.published is None:
            return None
        return self.measured.mean - self.published.mean


@dataclass(frozen=True, slots=True)
class Row:
    """The entries of one domain.

    Attributes:
        domain: the name of the domain.
        title: the name of the domain as tables show it.
        cells: one entry per column.
    """

    domain: str
    title: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A complete table, independent of its output format.

    Attributes:
        name: the name of the table's files, without suffix.
        title: one line about the content.
        caption: sentences that explain the numbers; the first one is also shown in a terminal.
        columns: the labels of the columns.
        rows: one row per domain.
        text: the function that formats a number of the table as text.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    text: Callable[[float], str]

    def estimate_text(self, found: Estimate | None) -> str:
        """Return a mean with its spread in brackets, or a dash for None."""
        if found is None:
            return MISSING
        spread = "" if found.spread is None else f" ({self.text(found.spread)})"
        return self.text(found.mean) + spread

    def measured_text(self, cell: Cell) -> str:
        """Return the measured mean of a cell, its spread in brackets, and its interval."""
        return " ".join(filter(None, (self.estimate_text(cell.measured), self.interval_text(cell))))

    def interval_text(self, cell: Cell) -> str:
        """Return the interval of a cell in square brackets; empty if there is none."""
        return "" if cell.interval is None else f"[{', '.join(map(self.text, cell.interval))}]"

    def difference_text(self, difference: float) -> str:
        """Return a difference as text with its sign; the sign is ± if the difference rounds to zero."""
        size = self.text(abs(difference))
        if float(size) == 0.0:
            return f"±{size}"
        return ("+" if difference > 0 else "−") + size


def one_decimal(number: float) -> str:
    """Return a number as text with one digit after the decimal point."""
    return f"{number:.1f}"


def three_digits(number: float) -> str:
    """Return a non-negative number as text with three significant digits, but at most three decimals.

    If the third decimal is zero, it is omitted: 0.320 is written as 0.32.
    """
    if number == 0.0:
        return "0"
    decimals = 2 - math.floor(math.log10(number))
    return f"{number:.{max(decimals, 0)}f}" if decimals < 3 else f"{number:.3f}".removesuffix("0")


def as_text(table: Table) -> str:
    """Return a table for a terminal, with one line per cell.

    Cells with neither a measured number nor notes are omitted, and so are columns without entries.
    """
    lines = [TEXT_HEADINGS]
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.measured is not None or cell.notes:
                measured, published = table.measured_text(cell), table.estimate_text(cell.published)
                difference, notes = _difference(table, cell), _notes(table, cell)
                lines.append((row.title, column, measured, published, difference, notes))
    # Only the first sentence of the caption is printed. The others explain bold entries and special cases.
    numbers, _, _ = table.caption.partition(". ")
    columns = [column for column in zip(*lines, strict=True) if {*column[1:]} - {"", MISSING}]
    lines = list(zip(*columns, strict=True))
    return "\n".join([f"{table.title}. {numbers.rstrip('.')}.", "", *aligned(lines), ""])


def aligned(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines of entries as text, with the entries of each column below each other."""
    widths = [max(map(len, entries)) for entries in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, entries, widths)).rstrip() for entries in lines]


def as_markdown(table: Table) -> str:
    """Return a table in Markdown.

    Each cell shows the measured number, the published number, their difference and the notes.
    """
    lines = [
        _markdown_line(["Domain", *map(escape_markdown, table.columns)]),
        _markdown_line([":---", *("---:" for _ in table.columns)]),
    ]
    lines += [
        _markdown_line([escape_markdown(row.title), *(_markdown_entry(table, cell) for cell in row.cells)])
        for row in table.rows
    ]
    return "\n".join([*lines, ""])


def escape_markdown(text: str) -> str:
    """Return Markdown that shows a text literally, in one line."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", _WHITESPACE.sub(" ", text).strip())


def _markdown_line(entries: list[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _markdown_entry(table: Table, cell: Cell) -> str:
    measured = table.estimate_text(cell.measured)
    parts = [f"**{measured}**" if cell.best else measured]
    if cell.interval is not None:
        parts.append(escape_markdown(table.interval_text(cell)))
    if cell.published is not None:
        comparison = filter(None, (_published(table, cell), _difference(table, cell)))
        parts.append(f"paper {', '.join(comparison)}")
    parts += [escape_markdown(note) for note in cell.notes]
    return "<br>".join(parts)


def as_latex(table: Table) -> str:
    """Return a table in LaTeX with up to five lines per domain; the LaTeX needs no package.

    The lines are measured, interval, published, difference and notes. Lines without entries are omitted.
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
        lines.append(
            _latex_line(escape_latex(row.title), [_latex_entry(table, cell) for cell in row.cells])
        )
        for label, part in (
            ("95 % interval", _interval),
            ("paper", _published),
            ("difference", _difference),
            ("notes", _notes),
        ):
            entries = [escape_latex(part(table, cell)) for cell in row.cells]
            if any(entries):
                lines.append(_latex_line(rf"\quad {label}", entries))
    caption = escape_latex(f"{table.title}. {table.caption}")
    lines += [r"\hline", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}", ""]
    return "\n".join(lines)


def escape_latex(text: str) -> str:
    """Return LaTeX that shows a text literally, in one line."""
    return _LATEX_SPECIAL.sub(lambda found: _LATEX_ESCAPES[found[0]], _WHITESPACE.sub(" ", text).strip())


def _latex_line(label: str, entries: list[str]) -> str:
    return " & ".join([label, *entries]) + r" \\"


def _latex_entry(table: Table, cell: Cell) -> str:
    text = escape_latex(table.estimate_text(cell.measured))
    return rf"\textbf{{{text}}}" if cell.best else text


def _published(table: Table, cell: Cell) -> str:
    return "" if cell.published is None else table.estimate_text(cell.published)


def _interval(table: Table, cell: Cell) -> str:
    return table.interval_text(cell)


def _difference(table: Table, cell: Cell) -> str:
    return "" if cell.difference is None else table.difference_text(cell.difference)


def _notes(table: Table, cell: Cell) -> str:
    return ", ".join(cell.notes)


def as_csv(table: Table) -> str:
    """Return a table as CSV with one line per cell.

    Numbers have full precision, `best` is 1 or 0, and missing values are empty.
    """
    buffer = io.StringIO()
    # Quote all text: by default, the writer does not quote text that contains a lone carriage return (\r).
    writer = csv.DictWriter(buffer, CSV_FIELDS, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows({**row, "best": int(bool(row["best"]))} for row in table_rows(table))
    return buffer.getvalue()


def table_rows(table: Table) -> list[dict[str, JsonValue]]:
    """Return a table as one flat record per cell, with the keys `CSV_FIELDS`."""
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
        "interval_low": cell.interval[0] if cell.interval else None,
        "interval_high": cell.interval[1] if cell.interval else None,
        "best": cell.best,
        "notes": "; ".join(cell.notes),
        "demos": setting.demos if setting else None,
        "timeout": setting.timeout if setting else None,
        "learning_timeout": setting.learning_timeout if setting else None,
        "abstract_plans": setting.abstract_plans if setting else None,
        "planner": setting.planner if setting else None,
        "preset": setting.preset if setting else None,
        "cpu_time": setting.cpu_time if setting else None,
        "sources": cell.sources,
    }
