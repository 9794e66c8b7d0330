"""Tables as comma-separated values: one line a cell, for spreadsheets and programs."""

from __future__ import annotations

import csv
import io

from needful.reports.table import Table, table_rows

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
)


def as_csv(table: Table) -> str:
    """Return a table as CSV; numbers are written in full, and what is missing is empty."""
    buffer = io.StringIO()
    # All text is quoted: left to itself, the writer takes a lone carriage return for harmless.
    writer = csv.DictWriter(buffer, FIELDS, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows(table_rows(table))
    return buffer.getvalue()
