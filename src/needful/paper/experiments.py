"""The paper's tables and figures, and which jobs each of them needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.planners import DEFAULT_PLANNER
from needful.sweeps.jobs import Job

ANALYTIC = (
    "painting",
    "satellites",
    "cluttered-1d",
    "screws",
    "cluttered-satellites",
    "cluttered-painting",
)
HOUSEHOLD = ("opening-presents", "locking-windows", "collecting-cans", "sorting-books")

LEARNERS = ("necessary", "loft", "loft-replay", "ci", "ci-qe", "gnn-shooting", "gnn-model-free")
# Collecting replays needs thousands of simulations, which the paper spares itself in households.
NOT_IN_HOUSEHOLDS = frozenset({"loft-replay"})
FEWER_DEMOS = (5, 10, 25)


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """How learners are compared; None means what the paper does in a domain.

    Attributes:
        domains: by default the six analytic ones.
        learners: who takes part; by default the paper's, without those that it leaves out in households.
        seeds: how many, from 0 on.
        demos, tasks, timeout: of each job; by default 50, 50 and 10 s, in households 10, 10 and 60 s.
        learning_timeout, planner: of each job.
    """

    domains: tuple[str, ...] = ANALYTIC
    learners: tuple[str, ...] | None = None
    seeds: int = 10
    demos: int | None = None
    tasks: int | None = None
    timeout: float | None = None
    learning_timeout: float | None = None
    planner: str = DEFAULT_PLANNER

    def __post_init__(self) -> None:
        for domain in self.domains:
            if domain not in ANALYTIC + HOUSEHOLD:
                raise UnknownNameError("domain", domain, ANALYTIC + HOUSEHOLD)
        if self.seeds < 1:
            raise InvalidInputError(f"There must be at least one seed, got {self.seeds}.")

    def job(self, domain: str, learner: str, seed: int) -> Job:
        """Return one job of the comparison."""
        demos, tasks, timeout = (10, 10, 60.0) if domain in HOUSEHOLD else (50, 50, 10.0)
        return Job(
            domain,
            learner,
            seed,
            demos if self.demos is None else self.demos,
            tasks if self.tasks is None else self.tasks,
            timeout if self.timeout is None else self.timeout,
            learning_timeout=self.learning_timeout,
            planner=self.planner,
        )


def comparison(job: Job, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield a job for each learner."""
    left_out = NOT_IN_HOUSEHOLDS if learners is None and job.domain in HOUSEHOLD else ()
    for learner in learners or LEARNERS:
        if learner not in left_out:
            yield replace(job, learner=learner)


def ablations(job: Job, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield `necessary`, the same without reducing complexity, and with a single abstract plan."""
    variants = (job, replace(job, learner="necessary-no-complexity"), replace(job, abstract_plans=1))
    yield from (one for one in variants if learners is None or one.learner in learners)


def data_efficiency(job: Job, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield `necessary` with more and more demonstrations."""
    if learners is None or job.learner in learners:
        yield from (replace(job, demos=demos) for demos in FEWER_DEMOS if demos < job.demos)
        yield job


# From a job of `necessary` to all jobs on the same domain with the same seed.
Experiment: TypeAlias = Callable[[Job, tuple[str, ...] | None], Iterator[Job]]

TABLES: Mapping[str, Experiment] = MappingProxyType(
    {"main": comparison, "times": comparison, "operators": comparison, "ablations": ablations}
)
FIGURES: Mapping[str, Experiment] = MappingProxyType({"data": data_efficiency, "nodes": comparison})


@dataclass(frozen=True, slots=True)
class Asked:
    """Which tables and figures are to be made."""

    tables: tuple[str, ...]
    figures: tuple[str, ...]

    @classmethod
    def of(cls, tables: Sequence[str] = (), figures: Sequence[str] = ()) -> Asked:
        """Return tables and figures by their names; all of them if none is named."""
        for kind, names, known in (("table", tables, TABLES), ("figure", figures, FIGURES)):
            for name in names:
                if name not in known:
                    raise UnknownNameError(kind, name, known)
        if not tables and not figures:
            return cls(tuple(TABLES), tuple(FIGURES))
        return cls(tuple(dict.fromkeys(tables)), tuple(dict.fromkeys(figures)))

    def experiments(self) -> tuple[Experiment, ...]:
        """Return what they need."""
        return (*(TABLES[name] for name in self.tables), *(FIGURES[name] for name in self.figures))


def jobs_of(asked: Asked, settings: SweepSettings) -> tuple[Job, ...]:
    """Return all jobs that some tables and figures need, each once.

    All learners and domains come with one seed before the next, so that a sweep that is stopped early
    has something to show for each.
    """
    jobs = tuple(
        dict.fromkeys(
            job
            for seed in range(settings.seeds)
            for domain in settings.domains
            for experiment in asked.experiments()
            for job in experiment(settings.job(domain, "necessary", seed), settings.learners)
        )
    )
    if not jobs:
        names = ", ".join((*asked.tables, *asked.figures))
        raise InvalidInputError(
            f"There is nothing to run: {names} does not compare {', '.join(settings.learners or ())}. "
            "Choose other learners."
        )
    return jobs
