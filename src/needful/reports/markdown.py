"""Tables as Markdown."""

from __future__ import annotations

import re

from needful.reports.table import Cell, Table

# What Markdown, or the HTML or formulas in it, could take for markup within a line.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
_BLANK = re.compile(r"\s+")


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", _BLANK.sub(" ", text).strip())


def as_markdown(table: Table) -> str:
    """Return a table whose entries are the measured number, the published one and the difference."""
    lines = [
        _line(["Domain", *map(escape_markdown, table.columns)]),
        _line([":---", *("---:" for _ in table.columns)]),
    ]
    lines += [
        _line([escape_markdown(row.title), *(_entry(table, cell) for cell in row.cells)])
        for row in table.rows
    ]
    return "\n".join([*lines, ""])


def _line(entries: list[str]) -> str:
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
