"""Rows of benchmarks: how they are shown, stored and compared.

Times depend on the machine. Each report therefore carries the time of a fixed loop, and times of two
reports are compared in units of it: on a slower machine nothing looks like a regression.
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

# A row that is so many times worse than the stored one is a regression.
TOLERATED = 1.5

_TIME_UNITS = ("s", "ms")
_FORMAT, _VERSION = "needful-bench", 1


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        name: what was measured, `benchmark/case/quantity`.
        value: the figure; None if it could not be measured, and then `note` says why.
        unit: `s`, `ms`, `MB`, `%` or `x` for a ratio.
        target: what the figure should reach, if anything.
        better: which way is better.
        note: what else is worth knowing.
    """

    name: str
    value: float | None
    unit: str
    target: float | None = None
    better: Better = "lower"
    note: str = ""

    @classmethod
    def of(cls, given: Row | Mapping[str, Any]) -> Row:
        """Return a row that may be given as a mapping, of which other keys are left out."""
        if isinstance(given, Row):
            return given
        return cls(**{one.name: given[one.name] for one in fields(cls) if one.name in given})

    @property
    def holds(self) -> bool | None:
        """Whether the target is reached; None if there is none. What was not measured does not hold."""
        if self.target is None:
            return None
        if self.value is None:
            return False
        return self.value <= self.target if self.better == "lower" else self.value >= self.target


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of one run.

    Attributes:
        rows: the figures.
        calibration: the CPU seconds of the fixed loop.
        quick: whether this was a short run, which cannot be compared with a full one.
        machine: where it was.
    """

    rows: tuple[Row, ...]
    calibration: float
    quick: bool
    machine: str

    @classmethod
    def of(cls, rows: Iterable[Row], quick: bool) -> Report:
        """Return the report of rows that were measured just now."""
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
            raise ValueError(f"{path} is no report of this benchmark. Write it anew with --write-baseline.")
        return cls(**{**content, "rows": tuple(Row(**row) for row in content["rows"])})


def calibrate(repeat: int = 5) -> float:
    """Return the CPU seconds of a fixed loop of the kind that planning is made of, at best."""

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
    """Return by name how many times worse each row is than the stored one; less than 1 is better.

    Rows that are missing on either side, or have no value there, are left out.
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
    """Return the rows as a Markdown table, with how they stand to their targets and to a baseline."""
    lines = [("What", "Value", "Target", "Holds", "Baseline", "Note")]
    for row in rows:
        held = {None: "", True: "yes", False: "NO"}[row.holds]
        sign = "≤" if row.better == "lower" else "≥"
        target = "" if row.target is None else f"{sign} {shown(row.target)} {row.unit}"
        value = "not measured" if row.value is None else f"{shown(row.value)} {row.unit}"
        change = f"× {worse[row.name]:.2f}" if row.name in worse else ""
        if worse.get(row.name, 0.0) > TOLERATED:
            change += " WORSE"
        lines.append((row.name, value, target, held, change, row.note))
    return markdown(lines)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns line up; the first line is the head."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def shown(value: float) -> str:
    """Return a figure: counts as they are, all else with three digits that count."""
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def verdict(rows: Sequence[Row], worse: Mapping[str, float]) -> list[str]:
    """Return what is wrong, one sentence each; nothing if all targets hold and nothing regressed."""
    wrong = [f"{row.name}: the target does not hold." for row in rows if row.holds is False]
    return wrong + [
        f"{name}: {factor:.2f} times worse than the baseline."
        for name, factor in worse.items()
        if factor > TOLERATED
    ]
