"""Practise training tasks that have no demonstration; solved tasks can become demonstrations.

With few demonstrations, the operators may be too narrow to solve other tasks: a precondition is accidental,
an operator or an example for a sampler is missing. For each task that the model cannot solve, the learner
makes assumptions that the demonstrations do not refute, and plans with them:

- the samplers are too narrow: half of the parameters are drawn uniformly from the controller's bounds;
- one doubtful precondition is not needed, or all those of one operator, or all of them.

Plans are refined in the simulator, so an assumption cannot turn a wrong plan into a solution. The actions
and states of the first solution are returned as a demonstration of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from needful.abstraction import abstract
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
from needful.seeding import seed_for

# The limits of planning in practice. They count nodes and simulated actions, not seconds, so that the
# result does not depend on the speed of the machine.
MAX_NODES = 20_000
MAX_GROUND_OPERATORS = 200_000
# The share of parameters that are drawn uniformly from the controller's bounds.
UNIFORM_SHARE = 0.5


def practise(
    examined: ExaminedPreconditions,
    tasks: Mapping[int, Task],
    execute: Execute,
    max_executions: int,
    seed: int,
) -> dict[int, Demonstration]:
    """Return demonstrations of the tasks that the model solves only with an assumption.

    Tasks and demonstrations are given by index. `max_executions` is the maximum number of actions that one
    attempt at a task may simulate.
    """
    attempts = _Attempts(execute, max_executions)
    assumptions = [_uniform_parameters, *_weaker_preconditions(examined)]
    found = {}
    for index, task in sorted(tasks.items()):
        task_seed = seed_for(seed, "practice", index)
        if not attempts.solve(task, examined.model, task_seed).solved:
            for assumption in assumptions:
                result = attempts.solve(task, assumption(examined.model), task_seed)
                if result.solved:
                    found[index] = _as_demonstration(examined.model, task, result)
                    # The next task may need the same assumption.
                    assumptions.remove(assumption)
                    assumptions.insert(0, assumption)
                    break
    return found


Assumption = Callable[[PlanningModel], PlanningModel]


def _uniform_parameters(model: PlanningModel) -> PlanningModel:
    """Return the model with samplers that also draw parameters uniformly from the controllers' bounds."""
    controllers = {operator.name: operator.controller for operator in model.operators}
    samplers = {name: _PartlyUniform(one, controllers[name]) for name, one in model.samplers.items()}
    return replace(model, samplers=samplers)


def _weaker_preconditions(examined: ExaminedPreconditions) -> Iterator[Assumption]:
    """Yield the assumptions that one doubtful precondition is not needed, those of an operator, or all."""
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


@dataclass(slots=True)
class _Attempts:
    """Plans for tasks with a limited number of simulated actions.

    The planner's clock is the number of actions that were simulated so far: `executions`.
    """

    execute: Execute
    max_executions: int
    executions: int = field(default=0, init=False)

    def solve(self, task: Task, model: PlanningModel, seed: int) -> PlanningResult:
        config = PlanningConfig(
            timeout=self.max_executions, max_nodes=MAX_NODES, max_ground_operators=MAX_GROUND_OPERATORS
        )
        return plan(task, model, self._count_and_execute, config, seed, clock=lambda: self.executions)

    def _count_and_execute(self, state: State, action: GroundController) -> Execution:
        self.executions += 1
        return self.execute(state, action)


def _as_demonstration(model: PlanningModel, task: Task, result: PlanningResult) -> Demonstration:
    atoms = tuple(abstract(state, model.vocabulary.predicates) for state in result.states)
    return Demonstration(task.objects, task.goal, atoms, result.actions, result.states)
