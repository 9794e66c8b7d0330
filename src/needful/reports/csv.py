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
