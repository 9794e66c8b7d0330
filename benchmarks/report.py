"""Rows of benchmarks: how they are printed, stored and compared.

Times depend on the machine. Each report therefore has a calibration, the time of a fixed loop, and times of
two reports are compared relative to it, so that a slower machine does not look like a regression.
"""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

Better: TypeAlias = Literal["lower", "higher"]

# A row that is worse than the baseline by more than this factor is a regression.
REGRESSION_FACTOR = 1.5

_TIME_UNITS = ("s", "ms")
_FORMAT, _VERSION = "needful-bench", 1


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value.

    Attributes:
        name: the measurement, as `benchmark/case/quantity`.
        value: the value; None if it could not be measured, with the reason in `note`.
        unit: `s`, `ms`, `MB`, `%` or `x` for a ratio.
        target: the largest or smallest acceptable value, if any.
        better: whether lower or higher values are better.
        note: additional information.
    """

    name: str
    value: float | None
    unit: str
    target: float | None = None
    better: Better = "lower"
    note: str = ""

    @classmethod
    def of(cls, given: Row | Mapping[str, Any]) -> Row:
        """Return a row from a row or a mapping; unknown keys of the mapping are ignored."""
        if isinstance(given, Row):
            return given
        return cls(**{one.name: given[one.name] for one in fields(cls) if one.name in given})

    @property
    def target_met(self) -> bool | None:
        """Whether the target is met; None without a target, False without a value."""
        if self.target is None:
            return None
        if self.value is None:
            return False
        return self.value <= self.target if self.better == "lower" else self.value >= self.target


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of one run.

    Attributes:
        rows: the measured values.
        calibration: the CPU seconds of the fixed loop.
        quick: whether this was a quick run, which cannot be compared with a full run.
        machine: the platform and the version of Python.
    """

    rows: tuple[Row, ...]
    calibration: float
    quick: bool
    machine: str

    @classmethod
    def of(cls, rows: Iterable[Row], quick: bool) -> Report:
        """Return a report of rows measured on this machine, and calibrate."""
        machine = f"{platform.platform()}, Python {platform.python_version()}"
        return cls(tuple(rows), calibrate(), quick, machine)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"format": _FORMAT, "version": _VERSION, **asdict(self)}
        path.write_text(json.dumps(content, indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Report:
        content = json.loads(path.read_text())
        if (content.pop("format", None), content.pop("version", None)) != (_FORMAT, _VERSION):
            raise ValueError(
                f"{path} is not a benchmark report of version {_VERSION}. "
                "Write a new one with --write-baseline."
            )
        return cls(**{**content, "rows": tuple(Row(**row) for row in content["rows"])})


def calibrate(repeat: int = 5) -> float:
    """Return the CPU seconds of a fixed loop with operations typical of planning, best of `repeat` runs."""

    def loop() -> float:
        start = time.process_time()
        seen: dict[int, int] = {}
        state = 1
        for _ in range(200_000):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            seen[state & 0xFFF] = seen.get(state >> 52, 0) + (state >> 32 & 1)
        return time.process_time() - start

    return min(loop() for _ in range(repeat))


def times_worse(report: Report, baseline: Report) -> dict[str, float]:
    """Return by name the factor by which each row is worse than in the baseline; below 1 is better.

    Rows without a value in either report are left out.
    """
    stored = {row.name: row for row in baseline.rows}
    slower = report.calibration / baseline.calibration
    found = {}
    for row in report.rows:
        before = stored.get(row.name)
        if before is None or not row.value or not before.value:
            continue
        expected = before.value * (slower if row.unit in _TIME_UNITS else 1.0)
        found[row.name] = row.value / expected if row.better == "lower" else expected / row.value
    return found


def table(rows: Sequence[Row], worse: Mapping[str, float]) -> str:
    """Return the rows as a Markdown table, compared with their targets and with a baseline."""
    lines = [("Measurement", "Value", "Target", "Met", "Against baseline", "Note")]
    for row in rows:
        met = {None: "", True: "yes", False: "NO"}[row.target_met]
        sign = "≤" if row.better == "lower" else "≥"
        target = "" if row.target is None else f"{sign} {format_number(row.target)} {row.unit}"
        value = "not measured" if row.value is None else f"{format_number(row.value)} {row.unit}"
        change = f"× {worse[row.name]:.2f}" if row.name in worse else ""
        if worse.get(row.name, 0.0) > REGRESSION_FACTOR:
            change += " WORSE"
        lines.append((row.name, value, target, met, change, row.note))
    return markdown_table(lines)


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns; the first line is the header."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def format_number(value: float) -> str:
    """Return integers in full and all other numbers with three significant digits."""
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def find_problems(rows: Sequence[Row], worse: Mapping[str, float]) -> list[str]:
    """Return one sentence per missed target and per regression."""
    missed = [f"{row.name}: the target is not met." for row in rows if row.target_met is False]
    return missed + [
        f"{name}: {factor:.2f} times worse than the baseline."
        for name, factor in worse.items()
        if factor > REGRESSION_FACTOR
    ]
