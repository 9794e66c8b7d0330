"""One record a task, and the summary of a run made from them.

Identify a configuration by its content.

The content of summary.json, made from what was learned and from records.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from needful.core.demonstrations import Demonstration
from needful.core.plans import Outcome, PlanningResult
from needful.errors import InvalidInputError
from needful.evaluation.learning import LearnedModel
from needful.evaluation.policy_learning import LearnedPolicy
from needful.storage.json_fields import Field


def config_hash(*parts: object) -> str:
    """Return 16 hexadecimal digits that depend on the values of configurations alone.

    Parts are numbers, texts, functions, classes, and tuples and dataclasses of these.
    """
    text = json.dumps([_described(part) for part in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        if "<" in value.__qualname__:  # <lambda> and <locals>: many functions share such a name
            raise InvalidInputError(
                f"A configuration cannot hold {value.__qualname__}, because others have the same name. "
                "Define it at the top of a module."
            )
        return f"{value.__module__}.{value.__qualname__}"
    if is_dataclass(value):
        content = {one.name: _described(getattr(value, one.name)) for one in fields(value)}
        return {"class": type(value).__qualname__, **content}
    if isinstance(value, tuple):
        return [_described(item) for item in value]
    raise InvalidInputError(
        f"A configuration cannot hold {value!r}, because nothing tells it from another one. "
        "Use numbers, texts, functions, tuples and dataclasses."
    )


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What became of one test task.

    Attributes:
        domain, learner, seed, task: which task this is; `task` is its index among the test tasks.
        outcome: `solved` or the reason of the failure.
        seconds: wall-clock seconds by stage (grounding, search, refinement) and in total.
        nodes_created, nodes_expanded, nodes_evaluated: what abstract search spent. Created nodes are
            fewer than a tree search's, because states are not expanded twice without need.
        abstract_plans: how many abstract plans were tried.
        samples: how many parameters were drawn from samplers.
        plan_length: the number of actions of the plan, 0 without one.
        failure: one sentence about where the deepest attempt ended, None if solved.
        missing: the subgoal atoms that were missed there.
        versions: of the packages that the result depends on.
        config_hash: identifies the configuration of the run.
        objects: how many objects the task has, 0 where nobody counted them.
    """

    domain: str
    learner: str
    seed: int
    task: int
    outcome: str
    seconds: Mapping[str, float]
    nodes_created: int
    nodes_expanded: int
    nodes_evaluated: int
    abstract_plans: int
    samples: int
    plan_length: int
    failure: str | None
    missing: tuple[str, ...]
    versions: Mapping[str, str]
    config_hash: str
    objects: int = 0

    @property
    def solved(self) -> bool:
        """Whether executing the plan achieved the goal."""
        return self.outcome == Outcome.SOLVED.value

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, line: Field) -> RunRecord:
        """Read a record; whatever is wrong with it is an error that says where."""
        needed = [name for name in cls.__dataclass_fields__ if name != "objects"]
        found = line.record(*needed, optional=("objects",))
        failure = found["failure"]
        return cls(
            domain=found["domain"].name(),
            learner=found["learner"].name(),
            seed=found["seed"].integer(),
            task=found["task"].integer(),
            outcome=found["outcome"].look_up("outcome", {one.value: one.value for one in Outcome}),
            seconds=_seconds(found["seconds"]),
            nodes_created=found["nodes_created"].integer(),
            nodes_expanded=found["nodes_expanded"].integer(),
            nodes_evaluated=found["nodes_evaluated"].integer(),
            abstract_plans=found["abstract_plans"].integer(),
            samples=found["samples"].integer(),
            plan_length=found["plan_length"].integer(),
            failure=None if failure.value is None else failure.text(),
            missing=tuple(atom.text() for atom in found["missing"].items()),
            versions={name: value.text() for name, value in found["versions"].entries().items()},
            config_hash=found["config_hash"].text(),
            objects=found["objects"].integer() if "objects" in found else 0,
        )


def _seconds(field: Field) -> dict[str, float]:
    seconds = {stage: value.number() for stage, value in field.entries().items()}
    if "total" not in seconds:
        raise field.fault("there is no 'total'.", "Every record says how long its task took in all.")
    return seconds


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What all records of one run have in common."""

    domain: str
    learner: str
    seed: int
    versions: Mapping[str, str]
    config_hash: str


def run_identity(domain: str, learner: str, seed: int, *configs: object) -> RunIdentity:
    """Return the identity of a run whose results depend on the given configurations."""
    return RunIdentity(domain, learner, seed, versions(), config_hash(domain, learner, seed, *configs))


def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    from importlib.metadata import version  # takes long, so not before it is wanted

    packages = {name: version(name) for name in ("needful", "numpy", "torch")}
    return {"python": platform.python_version(), **packages}


def record(
    identity: RunIdentity,
    task: int,
    result: PlanningResult,
    outcome: Outcome,
    total: float,
    objects: int = 0,
) -> RunRecord:
    """Return the record of a task; `outcome` is that of executing the plan, if there was one."""
    statistics, failure = result.statistics, result.failure
    solved = outcome is Outcome.SOLVED
    return RunRecord(
        domain=identity.domain,
        learner=identity.learner,
        seed=identity.seed,
        task=task,
        outcome=outcome.value,
        seconds={
            "grounding": statistics.seconds_grounding,
            "search": statistics.seconds_search,
            "refinement": statistics.seconds_refinement,
            "total": total,
        },
        nodes_created=statistics.nodes_created,
        nodes_expanded=statistics.nodes_expanded,
        nodes_evaluated=statistics.nodes_evaluated,
        abstract_plans=statistics.abstract_plans,
        samples=statistics.samples,
        plan_length=len(result.actions) if solved else 0,
        failure=None if solved else (failure.detail if failure else outcome.value.replace("_", " ")),
        missing=() if solved or failure is None else tuple(map(str, failure.missing)),
        versions=identity.versions,
        config_hash=identity.config_hash,
        objects=objects,
    )


def learning_summary(
    learned: LearnedModel | LearnedPolicy, learner: str, seed: int, demos: int
) -> dict[str, Any]:
    """Return what there is to say of a model or a policy before any task was tried.

    A policy has no operators, so they cover nothing.
    """
    if isinstance(learned, LearnedPolicy):
        transitions, operators, coverage = learned.transitions, 0, 0.0
    else:
        found = learned.operators
        transitions, operators, coverage = found.transitions, len(found.operators), found.coverage
    return {
        "learner": learner,
        "seed": seed,
        "demos": demos,
        "transitions": transitions,
        "operators": operators,
        "coverage": coverage,
        "seconds": dict(learned.seconds),
    }


def not_learned_summary(
    demonstrations: Sequence[Demonstration], learner: str, seed: int, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return what there is to say if learning did not end in time: what it spent until then."""
    return {
        "learner": learner,
        "seed": seed,
        "demos": len(demonstrations),
        "transitions": sum(map(len, demonstrations)),
        "operators": 0,
        "coverage": 0.0,
        "seconds": {"operators": 0.0, "samplers": 0.0, **seconds},
    }


def evaluation_summary(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return what there is to say of the tasks that were tried."""
    totals = [record.seconds["total"] for record in records]
    outcomes = [record.outcome for record in records]
    solved = outcomes.count(Outcome.SOLVED.value)
    failures = {Outcome.TIMEOUT.value, *outcomes} - {Outcome.SOLVED.value}
    return {
        "seconds": {
            "planning_mean": _mean(totals),
            "planning_p90": float(np.quantile(totals, 0.9)) if totals else 0.0,
        },
        "tasks": len(records),
        "solved": solved,
        "success_rate": solved / len(records) if records else 0.0,
        "nodes_created_mean": _mean([record.nodes_created for record in records]),
        "nodes_expanded_mean": _mean([record.nodes_expanded for record in records]),
        "failures": {outcome: outcomes.count(outcome) for outcome in sorted(failures)},
    }


def run_summary(
    domain: str, learning: dict[str, Any], collect_seconds: float, evaluation: dict[str, Any]
) -> dict[str, Any]:
    """Put the parts of a run's summary together."""
    seconds = {"collect": collect_seconds, **learning["seconds"], **evaluation["seconds"]}
    return {"domain": domain, **learning, **evaluation, "seconds": seconds}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
