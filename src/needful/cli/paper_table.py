"""A table of the paper as lines of text: what was measured, what was published, and the difference."""

from __future__ import annotations

from needful.reports.table import Cell, Table

HEADINGS = ("domain", "learner", "measured", "published", "difference", "")


def describe_table(table: Table) -> str:
    """Return a line for each domain and learner that there are results of."""
    lines = [HEADINGS]
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.measured is not None or cell.notes:
                lines.append((row.title, column, *_entries(table, cell)))
    widths = [max(map(len, entries)) for entries in zip(*lines, strict=True)]
    shown = ("  ".join(map(str.ljust, entries, widths)).rstrip() for entries in lines)
    # The rest of the caption speaks of how the table looks in a report.
    numbers, _, _ = table.caption.partition(". ")
    return "\n".join([f"{table.title}. {numbers.rstrip('.')}.", "", *shown, ""])


def _entries(table: Table, cell: Cell) -> tuple[str, str, str, str]:
    difference = "" if cell.difference is None else table.difference_text(cell.difference)
    measured, published = map(table.estimate_text, (cell.measured, cell.published))
    return measured, published, difference, ", ".join(cell.notes)
