"""The interface of all approaches: methods that learn from demonstrations and then solve tasks.

`Approach.learn` returns a `Learned` object, which can be saved and described. `Learned.solver` returns a
`Solver`, which solves tasks in an environment. A solver can also be loaded from a model directory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from needful.core.controllers import Execute, World
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.model import Vocabulary
from needful.core.plans import AgentResult, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.errors import DemonstrationError, LearningTimeoutError
from needful.invention.invent import InventionConfig
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.policies.graph_policy import PolicyConfig
from needful.sampler_learning.learn_samplers import SamplerConfig


class Progress(Protocol):
    """Receives progress reports of a long computation, for example to show progress bars."""

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage of `total` parts (None if unknown).

        Returns a function. Call this function with the number of finished parts whenever the number
        changes.
        """
        ...


@runtime_checkable
class ClimbObserver(Protocol):
    """An optional part of a `Progress`: follows the hill climbing of operator learning.

    A hypothesis is a set of operators; hill climbing moves from one hypothesis to the next.
    """

    def observe_hypothesis(self, uncovered: int, operators: int, transitions: int) -> None:
        """Receive the size of a new hypothesis.

        The hypothesis has `operators` operators. They explain all but `uncovered` of the demonstrated
        transitions, whose number is `transitions`.
        """
        ...


class SilentProgress:
    """Ignores all progress reports; the default."""

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Return a function that does nothing."""
        return lambda done: None


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """The settings and optional inputs of learning; each approach ignores those that it does not need.

    Attributes:
        seed: the seed of all random numbers.
        samplers: how samplers are trained.
        policy: how a graph network policy is trained.
        experiments: the limits of experiments that correct learned operators in the simulator. None means
            no experiments.
        timeout: the maximum number of seconds. Learning that takes longer fails; otherwise the timeout has
            no effect on the result.
        replays: random actions executed in the simulator; used if `Approach.replay_count` is not 0.
        execute: executes an action in the simulator; needed for experiments.
        progress: receives progress reports of the stages of learning.
        validation_folds: the number of folds of cross-validation, which estimates how often the operators
            are wrong on unseen demonstrations. 0 means no cross-validation.
        validation_limit: cross-validation is skipped if it is expected to take this many seconds or more.
        practice_tasks: tasks without demonstrations. With `experiments`, the learner solves them in the
            simulator to gain further demonstrations; with `invention`, to test invented predicates.
            Otherwise they are not used.
        invention: the limits of predicate invention. None means that no predicates are invented. Cannot be
            combined with `experiments`.
    """

    seed: int = 0
    samplers: SamplerConfig = field(default_factory=SamplerConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    experiments: ExperimentConfig | None = None
    timeout: float | None = None
    replays: Demonstrations = ()
    execute: Execute | None = None
    progress: Progress = field(default_factory=SilentProgress)
    validation_folds: int = 0
    validation_limit: float = 5.0
    practice_tasks: tuple[Task, ...] = ()
    invention: InventionConfig | None = None


DEFAULTS = LearningConfig()


class Solver(Protocol):
    """Solves tasks of one environment with a learned model or policy."""

    @property
    def approach(self) -> str:
        """The name of the approach that learned the model or policy."""
        ...

    @property
    def operator_count(self) -> int:
        """The number of learned operators; 0 for a policy."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the plans: the environment's, extended by invented predicates."""
        ...

    def solve(self, task: Task, seed: int) -> PlanningResult:
        """Solve a task; the same seed gives the same result, unless time runs out."""
        ...

    def act(self, task: Task, world: World, seed: int) -> AgentResult:
        """Solve a task in a world, closed loop: observe the world after each controller.

        Raises `InvalidInputError` if the approach can only plan.
        """
        ...


class Learned(Protocol):
    """The result of learning: a model or a policy."""

    @property
    def practised(self) -> tuple[Demonstration, ...]:
        """The demonstrations that the learner made itself, by solving training tasks in the simulator."""
        ...

    def solver(
        self, environment: Environment, config: PlanningConfig, oracle_samplers: bool = False
    ) -> Solver:
        """Return a solver that solves tasks of an environment with the learned model or policy.

        The environment must have the types, predicates and controllers that were used for learning. With
        `oracle_samplers`, the environment's hand-written samplers replace the learned ones.
        """
        ...

    def save(self, path: str | Path, domain: str | None = None, force: bool = False) -> None:
        """Write this result to the directory `path`, for `load_solver`; equal results give equal files."""
        ...

    def summary(self) -> dict[str, Any]:
        """Return the entries of summary.json that describe learning.

        They are the numbers of transitions and operators, the coverage (the fraction of transitions that
        the operators explain), and the seconds that each stage took. For operators, there are also the
        doubts (signs that an operator may be wrong) as texts, and the numbers of false claims (predicted
        atoms that do not hold) and of doubtful steps (demonstrated steps that add nothing necessary).
        """
        ...

    def describe(self) -> str:
        """Return a text that describes what was learned."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return reasons why the learned model or policy may fail to solve tasks, one sentence each."""
        ...


class Approach(Protocol):
    """A method that learns from demonstrations; `approaches.catalogue` lists all approaches."""

    @property
    def name(self) -> str:
        """The name on the command line and in files."""
        ...

    @property
    def description(self) -> str:
        """One line that describes the approach."""
        ...

    @property
    def has_operators(self) -> bool:
        """Whether the approach learns operators and samplers."""
        ...

    @property
    def acts_closed_loop(self) -> bool:
        """Whether the learned model or policy can act in a world; otherwise it can only plan."""
        ...

    @property
    def replay_count(self) -> int:
        """The number of replays that learning needs (random actions run in the simulator); usually 0."""
        ...

    def learn(
        self, vocabulary: Vocabulary, demonstrations: Demonstrations, config: LearningConfig = DEFAULTS
    ) -> Learned:
        """Learn from demonstrations.

        Raises `LearningTimeoutError` with the seconds of each stage if `config.timeout` is exceeded.
        """
        ...


def check_demonstrations(vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> None:
    """Raise if there are no demonstrations or if one uses a name that is not in the vocabulary."""
    if not demonstrations:
        raise DemonstrationError("There are no demonstrations to learn from. Collect at least one.")
    predicates, controllers = set(vocabulary.predicates), set(vocabulary.controllers)
    for index, demonstration in enumerate(demonstrations):
        used = {atom.predicate for state in demonstration.abstract_states for atom in state}
        called = {action.controller for action in demonstration.actions}
        unknown = sorted(p.name for p in used - predicates) + sorted(c.name for c in called - controllers)
        if unknown:
            raise DemonstrationError(
                f"Demonstration {index} uses {unknown[0]!r}, which is not in the vocabulary. "
                "Learn with the vocabulary of the demonstrations' own domain."
            )


@contextmanager
def timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    """Measure the duration of the `with` block and store it in `seconds[stage]`.

    If the block raises a `LearningTimeoutError`, all durations in `seconds` are added to the error.
    """
    start = time.monotonic()
    try:
        yield
    except LearningTimeoutError as error:
        seconds[stage] = time.monotonic() - start
        raise LearningTimeoutError(error.limit, seconds) from error
    seconds[stage] = time.monotonic() - start


def learning_summary(
    transitions: int, operators: int, coverage: float, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return the given numbers as the entries of summary.json that describe learning."""
    return {
        "transitions": transitions,
        "operators": operators,
        "coverage": coverage,
        "seconds": {"operators": 0.0, "samplers": 0.0, **seconds},
    }
