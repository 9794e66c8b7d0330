"""Measure whether learned operators are true, in recorded worlds.

Usage: python benchmarks/worlds.py [--learners necessary,ci] [--worlds blocks,doors] [--tasks 25]
                                   [--folder FOLDER] [--json FILE] [--markdown]

For each world, each learner learns operators from the training demonstrations, and the operators are judged
on held-out demonstrations of other tasks. The columns are:

    operators, true   the numbers of learned and of true operators
    false claims      false claims of the learned operators per held-out transition
    of the truth      false claims of the true operators per held-out transition
    valid, no plan    shares of the tasks whose first plan is valid, and for which no plan was found
    learning s        CPU seconds of learning

`worlds_judge.py` defines false claims and valid plans. The learner `truth` returns the true operators.

In worlds named `*_coarse`, controllers have fewer arguments, so that operators need parameters that are no
controller arguments. Means are printed separately for these worlds and for those with full arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from needful.approaches.catalogue import BILEVEL_APPROACHES
from processes import FOLDER
from report import markdown_table
from worlds_judge import (
    Judgement,
    Operators,
    World,
    false_claims_per_transition,
    judge,
    read_world,
    world_names,
)

DATA = FOLDER.parent / "tests" / "data" / "worlds"
COARSE = "_coarse"
TRUTH = "truth"
# Learners that need a simulator are left out.
LEARNERS = (*(name for name, learner in BILEVEL_APPROACHES.items() if not learner.replay_count), TRUTH)
DEFAULT_LEARNERS = "necessary,necessary-paper,necessary-no-complexity,ci"
# The measured values, and the headings of their columns.
COLUMNS = {
    "operators": "operators",
    "true_operators": "true",
    "false_claims": "false claims",
    "true_false_claims": "of the truth",
    "valid": "valid",
    "no_plan": "no plan",
    "seconds": "learning s",
}


@dataclass(frozen=True, slots=True)
class Result:
    """The measurements of one learner in one world.

    Attributes:
        operators, true_operators: the numbers of learned and of true operators.
        judgement: how true the learned operators are.
        true_false_claims: the false claims of the true operators per held-out transition.
        seconds: the CPU seconds of learning.
    """

    world: str
    learner: str
    operators: int
    true_operators: int
    judgement: Judgement
    true_false_claims: float
    seconds: float

    @property
    def figures(self) -> dict[str, float]:
        """The values of `COLUMNS`."""
        values = self.to_json()
        return {key: values[key] for key in COLUMNS}

    def to_json(self) -> dict[str, Any]:
        """Return all values in one JSON object."""
        values = asdict(self)
        return {**values, **values.pop("judgement")}


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean figures of one learner over several worlds."""

    title: str
    learner: str
    figures: dict[str, float]


def measure(world: World, learner: str, max_tasks: int) -> Result:
    """Learn the operators of a world and judge them."""
    start = time.process_time()
    operators = learn(world, learner)
    seconds = time.process_time() - start
    return Result(
        world.name,
        learner,
        len(operators),
        len(world.truth),
        judge(operators, world, max_tasks),
        false_claims_per_transition(world.truth, world.held_out),
        seconds,
    )


def learn(world: World, learner: str) -> Operators:
    """Return the operators that a learner finds, or the true operators."""
    if learner == TRUTH:
        return world.truth
    return BILEVEL_APPROACHES[learner].learn_operators(world.train).operators


def means(results: Sequence[Result]) -> Iterator[Mean]:
    """Yield the means of each learner over the worlds with full arguments, then over the coarse worlds."""
    for coarse in (False, True):
        chosen = [result for result in results if result.world.endswith(COARSE) == coarse]
        for learner in dict.fromkeys(result.learner for result in chosen):
            figures = [result.figures for result in chosen if result.learner == learner]
            title = f"mean, {'coarse' if coarse else 'full arguments'} ({len(figures)})"
            yield Mean(title, learner, {key: fmean(one[key] for one in figures) for key in COLUMNS})


def line(title: str, learner: str, figures: Mapping[str, float] | None = None) -> str:
    """Return one line of the printed table, or the header if there are no figures."""
    cells = [
        (heading if figures is None else _number(key, figures[key])).rjust(len(heading))
        for key, heading in COLUMNS.items()
    ]
    return "  ".join([title.ljust(25), learner.ljust(23), *cells])


def _number(key: str, value: float) -> str:
    return f"{value:.3g}" if key in ("operators", "true_operators") else f"{value:.2f}"


def markdown(results: Sequence[Result]) -> str:
    """Return a Markdown table of worlds by learners.

    A cell contains the number of operators, the false claims per transition, and the share of valid first
    plans. The column of the true operators contains the first two.
    """
    learners = list(dict.fromkeys(result.learner for result in results))
    rows: dict[str, list[str]] = {}
    entries = [(result.world, result.figures) for result in results]
    entries += [(mean.title, mean.figures) for mean in means(results)]
    for title, figures in entries:
        text = {key: _number(key, value) for key, value in figures.items()}
        row = rows.setdefault(title, [title, f"{text['true_operators']}; {text['true_false_claims']}"])
        row.append(f"{text['operators']}; {text['false_claims']}; {text['valid']}")
    return markdown_table([["World", "true operators", *learners], *rows.values()])


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    results: list[Result] = []
    progress = sys.stderr if args.markdown else sys.stdout
    print(line("world", "learner"), file=progress)
    for name in args.worlds:
        world = read_world(args.folder, name)
        for learner in args.learners:
            results.append(measure(world, learner, args.tasks))
            print(line(name, learner, results[-1].figures), file=progress, flush=True)
    for mean in means(results):
        print(line(mean.title, mean.learner, mean.figures), file=progress)
    if args.markdown:
        print(markdown(results))
    if args.json:
        content = {
            "results": [result.to_json() for result in results],
            "means": [asdict(mean) for mean in means(results)],
        }
        args.json.write_text(json.dumps(content, indent=1) + "\n")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--learners", default=DEFAULT_LEARNERS, metavar="NAME,...", help=f"some of {', '.join(LEARNERS)}"
    )
    parser.add_argument("--worlds", metavar="NAME,...", help="names of worlds; all by default")
    parser.add_argument("--tasks", type=int, default=25, help="the largest number of tasks per world")
    parser.add_argument("--folder", type=Path, default=DATA, help="folder with the files of the worlds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument(
        "--markdown", action="store_true", help="print a Markdown table of worlds by learners"
    )
    args = parser.parse_args(arguments)
    known = world_names(args.folder)
    if not known:
        parser.error(f"there are no worlds in {args.folder}")
    if args.tasks < 1:
        parser.error(f"--tasks must be at least 1, got {args.tasks}")
    args.worlds = args.worlds.split(",") if args.worlds else known
    args.learners = args.learners.split(",")
    for kind, names, allowed in (("world", args.worlds, known), ("learner", args.learners, LEARNERS)):
        for name in names:
            if name not in allowed:
                parser.error(f"unknown {kind} {name!r}; choose from {', '.join(allowed)}")
    return args


if __name__ == "__main__":
    main()
