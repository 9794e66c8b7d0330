"""Check that an environment keeps its contract.

The environment is only watched from outside: its tasks are sampled, random actions run in them, and
every question is asked twice, the second time in the opposite order, so that hidden state shows.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from needful.core.atoms import Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.model import PlanningModel, Sampler
from needful.core.objects import Object, Type
from needful.core.operators import Operator
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import CATALOGUE, CatalogueEntry
from needful.envs.contract import Environment, MultiStepEnvironment, Split
from needful.envs.findings import CheckFailure, Finding, Findings
from needful.errors import EnvironmentFailure
from needful.seeding import rng_for

ATTRIBUTES = "class attributes"
SET_ATTRIBUTES = (
    "Set `name` (such as cup-stacking), `description` (one line) and `vocabulary` on the class."
)
MAX_NAME_LENGTH = 80

Solve: TypeAlias = Callable[[Environment, Task], PlanningResult]


@dataclass(frozen=True, slots=True)
class _SimulatedStep:
    """What `simulate` made of an action in a state; `after` is None if it raised `EnvironmentFailure`."""

    state: State
    action: GroundController
    after: State | None


def check_environment(
    env: Environment,
    seed: int = 0,
    *,
    tasks: int = 3,
    rounds: int = 6,
    solve: Solve | None = None,
) -> tuple[Finding, ...]:
    """Return everything that is wrong with an environment; nothing found is an empty tuple.

    Never raises because of the environment: whatever it raises is a finding.

    Args:
        env: the environment.
        seed: of the tasks and the random actions.
        tasks: how many tasks of each split are looked at.
        rounds: how often every controller is tried in each task, with random objects and parameters.
        solve: plans for a task with the oracle model; left out, it is not checked that tasks can be solved.
    """
    findings = Findings()
    with findings.watch("the check", "environment", "Repair what else was found, then check again."):
        _check_vocabulary(env, findings)
        # Everything else speaks the vocabulary.
        if not findings.all():
            _check_behaviour(env, seed, tasks, rounds, solve, findings)
    return findings.all()


def _check_behaviour(
    env: Environment,
    seed: int,
    tasks: int,
    rounds: int,
    solve: Solve | None,
    findings: Findings,
) -> None:
    sampled = _sample_tasks(env, tasks, seed, findings)
    _check_goals(env, sampled, findings)
    starts = [task.initial_state for task in sampled.values()]
    visits = _explore(env, starts, rounds, rng_for(seed, "check", env.name), findings)
    _check_repeatability(env, visits, findings)
    # Not all states on the way: some predicates have many groundings.
    states = starts + [visit.after for visit in visits[::5] if visit.after is not None]
    for predicate in env.vocabulary.predicates:
        _check_predicate(predicate, states, findings)
    _check_oracle(env, states, seed, findings)
    for name, task in sampled.items():
        _check_drawing(env, name, task, findings)
        if solve is not None:
            _check_solving(env, name, task, solve, seed, findings)


def check_name(env: Environment, findings: Findings) -> None:
    """Find out whether an environment has a name that can stand in commands and in names of folders."""
    with findings.watch("reading them", ATTRIBUTES, SET_ATTRIBUTES):
        if not re.fullmatch("[a-z0-9-]+", env.name):
            findings.add(f"the name {env.name!r} is not made of a-z, 0-9 and -", ATTRIBUTES, SET_ATTRIBUTES)
        elif len(env.name) > MAX_NAME_LENGTH:
            findings.add(f"the name has more than {MAX_NAME_LENGTH} letters", ATTRIBUTES, SET_ATTRIBUTES)
        elif env.name in CATALOGUE and not _derives_from(env, CATALOGUE[env.name]):
            findings.add(f"there is another domain {env.name!r}", ATTRIBUTES, SET_ATTRIBUTES)


def _derives_from(env: Environment, entry: CatalogueEntry) -> bool:
    origins = {(one.__module__, one.__name__) for one in type(env).__mro__}
    return (entry.module, entry.class_name) in origins


def _check_vocabulary(env: Environment, findings: Findings) -> None:
    check_name(env, findings)
    where, remedy = ATTRIBUTES, SET_ATTRIBUTES
    with findings.watch("reading them", where, remedy):
        if len(env.description.splitlines()) != 1:
            findings.add(f"{env.description!r} is not a line of text", where, remedy)
        vocabulary = env.vocabulary
        if not (vocabulary.predicates and vocabulary.controllers):
            findings.add("there are no predicates or no controllers", where, "Declare them.")
        declared = set(vocabulary.types)
        items: tuple[Predicate | Controller, ...] = (*vocabulary.predicates, *vocabulary.controllers)
        for item in items:
            stray = [kind.name for kind in item.types if kind not in declared]
            if stray:
                findings.add(f"takes {stray}", item.name, "Declare every type in the vocabulary.")
        for predicate in vocabulary.predicates:
            if predicate.classifier is None:
                findings.add("has no classifier", predicate.name, "Give the predicate a classifier.")
        for controller in vocabulary.controllers:
            if (controller.policy is None) == isinstance(env, MultiStepEnvironment):
                findings.add(
                    "lacks a policy" if controller.policy is None else "has a policy that is never run",
                    controller.name,
                    "Controllers of a MultiStepEnvironment have policies, those of an Environment none.",
                )


def _sample_tasks(env: Environment, count: int, seed: int, findings: Findings) -> dict[str, Task]:
    """Return tasks of both splits by name, as far as they can be used."""
    sampled: dict[str, Task] = {}
    where, remedy = "sample_task", "Return a Task whose goal speaks of its objects."
    for split in Split:
        with findings.watch(f"a {split.value} task", where, remedy):
            first = env.tasks(split, count, seed)
            if len(first) != count:
                what = f"{len(first)} {split.value} tasks came in the place of {count}"
                findings.add(what, "tasks", "Inherit `tasks`, which calls `sample_task` for each of them.")
            for index, task in enumerate(first):
                _check_type(task, Task)
                _check_type(task.initial_state, State)
                sampled[f"{split.value} task {index}"] = task
            if first != env.tasks(split, count + 1, seed)[:count]:
                findings.add(
                    f"a {split.value} task came out differently the second time",
                    where,
                    "Draw only from the generator passed in, and keep nothing between calls.",
                )
    return sampled


def _check_goals(env: Environment, sampled: dict[str, Task], findings: Findings) -> None:
    where = "sample_task"
    for name, task in sampled.items():
        stray = {
            atom.predicate.name for atom in task.goal if atom.predicate not in env.vocabulary.predicates
        }
        stray |= {obj.type.name for obj in task.objects if obj.type not in env.vocabulary.types}
        if stray:
            remedy = "Declare every type and predicate in the vocabulary."
            findings.add(f"{name} uses {sorted(stray)}", where, remedy)
    with findings.watch("a goal", where, "Goals must be decidable in initial states."):
        if sampled and all(task.achieved_in(task.initial_state) for task in sampled.values()):
            remedy = "Ask for something that is yet to be done."
            findings.add("every goal holds from the start", where, remedy)


def _explore(
    env: Environment, starts: Sequence[State], rounds: int, rng: np.random.Generator, findings: Findings
) -> list[_SimulatedStep]:
    """Run random actions one after the other from each start."""
    visits: list[_SimulatedStep] = []
    tried: set[Controller] = set()
    for start in starts:
        state = start
        for turn, controller in itertools.product(range(rounds), env.vocabulary.controllers):
            action = _random_action(controller, state, turn, rng)
            if action is None:
                continue
            tried.add(controller)
            visit = _simulate_step(env, state, action, findings)
            if visit is not None:
                visits.append(visit)
                state = visit.state if visit.after is None else visit.after
    for controller in env.vocabulary.controllers:
        if starts and controller not in tried:
            remedy = "Sample tasks with distinct objects for all of its arguments."
            findings.add("could not be tried in any task", controller.name, remedy)
    return visits


def _simulate_step(
    env: Environment, state: State, action: GroundController, findings: Findings
) -> _SimulatedStep | None:
    """Simulate an action; return None if `simulate` is broken there."""
    visit: _SimulatedStep | None = None
    before = _copy(state)
    remedy = "Return a State, or raise EnvironmentFailure where objects are to blame."
    with findings.watch(str(action), "simulate", remedy):
        after = _simulated(env, state, action)
        if state != before:
            findings.add(f"{action} changed the state it was given", "simulate", "Use State.replace.")
        visit = _SimulatedStep(before, action, after)
    return visit


def _simulated(env: Environment, state: State, action: GroundController) -> State | None:
    """Return the state after an action, or None if there was an `EnvironmentFailure`."""
    try:
        after = env.simulate(state, action)
    except EnvironmentFailure as failure:
        stray = [obj.name for obj in failure.offending if obj not in state]
        if stray:
            raise CheckFailure(f"it blames {stray}, which the state does not have") from failure
        return None
    _check_type(after, State)
    if after.objects != state.objects or after != _copy(after):
        raise CheckFailure("the new state has other objects, or values that are no floats")
    return after


def _check_repeatability(env: Environment, visits: Sequence[_SimulatedStep], findings: Findings) -> None:
    for visit in reversed(visits):
        state, action = visit.state, visit.action
        with findings.watch(str(action), "simulate", "Make it depend on its arguments alone."):
            if _simulated(env, state, action) != visit.after:
                raise CheckFailure("it came out differently the second time")
        with findings.watch(str(action), action.controller.name, "Let the initiation test return a bool."):
            _check_type(action.initiable(state), bool)
        with findings.watch(str(action), "execute", "Inherit `execute`, which clips and catches failures."):
            execution = env.execute(state, _beyond_bounds(action))
            expected = (state, False) if visit.after is None else (visit.after, True)
            if (execution.state, execution.steps > 0) != expected:
                raise CheckFailure("it differs from simulating with the parameters clipped")


def _check_predicate(predicate: Predicate, states: Sequence[State], findings: Findings) -> None:
    where = f"predicate {predicate.name}"
    questions = [
        (state, objects)
        for state in states
        for objects in itertools.product(*map(state.of_type, predicate.types))
    ]
    before = [_copy(state) for state in states]
    answers: list[object] = []
    for state, objects in questions:
        with findings.watch(str(predicate(*objects)), where, "It must have an answer in every state."):
            answers.append(predicate.holds(state, objects))
    if before != states:
        findings.add("changed the state it was given", where, "Only read from the state.")
    stray = [answer for answer in answers if not isinstance(answer, bool)]
    if stray:
        findings.add(f"returned {stray[0]!r}", where, "Return True or False; wrap numpy values in bool().")
    elif len(answers) == len(questions):
        with findings.watch("asking again", where, "Make it depend on its arguments alone."):
            again = [predicate.holds(state, objects) for state, objects in reversed(questions)]
            if again[::-1] != answers:
                raise CheckFailure("it answered differently the second time")


def _check_oracle(env: Environment, states: Sequence[State], seed: int, findings: Findings) -> None:
    with findings.watch("the model", "oracle_model", "Return a PlanningModel."):
        model = env.oracle_model()
        _check_use_of_controllers(env, model, findings)
        for name in model.missing_samplers():
            findings.add("has no sampler", f"oracle operator {name}", "Put one into the model's samplers.")
        for operator in model.operators:
            where = f"oracle operator {operator.name}"
            with findings.watch("it", where, "Use the environment's own predicates and controllers."):
                PlanningModel(env.vocabulary, (operator,)).bound_to(env.vocabulary)
            if operator.name not in model.samplers:
                continue
            for number, state in enumerate(states):
                fresh = functools.partial(rng_for, seed, "check", operator.name, number)
                with findings.watch(
                    "its sampler", where, "Return finite parameters, drawn with the generator."
                ):
                    _check_sampler(model.samplers[operator.name], operator, state, fresh)


def _check_use_of_controllers(env: Environment, model: PlanningModel, findings: Findings) -> None:
    """Find controllers that no demonstration of the oracle can have."""
    # Not those that a few plans do without: tasks that need a controller may be rare.
    used = {operator.controller.name for operator in model.operators}
    for controller in env.vocabulary.controllers:
        if controller.name not in used:
            findings.add(
                "no oracle operator uses it, so it will be in no demonstration",
                controller.name,
                "Give the oracle model an operator with it, or take it out of the vocabulary.",
            )


def _check_sampler(
    sampler: Sampler, operator: Operator, state: State, fresh: Callable[[], np.random.Generator]
) -> None:
    """Raise unless the sampler gives an action, and the same one with the same random numbers."""
    objects = _random_objects([variable.type for variable in operator.parameters], state, fresh())
    if objects is None:
        return
    arguments = operator.ground(objects).controller_objects
    first, second = (
        operator.controller(*arguments, parameters=sampler.sample(state, objects, fresh()))
        for _ in range(2)
    )
    if first != second:
        raise CheckFailure("it gave two answers with the same random numbers")


def _check_drawing(env: Environment, name: str, task: Task, findings: Findings) -> None:
    from matplotlib.figure import Figure

    with findings.watch(name, "draw", "Draw any state on the axes given, at `picture_size` inches."):
        env.draw(task.initial_state, Figure(figsize=env.picture_size).add_subplot(), task.goal)


def _check_solving(
    env: Environment, name: str, task: Task, solve: Solve, seed: int, findings: Findings
) -> None:
    where = f"oracle_model on {name}"
    remedy = "Look at the operators and samplers of the oracle model, or at the task."
    with findings.watch(name, where, remedy):
        result = solve(env, task)
        if not result.solved:
            reason = f" ({result.failure.detail.rstrip('.')})" if result.failure else ""
            findings.add(f"planning ended with {result.outcome.value}{reason}", where, remedy)
        _check_parameter_bounds(env.oracle_model(), result, rng_for(seed, "check boxes", name), findings)


def _check_parameter_bounds(
    model: PlanningModel, result: PlanningResult, rng: np.random.Generator, findings: Findings
) -> None:
    """Ask the samplers again where a plan used them: elsewhere an operator need not make sense."""
    for step, state in zip(result.abstract_plan, result.states, strict=False):
        name, controller = step.operator.name, step.operator.controller
        if name not in model.samplers:
            continue
        remedy = "Let its sampler stay in the box, which clips it silently, or widen the box."
        with findings.watch("its sampler", f"oracle operator {name}", remedy):
            parameters = model.samplers[name].sample(state, step.objects, rng)
            action = controller(*step.controller_objects, parameters=parameters)
            if controller.clip(action.parameters) != action.parameters:
                raise CheckFailure(
                    f"it gave {action}, outside the box {controller.low} to {controller.high}"
                )


def _check_type(value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise CheckFailure(f"got {value!r} in the place of a {expected.__name__}")


def _copy(state: State) -> State:
    return State({obj: state[obj] for obj in state})


def _random_action(
    controller: Controller, state: State, turn: int, rng: np.random.Generator
) -> GroundController | None:
    """Return an action with parameters inside the box or at a corner of it, by turns."""
    objects = _random_objects(controller.types, state, rng)
    if objects is None:
        return None
    inside = tuple(rng.uniform(controller.low, controller.high))
    parameters = (inside, controller.low, controller.high)[turn % 3]
    return controller(*objects, parameters=parameters)


def _random_objects(
    types: Sequence[Type], state: State, rng: np.random.Generator
) -> tuple[Object, ...] | None:
    """Return distinct objects of the given types, or None if there are not enough."""
    chosen: list[Object] = []
    for kind in types:
        fitting = [obj for obj in state.of_type(kind) if obj not in chosen]
        if not fitting:
            return None
        chosen.append(fitting[rng.integers(len(fitting))])
    return tuple(chosen)


def _beyond_bounds(action: GroundController) -> GroundController:
    """Return the action with the parameters that lie on a bound moved beyond it: clipping undoes it."""
    controller = action.controller
    bounds = zip(action.parameters, controller.low, controller.high, strict=True)
    pushed = tuple(value + (value == high) - (value == low) for value, low, high in bounds)
    return controller(*action.objects, parameters=pushed)
