"""Measure success rates of learned models over domains and seeds: print a Markdown table.

Usage: python benchmarks/success_rates.py [--domains D ...] [--seeds 5] [--first-seed 0]
                                          [--demos 50] [--tasks 50] [--learner necessary]
                                          [--abstract-plans 8] [--planner anytime] [--experiments]
                                          [--oracle] [--jobs 2]

With --oracle the hand-written model of each domain is evaluated instead. Failures and their reasons are
listed after the table.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import needful
from needful.evaluation.evaluate import solve_tasks
from needful.evaluation.records import RunRecord, evaluation_summary, run_identity
from needful.planning.planners import DEFAULT_PLANNER, make_planner


@dataclass(frozen=True)
class Job:
    domain: str
    seed: int
    learner: str
    demos: int
    tasks: int
    abstract_plans: int
    planner: str
    experiments: bool
    oracle: bool


def run_job(job: Job) -> tuple[Job, dict[str, Any], tuple[RunRecord, ...]]:
    env = needful.make_environment(job.domain)
    planning = needful.PlanningConfig(
        max_abstract_plans=job.abstract_plans, planner=make_planner(job.planner)
    )
    if job.oracle:
        identity = run_identity(job.domain, "oracle", job.seed, planning)
        model = env.oracle_model()
        evaluation = solve_tasks(
            needful.BilevelSolver(model, env.execute, planning).solve,
            env,
            job.tasks,
            planning.horizon,
            identity,
        )
        summary = {
            "operators": len(model.operators),
            "coverage": 1.0,
            **evaluation_summary(evaluation.records),
        }
        return job, summary, evaluation.records
    experiments = needful.ExperimentConfig() if job.experiments else None
    config = needful.RunConfig(
        job.learner, job.demos, job.tasks, job.seed, planning, experiments=experiments
    )
    result = needful.run(env, config)
    return job, result.summary, result.evaluation.records


def row(domain: str, summaries: list[dict[str, Any]]) -> str:
    rates = [100 * summary["success_rate"] for summary in summaries]
    spread = statistics.stdev(rates) / len(rates) ** 0.5 if len(rates) > 1 else 0.0
    operators = statistics.mean(summary["operators"] for summary in summaries)
    planning = 1000 * statistics.mean(summary["seconds"]["planning_mean"] for summary in summaries)
    learning = statistics.mean(
        sum(summary["seconds"].get(stage, 0.0) for stage in ("operators", "samplers", "policy"))
        for summary in summaries
    )
    each = " ".join(f"{rate:.0f}" for rate in rates)
    return (
        f"| {domain} | {statistics.mean(rates):.1f} ({spread:.1f}) | {each} | {operators:g} "
        f"| {min(summary['coverage'] for summary in summaries):g} | {learning:.1f} | {planning:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--domains", nargs="+", default=list(needful.environment_names()))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--demos", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--learner", default="necessary")
    parser.add_argument("--abstract-plans", type=int, default=8)
    parser.add_argument("--planner", default=DEFAULT_PLANNER)
    parser.add_argument("--experiments", action="store_true")
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    jobs = [
        Job(
            domain,
            seed,
            args.learner,
            args.demos,
            args.tasks,
            args.abstract_plans,
            args.planner,
            args.experiments,
            args.oracle,
        )
        for domain in args.domains
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    with ProcessPoolExecutor(args.jobs) as pool:
        done = list(pool.map(run_job, jobs))
    titles = [
        "Domain",
        "Success %, mean (s.e.)",
        "Success % by seed",
        "Operators",
        "Coverage",
        "Learning s",
    ]
    print(f"| {' | '.join([*titles, 'Planning ms per task'])} |")
    print(f"|{'---|' * (len(titles) + 1)}")
    for domain in args.domains:
        print(row(domain, [summary for job, summary, _ in done if job.domain == domain]))
    failures = Counter(
        (record.domain, record.seed, record.task, record.outcome, record.failure)
        for _, _, records in done
        for record in records
        if record.outcome != "solved"
    )
    print()
    for domain, seed, task, outcome, detail in sorted(failures, key=str):
        print(f"{domain}, seed {seed}, task {task}: {outcome}: {detail}")


if __name__ == "__main__":
    main()
