"""The paper's experiments: the jobs of each table and figure, the preset `paper`, examples of operators.

A job is one run of a learner on a domain with a seed. `necessary` is the package's version of the learner
that the paper proposes.

The preset `paper` has the settings of the experiments; docs/reproduce.md gives the source of each setting.
Where the text of the paper and the code of its authors disagree, the preset has the setting that reproduces
the published numbers.

The examples of operators follow the paper's appendix. For two skills, the appendix compares the operators
of the paper's method with those of the learner CI+QE. For one domain, it shows all operators. We write a
Markdown page with the operators that we learn for the same skills and domain. The appendix shows its
operators only as pictures, so our page quotes the text of the paper and its table of operator numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from needful.approaches.catalogue import GNN_APPROACHES
from needful.approaches.learned_model import operators_of
from needful.core.operators import Operator
from needful.envs.catalogue import make_environment
from needful.errors import InvalidInputError, UnknownNameError
from needful.evaluation.pipeline import RunConfig, run
from needful.paper.published import (
    ANALYTIC,
    DOMAINS,
    HOUSEHOLD,
    LEARNERS,
    NO_COMPLEXITY,
    NOT_IN_HOUSEHOLDS,
    OPERATORS,
    OURS,
    PAPER_LEARNERS,
    POLICIES,
    SEEDS,
    domain_title,
    method_style,
)
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import make_planner
from needful.sampler_learning.learn_samplers import PAPER_SAMPLERS
from needful.sweeps.jobs import Job

# The paper's Figure 3 shows results for these numbers of demonstrations, and for `PaperProtocol.demos`.
FEWER_DEMOS = (5, 10, 25)
PAPER = "paper"
HOUSEHOLD_SECONDS = {"sorting-books": 1_500.0}
DEFAULT_HOUSEHOLD_SECONDS = 500.0
ANALYTIC_PLANNER, HOUSEHOLD_PLANNER = "paper", "greedy"
# Settings that may differ between the runs of one experiment, such as the seed. A change of these settings
# is not recorded as a change of the preset.
FREE_SETTINGS = frozenset({"learner", "seed", "tasks", "learning_timeout", "validation_folds", "clock"})
EXAMPLES_FILE = "operator_examples.md"


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
    """Yield the job of the method `necessary`, and the jobs of two ablations of this method.

    The first ablation never deletes superfluous operators. The second refines only one abstract plan per
    task. If `learners` is given, jobs of other learners are omitted.
    """
    for method, changes in ((OURS, {}), (NO_COMPLEXITY, {}), (OURS, {"abstract_plans": 1})):
        if learners is None or method in learners:
            yield _changed(make_job(method), **changes)


def data_efficiency(make_job: MakeJob, learners: tuple[str, ...] | None) -> Iterator[Job]:
    """Yield jobs of the method `necessary` with increasing numbers of demonstrations.

    The last number is the one that other experiments use; the others are those in `FEWER_DEMOS` below it.
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

    A method in `PAPER_LEARNERS` runs the learner given there, which follows the paper more closely.
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
    """Return the given job of the preset `paper`; its field `preset` then lists its changed settings."""
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


@dataclass(frozen=True, slots=True)
class OperatorExample:
    """An example in the appendix of the paper.

    Attributes:
        domain: the domain of the operators.
        controller: the skill whose operators are shown; None for all skills.
        methods: the methods whose operators are shown.
        published: what the paper reports about these operators.
    """

    domain: str
    controller: str | None
    methods: tuple[str, ...]
    published: str


EXAMPLES = (
    OperatorExample(
        "opening-presents",
        "Open",
        (OURS, "ci-qe"),
        "one operator; CI+QE has several for the same transitions, which are more specific",
    ),
    OperatorExample(
        "collecting-cans",
        "NavigateTo",
        (OURS, "ci-qe"),
        "one operator; CI+QE has several for the same transitions, which are more specific",
    ),
    OperatorExample("sorting-books", None, (OURS,), "the full set of one seed"),
)


def operator_examples(examples: Sequence[OperatorExample] = EXAMPLES, seed: int = 0) -> str:
    """Learn with the preset `paper` and return a Markdown page with the operators of the examples."""
    lines = [
        "# Operator examples",
        "",
        f"Learned with the preset `paper` and seed {seed}, beside what the paper reports.",
        "The paper shows its operators as pictures; numbers of operators are those of its table.",
        "",
    ]
    for example in examples:
        lines += _section(example, seed)
    return "\n".join(lines)


def _section(example: OperatorExample, seed: int) -> Iterator[str]:
    skill = example.controller or "all skills"
    yield f"## {domain_title(example.domain)}: {skill}\n"
    yield f"Published: {example.published}.\n"
    for method in example.methods:
        operators = learn_operators_as_published(example.domain, method, seed)
        shown = [one for one in operators if example.controller in (None, one.controller.name)]
        published = OPERATORS[example.domain].get(method)
        total = (
            "" if published is None else f" (published {published.mean:g}, deviation {published.spread:g})"
        )
        yield f"### {method_style(method).label}: {len(shown)} of {len(operators)} operators{total}\n"
        texts = "\n\n".join(map(str, shown))
        yield f"```text\n{texts}\n```\n"


def learn_operators_as_published(domain: str, method: str, seed: int) -> tuple[Operator, ...]:
    """Return the operators that a method learns with the preset `paper`."""
    learner = PAPER_LEARNERS.get(method, method)
    learned = run(
        make_environment(domain), paper_preset(domain, learner=learner, seed=seed, tasks=0)
    ).learned
    return operators_of(learned)
