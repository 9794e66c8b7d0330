"""The preset `paper`: the settings of the paper's experiments.

docs/reproduce.md gives the source of each setting. Where the text of the paper and the code of its authors
disagree, the preset has the setting that reproduces the published numbers.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from needful.approaches.catalogue import GNN_APPROACHES
from needful.errors import UnknownNameError
from needful.evaluation.pipeline import RunConfig
from needful.paper.domains import DOMAINS, HOUSEHOLD
from needful.paper.methods import OURS, PAPER_LEARNERS
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import make_planner
from needful.sampler_learning.learn_samplers import PAPER_SAMPLERS
from needful.sweeps.jobs import Job

PAPER = "paper"
HOUSEHOLD_SECONDS = {"sorting-books": 1_500.0}
DEFAULT_HOUSEHOLD_SECONDS = 500.0
ANALYTIC_PLANNER, HOUSEHOLD_PLANNER = "paper", "greedy"
# Settings that every run of an experiment may choose, such as the seed. If they differ from the preset,
# this is not recorded as a change of the preset.
FREE_SETTINGS = frozenset({"learner", "seed", "tasks", "learning_timeout", "validation_folds", "clock"})


def paper_preset(domain: str, **changes: Any) -> RunConfig:
    """Return the settings of the paper's experiments in one of its ten domains.

    `changes` maps fields of `RunConfig` and `PlanningConfig` to values that replace those of the preset.
    The names of changed fields, except `FREE_SETTINGS`, are listed in `RunConfig.preset`, which is recorded
    with the results.
    """
    if domain not in DOMAINS:
        raise UnknownNameError("domain of the paper", domain, DOMAINS)
    preset = _household_preset(domain) if domain in HOUSEHOLD else _analytic_preset(domain)
    if changes.get("learner") in GNN_APPROACHES:  # policies have no samplers
        preset = replace(preset, oracle_samplers=False)
    known = {one.name for one in (*fields(RunConfig), *fields(PlanningConfig))} - {"planning", "preset"}
    for name in changes:
        if name not in known:
            raise UnknownNameError("setting", name, known)
    in_planning = {one.name for one in fields(PlanningConfig)}
    current = {name: getattr(preset.planning if name in in_planning else preset, name) for name in changes}
    changed = sorted(name for name in changes if changes[name] != current[name])
    listed = [name for name in changed if name not in FREE_SETTINGS]
    planning = {name: changes[name] for name in changed if name in in_planning}
    return replace(
        preset,
        **{name: changes[name] for name in changed if name not in in_planning},
        planning=replace(preset.planning, **planning),
        preset=f"{PAPER}, except {', '.join(listed)}" if listed else PAPER,
    )


def _analytic_preset(domain: str) -> RunConfig:
    protocol = DOMAINS[domain].protocol
    return RunConfig(
        PAPER_LEARNERS[OURS],
        protocol.demos,
        protocol.tasks,
        planning=PlanningConfig(
            timeout=protocol.timeout,
            max_abstract_plans=8,
            samples_per_step=10,
            horizon=100,
            planner=make_planner(ANALYTIC_PLANNER),
            adaptive=False,
        ),
        samplers=PAPER_SAMPLERS,
    )


def _household_preset(domain: str) -> RunConfig:
    preset = _analytic_preset(domain)
    planning = replace(
        preset.planning,
        timeout=HOUSEHOLD_SECONDS.get(domain, DEFAULT_HOUSEHOLD_SECONDS),
        max_abstract_plans=1,
        horizon=1_000,
        planner=make_planner(HOUSEHOLD_PLANNER),
    )
    return replace(preset, planning=planning, oracle_samplers=True)


def preset_job(domain: str, method: str, seed: int) -> Job:
    """Return the job of a method with the preset `paper`.

    The methods `necessary` and `necessary-no-complexity` use the learners of the paper.
    """
    config = paper_preset(domain)
    planning, household = config.planning, domain in HOUSEHOLD
    return Job(
        domain,
        PAPER_LEARNERS.get(method, method),
        seed,
        config.demos,
        config.tasks,
        planning.timeout,
        planning.max_abstract_plans,
        planner=HOUSEHOLD_PLANNER if household else ANALYTIC_PLANNER,
        samples_per_step=planning.samples_per_step,
        horizon=planning.horizon,
        samplers="paper",
        oracle_samplers=household,
        adaptive=planning.adaptive,
        preset=PAPER,
    )


def with_changes_recorded(job: Job) -> Job:
    """Return a job of the preset `paper`; its field `preset` lists the settings that were changed."""
    config = paper_preset(
        job.domain,
        demos=job.demos,
        timeout=job.timeout,
        max_abstract_plans=job.abstract_plans,
        samples_per_step=job.samples_per_step,
        horizon=job.horizon,
        planner=make_planner(job.planner),
    )
    return replace(job, preset=config.preset)
