"""Measure open-loop and closed-loop execution with failing skills and noisy observations.

Usage: python benchmarks/closed_loop.py [--domains D ...] [--first-seed 5] [--seeds 5]
                                        [--tasks N] [--demos N] [--skill-failures 0.1]
                                        [--noise 0 0.01 0.03] [--timeout 10] [--oracle]
                                        [--out closed_loop.jsonl] [--figure closed_loop.png]

For each domain and seed, a model is learned once. Then the same test tasks are solved in worlds with
failing skills and each amount of observation noise, open loop and closed loop. Both modes are also measured
in a world without failures and noise. By default there are 50 demonstrations and 50 tasks, and 10 of each
in the household domains.

Each measurement is one line of the file --out. Measurements that are in the file already are not repeated,
so an interrupted benchmark can be resumed, and domains can be measured one by one. The table and the figure
show all measurements in the file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import needful
from needful.envs.drawing.palette import BLUE, ORANGE
from needful.evaluation.evaluate import solve_tasks
from needful.evaluation.execution import TaskExecution, measured_ranges
from needful.evaluation.records import run_identity
from needful.paper.published import domain_title, in_paper_order
from needful.reports.figure_canvas import (
    domain_panels,
    label_outer,
    legend_below,
    render_files,
    report_style,
)
from needful.storage.outputs import write_bytes
from report import markdown_table

HOUSEHOLD = ("opening-presents", "locking-windows", "collecting-cans", "sorting-books")
ANALYTIC_SIZE, HOUSEHOLD_SIZE = 50, 10
MODES: Mapping[bool, tuple[str, str]] = {False: ("open loop", ORANGE), True: ("closed loop", BLUE)}


@dataclass(frozen=True, slots=True)
class Condition:
    """The settings of one measurement."""

    domain: str
    seed: int
    model: str
    demos: int
    tasks: int
    skill_failures: float
    noise: float
    closed_loop: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one condition.

    Attributes:
        solved: the number of solved tasks.
        controllers: the mean number of executed controllers per task.
        replans: the mean number of plans from scratch after the first one.
        planning_seconds: the mean seconds of planning and deciding per task.
        cpu_seconds: the CPU seconds of all tasks, the simulated world included.
        failures: the number of failed tasks with each outcome.
    """

    condition: Condition
    solved: int
    controllers: float
    replans: float
    planning_seconds: float
    cpu_seconds: float
    failures: dict[str, int]


def conditions(domain: str, seed: int, args: argparse.Namespace) -> Iterator[Condition]:
    """Yield the conditions of one domain and seed; those without failures and noise come first."""
    size = HOUSEHOLD_SIZE if domain in HOUSEHOLD else ANALYTIC_SIZE
    model = "oracle" if args.oracle else "necessary"
    worlds = [(0.0, 0.0), *((args.skill_failures, noise) for noise in args.noise)]
    for failures, noise in worlds:
        for closed in MODES:
            yield Condition(
                domain, seed, model, args.demos or size, args.tasks or size, failures, noise, closed
            )


def measure(todo: Sequence[Condition], timeout: float) -> Iterator[Measurement]:
    """Learn the model of one domain and seed, and measure the given conditions."""
    first = todo[0]
    env = needful.make_environment(first.domain)
    planning = needful.PlanningConfig(timeout).with_horizon(env.horizon)
    if first.model == "oracle":
        solver: needful.Solver = needful.BilevelSolver(env.oracle_model(), env.execute, planning)
    else:
        learned = needful.run(env, needful.RunConfig(demos=first.demos, tasks=0, seed=first.seed)).learned
        assert learned is not None
        solver = learned.solver(env, planning)
    ranges = measured_ranges(env)
    for condition in todo:
        disturbances = needful.Disturbances(condition.skill_failures, condition.noise)
        config = needful.ExecutionConfig(condition.closed_loop, disturbances)
        execution = TaskExecution(solver, env, config, env.horizon, ranges)
        identity = run_identity(condition.domain, condition.model, condition.seed, config)
        started = time.process_time()
        records = solve_tasks(execution, env, condition.tasks, env.horizon, identity).records
        failed = [record.outcome for record in records if not record.solved]
        counts = [record.execution or {} for record in records]
        yield Measurement(
            condition,
            len(records) - len(failed),
            statistics.mean(count["controllers"] for count in counts),
            statistics.mean(count["replans"] for count in counts),
            statistics.mean(record.seconds["total"] for record in records),
            time.process_time() - started,
            {outcome: failed.count(outcome) for outcome in sorted(set(failed))},
        )


def read(path: Path) -> list[Measurement]:
    """Return the measurements in a file; none if the file does not exist."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = map(json.loads, lines)
    return [Measurement(**{**row, "condition": Condition(**row["condition"])}) for row in rows]


Cell = tuple[str, float, float, bool]


def grouped(found: Sequence[Measurement]) -> dict[Cell, list[Measurement]]:
    """Return the measurements by domain, skill failures, noise and mode."""
    groups: dict[Cell, list[Measurement]] = {}
    for one in found:
        at = one.condition
        groups.setdefault((at.domain, at.skill_failures, at.noise, at.closed_loop), []).append(one)
    return groups


def success(group: Sequence[Measurement]) -> float:
    """Return the percentage of solved tasks of all seeds."""
    return 100.0 * sum(one.solved for one in group) / sum(one.condition.tasks for one in group)


def table(found: Sequence[Measurement]) -> str:
    """Return a Markdown table of the success per domain; the last line is the mean of all domains."""
    groups = grouped(found)
    worlds = sorted({key[1:] for key in groups})
    domains = in_paper_order(key[0] for key in groups)
    titles = [f"{MODES[mode][0]}, p {p:g}, noise {100 * noise:g} %" for p, noise, mode in worlds]
    lines: list[Sequence[str]] = [("Success %", *titles)]
    for domain in domains:
        cells = [groups.get((domain, *world)) for world in worlds]
        lines.append((domain_title(domain), *(f"{success(cell):.1f}" if cell else "–" for cell in cells)))
    columns = [[success(group) for key, group in groups.items() if key[1:] == world] for world in worlds]
    lines.append(("Mean", *(f"{statistics.mean(column):.1f}" for column in columns)))
    return markdown_table(lines)


def costs(found: Sequence[Measurement]) -> str:
    """Return a Markdown table of controllers, replans and planning time of closed-loop execution."""
    titles = (
        "Domain",
        "Skill failures",
        "Noise %",
        "Mode",
        "Controllers",
        "Replans",
        "Planning ms",
        "Failed",
    )
    lines: list[Sequence[str]] = [titles]
    for (domain, failures, noise, closed), group in sorted(grouped(found).items()):
        outcomes: dict[str, int] = {}
        for one in group:
            for outcome, count in one.failures.items():
                outcomes[outcome] = outcomes.get(outcome, 0) + count
        lines.append(
            (
                domain,
                f"{failures:g}",
                f"{100 * noise:g}",
                MODES[closed][0],
                f"{statistics.mean(one.controllers for one in group):.1f}",
                f"{statistics.mean(one.replans for one in group):.2f}",
                f"{1000 * statistics.mean(one.planning_seconds for one in group):.1f}",
                ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())),
            )
        )
    return markdown_table(lines)


def draw(found: Sequence[Measurement], path: Path) -> None:
    """Draw the success over the observation noise, one panel per domain, one curve per mode."""
    from matplotlib.lines import Line2D

    disturbed = [one for one in found if one.condition.skill_failures]
    groups = grouped(disturbed)
    domains = in_paper_order(key[0] for key in groups)
    with report_style():
        figure, axes = domain_panels(domains, 1.6)
        for panel, domain in zip(axes, domains, strict=True):
            for mode, (_, colour) in MODES.items():
                points = sorted(
                    (100 * noise, success(group))
                    for (name, _, noise, closed), group in groups.items()
                    if name == domain and closed == mode
                )
                panel.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4)
            panel.set_ylim(-4, 104)
        label_outer(axes, x="observation noise, % of range", y="tasks solved, %")
        legend_below(figure, [Line2D([], [], color=colour, label=name) for name, colour in MODES.values()])
        write_bytes(path, render_files(figure).png)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--domains", nargs="*", default=list(needful.environment_names()))
    parser.add_argument("--first-seed", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--demos", type=int)
    parser.add_argument("--skill-failures", type=float, default=0.1)
    parser.add_argument("--noise", type=float, nargs="*", default=[0.0, 0.01, 0.03])
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds of planning per task")
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("closed_loop.jsonl"))
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args(arguments)
    found = read(args.out)
    done = {one.condition for one in found}
    for domain in args.domains:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            todo = [one for one in conditions(domain, seed, args) if one not in done]
            for one in measure(todo, args.timeout) if todo else ():
                found.append(one)
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
    print(table(found), costs(found), sep="\n\n")
    if args.figure is not None:
        draw(found, args.figure)


if __name__ == "__main__":
    main()
