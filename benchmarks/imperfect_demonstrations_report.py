"""The results of `imperfect_demonstrations.py`: the table, the CSV and JSON files, and the figure."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from needful.envs.drawing.palette import BLUE, DARK_GREY, GREY, ORANGE, WHITE
from needful.paper.published import domain_title, in_paper_order
from needful.reports.figure_canvas import (
    SMALL_FONT_SIZE,
    domain_panels,
    label_outer,
    render_files,
    report_style,
)
from needful.storage.outputs import write_bytes, write_text
from report import markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLEAN = "clean"
TITLES: Mapping[str, str] = {
    CLEAN: "clean",
    "repeated": "repeated steps 15 %",
    "failed": "failed steps 10 %",
    "detours": "detours 15 %",
    "all-steps": "all three",
    "noise-0.1": "wrong atoms 0.1 %",
    "noise-0.5": "wrong atoms 0.5 %",
}
COLOURS: Mapping[str, str] = {CLEAN: GREY, "noise-0.1": ORANGE, "noise-0.5": ORANGE}
_FORMAT, _VERSION = "needful-imperfect-demonstrations", 1


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one condition in one domain with one seed.

    Attributes:
        domain, condition, seed, learner: identify the measurement.
        demos, tasks: the numbers of demonstrations and of test tasks.
        steps: the number of steps in all demonstrations, inserted ones included.
        inserted_steps: the number of inserted steps.
        wrong_atoms: the number of flipped atoms in all abstract states.
        learned: False if learning was stopped; then there are no operators, and the success is 0.
        operators: the number of learned operators.
        coverage: the fraction of transitions that the operators explain.
        operator_seconds: CPU seconds of operator learning.
        learning_seconds: CPU seconds of learning, samplers included.
        limit_seconds: the CPU seconds after which learning would have been stopped.
        success_rate: the fraction of solved test tasks.
        planning_seconds: the mean wall seconds per task.
        failures: the number of tasks with each kind of failure.
        learning_ratio, success_ratio: the values divided by those of the clean condition with the same
            domain and seed; None if this is not possible.
    """

    domain: str
    condition: str
    seed: int
    learner: str
    demos: int
    tasks: int
    steps: int
    inserted_steps: int
    wrong_atoms: int
    learned: bool
    operators: int
    coverage: float
    operator_seconds: float
    learning_seconds: float
    limit_seconds: float
    success_rate: float
    planning_seconds: float
    failures: str
    learning_ratio: float | None = None
    success_ratio: float | None = None

    @property
    def inserted_percent(self) -> float:
        """The number of inserted steps as a percentage of the original steps."""
        return 100.0 * self.inserted_steps / max(1, self.steps - self.inserted_steps)

    def describe(self) -> str:
        """Return one line for progress reports."""
        learned = f"{self.operators} operators" if self.learned else "not learned"
        return (
            f"{self.domain}, {TITLES[self.condition]}, seed {self.seed}: {learned} in "
            f"{self.learning_seconds:.1f} CPU s, {100 * self.success_rate:.0f} % solved"
        )


def with_ratios(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements of one domain and seed with their ratios to the clean one."""
    (clean,) = (one for one in measurements if one.condition == CLEAN)
    return [
        replace(
            one,
            learning_ratio=_ratio(one.learning_seconds, clean.learning_seconds if clean.learned else 0.0),
            success_ratio=_ratio(one.success_rate, clean.success_rate),
        )
        for one in measurements
    ]


def _ratio(value: float, reference: float) -> float | None:
    return value / reference if reference else None


def print_table(measurements: Sequence[Measurement]) -> None:
    """Print one line per domain and condition; values are means over seeds."""
    header = ("Domain", "Condition", "Inserted %", "Wrong atoms", "Operators", "Coverage")
    times = ("Operators CPU s", "Learning CPU s", "× clean", "Success %", "× clean", "Not learned")
    lines: list[Sequence[str]] = [(*header, *times)]
    for (domain, condition), group in grouped(measurements).items():
        learned = [one for one in group if one.learned]
        lines.append(
            (
                domain_title(domain),
                TITLES[condition],
                _mean(group, lambda one: one.inserted_percent, "{:.1f}"),
                _mean(group, lambda one: one.wrong_atoms, "{:.0f}"),
                _mean(learned, lambda one: one.operators, "{:.1f}"),
                _mean(learned, lambda one: one.coverage, "{:.3f}"),
                _mean(group, lambda one: one.operator_seconds, "{:.2f}"),
                _mean(group, lambda one: one.learning_seconds, "{:.2f}"),
                _mean(group, lambda one: one.learning_ratio, "{:.2f}"),
                _mean(group, lambda one: 100.0 * one.success_rate, "{:.1f}"),
                _mean(group, lambda one: one.success_ratio, "{:.2f}"),
                f"{len(group) - len(learned)} of {len(group)}",
            )
        )
    print(markdown_table(lines))


def _mean(group: Sequence[Measurement], value: Callable[[Measurement], float | None], layout: str) -> str:
    values = [found for one in group if (found := value(one)) is not None]
    return layout.format(statistics.mean(values)) if values else "–"


def grouped(measurements: Sequence[Measurement]) -> dict[tuple[str, str], list[Measurement]]:
    """Return the measurements by domain and condition; domains in the paper's order."""
    keys = [
        (domain, condition)
        for domain in in_paper_order(m.domain for m in measurements)
        for condition in TITLES
    ]
    groups = {key: [one for one in measurements if (one.domain, one.condition) == key] for key in keys}
    return {key: group for key, group in groups.items() if group}


def write_files(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write the measurements as `path`.csv, .json and .png; each file is replaced atomically."""
    rows = [asdict(one) for one in measurements]
    text = io.StringIO()
    writer = csv.DictWriter(text, [one.name for one in fields(Measurement)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path.with_name(path.name + ".csv"), text.getvalue())
    content = {"format": _FORMAT, "version": _VERSION, "measurements": rows}
    write_text(path.with_name(path.name + ".json"), json.dumps(content, indent=2) + "\n")
    with report_style():
        image = render_files(draw_success(measurements)).png
    write_bytes(path.with_name(path.name + ".png"), image)


def draw_success(measurements: Sequence[Measurement]) -> Figure:
    """Draw a bar per condition, the percentage of solved tasks, in one panel per domain.

    With several seeds, a bar is the mean, and each seed is a point.
    """
    groups = grouped(measurements)
    domains = in_paper_order(domain for domain, _ in groups)
    conditions = [one for one in TITLES if any(condition == one for _, condition in groups)]
    figure, axes = domain_panels(domains, 0.7 + 0.24 * len(conditions))
    for panel, domain in zip(axes, domains, strict=True):
        for row, condition in enumerate(conditions):
            if (domain, condition) in groups:
                _draw_bar(panel, row, condition, groups[domain, condition])
        panel.set_xlim(0, 100)
        panel.set_ylim(len(conditions) - 0.4, -0.6)
        panel.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(conditions)), [TITLES[condition] for condition in conditions])
    label_outer(axes, x="tasks solved, %")
    return figure


def _draw_bar(panel: Axes, row: int, condition: str, group: Sequence[Measurement]) -> None:
    rates = [100.0 * one.success_rate for one in group]
    mean = statistics.mean(rates)
    colour = COLOURS.get(condition, BLUE)
    panel.barh(row, mean, 0.72, color=colour)
    if len(rates) > 1:
        panel.scatter(rates, [row] * len(rates), 8, color=DARK_GREY, linewidths=0, zorder=3, clip_on=False)
    inside = mean > 50.0
    panel.text(
        mean - 2 if inside else mean + 2,
        row,
        _bar_label(mean, sum(not one.learned for one in group), len(group)),
        ha="right" if inside else "left",
        va="center",
        fontsize=SMALL_FONT_SIZE,
        color=WHITE if inside and colour == BLUE else DARK_GREY,
    )


def _bar_label(mean: float, stopped: int, seeds: int) -> str:
    if stopped == seeds:
        return "not learned"
    return f"{mean:.0f}, {stopped} of {seeds} not learned" if stopped else f"{mean:.0f}"
