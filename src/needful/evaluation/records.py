"""One record a task, and the summary of a run made from them."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from needful.core.plans import Outcome, PlanningResult
from needful.evaluation.config_hash import config_hash
from needful.storage.json_fields import Field


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
            outcome=found["outcome"].one_of("outcome", {one.value: one.value for one in Outcome}),
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


def identify(domain: str, learner: str, seed: int, *configs: object) -> RunIdentity:
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
    effort, failure = result.effort, result.failure
    solved = outcome is Outcome.SOLVED
    return RunRecord(
        domain=identity.domain,
        learner=identity.learner,
        seed=identity.seed,
        task=task,
        outcome=outcome.value,
        seconds={
            "grounding": effort.seconds_grounding,
            "search": effort.seconds_search,
            "refinement": effort.seconds_refinement,
            "total": total,
        },
        nodes_created=effort.nodes_created,
        nodes_expanded=effort.nodes_expanded,
        nodes_evaluated=effort.nodes_evaluated,
        abstract_plans=effort.abstract_plans,
        samples=effort.samples,
        plan_length=len(result.actions) if solved else 0,
        failure=None if solved else (failure.detail if failure else outcome.value.replace("_", " ")),
        missing=() if solved or failure is None else tuple(map(str, failure.missing)),
        versions=identity.versions,
        config_hash=identity.config_hash,
        objects=objects,
    )
