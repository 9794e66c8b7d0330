"""Compare each cell of a table with the published number.

The result for a cell has the sample size, whether the numbers agree, the reason for a difference, and
whether the running version of the code computed the cell. docs/baselines.md gives the evidence for the
reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum

from needful.evaluation.sources import sources_digest, unused_parts
from needful.paper.published import Estimate, protocol_of
from needful.reports.statistics import ROUNDING
from needful.reports.table import Cell, Table, aligned
from needful.storage.json_fields import JsonValue

HEADINGS = ("table", "domain", "learner", "n", "ours", "published", "verdict", "code", "reason")
UNEXPLAINED = "not explained"

_CLUTTER = "clutter within reach: without it, CI learns as few operators as published (docs/baselines.md)"
_MOVES = "clusters of moves; an independent implementation of the domain has as many (docs/baselines.md)"
_OTHER_HOUSES = "other houses, in which all seeds learn the same number of operators (docs/reproduce.md)"
_PLANNER = "the planner of this package; with that of the paper at most 2.5 % (docs/baselines.md)"
_FEW_SEEDS = "a seed solves all tasks or none, so one seed does not show the mean (docs/baselines.md)"
_FEW_TASKS = "few tasks: a single one was solved"
_OWN_PROCEDURE = "samplers and planner of this package; the table as published has those of the paper"
_SAMPLERS = "samplers: their training alone changes the success by 40 points (docs/reproduce.md)"
_HOUSES = ("collecting-cans", "sorting-books")
_SMALL_HOUSES = ("opening-presents", "locking-windows")
_CLUSTERING = ("CI", "CI+QE", "LOFT")

# Why measured numbers differ from published ones. An entry has four parts: the name of a table, domains,
# labels of methods, and the reason. Empty domains or methods mean all of them. A table name such as "main"
# also stands for "main_as_published". The first matching entry is used. Each reason was found by a
# measurement; differences whose reason is unknown have no entry.
REASONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    ("times", (), (), "another machine and implementation"),
    ("operators", ("cluttered-painting",), _CLUSTERING, _MOVES),
    ("operators", _SMALL_HOUSES, _CLUSTERING, _CLUTTER),
    ("operators", _HOUSES, (), "other houses, with other objects"),
    ("operators_as_published", ("satellites",), ("CI+QE",), "ten seeds have 8.4 (0.8) (docs/baselines.md)"),
    ("main", _SMALL_HOUSES, ("CI", "CI+QE"), _CLUTTER),
    ("main", _HOUSES, ("Necessary",), _OTHER_HOUSES),
    ("ablations", _HOUSES, (), _OTHER_HOUSES),
    ("main_as_published", ("screws",), ("CI+QE",), _FEW_SEEDS),
    ("main_as_published", ("cluttered-1d",), ("LOFT+Replay",), _FEW_TASKS),
    ("main_as_published", ("cluttered-satellites",), ("Necessary",), _SAMPLERS),
    ("main", ("opening-presents",), ("GNN MF",), _FEW_TASKS),
    ("main", ("satellites", "cluttered-1d", "cluttered-satellites"), ("LOFT+Replay",), _OWN_PROCEDURE),
    ("main", ("cluttered-satellites",), ("CI", "Necessary"), _OWN_PROCEDURE),
    ("main", ("screws", "cluttered-painting"), ("CI",), _PLANNER),
    ("main", ("cluttered-painting",), ("CI+QE",), _PLANNER),
)


class Verdict(Enum):
    """The result of comparing a measured number with a published one."""

    AGREES = "agrees"
    HIGHER = "higher"
    LOWER = "lower"
    NOT_RUN = "not run"
    NOT_PUBLISHED = "not published"


class Code(Enum):
    """The version of the code that computed a cell; a digest of the sources identifies the version.

    `OLDER` is any version but the running one. `UNKNOWN` means that no digest was recorded, `NONE` that the
    cell has no measured number.
    """

    CURRENT = "current"
    OLDER = "older"
    UNKNOWN = "unknown"
    NONE = ""


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """A cell of a table beside the published number, as text.

    Attributes:
        table, domain, column: where the cell is.
        sample: the numbers of seeds and of tasks per seed, such as "10 × 50".
        measured, published: the numbers with their spreads; measured also with its 95 % interval.
        verdict: whether the numbers agree; see `verdict_of`.
        code: which code computed the cell.
        reason: why the numbers or the sample sizes differ; empty if they do not.
    """

    table: str
    domain: str
    column: str
    sample: str
    measured: str
    published: str
    verdict: Verdict
    code: Code
    reason: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return the cell as a JSON object."""
        return {**asdict(self), "verdict": self.verdict.value, "code": self.code.value}


def check_tables(tables: Sequence[Table]) -> tuple[CheckedCell, ...]:
    """Compare the cells of the tables with the paper; cells without any number are left out."""
    return tuple(
        _checked(table, row.domain, column, cell)
        for table in tables
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.measured is not None or cell.published is not None
    )


def verdict_of(cell: Cell) -> Verdict:
    """Return whether a cell agrees with the paper.

    The numbers agree if two intervals overlap. The first is the published mean plus or minus two spreads.
    The second is the measured 95 % interval or, in tables without such intervals, the measured mean plus or
    minus two spreads.
    """
    if cell.measured is None:
        return Verdict.NOT_RUN
    if cell.published is None:
        return Verdict.NOT_PUBLISHED
    low, high = cell.interval or _around(cell.measured)
    published_low, published_high = _around(cell.published)
    if low <= published_high + ROUNDING and published_low <= high + ROUNDING:
        return Verdict.AGREES
    return Verdict.HIGHER if cell.measured.mean > cell.published.mean else Verdict.LOWER


def _around(estimate: Estimate) -> tuple[float, float]:
    spread = estimate.spread or 0.0
    return estimate.mean - 2.0 * spread, estimate.mean + 2.0 * spread


def code_of(cell: Cell, domain: str) -> Code:
    """Return whether the running version of the code computed a cell; see `Code`."""
    if cell.measured is None:
        return Code.NONE
    if not cell.sources:
        return Code.UNKNOWN
    current = sources_digest(unused=unused_parts(domain, invention=False, execution=False))
    return Code.CURRENT if cell.sources == current else Code.OLDER


def _checked(table: Table, domain: str, column: str, cell: Cell) -> CheckedCell:
    verdict = verdict_of(cell)
    return CheckedCell(
        table.name,
        domain,
        column,
        f"{cell.measured.count} × {cell.tasks}" if cell.measured else "",
        table.measured_text(cell) if cell.measured else "",
        table.estimate_text(cell.published) if cell.published else "",
        verdict,
        code_of(cell, domain),
        "; ".join(filter(None, (_reason(table, domain, column, verdict), _sample_note(domain, cell)))),
    )


def _reason(table: Table, domain: str, column: str, verdict: Verdict) -> str:
    if verdict in (Verdict.AGREES, Verdict.NOT_PUBLISHED):
        return ""
    if verdict is Verdict.NOT_RUN:
        return "not enough computing time"
    return reason_for(table.name, domain, column)


def reason_for(table: str, domain: str, method: str) -> str:
    """Return the reason in `REASONS` why a cell differs from the paper, or "not explained"."""
    tables = (table, table.removesuffix("_as_published"))
    for of_table, domains, methods, reason in REASONS:
        if of_table in tables and domain in (domains or (domain,)) and method in (methods or (method,)):
            return reason
    return UNEXPLAINED


def _sample_note(domain: str, cell: Cell) -> str:
    """Return a note if there are fewer seeds or tasks than in the paper; otherwise an empty text."""
    protocol = protocol_of(domain)
    if cell.measured is None or protocol is None:
        return ""
    if cell.measured.count >= protocol.seeds and cell.tasks >= protocol.tasks:
        return ""
    return f"the paper has {protocol.seeds} × {protocol.tasks}, which needs more computing time"


def check_text(cells: Sequence[CheckedCell]) -> str:
    """Return the cells for a terminal, one per line, then the numbers of cells by verdict and by code."""
    lines = [HEADINGS]
    for cell in cells:
        where = (cell.table, cell.domain, cell.column, cell.sample)
        numbers = (cell.measured, cell.published, cell.verdict.value, cell.code.value)
        lines.append((*where, *numbers, cell.reason))
    counts = [f"{_count(cells, verdict)} {verdict.value}" for verdict in Verdict if _count(cells, verdict)]
    text = [*aligned(lines), "", f"{len(cells)} cells: {', '.join(counts)}.", age_text(cells)]
    return "\n".join(filter(None, (*text[:-1], text[-1]))) + "\n"


def age_text(cells: Sequence[CheckedCell]) -> str:
    """Return a sentence about the cells that the running code did not compute; empty if there are none."""
    measured = [cell for cell in cells if cell.code is not Code.NONE]
    older = sum(cell.code is Code.OLDER for cell in measured)
    unknown = sum(cell.code is Code.UNKNOWN for cell in measured)
    parts = [
        f"{count} of {len(measured)} cells {what}"
        for count, what in (
            (older, "were computed by older code"),
            (unknown, "have no digest of their code (older releases did not record it)"),
        )
        if count
    ]
    return "; ".join(parts) + "." if parts else ""


def _count(cells: Sequence[CheckedCell], verdict: Verdict) -> int:
    return sum(cell.verdict is verdict for cell in cells)
