"""Draw the figures of docs/concepts.md as SVG files in docs/images/figures; the output is deterministic.

Usage: python docs/make_figures.py
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import needful
from needful.storage.outputs import write_bytes

FIGURES = Path(__file__).parent / "images" / "figures"
INK, FAINT = "#1f2933", "#8793a0"
PALE, GOLD, BLUE, GREEN, RED = "#b8c1cc", "#f2b544", "#2f6fb0", "#2e8b57", "#c0504d"
STYLE: dict[Any, Any] = {"svg.hashsalt": "needful", "font.size": 10.0, "font.family": "DejaVu Sans"}


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with invisible axes whose unit is a tenth of an inch."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 10 * width), ylim=(0, 10 * height))
    axes.axis("off")
    return figure, axes


def write(axes: Axes, x: float, y: float, text: str, **how: Any) -> None:
    """Write text, centred by default; `how` overrides the style."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", "color": INK, **how})


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = INK) -> None:
    """Draw an arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.4})


def card(axes: Axes, corner: tuple[float, float], size: tuple[float, float], colour: str = PALE) -> None:
    """Draw an empty frame with rounded corners."""
    axes.add_patch(
        mpl.patches.FancyBboxPatch(
            corner, *size, boxstyle="round,pad=0,rounding_size=0.8", fc="white", ec=colour
        )
    )


def atoms(axes: Axes, x: float, top: float, lines: Iterable[tuple[str, str]]) -> None:
    """Write atoms below each other, given as text and colour; pale ones are not bold."""
    for row, (text, colour) in enumerate(lines):
        weight, colour = ("normal", FAINT) if colour == PALE else ("bold", colour)
        write(axes, x, top - 2.2 * row, text, color=colour, ha="left", weight=weight, size=9)


def line_world(axes: Axes, x: float, robot: float, dots: Sequence[float]) -> None:
    """Draw the robot and the dots on a line, with the robot's reach."""
    y = 6.0
    axes.plot([x, x + 24], [y, y], color=PALE, zorder=0)
    axes.add_patch(mpl.patches.Rectangle((x + robot - 3.2, y - 2), 6.4, 4, color=GOLD, alpha=0.35, lw=0))
    axes.scatter([x + robot], [y], marker="s", s=90, color=INK, zorder=3)
    for number, dot in enumerate(dots):
        axes.scatter([x + dot], [y], s=60, color=BLUE, zorder=3)
        write(axes, x + dot, y - 3.2, f"dot{number}", size=8)
    write(axes, x + robot, y + 3.2, "robot", size=8)


def abstraction() -> Figure:
    """Draw a state on the left and its atoms on the right."""
    figure, axes = blank(7.2, 1.9)
    line_world(axes, 3, 9, (6.5, 11.4, 20))
    write(axes, 15, 16, "state x", weight="bold")
    arrow(axes, (29.5, 6), (40, 6))
    write(axes, 34.7, 8, "predicates", size=9)
    write(axes, 55, 16, "abstract state s", weight="bold")
    card(axes, (42, 1.2), (28, 12))
    atoms(axes, 44, 10.5, [("NextTo(robot, dot0)", INK), ("NextTo(robot, dot1)", INK)])
    atoms(axes, 44, 5.0, [("not NextTo(robot, dot2)", PALE)])
    return figure


def operators() -> Figure:
    """Draw an abstract state before and after a Move."""
    figure, axes = blank(7.2, 2.5)
    for x, title in ((1, "before"), (47, "after")):
        card(axes, (x, 2), (24, 18))
        write(axes, x + 12, 22, title, weight="bold")
    atoms(
        axes,
        2.5,
        17,
        [("NextTo(robot, dot0)", INK), ("NextTo(robot, dot1)", INK), ("Grasped(robot, dot7)", INK)],
    )
    unknown = [("NextTo(robot, dot0)  ?", PALE), ("NextTo(robot, dot1)  ?", PALE)]
    atoms(axes, 48.5, 17, [("NextTo(robot, dot4)", GREEN), ("Grasped(robot, dot7)", INK), *unknown])
    write(axes, 48.5, 5, "? unknown: it may hold", size=8, ha="left")
    arrow(axes, (26, 9), (46, 9))
    write(axes, 36, 16.6, "Move(robot, dot4)", weight="bold", size=9)
    write(axes, 36, 13.8, "adds NextTo(robot, dot4)", color=GREEN, size=8.5)
    write(axes, 36, 11.3, "forgets NextTo(robot, *:dot)", color=RED, size=8.5)
    return figure


def backchaining() -> Figure:
    """Draw a demonstration of Screws with the atoms that are necessary for its goal."""
    figure, axes = blank(8.4, 3.0)
    steps = ("MoveToScrew", "Magnetize", "MoveToReceptacle", "Demagnetize")
    seen = (
        (),
        (("CanPick(s1)", INK), ("CanPick(s2)", PALE)),
        (("Holding(s1)", INK), ("Holding(s2)", PALE), ("CanPick(s1)", PALE)),
        (("Holding(s1)", INK), ("Above(box)", INK), ("Holding(s2)", PALE)),
        (("In(s1, box)", GREEN), ("In(s2, box)", PALE), ("Above(box)", PALE)),
    )
    for number, lines in enumerate(seen):
        x = 1 + 17 * number
        card(axes, (x, 7), (13.4, 11), GREEN if number == 4 else PALE)
        atoms(axes, x + 1, 15.5, lines)
        write(axes, x + 6.7, 20, f"$s_{number}$")
    for number, step in enumerate(steps):
        start = 14.6 + 17 * number
        arrow(axes, (start, 12.5), (start + 3.3, 12.5))
        write(axes, start + 1.7, 23.6, step, size=8.5, weight="bold")
        arrow(axes, (start + 9, 4.6), (start - 6, 4.6), GREEN)
        write(axes, start + 1.5, 2.6, rf"$\alpha_{number + 1} \to \alpha_{number}$", color=GREEN)
    write(axes, 75.7, 26.5, "goal: In(s1, box)", color=GREEN, weight="bold", size=9)
    write(axes, 1, 27.5, "bold: necessary   grey: happens to hold, not predicted", ha="left", size=8.5)
    return figure


def bilevel() -> Figure:
    """Draw an abstract plan, and below it the states that refinement tries."""
    figure, axes = blank(7.6, 3.0)
    write(axes, 1, 27.5, "search: abstract plan", ha="left", weight="bold", size=9)
    write(axes, 1, 14.5, "refinement: sample, simulate, check", ha="left", weight="bold", size=9)
    for number, label in enumerate((r"$s_0$", r"$\alpha_1$", r"$\alpha_2$", "goal")):
        x = 6 + 20 * number
        axes.add_patch(
            mpl.patches.Circle((x, 21.5), 2.6, fc="white", ec=GREEN if number == 3 else BLUE, lw=1.6)
        )
        write(axes, x, 21.5, label, size=8.5)
        axes.scatter([x], [8.5], s=110, color=GREEN if number == 3 else INK, zorder=3)
        axes.plot([x, x], [10.5, 18.5], color=PALE, ls=":", zorder=0)
        if number < 3:
            arrow(axes, (x + 3, 21.5), (x + 17, 21.5), BLUE)
            write(axes, x + 10, 23.6, f"operator {number + 1}", size=8.5)
            arrow(axes, (x + 1.6, 8.5), (x + 18.4, 8.5))
            write(axes, x + 10, 10, rf"$\theta_{number + 1}$", size=9)
    for x, y in ((22, 3.5), (42, 5), (42, 2)):
        arrow(axes, (x - 14.5, 8), (x, y), RED)
        axes.scatter([x + 1], [y], marker="x", s=40, color=RED)
    write(axes, 44.5, 3.4, "necessary atoms missed: sample again", ha="left", size=8.5, color=RED)
    return figure


def hill_climbing() -> Figure:
    """Plot the objective after each move of hill climbing, from a run in Satellites."""
    demos = demonstrations("satellites", 50)
    learned = needful.learn_operators(demos)
    uncovered = [learned.transitions, *(step.objective.uncovered for step in learned.steps)]
    count = [0, *(step.objective.operators for step in learned.steps)]
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes = figure.add_subplot()
    axes.step(range(len(uncovered)), uncovered, where="post", color=BLUE, label="uncovered transitions")
    axes.set(xlabel="move of hill climbing", ylabel="uncovered transitions")
    axes.yaxis.label.set_color(BLUE)
    other = axes.twinx()
    other.step(range(len(count)), count, where="post", color=RED)
    other.set_ylabel("operators", color=RED)
    axes.set_title(f"Satellites: {learned.transitions} transitions, {count[-1]} operators", size=10)
    return figure


def samplers() -> Figure:
    """Plot parameters drawn by a learned sampler of Painting beside the demonstrated ones."""
    env = needful.make_environment("painting")
    learned = needful.learn_model(env.vocabulary, demonstrations("painting", 20))
    data = max(
        (one for one in learned.operators.data if one.operator.controller.name == "Place"),
        key=lambda one: len(one.groundings),
    )
    shown = np.array(
        [learned.demonstrations[one.demonstration].actions[one.step].parameters for one in data.groundings]
    )
    sampler, rng = learned.model.samplers[data.operator.name], np.random.default_rng(0)
    drawn = []
    for one in data.groundings:
        states = learned.demonstrations[one.demonstration].states
        assert states is not None
        drawn += [sampler.sample(states[one.step], one.objects, rng) for _ in range(5)]
    figure = Figure(figsize=(6.4, 2.4), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(
        np.array(drawn)[:, 1], rng.uniform(0.1, 0.9, len(drawn)), s=12, color=GOLD, label="sampled"
    )
    axes.scatter(shown[:, 1], rng.uniform(1.1, 1.9, len(shown)), s=12, color=BLUE, label="demonstrated")
    axes.set(xlabel=f"second parameter of Place ({data.operator.name})", yticks=[])
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def demonstrations(domain: str, count: int) -> tuple[needful.Demonstration, ...]:
    """Collect demonstrations of a domain by the oracle."""
    env = needful.make_environment(domain)
    return needful.collect_demonstrations(
        env, needful.OracleDemonstrator(env), count, seed=0
    ).demonstrations


def save(draw: Callable[[], Figure]) -> None:
    """Draw a figure and write it to a file named after the function."""
    with mpl.rc_context(STYLE):
        data = io.BytesIO()
        # On dark pages, dark ink on a transparent background would be illegible.
        draw().savefig(data, format="svg", facecolor="white", metadata={"Date": None})
    write_bytes(FIGURES / f"{draw.__name__}.svg", data.getvalue())
    print(FIGURES / f"{draw.__name__}.svg")


if __name__ == "__main__":
    FIGURES.mkdir(parents=True, exist_ok=True)
    for figure in (abstraction, operators, backchaining, hill_climbing, samplers, bilevel):
        save(figure)
