"""Records of test tasks, the identity of a run, and summary.json."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.errors import InvalidInputError
from needful.evaluation.sources import sources_digest
from needful.storage.json_fields import Field

# Fields that were added to configurations after the first results had been stored. Such a field
# is hashed only if it differs from its default, so the hashes of the first results are still valid.
ADDED_LATER = ("adaptive", "anchors", "clock")
# Fields of records that are absent in files if they are empty.
OPTIONAL = ("suspects", "ignored", "execution", "preset", "task_digest")


def config_hash(*parts: object) -> str:
    """Return a hash of configurations (16 hexadecimal digits); equal configurations have equal hashes.

    Configurations may be numbers, strings, functions, classes, and tuples and dataclasses of these.
    """
    text = json.dumps([as_json(part) for part in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def as_json(value: object, every_field: bool = False) -> Any:
    """Return a configuration as JSON values.

    A function or a class is given by its name. Raises `InvalidInputError` if this name is not unique, or if
    a value has another type that cannot be stored.

    Fields in `ADDED_LATER` that have their default values are left out, unless `every_field` is set.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        if "<" in value.__qualname__:  # names with <lambda> or <locals> are not unique
            raise InvalidInputError(
                f"A configuration cannot contain {value.__qualname__}, because its name is not unique. "
                "Define it at module level."
            )
        return f"{value.__module__}.{value.__qualname__}"
    if is_dataclass(value):
        content = {}
        for one in fields(value):
            setting = getattr(value, one.name)
            if every_field or one.name not in ADDED_LATER or setting != one.default:
                content[one.name] = as_json(setting, every_field)
        return {"class": type(value).__qualname__, **content}
    if isinstance(value, tuple):
        return [as_json(item, every_field) for item in value]
    raise InvalidInputError(
        f"A configuration cannot contain {value!r}, because its content is unknown. "
        "Use numbers, strings, functions, tuples and dataclasses."
    )


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The result of one test task.

    Attributes:
        domain, learner, seed, task: identify the task; `task` is its index among the test tasks.
        outcome: `solved`, or the kind of failure.
        seconds: wall-clock seconds by stage (grounding, search, refinement) and in total.
        nodes_created, nodes_expanded, nodes_evaluated: counters of the search for abstract plans. It
            expands a state only a limited number of times, even if many paths lead to it.
        abstract_plans: the number of abstract plans that were refined.
        samples: the number of parameter vectors drawn from samplers.
        plan_length: the number of actions in the plan, 0 if there is none.
        failure: one sentence about the step that failed, None if solved. If several abstract plans failed,
            it is about the plan that failed at the latest step.
        missing: the atoms that had to hold after the failed step, but did not.
        versions: versions of the packages that the result depends on, and the digest of needful's sources.
        config_hash: identifies the configuration of the run.
        objects: the number of objects in the task, 0 if unknown.
        suspects: one sentence per ground operator whose effects may be wrong; see `Suspect`.
        ignored: the preconditions that the plan ignores, such as "IsDry(?x1) of Wash".
        execution: how the plan was executed, and the numbers of executed controllers and replans. None, and
            absent in files, for open-loop execution without failures and noise.
        preset: the preset of the run and which of its settings were changed; see `RunConfig`. Empty, and
            absent in files, without a preset.
        task_digest: the digest of the task's initial state and goal, which identifies the task; see
            `task_digest`. Empty, and absent in files, in records of earlier versions.
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
    suspects: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    execution: Mapping[str, Any] | None = None
    preset: str = ""
    task_digest: str = ""

    @property
    def solved(self) -> bool:
        """Whether executing the plan reached the goal."""
        return self.outcome == Outcome.SOLVED.value

    def to_json(self) -> str:
        """Return the record as one line of JSON; `OPTIONAL` fields that are empty are left out."""
        content = asdict(self)
        for name in OPTIONAL:
            if not content[name]:
                del content[name]
        return json.dumps(content, sort_keys=True)

    @classmethod
    def from_json(cls, line: Field) -> RunRecord:
        """Return the record in a parsed JSON line; an invalid value raises an error with its position."""
        optional = ("objects", *OPTIONAL)
        needed = [name for name in cls.__dataclass_fields__ if name not in optional]
        found = line.record(*needed, optional=optional)
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
            suspects=tuple(one.text() for one in found["suspects"].items()) if "suspects" in found else (),
            ignored=tuple(one.text() for one in found["ignored"].items()) if "ignored" in found else (),
            execution=_execution(found["execution"]) if "execution" in found else None,
            preset=found["preset"].text() if "preset" in found else "",
            task_digest=found["task_digest"].text() if "task_digest" in found else "",
        )


def _execution(field: Field) -> dict[str, Any]:
    counts = ("controllers", "replans")
    shares = ("skill_failures", "observation_noise", "parameter_noise")
    found = field.record("mode", *shares, *counts)
    return {
        "mode": found["mode"].text(),
        **{name: found[name].number() for name in shares},
        **{name: found[name].integer() for name in counts},
    }


def _seconds(field: Field) -> dict[str, float]:
    seconds = {stage: value.number() for stage, value in field.entries().items()}
    if "total" not in seconds:
        raise field.fault("there is no 'total'.", "Every record needs the total seconds of its task.")
    return seconds


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The fields that all records of a run share; `RunRecord` describes them."""

    domain: str
    learner: str
    seed: int
    versions: Mapping[str, str]
    config_hash: str
    preset: str = ""


def run_identity(
    domain: str,
    learner: str,
    seed: int,
    *configs: object,
    preset: str = "",
    unused: frozenset[str] = frozenset(),
) -> RunIdentity:
    """Return the identity of a run; `configs` are all other settings that affect its results.

    `unused` has the names of the optional parts of the package that the run does not use; see
    `sources_digest`.
    """
    hashed = config_hash(domain, learner, seed, *configs, *((preset,) if preset else ()))
    return RunIdentity(domain, learner, seed, versions(unused), hashed, preset)


def versions(unused: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the versions of the packages that results depend on, and the digest of needful's sources.

    The version of torch is included only if torch is installed.
    """
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    packages = {name: version(name) for name in ("needful", "numpy")}
    with suppress(PackageNotFoundError):
        packages["torch"] = version("torch")
    return {"python": platform.python_version(), **packages, "sources": sources_digest(unused=unused)}


def task_digest(task: Task) -> str:
    """Return a hash of the initial state and the goal of a task (16 hexadecimal digits).

    If records of two runs have equal digests, the runs tried the same task. Their seeds and the numbers of
    the task in the two runs may differ.
    """
    state = [[obj.name, obj.type.name, list(task.initial_state[obj])] for obj in task.objects]
    text = json.dumps([state, sorted(map(str, task.goal))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_record(
    identity: RunIdentity,
    number: int,
    result: PlanningResult,
    outcome: Outcome,
    total: float,
    task: Task | None = None,
    execution: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Return the record of the test task with this number, which took `total` seconds.

    `outcome` is the outcome of planning, unless executing the plan changed it, for example to GOAL_MISSED.
    If `task` is None, the record has neither the number of the task's objects nor the task's digest.
    """
    statistics, failure = result.statistics, result.failure
    solved = outcome is Outcome.SOLVED
    return RunRecord(
        domain=identity.domain,
        learner=identity.learner,
        seed=identity.seed,
        task=number,
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
        missing=() if solved else tuple(map(str, result.missing_atoms)),
        versions=identity.versions,
        config_hash=identity.config_hash,
        objects=0 if task is None else len(task.objects),
        suspects=tuple(map(str, result.suspects)),
        ignored=tuple(map(str, result.ignored)),
        execution=execution,
        preset=identity.preset,
        task_digest="" if task is None else task_digest(task),
    )


def evaluation_summary(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return the entries of summary.json about test tasks."""
    totals = [record.seconds["total"] for record in records]
    outcomes = [record.outcome for record in records]
    solved = outcomes.count(Outcome.SOLVED.value)
    failures = {Outcome.TIMEOUT.value, *outcomes} - {Outcome.SOLVED.value}
    ignoring = sum(bool(record.solved and record.ignored) for record in records)
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
        **({"solved_ignoring_preconditions": ignoring} if ignoring else {}),
    }


def run_summary(
    domain: str, learning: dict[str, Any], collect_seconds: float, evaluation: dict[str, Any]
) -> dict[str, Any]:
    """Return the content of summary.json: the entries about learning and about test tasks, merged."""
    seconds = {"collect": collect_seconds, **learning["seconds"], **evaluation["seconds"]}
    return {"domain": domain, **learning, **evaluation, "seconds": seconds}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
