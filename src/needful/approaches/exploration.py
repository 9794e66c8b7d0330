"""Find a solution without operators: serialized iterated width search in the simulator.

If the demonstrations do not show how an atom of the goal becomes true, no operator adds the atom.
Breadth-first search over all controllers and objects can still find actions that make the atom true. A
state is pruned if all pairs of its atoms already held together in earlier states (novelty 2). The atoms of
the goal are achieved one after the other; atoms that were achieved must stay true.

This is SIW of Lipovetzky and Geffner (ECAI 2012), with atoms of the abstract states, sampled parameters and
a limit on the number of simulated actions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Controller, Execute, GroundController, Parameters
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.objects import Object
from needful.core.state import State
from needful.core.tasks import Task

# The number of draws of continuous parameters for each controller and choice of objects, from the learned
# samplers and uniformly from the controller's bounds.
LEARNED_DRAWS = 2
UNIFORM_DRAWS = 2
# The number of draws of continuous parameters in `first_actions`.
FIRST_ACTION_DRAWS = 10


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A state of the search, its atoms, and the action that led to it from the parent."""

    state: State
    atoms: AbstractState
    parent: _Node | None = None
    action: GroundController | None = None


def explore(
    task: Task, model: PlanningModel, execute: Execute, max_executions: int, rng: np.random.Generator
) -> Demonstration | None:
    """Return a demonstration of the task, or None if none is found with `max_executions` actions.

    The model's operators are not used to plan. Only their samplers are used, to draw parameters.
    """
    search = _Search(task, model, execute, rng)
    predicates = model.vocabulary.predicates
    node = _Node(task.initial_state, abstract(task.initial_state, predicates))
    # A search that ends without result is repeated, because it may draw other parameters.
    while not task.goal <= node.atoms:
        earlier = search.executions
        reached = search.next_goal_atom(node, max_executions)
        if reached is not None:
            node = reached
        elif search.executions in (earlier, max_executions) or not search.draws_parameters:
            return None
    nodes = [node]
    while nodes[-1].parent is not None:
        nodes.append(nodes[-1].parent)
    nodes.reverse()
    return Demonstration(
        task.objects,
        task.goal,
        tuple(one.atoms for one in nodes),
        tuple(one.action for one in nodes if one.action is not None),
        tuple(one.state for one in nodes),
    )


def first_actions(
    task: Task, model: PlanningModel, execute: Execute, rng: np.random.Generator
) -> Iterator[tuple[GroundController, State]]:
    """Yield actions that can be executed in the initial state, each with the state that it leads to.

    Of several actions that change the same atoms, only the first is yielded.
    """
    search = _Search(task, model, execute, rng)
    predicates = model.vocabulary.predicates
    seen = {abstract(task.initial_state, predicates)}
    for _ in range(FIRST_ACTION_DRAWS if search.draws_parameters else 1):
        for action in search.actions(task.initial_state):
            execution = execute(task.initial_state, action)
            atoms = abstract(execution.state, predicates)
            if execution.steps and atoms not in seen:
                seen.add(atoms)
                yield action, execution.state


@dataclass(slots=True)
class _Search:
    """The searches for one task, and the total number of actions that they have simulated."""

    task: Task
    model: PlanningModel
    execute: Execute
    rng: np.random.Generator
    executions: int = 0

    @property
    def draws_parameters(self) -> bool:
        """Whether some controller has continuous parameters."""
        return any(controller.dimension for controller in self.model.vocabulary.controllers)

    def next_goal_atom(self, start: _Node, max_executions: int) -> _Node | None:
        """Return a node in which more atoms of the goal hold than in `start`, and none is lost."""
        achieved = self.task.goal & start.atoms
        seen = set(_pairs(start.atoms))
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for action in self.actions(node.state):
                if self.executions >= max_executions:
                    return None
                self.executions += 1
                execution = self.execute(node.state, action)
                if not execution.steps:
                    continue
                atoms = abstract(execution.state, self.model.vocabulary.predicates)
                child = _Node(execution.state, atoms, node, action)
                if achieved < self.task.goal & atoms:
                    return child
                new = [pair for pair in _pairs(atoms) if pair not in seen]
                if new:
                    seen.update(new)
                    queue.append(child)
        return None

    def actions(self, state: State) -> Iterator[GroundController]:
        """Yield the actions that can start in a state, with sampled parameters."""
        for controller in self.model.vocabulary.controllers:
            for objects in product(*map(state.of_type, controller.types)):
                if len(set(objects)) < len(objects):
                    continue
                for parameters in self._parameters(controller, state, objects):
                    action = GroundController(controller, objects, parameters)
                    if action.initiable(state):
                        yield action

    def _parameters(
        self, controller: Controller, state: State, objects: tuple[Object, ...]
    ) -> Iterator[Parameters]:
        """Yield parameters of a controller for the given objects.

        The first ones are drawn by learned samplers, if an operator of the controller has no parameters
        beside these objects. The others are drawn uniformly from the controller's bounds.
        """
        if not controller.dimension:
            yield ()
            return
        for operator in self.model.operators:
            sampler = self.model.samplers.get(operator.name)
            same = set(operator.controller_arguments) == set(operator.parameters)
            if operator.controller == controller and sampler is not None and same:
                binding = dict(zip(operator.controller_arguments, objects, strict=True))
                bound = [binding[variable] for variable in operator.parameters]
                for _ in range(LEARNED_DRAWS):
                    yield controller.clip(sampler.sample(state, bound, self.rng))
        for _ in range(UNIFORM_DRAWS):
            yield tuple(self.rng.uniform(controller.low, controller.high).tolist())


def _pairs(atoms: AbstractState) -> Iterator[tuple[GroundAtom, ...]]:
    """Yield the atoms and the pairs of atoms that hold in a state."""
    ordered = sorted(atoms)
    yield from zip(ordered, strict=True)
    yield from combinations(ordered, 2)
