"""Measure predicate invention: print a table, and store the result of each run in a file.

Usage: python benchmarks/invention.py TABLE [--domains D ...] [--seeds S ...] [--demos N] [--tasks N]
                                            [--out benchmarks/out/invention.jsonl]

The tables:

    goals          all predicates that are not in goals are withheld, and invented
    detours        the same, and a third of the demonstrations contain superfluous steps
    leave-one-out  each predicate that is not in goals is withheld in turn, and the others are kept
    words          the predicates that are invented with the first seed, as sentences

Each result is a line of the file, with its settings. Results in the file are not measured again, so a table
can be continued after an interruption. Times are CPU seconds of the invention alone. Planning is limited in
CPU seconds, too. Household domains have 10 demonstrations and 10 tasks unless --demos and --tasks are
given, other domains 50.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

import needful
from needful.core.demonstrations import Demonstration
from needful.demos.imperfections import insert_detours
from needful.paper.published import ANALYTIC_PROTOCOL, DOMAINS, PaperProtocol, protocol_of

Result: TypeAlias = dict[str, Any]

TABLES = ("goals", "detours", "leave-one-out", "words")
PRACTICE_TASKS = 20
# Superfluous steps are inserted into every third demonstration.
DETOUR_EVERY = 3


@dataclass(frozen=True, slots=True)
class Job:
    """One run. `withheld` is the only withheld predicate; None if all but those of goals are."""

    domain: str
    seed: int
    demos: int
    tasks: int
    detours: bool = False
    withheld: str | None = None


def main() -> None:
    """Measure what the file does not contain yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--domains", nargs="+", default=list(DOMAINS), choices=list(DOMAINS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[20, 21, 22, 23, 24])
    parser.add_argument("--demos", type=int)
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/invention.jsonl"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    known = _read(arguments.out)
    results = []
    for job in _jobs(arguments):
        key = json.dumps(asdict(job))
        if key not in known:
            known[key] = measure(job)
            with arguments.out.open("a") as file:
                file.write(json.dumps({"job": asdict(job), "result": known[key]}) + "\n")
        results.append((job, known[key]))
    print("\n".join(_words(results) if arguments.table == "words" else _table(results)))


def _read(path: Path) -> dict[str, Result]:
    lines = path.read_text().splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    return {json.dumps(one["job"]): one["result"] for one in records}


def _jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    for domain in arguments.domains:
        protocol = _protocol(domain)
        demos, tasks = arguments.demos or protocol.demos, arguments.tasks or protocol.tasks
        for seed in arguments.seeds[: 1 if arguments.table == "words" else None]:
            if arguments.table == "leave-one-out":
                for name in _names_outside_goals(domain):
                    yield Job(domain, seed, demos, tasks, withheld=name)
            else:
                yield Job(domain, seed, demos, tasks, arguments.table == "detours")


def _protocol(domain: str) -> PaperProtocol:
    return protocol_of(domain) or ANALYTIC_PROTOCOL


def _names_outside_goals(domain: str) -> list[str]:
    env = needful.make_environment(domain)
    goals = {atom.predicate.name for index in range(20) for atom in env.task("train", index, 0).goal}
    return [one.name for one in env.vocabulary.predicates if one.name not in goals]


def measure(job: Job) -> Result:
    """Invent predicates, learn with them, and solve test tasks."""
    env = needful.make_environment(job.domain)
    demos: Sequence[Demonstration] = needful.collect_demonstrations(
        env, needful.OracleDemonstrator(env), job.demos, job.seed
    ).demonstrations
    if job.detours:
        demos = _with_detours(demos, env, job.seed)
    names = [one.name for one in env.vocabulary.predicates]
    keep = () if job.withheld is None else tuple(name for name in names if name != job.withheld)
    practice = [env.task("train", job.demos + index, job.seed) for index in range(PRACTICE_TASKS)]
    start = time.process_time()
    config = needful.InventionConfig(keep=keep, seed=job.seed)
    found = needful.invent_predicates(env.vocabulary, demos, env.execute, practice, config)
    seconds = time.process_time() - start
    learned = needful.learn_model(found.vocabulary, found.demonstrations, seed=job.seed)
    planning = needful.PlanningConfig(timeout=_protocol(job.domain).timeout, clock=time.thread_time)
    solved = 0
    for index in range(job.tasks):
        task = env.task("test", index, job.seed)
        solved += needful.plan(task, learned.model, env.execute, planning, index).solved
    return {
        "solved": solved,
        "seconds": round(seconds, 1),
        "predicates": {one.predicate.name: str(one) for one in found.predicates},
    }


def _with_detours(
    demos: Sequence[Demonstration], env: needful.Environment, seed: int
) -> tuple[Demonstration, ...]:
    """Insert superfluous steps into every third demonstration."""
    return tuple(
        insert_detours([one], env, 0.15, seed + index)[0] if index % DETOUR_EVERY == 0 else one
        for index, one in enumerate(demos)
    )


def _table(results: Sequence[tuple[Job, Result]]) -> Iterator[str]:
    yield "| Domain | Withheld | Success by seed | Mean | CPU seconds |\n|---|---|---|---|---|"
    groups: dict[tuple[str, str], list[tuple[Job, Result]]] = {}
    for job, result in results:
        groups.setdefault((job.domain, job.withheld or "all"), []).append((job, result))
    for (domain, withheld), group in groups.items():
        shares = [100 * result["solved"] / job.tasks for job, result in group]
        times = [result["seconds"] for _, result in group]
        yield (
            f"| {domain} | {withheld} | {', '.join(f'{one:.0f}' for one in shares)} | {mean(shares):.1f} "
            f"| {min(times):.1f}–{max(times):.1f} |"
        )


def _words(results: Sequence[tuple[Job, Result]]) -> Iterator[str]:
    for job, result in results:
        yield f"{job.domain}, seed {job.seed}:"
        yield from (f"  {text}" for text in result["predicates"].values())


if __name__ == "__main__":
    main()
