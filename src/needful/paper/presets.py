"""The preset `paper`: the settings of the paper's experiments.

docs/reproduce.md gives the source of each setting. Where the text of the paper and the code of its authors
disagree, the preset has the setting that reproduces the published numbers.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from needful.errors import UnknownNameError
from needful.evaluation.pipeline import RunConfig
from needful.paper.domains import DOMAINS, HOUSEHOLD
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import make_planner
from needful.sampler_learning.learn_samplers import PAPER_SAMPLERS

PAPER = "paper"
PAPER_LEARNER = "necessary-paper"
HOUSEHOLD_SECONDS = {"sorting-books": 1_500.0}
DEFAULT_HOUSEHOLD_SECONDS = 500.0
# Settings that select a run of the experiment. Every run may choose them, so other values are not recorded
# as changes of the preset. Records and summary.json contain them.
FREE_SETTINGS = frozenset({"learner", "seed", "tasks", "learning_timeout", "validation_folds"})


def paper_preset(domain: str, **changes: Any) -> RunConfig:
    """Return the settings of the paper's experiments in one of its ten domains.

    `changes` are fields of `RunConfig` and `PlanningConfig` with other values. `RunConfig.preset`, which is
    recorded with the results, lists those that differ from the preset, except `FREE_SETTINGS`.
    """
    if domain not in DOMAINS:
        raise UnknownNameError("domain of the paper", domain, DOMAINS)
    preset = _household_preset(domain) if domain in HOUSEHOLD else _analytic_preset(domain)
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
        PAPER_LEARNER,
        protocol.demos,
        protocol.tasks,
        planning=PlanningConfig(
            timeout=protocol.timeout,
            max_abstract_plans=8,
            samples_per_step=10,
            horizon=100,
            planner=make_planner("paper"),
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
        planner=make_planner("greedy"),
    )
    return replace(preset, planning=planning, oracle_samplers=True)
