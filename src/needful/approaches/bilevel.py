"""Learn operators and samplers, then solve tasks by bilevel planning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from needful.approaches.base import (
    DEFAULTS,
    LearningConfig,
    check_demonstrations,
    learning_summary,
    timed,
)
from needful.approaches.oracle_samplers import with_oracle_samplers
from needful.core.controllers import Execute, Execution, GroundController
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.model import PlanningModel, Vocabulary
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.errors import InvalidInputError
from needful.operator_learning.accidental_preconditions import (
    AccidentalPrecondition,
    ExperimentConfig,
    drop_accidental_preconditions,
)
from needful.operator_learning.explanation import TransitionEvidence, gather_evidence
from needful.operator_learning.learned_operators import LearnedOperators
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.pddl.writer import write_pddl
from needful.sampler_learning.config import SamplerConfig
from needful.sampler_learning.learn_samplers import learn_samplers
from needful.storage.evidence import (
    CLIMB_FILE,
    EVIDENCE_FILE,
    RecordedClimb,
    climb_to_json,
    evidence_to_json,
)
from needful.storage.json_fields import JsonValue
from needful.storage.model_directory import save_model

DROPPED = "dropped_preconditions"


@dataclass(frozen=True, slots=True)
class BilevelSolver:
    """Solves tasks by bilevel planning with a model.

    The model must have the environment's own predicates and controllers; see `PlanningModel.bound_to`.
    """

    model: PlanningModel
    execute: Execute
    config: PlanningConfig = field(default_factory=PlanningConfig)
    approach: str = "unknown"

    @property
    def operator_count(self) -> int:
        """The number of operators."""
        return len(self.model.operators)

    def solve(self, task: Task, seed: int) -> PlanningResult:
        """Search for abstract plans and refine them."""
        return plan(task, self.model, self.execute, self.config, seed)


@dataclass(frozen=True, slots=True, repr=False)
class LearnedModel:
    """A planning model, with the data and the settings that it was learned from.

    Attributes:
        model: the planning model.
        demonstrations: the demonstrations used for learning, followed by the replays (random actions).
        operators: the result of operator learning, before experiments dropped preconditions.
        evidence: for each operator's name, the transitions that it was learned from.
        seconds: the duration of learning by stage.
        approach: the name of the approach.
        provenance: the settings, as stored in model.json.
        dropped: the preconditions that experiments in the simulator showed to be unnecessary.
    """

    model: PlanningModel
    demonstrations: tuple[Demonstration, ...]
    operators: LearnedOperators
    evidence: Mapping[str, tuple[TransitionEvidence, ...]]
    seconds: Mapping[str, float]
    approach: str
    provenance: Mapping[str, JsonValue]
    dropped: tuple[AccidentalPrecondition, ...] = ()

    def __repr__(self) -> str:
        return (
            f"LearnedModel(approach={self.approach!r}, {len(self.model.operators)} operators, "
            f"{len(self.model.samplers)} samplers, {len(self.demonstrations)} demonstrations)"
        )

    def solver(
        self, environment: Environment, config: PlanningConfig, oracle_samplers: bool = False
    ) -> BilevelSolver:
        """Return the solver that plans with the model."""
        model = self.model
        if oracle_samplers:
            model = with_oracle_samplers(model, environment.oracle_model())
        return BilevelSolver(model, environment.execute, config, self.approach)

    def save(self, path: str | Path, domain: str | None = None, force: bool = False) -> None:
        """Write a model directory.

        It holds the model, its PDDL, the transitions that each operator was learned from, and the
        accepted moves of hill climbing, if the operator learner uses it.
        """
        provenance = {
            **({} if domain is None else {"domain": domain}),
            **self.provenance,
            "transitions": self.operators.transitions,
            "coverage": self.operators.coverage,
            DROPPED: self._dropped_to_json(),
        }
        documents = {
            EVIDENCE_FILE: evidence_to_json(self.evidence, self.demonstrations),
            CLIMB_FILE: climb_to_json(RecordedClimb(self.operators.transitions, self.operators.steps)),
        }
        pddl = write_pddl(self.model.vocabulary, self.model.operators).domain
        save_model(path, self.model, provenance, pddl, documents, force)

    def _dropped_to_json(self) -> dict[str, JsonValue]:
        names = sorted({one.operator for one in self.dropped})
        return {
            name: {str(one.atom): one.experiments for one in self.dropped if one.operator == name}
            for name in names
        }

    def summary(self) -> dict[str, Any]:
        """Return the numbers of transitions and operators, the coverage and the seconds of each stage."""
        found = self.operators
        return learning_summary(found.transitions, len(found.operators), found.coverage, self.seconds)

    def describe(self) -> str:
        """Return a text that lists the operators and how many transitions they explain."""
        operators, seconds = self.operators, self.seconds
        covered = operators.transitions - operators.uncovered
        lines = [
            f"Learned {_count(len(operators.operators), 'operator')} in {seconds['operators']:.2f} s: "
            f"coverage {round(operators.coverage, 3)} ({covered} of {operators.transitions} transitions).",
            f"Learned {_count(len(self.model.samplers), 'sampler')} in {seconds['samplers']:.2f} s.",
        ]
        if operators.noop_names:
            count = _count(len(operators.noop_names), "operator")
            lines.append(f"{count} without predicted changes will not be used in planning.")
        if operators.not_reproduced:
            numbers = ", ".join(map(str, operators.not_reproduced))
            lines.append(f"The operators cannot reproduce these demonstrations: {numbers}.")
        if "experiments" in seconds:
            lines.append(
                f"Dropped {_count(len(self.dropped), 'accidental precondition')} by experiment "
                f"in {seconds['experiments']:.2f} s."
            )
            lines += [f"  {one.operator} does not need {one.atom}" for one in self.dropped]
        return "\n".join([*lines, "", *(f"{operator}\n" for operator in self.model.operators)])

    def warnings(self) -> tuple[str, ...]:
        """Return one warning for each operator that needs a sampler and has none."""
        return tuple(
            f"no sampler for {name}: its demonstrations have no states"
            for name in self.model.missing_samplers()
        )


class LearnOperators(Protocol):
    """Learns operators from demonstrations and replays."""

    def __call__(
        self, demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
    ) -> LearnedOperators:
        """Return the operators; raise `LearningTimeoutError` once the deadline has passed."""
        ...


@dataclass(frozen=True, slots=True)
class BilevelApproach:
    """Learns operators with the operator learner `learn_operators`, then learns samplers.

    Attributes:
        name: the name on the command line and in files.
        description: one line that describes the approach.
        learn_operators: the operator learner.
        operator_config: the settings of the operator learner, as stored in model.json.
        replay_count: the number of replays that the operator learner needs.
    """

    name: str
    description: str
    learn_operators: LearnOperators
    operator_config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    replay_count: int = 0

    @property
    def has_operators(self) -> bool:
        """True: the approach learns operators and samplers."""
        return True

    def learn(
        self,
        vocabulary: Vocabulary,
        demonstrations: Demonstrations,
        config: LearningConfig = DEFAULTS,
    ) -> LearnedModel:
        """Learn operators and samplers.

        With `config.experiments`, preconditions that prove unnecessary in the simulator are dropped.
        """
        deadline = Deadline.after(config.timeout)
        config.progress.stage("Learning operators and samplers")
        learned = learn_model(
            vocabulary, demonstrations, self, config.samplers, config.seed, config.replays, deadline
        )
        if config.experiments is None:
            return learned
        if config.execute is None:
            raise InvalidInputError("Experiments need a simulator. Pass `execute`, or learn without them.")
        config.progress.stage("Experimenting with preconditions")
        return with_experiments(learned, config.execute, config.experiments, config.seed, deadline)


def learn_model(
    vocabulary: Vocabulary,
    demonstrations: Iterable[Demonstration],
    approach: BilevelApproach | None = None,
    sampler_config: SamplerConfig | None = None,
    seed: int = 0,
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedModel:
    """Learn operators, and samplers if the demonstrations have states.

    A model without samplers can be explained and exported, but it cannot solve tasks if its controllers
    have continuous parameters. The default approach is `necessary`. Raises `LearningTimeoutError`
    with the seconds of each stage once the deadline has passed.
    """
    demonstrations = tuple(demonstrations)
    check_demonstrations(vocabulary, demonstrations)
    approach = approach or _default_approach()
    if approach.replay_count and not replays:
        raise InvalidInputError(
            f"The learner {approach.name!r} needs replays, which only a simulator can provide. "
            f"Use `needful run DOMAIN --learner {approach.name}`, or a learner without replays."
        )
    sampler_config = sampler_config or SamplerConfig()
    seconds: dict[str, float] = {}
    with timed("operators", seconds):
        learned = approach.learn_operators(demonstrations, replays, deadline)
    if learned.repairs is not None:
        demonstrations = learned.repairs.demonstrations
    everything = (*demonstrations, *replays)
    with timed("samplers", seconds):
        samplers = learn_samplers(
            learned.sampler_data, everything, sampler_config, seed, learned.noop_names, deadline
        )
    return LearnedModel(
        model=PlanningModel(vocabulary, tuple(one.operator for one in learned.planning_data), samplers),
        demonstrations=everything,
        operators=learned,
        evidence=gather_evidence(learned, everything),
        seconds=seconds,
        approach=approach.name,
        provenance={
            "learner": approach.name,
            "learner_config": dict(approach.operator_config),
            "sampler_config": asdict(sampler_config),
            "experiments": None,
            "seed": seed,
        },
    )


def with_experiments(
    learned: LearnedModel,
    execute: Execute,
    config: ExperimentConfig,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedModel:
    """Return the learned model without the preconditions that experiments show to be unnecessary.

    An experiment executes an operator's controller in the simulator, in a state where the tested
    precondition does not hold but all others do. If the operator's prediction holds after every
    experiment, the precondition is dropped; `drop_accidental_preconditions` lists the exceptions.
    """

    def execute_until_deadline(state: State, action: GroundController) -> Execution:
        deadline.check()
        return execute(state, action)

    seconds = dict(learned.seconds)
    with timed("experiments", seconds):
        model, dropped = drop_accidental_preconditions(
            learned.model, learned.demonstrations, execute_until_deadline, seed, config
        )
    provenance = {**learned.provenance, "experiments": asdict(config)}
    return replace(learned, model=model, seconds=seconds, provenance=provenance, dropped=dropped)


def _default_approach() -> BilevelApproach:
    from needful.approaches.catalogue import NECESSARY  # imported here to avoid an import cycle

    return NECESSARY


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
