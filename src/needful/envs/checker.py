"""Check that an environment keeps its contract.

The checks use only the public methods of the environment: they sample tasks and run random actions in them.
They also repeat the calls in reverse order: if a result changes by more than the tolerance of the
environment, the environment has hidden state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstrations
from needful.core.state import FeatureDifference, State
from needful.core.tasks import Task
from needful.envs.adapters.snapshots import SnapshotEnvironment
from needful.envs.catalogue import ATTRIBUTES, SET_ATTRIBUTES, check_name
from needful.envs.check_demonstrators import (
    Solve,
    check_method_names,
    check_oracle,
    check_recordings,
    check_solving,
    random_objects,
)
from needful.envs.contract import Environment, MultiStepEnvironment, Split
from needful.envs.findings import CheckFailure, Finding, Findings, check_type
from needful.errors import EnvironmentFailure
from needful.seeding import rng_for


@dataclass(frozen=True, slots=True)
class _SimulatedStep:
    """One call of `simulate`: the state before, the action, and the state after.

    `after` is None if `simulate` raised `EnvironmentFailure`.
    """

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
    demonstrations: Demonstrations = (),
    on_note: Callable[[str], None] = lambda text: None,
) -> tuple[Finding, ...]:
    """Check an environment and return all findings; an empty tuple means that it keeps its contract.

    Exceptions of the environment become findings; only KeyboardInterrupt is raised.

    Args:
        env: the environment to check.
        seed: seed of the tasks and the random actions.
        tasks: number of tasks per split.
        rounds: number of calls of each controller per task, with random objects and parameters.
        solve: a function that solves a task with the environment's demonstrator; if it is None, no task is
            solved.
        demonstrations: recorded demonstrations, which are replayed in the simulator.
        on_note: called with each note, a sentence about an observation that is not a problem, such as the
            largest difference between two simulations.
    """
    findings = Findings()
    with findings.catch("the check", "environment", "Fix the other findings, then check again."):
        _check_vocabulary(env, findings)
        if not findings.all():  # all other checks need a valid vocabulary
            _check_behaviour(env, seed, tasks, rounds, solve, findings)
            if demonstrations:
                remedy = "Correct the environment, or record the demonstrations again."
                with findings.catch("replaying them", "recorded demonstrations", remedy):
                    check_recordings(env, demonstrations, seed, findings)
    for note in findings.notes:
        on_note(note)
    return findings.all()


def _check_behaviour(
    env: Environment, seed: int, tasks: int, rounds: int, solve: Solve | None, findings: Findings
) -> None:
    check_method_names(env, findings)
    sampled = _sample_tasks(env, tasks, seed, findings)
    _check_goals(env, sampled, findings)
    starts = [task.initial_state for task in sampled.values()]
    steps = _explore(env, starts, rounds, rng_for(seed, "check", env.name), findings)
    _check_repeatability(env, steps, findings)
    # Some predicates have many groundings per state. To save time, test predicates only in the start states
    # and after every fifth step.
    states = starts + [step.after for step in steps[::5] if step.after is not None]
    for predicate in env.vocabulary.predicates:
        _check_predicate(predicate, states, findings)
    check_oracle(env, states, seed, findings)
    for name, task in sampled.items():
        _check_drawing(env, name, task, findings)
    if solve is not None:
        check_solving(env, sampled, solve, seed, findings)


def _check_vocabulary(env: Environment, findings: Findings) -> None:
    check_name(env, findings)
    location, remedy = ATTRIBUTES, SET_ATTRIBUTES
    with findings.catch("reading the attributes", location, remedy):
        if len(env.description.splitlines()) != 1:
            findings.add(f"the description {env.description!r} is not one line of text", location, remedy)
        vocabulary = env.vocabulary
        if not (vocabulary.predicates and vocabulary.controllers):
            findings.add("the vocabulary has no predicates or no controllers", location, "Declare them.")
        declared = set(vocabulary.types)
        items: tuple[Predicate | Controller, ...] = (*vocabulary.predicates, *vocabulary.controllers)
        for item in items:
            undeclared = [kind.name for kind in item.types if kind not in declared]
            if undeclared:
                findings.add(f"uses undeclared {undeclared}", item.name, "Add the types to the vocabulary.")
        for predicate in vocabulary.predicates:
            if predicate.classifier is None:
                findings.add("has no classifier", predicate.name, "Give the predicate a classifier.")
        for controller in vocabulary.controllers:
            if (controller.policy is None) == isinstance(env, MultiStepEnvironment):
                findings.add(
                    "has no policy" if controller.policy is None else "has a policy that is never used",
                    controller.name,
                    "Controllers of a MultiStepEnvironment have policies, those of an Environment none.",
                )


def _sample_tasks(env: Environment, count: int, seed: int, findings: Findings) -> dict[str, Task]:
    """Sample `count` tasks per split; return the valid ones by name, such as `train task 0`.

    Adds findings for the tasks that are not valid.
    """
    sampled: dict[str, Task] = {}
    location, remedy = "sample_task", "Return a Task whose goal is about objects of its initial state."
    for split in Split:
        with findings.catch(f"a {split.value} task", location, remedy):
            first = env.tasks(split, count, seed)
            if len(first) != count:
                problem = f"returned {len(first)} {split.value} tasks instead of {count}"
                findings.add(problem, "tasks", "Inherit `tasks`, which calls `sample_task` for each task.")
            for index, task in enumerate(first):
                check_type(task, Task)
                check_type(task.initial_state, State)
                sampled[f"{split.value} task {index}"] = task
            repeated = env.tasks(split, count + 1, seed)[:count]
            for pair in zip(first, repeated, strict=False):
                difference = _task_difference(env, *pair)
                if difference:
                    findings.add(
                        f"a second call gave a different {split.value} task: {difference}",
                        location,
                        "Use random numbers from `rng` only, and keep no state between calls. The "
                        "simulator may also keep state that its `reset` does not set.",
                    )
    return sampled


def _task_difference(env: Environment, first: Task, second: Task) -> str:
    """Describe the difference between two tasks that should be equal; empty if there is none."""
    states = first.initial_state, second.initial_state
    if first.goal != second.goal:
        return f"{min(first.goal ^ second.goal)} is in one of the goals only"
    if set(states[0]) != set(states[1]):
        return f"{min(set(states[0]) ^ set(states[1]))} is in one of the initial states only"
    if states[0].allclose(states[1], env.tolerance):
        return ""
    largest = states[0].largest_difference(states[1])
    return f"the largest difference is {largest}, the tolerance is {env.tolerance:g}"


def _check_goals(env: Environment, sampled: dict[str, Task], findings: Findings) -> None:
    location = "sample_task"
    for name, task in sampled.items():
        undeclared = {
            atom.predicate.name for atom in task.goal if atom.predicate not in env.vocabulary.predicates
        }
        undeclared |= {obj.type.name for obj in task.objects if obj.type not in env.vocabulary.types}
        if undeclared:
            remedy = "Declare every type and predicate in the vocabulary."
            findings.add(f"{name} uses undeclared {sorted(undeclared)}", location, remedy)
    with findings.catch("a goal", location, "The predicates of a goal need a value in the initial state."):
        if sampled and all(task.achieved_in(task.initial_state) for task in sampled.values()):
            remedy = "Sample goals that do not hold in the initial state."
            findings.add("every goal holds in its initial state", location, remedy)


def _explore(
    env: Environment, starts: Sequence[State], rounds: int, rng: np.random.Generator, findings: Findings
) -> list[_SimulatedStep]:
    """Simulate a sequence of random actions from each start state, and return all simulated steps.

    In each of the `rounds`, every controller is called once.
    """
    steps: list[_SimulatedStep] = []
    tried: set[Controller] = set()
    for start in starts:
        state = start
        for round_index, controller in itertools.product(range(rounds), env.vocabulary.controllers):
            action = _random_action(controller, state, round_index, rng)
            if action is None:
                continue
            tried.add(controller)
            step = _simulate_step(env, state, action, findings)
            if step is not None:
                steps.append(step)
                state = step.state if step.after is None else step.after
    for controller in env.vocabulary.controllers:
        if starts and controller not in tried:
            remedy = "Sample tasks with distinct objects for all arguments of the controller."
            findings.add("cannot be called in any task", controller.name, remedy)
    return steps


def _simulate_step(
    env: Environment, state: State, action: GroundController, findings: Findings
) -> _SimulatedStep | None:
    """Simulate an action and return the step; add a finding if `simulate` breaks its contract.

    Returns None if `simulate` raised an unexpected exception or returned an invalid result.
    """
    step: _SimulatedStep | None = None
    before = _copy(state)
    remedy = "Return a State, or raise EnvironmentFailure with the objects that caused it."
    with findings.catch(str(action), "simulate", remedy):
        after = _next_state(env, state, action)
        if not _equal_features(state, before):
            findings.add(f"{action} modified the state passed in", "simulate", "Use State.replace.")
        step = _SimulatedStep(state, action, after)
    return step


def _next_state(env: Environment, state: State, action: GroundController) -> State | None:
    """Return the state after an action, or None if `simulate` raised `EnvironmentFailure`.

    Raises `CheckFailure` if the returned state or the raised failure is invalid.
    """
    try:
        after = env.simulate(state, action)
    except EnvironmentFailure as failure:
        unknown = [obj.name for obj in failure.offending if obj not in state]
        if unknown:
            raise CheckFailure(f"the failure names {unknown}, which are not in the state") from failure
        return None
    check_type(after, State)
    if after.objects != state.objects or not _equal_features(after, _copy(after)):
        raise CheckFailure("the next state has other objects, or values that are not floats")
    return after


def _check_repeatability(env: Environment, steps: Sequence[_SimulatedStep], findings: Findings) -> None:
    largest: tuple[FeatureDifference, GroundController] | None = None
    for step in reversed(steps):
        with findings.catch(str(step.action), "simulate", "Make the result depend on the arguments only."):
            difference = _difference(env, step.after, _next_state(env, step.state, step.action))
            if difference is not None and (largest is None or difference.size > largest[0].size):
                largest = difference, step.action
    if largest is not None:
        _report_difference(env, *largest, findings)
    for step in reversed(steps):
        state, action = step.state, step.action
        with findings.catch(str(action), action.controller.name, "Return a bool from `initiable`."):
            check_type(action.initiable(state), bool, np.bool_)
        if "simulate" in findings.locations:
            continue  # `simulate` is wrong, so `execute` cannot be compared with it
        with findings.catch(str(action), "execute", "Inherit `execute`, which clips and catches failures."):
            execution = env.execute(state, _beyond_bounds(action))
            expected = state if step.after is None else step.after
            same = expected.allclose(execution.state, env.tolerance)
            if not same or (step.after is None) != (execution.steps == 0):
                raise CheckFailure("the result differs from `simulate` with the parameters clipped")


def _difference(env: Environment, first: State | None, second: State | None) -> FeatureDifference | None:
    """Return the largest difference between the results of two simulations of the same action.

    Raises `CheckFailure` if only one simulation failed, or if the atoms differ although the features are
    equal within the tolerance.
    """
    if first is None or second is None:
        if first is not second:
            raise CheckFailure("a second call gave a different result: only one of two calls failed")
        return None
    difference = first.largest_difference(second)
    if difference is not None and difference.size <= env.tolerance:
        predicates = env.vocabulary.predicates
        differing = sorted(abstract(first, predicates) ^ abstract(second, predicates))
        if differing:
            raise CheckFailure(
                f"a second call gave a different result: {differing[0]} holds after one of two calls only, "
                f"although the features differ by at most {difference.size:.2g}"
            )
    return difference


def _report_difference(
    env: Environment, largest: FeatureDifference, action: GroundController, findings: Findings
) -> None:
    if largest.size <= env.tolerance:
        findings.note(
            f"Repeated simulations differ, most in {largest} (within the tolerance {env.tolerance:g})."
        )
        return
    findings.add(
        f"{action}: a second call gave a different result; the largest difference is {largest}, "
        f"the tolerance is {env.tolerance:g}",
        "simulate",
        f"{_repeatability_remedy(env)} If this difference does not matter, set `tolerance` on the class to "
        f"{largest.sufficient_tolerance} or more.",
    )


def _repeatability_remedy(env: Environment) -> str:
    if isinstance(env, SnapshotEnvironment):
        return (
            "A snapshot misses hidden state, `run` depends on something outside the simulator, or "
            "`observe` reads values that the simulator has not updated since its last step."
        )
    return (
        "Make the result depend on the arguments only. For a physics engine, derive from "
        "SnapshotEnvironment (needful.envs.adapters.snapshots), which restores hidden state."
    )


def _check_predicate(predicate: Predicate, states: Sequence[State], findings: Findings) -> None:
    location = f"predicate {predicate.name}"
    groundings = [
        (state, objects)
        for state in states
        for objects in itertools.product(*map(state.of_type, predicate.types))
    ]
    before = [_copy(state) for state in states]
    values: list[object] = []
    for state, objects in groundings:
        with findings.catch(str(predicate(*objects)), location, "Return a value in every state."):
            values.append(predicate.holds(state, objects))
    if not all(map(_equal_features, states, before)):
        findings.add("modified the state passed in", location, "Only read from the state.")
    invalid = [value for value in values if not isinstance(value, bool | np.bool_)]
    if invalid:
        findings.add(f"returned {invalid[0]!r}", location, "Return True or False.")
    elif len(values) == len(groundings):
        with findings.catch("the second call", location, "Make the result depend on the arguments only."):
            repeated = [predicate.holds(state, objects) for state, objects in reversed(groundings)]
            if repeated[::-1] != values:
                raise CheckFailure("the result differs from the first call")


def _check_drawing(env: Environment, name: str, task: Task, findings: Findings) -> None:
    from matplotlib.figure import Figure

    with findings.catch(name, "draw", "Draw any state on the axes passed in, at `picture_size` inches."):
        env.draw(task.initial_state, Figure(figsize=env.picture_size).add_subplot(), task.goal)


def _copy(state: State) -> State:
    return State({obj: state[obj] for obj in state})


def _equal_features(one: State, other: State) -> bool:
    """Return whether two states have equal features; ignore the history that a `SnapshotState` also has."""
    return State.__eq__(one, other)


def _random_action(
    controller: Controller, state: State, round_index: int, rng: np.random.Generator
) -> GroundController | None:
    """Return an action of the controller with random objects and parameters.

    The rounds alternate between three kinds of parameters: random within the bounds, all at the lower
    bounds, and all at the upper bounds. Returns None if the state has too few objects of a type.
    """
    objects = random_objects(controller.types, state, rng)
    if objects is None:
        return None
    inside = tuple(rng.uniform(controller.low, controller.high))
    parameters = (inside, controller.low, controller.high)[round_index % 3]
    return controller(*objects, parameters=parameters)


def _beyond_bounds(action: GroundController) -> GroundController:
    """Return a copy of the action in which each parameter that equals a bound is moved beyond it by 1.

    `execute` must clip these parameters back to the bounds.
    """
    controller = action.controller
    bounds = zip(action.parameters, controller.low, controller.high, strict=True)
    parameters = tuple(value + (value == high) - (value == low) for value, low, high in bounds)
    return controller(*action.objects, parameters=parameters)
