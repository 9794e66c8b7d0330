"""Measure the time to the first abstract plan, and compare it with third-party planners.

Usage: python benchmarks/search.py [--quick] [--seconds 40]

Our planners are measured in process, from the task to the plan, including grounding (best of 5 or more
runs). Third-party planners are measured as processes, from start to end (best of 2 or more runs), on PDDL
files written beforehand. All times are CPU milliseconds on one core. A ratio is the time of a third-party
planner divided by our time; it is a lower bound if that planner was stopped at the time limit.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from answers import Answer
from families import Case
from ours import solve
from peers import Peer, find_peers
from processes import DEFAULT_SECONDS
from report import Better, Row, format_number, markdown_table

TINY = Case("paint", 3, 1, cost=7)
SLOWEST_PAINT = Case("paint", 8, 8, cost=49)
OPTIMAL = (
    TINY,
    Case("paint", 3, 3, cost=20),
    Case("paint", 5, 5, cost=31),
    Case("paint", 8, 4, cost=26),
    SLOWEST_PAINT,
    Case("screws", 100, 4, cost=16),
    Case("books", 50, 2, cost=10),
    Case("books", 50, 4, cost=20),
)
SATISFICING = (
    Case("paint", 12, 12, cost=73),
    Case("books", 150, 4, cost=20),
    Case("books", 400, 4, cost=20),
    Case("books", 1230, 4, cost=20),  # 304,671 ground operators
)
QUICK = (TINY, Case("books", 50, 2, cost=10))

# The first planner of each tuple is compared with the others and with the third-party planners.
OPTIMAL_PLANNERS = ("paper", "anytime", "python-paper")
SATISFICING_PLANNERS = ("greedy", "weighted")
TIMED = ("paper", "anytime", "greedy", "weighted")

# The Python engine may be this many times slower than the C++ engine.
PYTHON_TARGET = 30.0
# Milliseconds to the first plan.
FIRST_PLAN_TARGETS = {"paint-3-1/paper": 1.0, "books-400-4/greedy": 60.0, "books-1230-4/greedy": 500.0}
REPEAT_OURS, REPEAT_PEERS = 5, 2


@dataclass(frozen=True, slots=True)
class Result:
    """All answers to one task.

    Attributes:
        case: the task.
        main: the name of our planner with which the others are compared.
        answers: the answers by name of the planner.
        start_ms: the time that pyperplan takes to start; its ratio does not include this time.
    """

    case: Case
    main: str
    answers: Mapping[str, Answer]
    start_ms: float = 0.0


def measure(quick: bool, seconds: float = DEFAULT_SECONDS) -> list[Result]:
    """Return the answers of all planners; a quick run has only our planners and easy tasks."""
    if quick:
        easy = [_compare(case, OPTIMAL_PLANNERS, [], seconds) for case in QUICK]
        return [*easy, _compare(SATISFICING[1], SATISFICING_PLANNERS, [], seconds)]
    peers = find_peers()
    optimal = [peers[name] for name in ("fast-downward", "k-star", "pyperplan")]
    start = peers["pyperplan"].start_ms()
    return [
        *(_compare(case, OPTIMAL_PLANNERS, optimal, seconds, start) for case in OPTIMAL),
        *(_compare(case, SATISFICING_PLANNERS, [peers["lama-first"]], seconds) for case in SATISFICING),
    ]


def _compare(
    case: Case, ours: Sequence[str], peers: Sequence[Peer], seconds: float, start_ms: float = 0.0
) -> Result:
    print(f"  {case.name}", file=sys.stderr, flush=True)
    main = solve(ours[0], case, seconds, REPEAT_OURS)
    # The time limit must be long enough for the Python engine to miss its target before it is stopped.
    time_limit = max(seconds, math.ceil(1.2 * PYTHON_TARGET * (main.cpu_ms or 0.0) / 1000))
    answers = {ours[0]: main}
    answers |= {name: solve(name, case, time_limit, REPEAT_OURS) for name in ours[1:]}
    answers |= {peer.name: peer.solve(case, seconds, REPEAT_PEERS) for peer in peers}
    return Result(case, ours[0], answers, start_ms)


def rows(quick: bool = False) -> list[Row]:
    """Return the time of each of our planners, and the ratio of each other planner to the main planner."""
    return [row for result in measure(quick) for row in result_rows(result)]


def result_rows(result: Result) -> list[Row]:
    """Return one row per answer, in the same order."""
    found = []
    for name, answer in result.answers.items():
        make = _time_row if name in TIMED else _ratio_row
        found.append(make(result, name, answer))
    return found


def _time_row(result: Result, name: str, answer: Answer) -> Row:
    key = f"{result.case.name}/{name}"
    value, note = answer.cpu_ms if answer.problem is None else None, _note(answer)
    if name == "paper" and answer.cost != result.case.cost:
        value, note = None, f"{note}; the optimal cost is {result.case.cost}"
    return Row(f"search/{key}", value, "ms", FIRST_PLAN_TARGETS.get(key), note=note)


def _ratio_row(result: Result, name: str, answer: Answer) -> Row:
    main = result.answers[result.main]
    theirs = answer.at_least_ms
    if theirs is not None and name == "pyperplan" and answer.problem is None:
        theirs -= result.start_ms
    ratio = theirs / main.cpu_ms if theirs is not None and main.cpu_ms else None
    target = _ratio_target(result.case, name, theirs)
    better: Better = "lower" if name == "python-paper" else "higher"
    note = _note(answer)
    if answer.stopped_ms is not None:
        note += ", so this is a lower bound"
        if better == "higher" and target is not None and ratio is not None and ratio < target:
            target, note = None, f"{note}; stopped too early to check the target"
    elif answer.cpu_ms is not None:
        note = f"{format_number(answer.cpu_ms)} ms, {note}"
    return Row(f"search/{result.case.name}/{name} : {result.main}", ratio, "x", target, better, note)


def _ratio_target(case: Case, name: str, theirs_ms: float | None) -> float | None:
    match name:
        case "pyperplan":
            return 20.0 if theirs_ms is not None and theirs_ms <= 100 else 100.0
        case "fast-downward":
            return 3.0 if case == SLOWEST_PAINT else 8.0
        case "python-paper" if case.family == "paint":
            return PYTHON_TARGET
        case _:
            return None


def _note(answer: Answer) -> str:
    if answer.problem is not None:
        return answer.problem
    evaluated = "" if answer.evaluated is None else f", {answer.evaluated:,} evaluated"
    return f"cost {answer.cost}{evaluated}, {answer.peak_mb:.0f} MB"


def details(results: Sequence[Result]) -> str:
    """Return all measurements as a Markdown table with one line per planner and task."""
    head = ("Task", "Planner", "CPU ms", "Wall ms", "Cost", "Evaluated", "Peak MB", "Ratio", "Target")
    lines: list[Sequence[str]] = [head]
    for result in results:
        for row, (name, answer) in zip(result_rows(result), result.answers.items(), strict=True):
            figures = (answer.cpu_ms, answer.wall_ms, answer.cost, answer.evaluated, answer.peak_mb)
            cells = ["" if figure is None else format_number(figure) for figure in figures]
            if answer.problem is not None:
                cells[0] = answer.problem
            ratio = "" if row.unit != "x" or row.value is None else format_number(row.value)
            target = (
                ""
                if row.target is None
                else f"{format_number(row.target)} {'met' if row.target_met else 'MISSED'}"
            )
            lines.append([result.case.name, name, *cells, ratio, target])
    return markdown_table(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only our planners, on easy tasks")
    parser.add_argument("--seconds", type=float, default=DEFAULT_SECONDS, help="time limit of each run")
    args = parser.parse_args()
    print(details(measure(args.quick, args.seconds)))


if __name__ == "__main__":
    main()
