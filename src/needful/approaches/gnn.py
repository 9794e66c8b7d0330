"""Train a graph network policy that imitates demonstrations, then solve tasks by executing its actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from needful.approaches.base import DEFAULTS, LearningConfig, check_demonstrations, learning_summary, timed
from needful.core.controllers import Execute, World
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.limits import Budget, Deadline
from needful.core.model import Vocabulary
from needful.core.plans import AgentResult, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.errors import InvalidInputError, importing_extra
from needful.planning.bilevel import PlanningConfig
from needful.policies.graph_policy import GraphPolicy, RolloutLimits, follow
from needful.seeding import rng_for
from needful.storage.json_fields import JsonValue
from needful.storage.model_directory import StoredPolicy, save_policy

RollOut: TypeAlias = Callable[
    [GraphPolicy, Task, Execute, RolloutLimits, np.random.Generator], PlanningResult
]


@dataclass(frozen=True, slots=True)
class GnnApproach:
    """Trains a graph network policy; instances differ only in how the policy solves tasks (`roll_out`).

    Attributes:
        name: the name on the command line and in files.
        description: one line that describes the approach.
        roll_out: executes the policy's actions until the task is solved or a limit is reached.
    """

    name: str
    description: str
    roll_out: RollOut

    @property
    def has_operators(self) -> bool:
        """False: a policy has neither operators nor samplers."""
        return False

    @property
    def acts_closed_loop(self) -> bool:
        """Whether the policy chooses one action at a time, instead of planning whole rollouts."""
        return self.roll_out is follow

    @property
    def replay_count(self) -> int:
        """0: training a policy needs only demonstrations, no replays (random actions in the simulator)."""
        return 0

    def learn(
        self, vocabulary: Vocabulary, demonstrations: Demonstrations, config: LearningConfig = DEFAULTS
    ) -> LearnedPolicy:
        """Train a policy on demonstrations; they must contain states, not only atoms."""
        with importing_extra("gnn", f"The learner {self.name!r}"):
            from needful.policies.training import train_policy  # imports torch, which takes seconds
        if config.invention is not None:
            raise InvalidInputError(
                f"{self.name!r} learns a policy, and predicates are invented for operators only. "
                "Use an operator learner, such as `necessary`."
            )
        deadline = Deadline.after(config.timeout)
        report = config.progress.stage("Training a policy", config.policy.epochs)

        def on_epoch(done: int) -> None:
            deadline.check()
            report(done)

        demonstrations = tuple(demonstrations)
        check_demonstrations(vocabulary, demonstrations)
        seconds: dict[str, float] = {}
        with timed("policy", seconds):
            policy = train_policy(vocabulary, demonstrations, config.policy, config.seed, on_epoch)
        provenance: dict[str, JsonValue] = {
            "learner": self.name,
            "policy_config": asdict(config.policy),
            "seed": config.seed,
        }
        return LearnedPolicy(policy, self, demonstrations, seconds, provenance)


@dataclass(frozen=True, slots=True)
class PolicySolver:
    """Solves tasks by executing the actions that a policy chooses.

    The policy must have the environment's own predicates and controllers. Of the planning configuration,
    only the timeout and the horizon (the maximum number of low-level actions) are used.
    """

    policy: GraphPolicy
    kind: GnnApproach
    execute: Execute
    config: PlanningConfig = field(default_factory=PlanningConfig)

    @property
    def approach(self) -> str:
        """The name of the approach that trained the policy."""
        return self.kind.name

    @property
    def operator_count(self) -> int:
        """0: a policy has no operators."""
        return 0

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the policy."""
        return self.policy.vocabulary

    def _budget(self) -> Budget:
        return Budget.seconds(self.config.timeout, clock=self.config.clock)

    def solve(self, task: Task, seed: int) -> PlanningResult:
        """Solve a task: execute the actions that the policy chooses, from the task's initial state on."""
        limits = RolloutLimits(self.config.action_limit, self._budget().expired)
        return self.kind.roll_out(self.policy, task, self.execute, limits, rng_for(seed, "policy"))

    def act(self, task: Task, world: World, seed: int) -> AgentResult:
        """Solve a task: in each observed state, execute the action that the policy chooses."""
        if not self.kind.acts_closed_loop:
            raise InvalidInputError(
                f"{self.approach!r} only plans, so it cannot act closed loop. Use open-loop execution, "
                "or the learner 'gnn-model-free'."
            )
        limits = RolloutLimits(self.config.action_limit, self._budget().expired)
        start, observed = time.monotonic(), Task(world.observe(), task.goal)
        result = follow(
            self.policy, observed, lambda state, action: world.act(action), limits, rng_for(seed, "policy")
        )
        return AgentResult(
            result.outcome,
            result.actions,
            result.states,
            seconds=time.monotonic() - start,
            failure=result.failure,
            statistics=result.statistics,
        )


@dataclass(frozen=True, slots=True, repr=False)
class LearnedPolicy:
    """A policy, with the data and the settings that it was trained with."""

    policy: GraphPolicy
    approach: GnnApproach
    demonstrations: tuple[Demonstration, ...]
    seconds: Mapping[str, float]
    provenance: Mapping[str, JsonValue]

    def __repr__(self) -> str:
        return f"LearnedPolicy(approach={self.approach.name!r}, {len(self.demonstrations)} demonstrations)"

    @property
    def transitions(self) -> int:
        """The number of demonstrated steps."""
        return sum(map(len, self.demonstrations))

    @property
    def practised(self) -> tuple[Demonstration, ...]:
        """No demonstrations, because a policy does not practise."""
        return ()

    def solver(
        self, environment: Environment, config: PlanningConfig, oracle_samplers: bool = False
    ) -> PolicySolver:
        """Return the solver that rolls out the policy.

        `oracle_samplers` is ignored, because a policy has no samplers.
        """
        config = config.with_horizon(environment.horizon)
        return PolicySolver(self.policy, self.approach, environment.execute, config)

    def save(self, path: str | Path, domain: str | None = None, force: bool = False) -> None:
        """Write the policy to the directory `path`; `load_solver` can read it."""
        provenance = {
            **({} if domain is None else {"domain": domain}),
            **self.provenance,
            "transitions": self.transitions,
        }
        save_policy(path, StoredPolicy(self.policy, self.approach.name, provenance), force)

    def summary(self) -> dict[str, Any]:
        """Return the entries of summary.json about training; the number of operators is 0."""
        return learning_summary(self.transitions, 0, 0.0, self.seconds)

    def describe(self) -> str:
        """Return a text with the number of weights of the policy and how it was trained."""
        weights = sum(weight.size for weight in self.policy.weights.values())
        return (
            f"Trained a policy of {weights} weights on {self.transitions} transitions "
            f"in {self.seconds['policy']:.2f} s: {self.approach.description}.\n"
        )

    def warnings(self) -> tuple[str, ...]:
        """Return no warnings, because a policy can always act."""
        return ()
