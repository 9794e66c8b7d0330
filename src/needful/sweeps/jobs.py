"""Run one job of a sweep, whatever becomes of it.

One job of a sweep: everything that the result of one run depends on, as a value.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from needful.errors import InvalidInputError
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.records import config_hash
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import DEFAULT_PLANNER, make_planner
from needful.storage.json_fields import Field, JsonValue, dump_json


@dataclass(frozen=True, slots=True)
class Job:
    """A run of one learner on one domain with one seed.

    Attributes:
        domain, learner, planner: names of the catalogues. They are looked up when the job is run, so
            that results of learners that are gone can still be read.
        seed: the one seed of everything random.
        demos, tasks: how many training tasks are demonstrated and how many unseen tasks are solved.
        timeout: seconds of planning a task.
        abstract_plans: how many abstract plans are tried for a task.
        learning_timeout: seconds of learning, None for no limit.
    """

    domain: str
    learner: str
    seed: int = 0
    demos: int = 50
    tasks: int = 50
    timeout: float = 10.0
    abstract_plans: int = 8
    learning_timeout: float | None = None
    planner: str = DEFAULT_PLANNER

    def __post_init__(self) -> None:
        for name in ("domain", "learner", "planner"):
            value = getattr(self, name)
            # They become names of files and folders.
            if not value or value.startswith(".") or any(sign in value for sign in "/\\\0"):
                raise InvalidInputError(f"{name} must be a name of a catalogue, got {value!r}.")
        for name, least in (("seed", 0), ("demos", 1), ("tasks", 0), ("abstract_plans", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        for name in ("timeout", "learning_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds < math.inf:
                raise InvalidInputError(f"{name} must be more than 0 seconds and finite, got {seconds}.")

    @property
    def key(self) -> str:
        """What tells this job from any other: a hash of its content."""
        return config_hash(dump_json(self.to_json()))

    @property
    def stem(self) -> str:
        """The name of its file without the ending: readable, and different for different jobs."""
        return f"{self.learner}-seed{self.seed}-demos{self.demos}-{self.key}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return the job as a JSON object; equal jobs give equal ones."""
        limit = self.learning_timeout
        return {
            **asdict(self),
            # 10 and 10.0 are equal, but they are not written alike.
            "timeout": float(self.timeout),
            "learning_timeout": None if limit is None else float(limit),
        }

    @classmethod
    def from_json(cls, field: Field) -> Job:
        """Read a job; whatever is wrong with it is an error that says where."""
        record = field.record(*cls.__dataclass_fields__)
        limit = record["learning_timeout"]
        with field.locate_errors():
            return cls(
                domain=record["domain"].name(),
                learner=record["learner"].name(),
                seed=record["seed"].integer(),
                demos=record["demos"].integer(),
                tasks=record["tasks"].integer(),
                timeout=record["timeout"].number(),
                abstract_plans=record["abstract_plans"].integer(),
                learning_timeout=None if limit.value is None else limit.number(),
                planner=record["planner"].name(),
            )


def run_config(job: Job) -> RunConfig:
    """Return the configuration of a job's run; raise if it names what is not in a catalogue."""
    planning = PlanningConfig(
        timeout=job.timeout, max_abstract_plans=job.abstract_plans, planner=make_planner(job.planner)
    )
    return RunConfig(
        job.learner,
        job.demos,
        job.tasks,
        job.seed,
        planning,
        learning_timeout=job.learning_timeout,
    )
