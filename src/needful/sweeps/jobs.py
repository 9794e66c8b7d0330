"""Jobs: the complete settings of one run of a sweep.

Each job has a key, a hash of its settings. Equal jobs have the same key in every process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from needful.errors import InvalidInputError, UnknownNameError, check_at_least
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.records import config_hash
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import DEFAULT_PLANNER, make_planner
from needful.sampler_learning.learn_samplers import PAPER_SAMPLERS, SamplerConfig
from needful.storage.json_fields import Field, JsonValue, dump_json

# Settings of a job that are stored only if they differ from their defaults: those whose values are numbers,
# names and flags.
OPTIONAL_NUMBERS = ("samples_per_step", "horizon")
OPTIONAL_NAMES = ("samplers", "preset")
OPTIONAL_FLAGS = ("oracle_samplers", "adaptive", "cpu_time")
OPTIONAL = OPTIONAL_NUMBERS + OPTIONAL_NAMES + OPTIONAL_FLAGS

# The names of the ways to train samplers, each with its settings.
SAMPLERS: Mapping[str, SamplerConfig] = MappingProxyType(
    {"default": SamplerConfig(), "paper": PAPER_SAMPLERS}
)


@dataclass(frozen=True, slots=True)
class Job:
    """A run of one learner on one domain with one seed.

    Attributes:
        domain, learner, planner: names of catalogue entries. They are looked up only when the job runs, so
            results of learners that were removed from the catalogue stay readable.
        seed: the seed of all random numbers.
        demos, tasks: the numbers of demonstrated training tasks and of unseen tasks to solve.
        timeout: seconds of planning per task.
        abstract_plans: the maximum number of abstract plans to refine per task.
        learning_timeout: seconds of learning, None for no limit.
        samples_per_step: how many times to try a step with continuous parameters.
        horizon: the maximum number of low-level actions in a plan, None for the domain's horizon.
        samplers: how samplers are trained, a name in `SAMPLERS`.
        oracle_samplers: whether tasks are solved with the domain's hand-written samplers.
        adaptive: whether planning adapts to failed refinements; see `PlanningConfig`.
        cpu_time: whether the seconds of planning are CPU time, which does not depend on other programs.
        preset: the preset of these settings and which of them were changed, see `RunConfig`; may be empty.
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
    samples_per_step: int = 10
    horizon: int | None = None
    samplers: str = "default"
    oracle_samplers: bool = False
    adaptive: bool = True
    cpu_time: bool = False
    preset: str = ""

    def __post_init__(self) -> None:
        for name in ("domain", "learner", "planner"):
            value = getattr(self, name)
            # Names of result files and folders contain these names, so some characters are not allowed.
            # Only domains may have a slash, such as `kinder/Motion2D-p1`.
            parts = value.split("/") if name == "domain" else [value]
            if any(not part or part.startswith(".") or {*part} & {*"/\\\0"} for part in parts):
                raise InvalidInputError(f"{name} must be the name of a catalogue entry, got {value!r}.")
        for name, least in (("seed", 0), ("demos", 1), ("tasks", 0), ("abstract_plans", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        check_at_least(1, samples_per_step=self.samples_per_step, horizon=self.horizon)
        for name in ("timeout", "learning_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds < math.inf:
                raise InvalidInputError(f"{name} must be more than 0 seconds and finite, got {seconds}.")

    @property
    def key(self) -> str:
        """The hash of the job's settings; different jobs have different keys."""
        return config_hash(dump_json(self.to_json()))

    @property
    def file_stem(self) -> str:
        """The name of the result file without its suffix: readable, and different for every job."""
        return f"{self.learner}-seed{self.seed}-demos{self.demos}-{self.key}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return the job as a JSON object; equal jobs give equal objects.

        `OPTIONAL` settings with their default values are omitted, so that the key of a stored job does not
        change when a new optional setting is added to this class.
        """
        limit = self.learning_timeout
        settings = asdict(self)
        for name in OPTIONAL:
            if settings[name] == Job.__dataclass_fields__[name].default:
                del settings[name]
        return {
            **settings,
            # Convert numbers to floats: 10 and 10.0 are equal, but JSON writes them differently.
            "timeout": float(self.timeout),
            "learning_timeout": None if limit is None else float(limit),
        }

    @classmethod
    def from_json(cls, field: Field) -> Job:
        """Return the job in a JSON object; raise an error with the location of an invalid field."""
        needed = [name for name in cls.__dataclass_fields__ if name not in OPTIONAL]
        record = field.record(*needed, optional=OPTIONAL)
        limit = record["learning_timeout"]
        settings: dict[str, Any] = {}
        for names, read in (
            (("domain", "learner", "planner"), Field.name),
            (("seed", "demos", "tasks", "abstract_plans", *OPTIONAL_NUMBERS), Field.integer),
            (("timeout",), Field.number),
            (OPTIONAL_NAMES, Field.text),
            (OPTIONAL_FLAGS, Field.boolean),
        ):
            settings |= {name: read(record[name]) for name in names if name in record}
        with field.locate_errors():
            return cls(learning_timeout=None if limit.value is None else limit.number(), **settings)


def run_config(job: Job) -> RunConfig:
    """Return the configuration of a job's run.

    Raises `UnknownNameError` if the learner, the planner or the samplers of the job are unknown.
    """
    if job.samplers not in SAMPLERS:
        raise UnknownNameError("kind of samplers", job.samplers, SAMPLERS)
    planning = PlanningConfig(
        timeout=job.timeout,
        max_abstract_plans=job.abstract_plans,
        samples_per_step=job.samples_per_step,
        horizon=job.horizon,
        planner=make_planner(job.planner),
        adaptive=job.adaptive,
        clock=time.thread_time if job.cpu_time else time.monotonic,
    )
    return RunConfig(
        job.learner,
        job.demos,
        job.tasks,
        job.seed,
        planning,
        SAMPLERS[job.samplers],
        oracle_samplers=job.oracle_samplers,
        learning_timeout=job.learning_timeout,
        preset=job.preset,
    )
