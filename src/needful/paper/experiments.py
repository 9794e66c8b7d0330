"""The jobs that each table and figure of the paper needs.

A job is one run of a learner on a domain with a seed. `necessary` is the package's version of the learner
that the paper proposes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from needful.errors import InvalidInputError, UnknownNameError
from needful.paper.domains import ANALYTIC, DOMAINS, HOUSEHOLD, SEEDS
from needful.paper.methods import LEARNERS, NO_COMPLEXITY, NOT_IN_HOUSEHOLDS, OURS, POLICIES
from needful.paper.presets import PAPER, preset_job, with_changes_recorded
from needful.sweeps.jobs import Job

# The paper's Figure 3 shows results for these numbers of demonstrations, and for the usual number.
FEWER_DEMOS = (5, 10, 25)


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """The settings of a comparison of learners.

    Attributes:
        domains: the domains; by default the six that are not household domains.
        learners: the learners; None for all that the paper compares in the domain.
        seeds: the number of seeds, counted from 0.
        demos: demonstrations per job; None for the paper's number (50; in household domains 10).
        tasks: test tasks per job; None for the paper's number (50; in household domains 10).
        timeout: seconds of planning per task; None for the paper's limit (10; in household domains 60).
        learning_timeout: seconds of learning per job; None for no limit.
        planner: the name of the planner; None for the default.
        samples_per_step: how many times to try a step with continuous parameters; None for 10.
        horizon: the maximum number of low-level actions in a plan; None for the domain's horizon.
        cpu_time: whether the limit on planning is in CPU seconds; see `Job`.
        preset: `paper` for the procedure of the paper, empty for that of this package. With `paper`,
            settings that are None have the values of the preset.
    """

    domains: tuple[str, ...] = ANALYTIC
    learners: tuple[str, ...] | None = None
    seeds: int = SEEDS
    demos: int | None = None
    tasks: int | None = None
    timeout: float | None = None
    learning_timeout: float | None = None
    planner: str | None = None
    samples_per_step: int | None = None
    horizon: int | None = None
    cpu_time: bool = False
    preset: str = ""

    def __post_init__(self) -> None:
        for domain in self.domains:
            if domain not in DOMAINS:
                raise UnknownNameError("domain", domain, DOMAINS)
        if self.seeds < 1:
            raise InvalidInputError(f"There must be at least one seed, got {self.seeds}.")
        if self.preset not in ("", PAPER):
            raise UnknownNameError("preset", self.preset, [PAPER])

    def job(self, domain: str, method: str, seed: int) -> Job:
        """Return the job for a method, a domain and a seed; all other options come from these settings.

        Policies use neither operators nor samplers, so their jobs have no preset.
        """
        protocol = DOMAINS[domain].protocol
        if self.preset and method not in POLICIES:
            job = preset_job(domain, method, seed)
        else:
            job = Job(domain, method, seed, protocol.demos, protocol.tasks, protocol.timeout)
        names = ("demos", "tasks", "timeout", "planner", "samples_per_step", "horizon")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        job = replace(job, **given, learning_timeout=self.learning_timeout, cpu_time=self.cpu_time)
        return with_changes_recorded(job) if job.preset else job


# A function from the name of a method to its job, for one domain and seed.
MakeJob: TypeAlias = Callable[[str], Job]


def comparison(make_job: MakeJob, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield one job per learner.

    If `learners` is None, use the learners that the paper compares in the job's domain.
    """
    household = make_job(OURS).domain in HOUSEHOLD
    omitted = NOT_IN_HOUSEHOLDS if learners is None and household else ()
    for learner in learners or LEARNERS:
        if learner not in omitted:
            yield make_job(learner)


def ablations(make_job: MakeJob, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield the job of the method `necessary`, and two ablations of this method.

    The first ablation never deletes superfluous operators. The second refines only one abstract plan per
    task. If `learners` is given, only jobs with one of these learners are yielded.
    """
    for method, changes in ((OURS, {}), (NO_COMPLEXITY, {}), (OURS, {"abstract_plans": 1})):
        if learners is None or method in learners:
            yield _changed(make_job(method), **changes)


def data_efficiency(make_job: MakeJob, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield jobs of the method `necessary` with fewer demonstrations, in increasing order, then with all.

    Yield nothing if `learners` is given and does not contain this method.
    """
    if learners is None or OURS in learners:
        job = make_job(OURS)
        yield from (_changed(job, demos=demos) for demos in FEWER_DEMOS if demos < job.demos)
        yield job


def _changed(job: Job, **changes: Any) -> Job:
    job = replace(job, **changes)
    return with_changes_recorded(job) if job.preset else job


# A function that yields the jobs of an experiment for one domain and seed. Its arguments are a function
# that makes the job of a method, and the learners to include (None for all).
Experiment: TypeAlias = Callable[[MakeJob, tuple[str, ...] | None], Iterator[Job]]

TABLES: Mapping[str, Experiment] = MappingProxyType(
    {"main": comparison, "times": comparison, "operators": comparison, "ablations": ablations}
)
FIGURES: Mapping[str, Experiment] = MappingProxyType({"data": data_efficiency, "nodes": comparison})


@dataclass(frozen=True, slots=True)
class RequestedOutputs:
    """The names of the tables and figures to produce."""

    tables: tuple[str, ...]
    figures: tuple[str, ...]

    @classmethod
    def of(cls, tables: Sequence[str] = (), figures: Sequence[str] = ()) -> RequestedOutputs:
        """Return a request for the named tables and figures, or for all if no names are given.

        Duplicate names are removed. Raises if a name is unknown.
        """
        for kind, names, known in (("table", tables, TABLES), ("figure", figures, FIGURES)):
            for name in names:
                if name not in known:
                    raise UnknownNameError(kind, name, known)
        if not tables and not figures:
            return cls(tuple(TABLES), tuple(FIGURES))
        return cls(tuple(dict.fromkeys(tables)), tuple(dict.fromkeys(figures)))

    def experiments(self) -> tuple[Experiment, ...]:
        """Return, for each table and figure, the function that yields its jobs."""
        return (*(TABLES[name] for name in self.tables), *(FIGURES[name] for name in self.figures))


def jobs_for(requested: RequestedOutputs, settings: SweepSettings) -> tuple[Job, ...]:
    """Return all jobs that the requested tables and figures need, without duplicates.

    Jobs are ordered by seed. A sweep that is stopped after the first seed thus has results for every
    learner and domain.
    """
    jobs = tuple(
        dict.fromkeys(
            job
            for seed in range(settings.seeds)
            for domain in settings.domains
            for experiment in requested.experiments()
            for job in experiment(partial(settings.job, domain, seed=seed), settings.learners)
        )
    )
    if not jobs:
        names = ", ".join((*requested.tables, *requested.figures))
        raise InvalidInputError(
            f"There is nothing to run: {names} does not compare {', '.join(settings.learners or ())}. "
            "Choose other learners."
        )
    return jobs
