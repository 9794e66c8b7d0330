"""Measure how much imperfect demonstrations harm a learner: print a table, write CSV, JSON and a figure.

Usage: python benchmarks/imperfect_demonstrations.py [--domains D ...] [--conditions C ...]
                                                     [--seeds 1] [--first-seed 0]
                                                     [--demos 50] [--tasks 20]
                                                     [--learner necessary] [--timeout 60] [--jobs 1]
                                                     [--out benchmarks/out/imperfect_demonstrations]

Models are learned from the same oracle demonstrations under several conditions, which change them:

    clean       no change
    repeated    15 % of the steps are executed twice
    failed      a failed attempt precedes 10 % of the steps
    detours     a random, unnecessary action precedes 15 % of the steps
    all-steps   `repeated`, `failed` and `detours` together
    noise-0.1   each atom is wrong in 0.1 % of the abstract states
    noise-0.5   each atom is wrong in 0.5 % of the abstract states

`needful.demos.imperfections` defines the conditions. Fewer steps may be inserted: a step is left out if the
goal would be missed, and controllers without parameters cannot fail. The table therefore shows the actual
percentage of inserted steps.

Learning is stopped after 10 times the CPU time of the clean condition (at least 2 s), and in any case after
--timeout CPU seconds. A stopped learner has success 0. Household domains have 10 demonstrations and 10
tasks unless --demos and --tasks are given. Planning has 10 s per task, or 60 s in household domains.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import needful
from imperfect_demonstrations_report import CLEAN, Measurement, print_table, with_ratios, write_files
from needful.approaches.bilevel import BilevelApproach, learn_model
from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.approaches.learned_model import LearnedModel
from needful.core.demonstrations import Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.demos.collect import collect_replays
from needful.demos.imperfections import ImperfectionRates, flip_atoms, make_imperfect
from needful.envs.contract import Environment
from needful.errors import LearningTimeoutError
from needful.evaluation.evaluate import solve_tasks
from needful.evaluation.records import evaluation_summary, run_identity
from needful.operator_learning.learned_operators import LearnedOperators
from needful.paper.published import ANALYTIC_PROTOCOL, DOMAINS, protocol_of

CONDITIONS: Mapping[str, ImperfectionRates] = {
    CLEAN: ImperfectionRates(),
    "repeated": ImperfectionRates(repeated=0.15),
    "failed": ImperfectionRates(failed=0.10),
    "detours": ImperfectionRates(detours=0.15),
    "all-steps": ImperfectionRates(repeated=0.15, failed=0.10, detours=0.15),
    "noise-0.1": ImperfectionRates(flipped=0.001),
    "noise-0.5": ImperfectionRates(flipped=0.005),
}
MAX_TASKS = 20
LARGEST_SLOWDOWN = 10.0
SHORTEST_LIMIT = 2.0  # CPU seconds


@dataclass(frozen=True, slots=True)
class Job:
    """One domain with one seed, under all conditions."""

    domain: str
    seed: int
    conditions: tuple[str, ...]
    learner: str
    demos: int
    tasks: int
    timeout: float


@dataclass(frozen=True, slots=True)
class Learning:
    """The result of learning.

    Attributes:
        model: the learned model; None if learning was stopped.
        operator_seconds: CPU seconds of operator learning.
        seconds: CPU seconds of learning, samplers included.
    """

    model: LearnedModel | None
    operator_seconds: float
    seconds: float


def run_job(job: Job) -> list[Measurement]:
    """Measure all conditions, the clean one first, because it determines the time limit of the others."""
    env = needful.make_environment(job.domain)
    clean = needful.collect_demonstrations(
        env, needful.OracleDemonstrator(env), job.demos, job.seed
    ).demonstrations
    # Do not measure the first call, which fills caches, or the import of torch, which is delayed until
    # networks are trained.
    import_module("needful.sampler_learning.training")
    learn(env, clean, job, job.timeout)
    found: list[Measurement] = []
    limit = job.timeout
    for condition in job.conditions:
        found.append(measure(env, clean, condition, job, limit))
        print(f"Measured {found[-1].describe()}", file=sys.stderr, flush=True)
        if condition == CLEAN:
            limit = min(limit, max(SHORTEST_LIMIT, LARGEST_SLOWDOWN * found[0].learning_seconds))
    return with_ratios(found)


def measure(env: Environment, clean: Demonstrations, condition: str, job: Job, limit: float) -> Measurement:
    rates = CONDITIONS[condition]
    right = make_imperfect(clean, env, replace(rates, flipped=0.0), job.seed)
    demonstrations = flip_atoms(right, rates.flipped, job.seed)
    learning = learn(env, demonstrations, job, limit)
    outcome: dict[str, int] = {"not_learned": job.tasks}
    operators, coverage, success, planning_seconds = 0, 0.0, 0.0, 0.0
    if learning.model is not None:
        config = needful.PlanningConfig(timeout=(protocol_of(job.domain) or ANALYTIC_PROTOCOL).timeout)
        solver = learning.model.solver(env, config)
        identity = run_identity(job.domain, job.learner, job.seed, config)
        evaluation = solve_tasks(solver.solve, env, job.tasks, config.horizon, identity)
        summary = evaluation_summary(evaluation.records)
        operators, coverage = len(learning.model.operators.operators), learning.model.operators.coverage
        success, outcome = summary["success_rate"], summary["failures"]
        planning_seconds = summary["seconds"]["planning_mean"]
    return Measurement(
        domain=job.domain,
        condition=condition,
        seed=job.seed,
        learner=job.learner,
        demos=len(clean),
        tasks=job.tasks,
        steps=sum(map(len, demonstrations)),
        inserted_steps=sum(map(len, demonstrations)) - sum(map(len, clean)),
        wrong_atoms=sum(
            len(a ^ b)
            for noisy, exact in zip(demonstrations, right, strict=True)
            for a, b in zip(noisy.abstract_states, exact.abstract_states, strict=True)
        ),
        learned=learning.model is not None,
        operators=operators,
        coverage=coverage,
        operator_seconds=learning.operator_seconds,
        learning_seconds=learning.seconds,
        limit_seconds=limit,
        success_rate=success,
        planning_seconds=planning_seconds,
        failures=", ".join(f"{name} {count}" for name, count in sorted(outcome.items()) if count),
    )


def learn(env: Environment, demonstrations: Demonstrations, job: Job, limit: float) -> Learning:
    """Learn operators and samplers, within a limit of CPU seconds."""
    approach = BILEVEL_APPROACHES[job.learner]
    replays: Demonstrations = ()
    if approach.replay_count:
        replays = collect_replays(env, demonstrations, approach.replay_count, job.seed)
    operator_seconds: list[float] = []
    start, model = time.process_time(), None
    with suppress(LearningTimeoutError):
        model = learn_model(
            env.vocabulary,
            demonstrations,
            timed_approach(approach, operator_seconds),
            seed=job.seed,
            replays=replays,
            deadline=Deadline.after(limit, time.process_time),
        )
    return Learning(model, operator_seconds[0], time.process_time() - start)


def timed_approach(approach: BilevelApproach, seconds: list[float]) -> BilevelApproach:
    """Return the approach; its operator learner appends its CPU seconds to `seconds`."""

    def learn_operators(
        demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
    ) -> LearnedOperators:
        start = time.process_time()
        try:
            return approach.learn_operators(demonstrations, replays, deadline)
        finally:
            seconds.append(time.process_time() - start)

    return replace(approach, learn_operators=learn_operators)


def make_jobs(args: argparse.Namespace) -> list[Job]:
    conditions = tuple(name for name in CONDITIONS if name == CLEAN or name in args.conditions)
    jobs = []
    for domain in args.domains:
        protocol = protocol_of(domain) or ANALYTIC_PROTOCOL
        demos, tasks = args.demos or protocol.demos, args.tasks or min(MAX_TASKS, protocol.tasks)
        jobs += [
            Job(domain, seed, conditions, args.learner, demos, tasks, args.timeout)
            for seed in range(args.first_seed, args.first_seed + args.seeds)
        ]
    return jobs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = list(needful.environment_names())
    parser.add_argument("--domains", nargs="+", default=list(DOMAINS), choices=names, metavar="D")
    parser.add_argument(
        "--conditions", nargs="+", default=list(CONDITIONS), choices=list(CONDITIONS), metavar="C"
    )
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--demos", type=int, help="demonstrations per seed")
    parser.add_argument("--tasks", type=int, help="test tasks per seed")
    parser.add_argument("--learner", default="necessary", choices=list(BILEVEL_APPROACHES), metavar="L")
    parser.add_argument("--timeout", type=float, default=60.0, help="maximum CPU seconds of learning")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "out" / "imperfect_demonstrations",
        help="path of the outputs, without suffix",
    )
    args = parser.parse_args(arguments)
    done: list[Measurement] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for measurements in pool.map(run_job, make_jobs(args)):
            done += measurements
            write_files(args.out, done)  # after each job, so that an interrupted run has results
    print_table(done)
    print(f"\nWrote {args.out}.csv, .json and .png", file=sys.stderr)


if __name__ == "__main__":
    main()
