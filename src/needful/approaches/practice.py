"""Practice: solve training tasks that have no demonstration, and learn from the solutions.

With few demonstrations, the learned model may be unable to solve other tasks: a precondition may be
accidental, or an operator or an example for a sampler may be missing. For each task that the model cannot
solve, the learner plans with one of these assumptions, which the demonstrations do not refute:

- The samplers are too narrow, so half of the parameters are drawn uniformly from the controller's bounds.
- One doubtful precondition is not needed, or all doubtful preconditions of one operator, or of all
  operators. A precondition is doubtful if no experiment showed that it is needed.

If no assumption helps, the learner makes two more attempts for a few tasks. First, it executes one
arbitrary action and plans from the state after it. Second, it searches for a solution without operators
(`explore`).

Plans are refined in the simulator, so a solution really reaches the goal, even if the assumption is wrong.
The actions and states of the first solution become a demonstration of the task. But a plan may have
succeeded by luck, and its demonstration then misleads the learner. So a model that was learned with such
demonstrations should be used only if it solves more of the tasks than the model before.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom
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
MAX_NODES, MAX_GROUND_OPERATORS = 20_000, 200_000
# The share of parameters that are drawn uniformly from the controller's bounds.
UNIFORM_SHARE = 0.5
# At most MAX_EXPLORED of the tasks that no assumption solves are explored. Exploring a task may simulate
# EXPLORATION_FACTOR times as many actions as one call of the planner.
MAX_EXPLORED, EXPLORATION_FACTOR = 5, 20
# How many times exploration draws continuous parameters for each controller and choice of objects: from
# each suitable learned sampler, and uniformly from the controller's bounds.
LEARNED_DRAWS, UNIFORM_DRAWS = 2, 2
# How many times `first_actions` tries all controllers and objects, each time with new continuous
# parameters.
FIRST_ACTION_DRAWS = 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of trying to solve the practice tasks with a model.

    It has the indices of the solved tasks, and the operators at which plans failed, most frequent first.
    """

    solved: frozenset[int]
    failing: tuple[str, ...]


@dataclass(slots=True)
class Practice:
    """Attempts to solve tasks with a limited number of simulated actions.

    The planner's clock counts simulated actions instead of seconds.

    Attributes:
        tasks: the tasks; results refer to them by index.
        execute: executes an action in the simulator.
        max_executions: the maximum number of actions that one call of the planner may simulate.
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

        A practice task may be solved by luck, and an operator learned from it can make other plans fail.
        `attempt` is the result of trying the tasks with the whole model.
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
        """Solve unsolved tasks by making assumptions; return the solutions as demonstrations.

        `unsolved` has the indices of tasks that the model `examined.model` does not solve. The result maps
        the indices of the tasks that were solved here to their demonstrations.

        The assumptions are that the samplers are too narrow, or that doubtful preconditions are not needed:
        no experiment showed that they are (`examined.doubtful`).
        Of the tasks that no assumption solves, at most `MAX_EXPLORED` are explored (see `_explore`).
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
                    # Try this assumption first for the next task, which may need it too.
                    assumptions.remove(assumption)
                    assumptions.insert(0, assumption)
                    break
        for index in islice(sorted(set(unsolved) - found.keys()), MAX_EXPLORED):
            demonstration = self._explore(index, examined.model)
            if demonstration is not None:
                found[index] = demonstration
        return found

    def _explore(self, index: int, model: PlanningModel) -> Demonstration | None:
        """Solve a task by one arbitrary action and then a plan, or else by search without operators."""
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
        return plan(
            task,
            model,
            self._count_and_execute,
            config,
            seed,
            clock=lambda: self._executions,
            strict=True,
        )

    def _count_and_execute(self, state: State, action: GroundController) -> Execution:
        self._executions += 1
        return self.execute(state, action)


Assumption = Callable[[PlanningModel], PlanningModel]


def _uniform_parameters(model: PlanningModel) -> PlanningModel:
    """Return the model with samplers that, in half of the draws, draw uniformly from the bounds."""
    controllers = {operator.name: operator.controller for operator in model.operators}
    samplers = {name: _PartlyUniform(one, controllers[name]) for name, one in model.samplers.items()}
    return replace(model, samplers=samplers)


def _weaker_preconditions(examined: ExaminedPreconditions) -> Iterator[Assumption]:
    """Yield functions that remove doubtful preconditions from the operators of a model.

    A precondition is doubtful if no experiment showed that it is needed. Each function removes one doubtful
    precondition, all doubtful ones of one operator, or all of them.
    """
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
    """Draws from a sampler or, with probability `UNIFORM_SHARE`, uniformly from the controller's bounds."""

    sampler: Sampler
    controller: Controller

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Choose one of the two distributions at random, and draw parameters from it."""
        if rng.random() < UNIFORM_SHARE:
            return tuple(rng.uniform(self.controller.low, self.controller.high).tolist())
        return tuple(self.sampler.sample(state, objects, rng))


def _as_demonstration(
    model: PlanningModel, task: Task, actions: Sequence[GroundController], states: Sequence[State]
) -> Demonstration:
    atoms = tuple(abstract(state, model.vocabulary.predicates) for state in states)
    return Demonstration(task.objects, task.goal, atoms, tuple(actions), tuple(states))


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
    """Find a solution without operators: serialized iterated width search in the simulator.

    If the demonstrations do not show how an atom of the goal becomes true, no operator adds the atom.
    Breadth-first search over all controllers and objects can still find actions that make the atom true. A
    state is pruned if all pairs of its atoms already held together in earlier states (novelty 2). The atoms
    of the goal are achieved one after the other; each time, those achieved before must still hold.

    This is SIW of Lipovetzky and Geffner (ECAI 2012), with atoms of the abstract states, sampled parameters
    and a limit on the number of simulated actions.

    The model's operators are not used, only their samplers, to draw parameters. Returns a demonstration of
    the task, or None if none is found with `max_executions` actions.
    """
    search = _Search(task, model, execute, rng)
    predicates = model.vocabulary.predicates
    node = _Node(task.initial_state, abstract(task.initial_state, predicates))
    # If a search finds nothing, it is repeated, because it may draw other parameters the next time.
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

    Each action changes at least one atom. Of several actions that lead to the same atoms, only the first is
    yielded.
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
    """Tries several ways of planning for one task, and counts the actions simulated in all of them."""

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
        """Search for a node with more goal atoms than `start`; return None if none is found.

        All goal atoms that hold in `start` must also hold in the node.
        """
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

        The first ones are drawn by the learned samplers of operators that have only the controller's
        arguments as parameters. The others are drawn uniformly from the controller's bounds.
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
    """Yield each of the atoms as a tuple of length 1, and each pair of them as a tuple of length 2."""
    ordered = sorted(atoms)
    yield from zip(ordered, strict=True)
    yield from combinations(ordered, 2)
