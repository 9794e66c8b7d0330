"""Practice: solve training tasks that have no demonstration, and learn from the solutions.

With few demonstrations, the learned model may not be able to solve other tasks: a precondition may be
accidental, or an operator or an example for a sampler may be missing. For each task that the model cannot
solve, the learner plans with one of these assumptions, which the demonstrations do not refute:

- The samplers are too narrow, so half of the parameters are drawn uniformly from the controller's bounds.
- One doubtful precondition is not needed, or all doubtful preconditions of one operator, or of all
  operators. A precondition is doubtful if no experiment showed that it is needed.

If no assumption helps, two more attempts are made for a few tasks: one action of any kind is executed
before the plan, or a solution is searched without operators (`exploration`).

Plans are refined in the simulator, so a wrong assumption cannot make a wrong plan a solution. The actions
and states of the first solution become a demonstration of the task. But a plan may have succeeded by luck,
and its demonstration then misleads the learner. So a model that was learned with such demonstrations should
be used only if it solves more of the tasks than the model before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from needful.abstraction import abstract
from needful.approaches.exploration import explore, first_actions
from needful.core.atoms import LiftedAtom
from needful.core.controllers import Controller, Execute, Execution, GroundController, Parameters
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel, Sampler
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.operator_learning.accidental_preconditions import ExaminedPreconditions
from needful.planning.bilevel import PlanningConfig, plan
from needful.seeding import rng_for, seed_for

# The limits of planning in practice. They count nodes and simulated actions, not seconds, so that the
# result does not depend on the speed of the machine.
MAX_NODES = 20_000
MAX_GROUND_OPERATORS = 200_000
# The share of parameters that are drawn uniformly from the controller's bounds.
UNIFORM_SHARE = 0.5
# The maximum number of tasks that are explored because no assumption solves them, and the number of actions
# that exploring a task may simulate, as a multiple of the number for an attempt with operators.
MAX_EXPLORED = 5
EXPLORATION_FACTOR = 20


@dataclass(frozen=True, slots=True)
class Attempt:
    """The indices of the solved tasks, and the operators at which plans failed, most frequent first."""

    solved: frozenset[int]
    failing: tuple[str, ...]


@dataclass(slots=True)
class Practice:
    """Attempts to solve tasks with a limited number of simulated actions.

    The planner's clock counts simulated actions instead of seconds.

    Attributes:
        tasks: the tasks; results refer to them by index.
        execute: executes an action in the simulator.
        max_executions: the maximum number of actions that one attempt may simulate.
        seed: the seed of all random numbers.
    """

    tasks: Sequence[Task]
    execute: Execute
    max_executions: int
    seed: int
    _executions: int = field(default=0, init=False)

    def attempt(self, model: PlanningModel) -> Attempt:
        """Try to solve all tasks with a model."""
        results = [self._solve(index, model) for index in range(len(self.tasks))]
        failed = (one.failure.operator for one in results if one.failure is not None)
        failing = Counter(step.operator.name for step in failed if step is not None)
        return Attempt(
            frozenset(index for index, one in enumerate(results) if one.solved),
            tuple(sorted(failing, key=lambda name: (-failing[name], name))),
        )

    def without_misleading(self, model: PlanningModel, attempt: Attempt) -> tuple[PlanningModel, Attempt]:
        """Remove operators from the model as long as more tasks are solved without them.

        An operator that was learned from an action that succeeded by luck makes plans fail. `attempt` is
        the result of trying the tasks with the whole model.
        """
        for name in attempt.failing:
            operators = tuple(one for one in model.operators if one.name != name)
            samplers = {key: sampler for key, sampler in model.samplers.items() if key != name}
            fewer = replace(model, operators=operators, samplers=samplers)
            again = self.attempt(fewer)
            if len(again.solved) > len(attempt.solved):
                return self.without_misleading(fewer, again)
        return model, attempt

    def demonstrate(
        self, examined: ExaminedPreconditions, unsolved: Iterable[int]
    ) -> dict[int, Demonstration]:
        """Return demonstrations of unsolved tasks that can be solved with an assumption, by task index.

        The assumptions are that the samplers are too narrow, or that doubtful preconditions are not needed.
        Some of the tasks that no assumption solves are explored (see `exploration`).
        """
        assumptions = [_uniform_parameters, *_weaker_preconditions(examined)]
        found = {}
        for index in sorted(unsolved):
            for assumption in assumptions:
                result = self._solve(index, assumption(examined.model))
                if result.solved:
                    found[index] = _as_demonstration(
                        examined.model, self.tasks[index], result.actions, result.states
                    )
                    # The next task may need the same assumption.
                    assumptions.remove(assumption)
                    assumptions.insert(0, assumption)
                    break
        for index in islice(sorted(set(unsolved) - found.keys()), MAX_EXPLORED):
            demonstration = self._explore(index, examined.model)
            if demonstration is not None:
                found[index] = demonstration
        return found

    def _explore(self, index: int, model: PlanningModel) -> Demonstration | None:
        """Solve a task by one action of any kind and then a plan, or by search without operators."""
        task, rng = self.tasks[index], rng_for(self.seed, "exploration", index)
        for action, state in first_actions(task, model, self._count_and_execute, rng):
            result = self._solve(index, model, state)
            if result.solved:
                states = (task.initial_state, *result.states)
                return _as_demonstration(model, task, (action, *result.actions), states)
        limit = EXPLORATION_FACTOR * self.max_executions
        return explore(task, model, self.execute, limit, rng)

    def _solve(self, index: int, model: PlanningModel, start: State | None = None) -> PlanningResult:
        config = PlanningConfig(
            timeout=self.max_executions, max_nodes=MAX_NODES, max_ground_operators=MAX_GROUND_OPERATORS
        )
        seed = seed_for(self.seed, "practice", index)
        task = self.tasks[index]
        if start is not None:
            task = replace(task, initial_state=start)
        return plan(task, model, self._count_and_execute, config, seed, clock=lambda: self._executions)

    def _count_and_execute(self, state: State, action: GroundController) -> Execution:
        self._executions += 1
        return self.execute(state, action)


Assumption = Callable[[PlanningModel], PlanningModel]


def _uniform_parameters(model: PlanningModel) -> PlanningModel:
    """Return the model with samplers that also draw parameters uniformly from the controllers' bounds."""
    controllers = {operator.name: operator.controller for operator in model.operators}
    samplers = {name: _PartlyUniform(one, controllers[name]) for name, one in model.samplers.items()}
    return replace(model, samplers=samplers)


def _weaker_preconditions(examined: ExaminedPreconditions) -> Iterator[Assumption]:
    """Yield assumptions: functions that drop one doubtful precondition, those of one operator, or all."""
    doubtful = {name: atoms for name, atoms in sorted(examined.doubtful.items()) if atoms}
    yield from (
        _without({name: frozenset({atom})}) for name, atoms in doubtful.items() for atom in sorted(atoms)
    )
    yield from (_without({name: atoms}) for name, atoms in doubtful.items() if len(atoms) > 1)
    if len(doubtful) > 1:
        yield _without(doubtful)


def _without(dropped: Mapping[str, frozenset[LiftedAtom]]) -> Assumption:
    def weaken(operator: Operator) -> Operator:
        atoms = dropped.get(operator.name, frozenset())
        return replace(operator, preconditions=operator.preconditions - atoms)

    return lambda model: replace(model, operators=tuple(map(weaken, model.operators)))


@dataclass(frozen=True, slots=True)
class _PartlyUniform:
    """Draws parameters from a sampler or uniformly from the controller's bounds, by chance."""

    sampler: Sampler
    controller: Controller

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Draw parameters."""
        if rng.random() < UNIFORM_SHARE:
            return tuple(rng.uniform(self.controller.low, self.controller.high).tolist())
        return tuple(self.sampler.sample(state, objects, rng))


def _as_demonstration(
    model: PlanningModel, task: Task, actions: Sequence[GroundController], states: Sequence[State]
) -> Demonstration:
    atoms = tuple(abstract(state, model.vocabulary.predicates) for state in states)
    return Demonstration(task.objects, task.goal, atoms, tuple(actions), tuple(states))
