"""Check an environment's oracle model, scripted policy and method names, and recorded demonstrations."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.model import PlanningModel, Sampler
from needful.core.objects import Object, Type, counted
from needful.core.operators import Operator
from needful.core.plans import PlanningResult
from needful.core.state import FeatureDifference, State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.envs.findings import CheckFailure, Finding, Findings
from needful.errors import NotProvidedError
from needful.seeding import rng_for

Solve: TypeAlias = Callable[[Environment, Task], PlanningResult]

# The methods of an environment that its author may leave out.
OPTIONAL_METHODS = ("oracle_model", "demonstrate", "draw", "trace", "confirms")


def check_method_names(env: Environment, findings: Findings) -> None:
    """Add a note for each method whose name is probably a misspelled name of an optional method."""
    inherited = [one for one in type(env).__mro__ if one.__module__.startswith("needful.")]
    known = {name for one in inherited for name in vars(one)}
    missing = [name for name in OPTIONAL_METHODS if getattr(type(env), name) is getattr(Environment, name)]
    for name in sorted(set(dir(type(env))) - known):
        similar = difflib.get_close_matches(name, missing, n=1, cutoff=0.85)
        if similar and not name.startswith("_") and callable(getattr(type(env), name)):
            findings.note(
                f"The method `{name}` looks like a misspelled `{similar[0]}`. "
                "Rename it if the package should call it."
            )


def check_oracle(env: Environment, states: Sequence[State], seed: int, findings: Findings) -> None:
    """Check the operators and samplers of the oracle model, if the environment has one."""
    with findings.catch("the model", "oracle_model", "Return a PlanningModel."):
        try:
            model = env.oracle_model()
        except NotProvidedError:
            return
        sampler_remedy = "Return finite parameters, and use random numbers from `rng` only."
        # Demonstrations are planned with the oracle model, so they contain only controllers of its
        # operators.
        used = {operator.controller.name for operator in model.operators}
        problem = "no oracle operator uses it, so no demonstration will contain it"
        remedy = "Add an operator for it to the oracle model, or remove it from the vocabulary."
        _check_use_of_controllers(env, used, problem, remedy, findings)
        for name in model.missing_samplers():
            findings.add("has no sampler", f"oracle operator {name}", "Add one to the model's samplers.")
        for operator in model.operators:
            location = f"oracle operator {operator.name}"
            with findings.catch("binding it", location, "Use only items of the vocabulary."):
                PlanningModel(env.vocabulary, (operator,)).bound_to(env.vocabulary)
            if operator.name not in model.samplers:
                continue
            for number, state in enumerate(states):
                make_rng = functools.partial(rng_for, seed, "check", operator.name, number)
                with findings.catch("the sampler", location, sampler_remedy):
                    _check_sampler(model.samplers[operator.name], operator, state, make_rng)


def _check_use_of_controllers(
    env: Environment, used: Iterable[str], problem: str, remedy: str, findings: Findings
) -> None:
    """Add a finding for each controller of the vocabulary whose name is not in `used`."""
    for name in (controller.name for controller in env.vocabulary.controllers):
        if name not in used:
            findings.add(problem, name, remedy)


def _check_sampler(
    sampler: Sampler, operator: Operator, state: State, make_rng: Callable[[], np.random.Generator]
) -> None:
    """Raise if a sampler returns invalid parameters, or different ones for the same random numbers."""
    objects = random_objects([variable.type for variable in operator.parameters], state, make_rng())
    if objects is None:
        return
    arguments = operator.ground(objects).controller_objects
    first, second = (
        operator.controller(*arguments, parameters=sampler.sample(state, objects, make_rng()))
        for _ in range(2)
    )
    if first != second:
        raise CheckFailure("two calls with the same random numbers gave different parameters")


def check_solving(
    env: Environment, tasks: Mapping[str, Task], solve: Solve, seed: int, findings: Findings
) -> None:
    """Check that the oracle model solves all tasks; `tasks` maps names to tasks.

    If there is no oracle model, the scripted policy must solve at least one task. Adds a note if the policy
    does not solve all tasks, or if there is no scripted policy either.
    """
    try:
        model = env.oracle_model()
    except NotProvidedError:
        _check_script(env, tasks, solve, findings)
        return
    except Exception:
        return  # `check_oracle` has already added a finding for this exception
    location, remedy = "oracle_model", "Correct the operators or samplers of the oracle model, or the task."
    for name, task in tasks.items():
        with findings.catch(name, location, remedy):
            result = solve(env, task)
            if not result.solved:
                findings.add(f"{name}: planning ended with {_outcome(result)}", location, remedy)
            _check_parameter_bounds(model, result, rng_for(seed, "check boxes", name), findings)


def _check_script(env: Environment, tasks: Mapping[str, Task], solve: Solve, findings: Findings) -> None:
    location, remedy = "demonstrate", "Correct the scripted policy, or the task."
    missed: list[str] = []
    for name, task in tasks.items():
        with findings.catch(name, location, remedy):
            try:
                result = solve(env, task)
            except NotProvidedError:
                findings.note("No task was solved: there is neither an oracle model nor a scripted policy.")
                return
            if not result.solved:
                missed.append(f"{name}: the scripted policy ended with {_outcome(result)}")
            if solve(env, task).actions != result.actions:
                findings.add(
                    f"{name}: two calls with the same random numbers gave different actions",
                    location,
                    "Use random numbers from `rng` only, and keep no state between calls.",
                )
    if len(missed) < len(tasks) and missed:
        # A policy may fail in some tasks: the other tasks still give demonstrations. So a note is enough.
        solved = f"{len(tasks) - len(missed)} of {counted(tasks, 'task')}"
        findings.note(f"The scripted policy solved {solved}. {missed[0]}.")
        return
    for problem in missed:
        findings.add(problem, location, remedy)


def _outcome(result: PlanningResult) -> str:
    reason = result.failure.detail.rstrip(".") if result.failure else ""
    if result.unreachable:
        reason = f"no sequence of operators makes {', '.join(map(str, result.unreachable))} true"
    return f"{result.outcome.value} ({reason})" if reason else result.outcome.value


def _check_parameter_bounds(
    model: PlanningModel, result: PlanningResult, rng: np.random.Generator, findings: Findings
) -> None:
    """Add a finding for each operator of a plan whose sampler returns parameters outside the bounds.

    For each step of the plan in `result`, the sampler of the step's operator is called in the state before
    the step.
    """
    for step, state in zip(result.abstract_plan, result.states, strict=False):
        name, controller = step.operator.name, step.operator.controller
        if name not in model.samplers:
            continue
        remedy = "Sample within the bounds, or widen them: parameters outside are clipped silently."
        with findings.catch("the sampler", f"oracle operator {name}", remedy):
            parameters = model.samplers[name].sample(state, step.objects, rng)
            action = controller(*step.controller_objects, parameters=parameters)
            if controller.clip(action.parameters) != action.parameters:
                raise CheckFailure(f"{action} is outside the bounds {controller.low} to {controller.high}")


def check_recordings(
    env: Environment, demonstrations: Demonstrations, seed: int, findings: Findings
) -> None:
    """Replay recorded demonstrations in the simulator; add a finding for the first difference.

    Each demonstration is executed from its first recorded state. After each step, the atoms must be those
    of the recording, and the features must equal the recorded ones within the tolerance of the environment.

    Recordings contain no hidden state of the simulator, such as velocities. Therefore, if the first
    recorded state equals the initial state of a training task within the tolerance, the replay starts in
    the initial state, which has the hidden state. `seed` is the seed of the training tasks.
    """
    problem = "no recorded demonstration uses it, so no operator will be learned for it"
    remedy = "Record demonstrations that use it, or remove it from the vocabulary."
    used = {action.controller.name for one in demonstrations for action in one.actions}
    _check_use_of_controllers(env, used, problem, remedy, findings)
    tasks = env.tasks(Split.TRAIN, len(demonstrations), seed)
    starts = [task.initial_state for task in tasks]
    replays = [_Replay(env, number, one, starts) for number, one in enumerate(demonstrations)]
    found = [finding for finding in (replay.run() for replay in replays) if finding is not None]
    if found:
        first = found[0]
        share = f" ({len(found)} of {counted(demonstrations, 'demonstration')} cannot be repeated)"
        findings.add(first.problem + share, first.location, first.remedy)
    else:
        differences = [one.largest for one in replays if one.largest is not None]
        largest = max(differences, key=lambda one: one.size, default=None)
        close = "equal to the recording" if largest is None else f"the largest difference is {largest}"
        findings.note(f"Replayed {counted(demonstrations, 'demonstration')}: {close}.")
    steps, number = max(((one.low_level_actions, one.number) for one in replays), default=(0, 0))
    if steps > env.horizon:
        findings.add(
            f"demonstration {number} takes {steps} low-level actions, but plans may have {env.horizon}",
            "horizon",
            f"Set `horizon` on the class to {steps} or more.",
        )


class _Replay:
    """The replay of one recorded demonstration.

    Attributes:
        starts: initial states of tasks. If one of them equals the first recorded state within the
            tolerance, the replay starts in this initial state.
        largest: the largest difference between a recorded and a simulated feature so far.
        low_level_actions: the number of low-level actions so far.
    """

    def __init__(
        self, env: Environment, number: int, demonstration: Demonstration, starts: Sequence[State]
    ) -> None:
        self.env = env
        self.number = number
        self.demonstration = demonstration
        self.starts = starts
        self.largest: FeatureDifference | None = None
        self.low_level_actions = 0

    def run(self) -> Finding | None:
        """Execute the demonstration; return the first difference as a finding, or None if there is none."""
        location = f"demonstration {self.number}"
        recorded = self.demonstration.states
        if recorded is None:
            remedy = "Record states, one before the first action and one after each action."
            return Finding("has no states, so it cannot be replayed", location, remedy)
        finding = self._atom_finding(recorded[0], 0, f"{location}, first state", "")
        equal = (one for one in self.starts if one.allclose(recorded[0], self.env.tolerance))
        state = next(equal, recorded[0])
        for index, action in enumerate(self.demonstration.actions):
            if finding is not None:
                break
            # Count steps from 1, as `needful explain` does.
            location = f"demonstration {self.number}, step {index + 1}"
            again = "Correct the controller or the simulator, or record the demonstration again."
            if not action.initiable(state):
                return Finding(f"{action} cannot start", location, again)
            execution = self.env.execute(state, action)
            if not execution.steps:
                reason = f": {execution.failure.rstrip('.')}" if execution.failure else ""
                return Finding(f"{action} failed{reason}", location, again)
            self.low_level_actions += execution.steps
            state = execution.state
            finding = self._feature_finding(state, recorded[index + 1], location, f"after {action}, ")
            finding = finding or self._atom_finding(state, index + 1, location, f"after {action}, ")
        return finding

    def _feature_finding(self, state: State, recorded: State, location: str, when: str) -> Finding | None:
        difference = recorded.largest_difference(state)
        if difference is None:
            return None
        if self.largest is None or difference.size > self.largest.size:
            self.largest = difference
        if difference.size <= self.env.tolerance:
            return None
        return Finding(
            f"{when}the simulator differs from the recording, most in {difference}; "
            f"the tolerance is {self.env.tolerance:g}",
            location,
            "Correct the simulator, or set `tolerance` on the class to "
            f"{difference.sufficient_tolerance} or more.",
        )

    def _atom_finding(self, state: State, index: int, location: str, when: str) -> Finding | None:
        recorded = self.demonstration.abstract_states[index]
        found: AbstractState = abstract(state, self.env.vocabulary.predicates)
        differing = sorted(found ^ recorded)
        if not differing:
            return None
        places = ("the simulator", "the recording")
        holds, lacks = places if differing[0] in found else places[::-1]
        return Finding(
            f"{when}{differing[0]} holds in {holds} but not in {lacks}",
            location,
            "Correct the predicate or the simulator, or compute the recorded atoms with the predicates.",
        )


def random_objects(
    types: Sequence[Type], state: State, rng: np.random.Generator
) -> tuple[Object, ...] | None:
    """Return distinct random objects, one per given type; None if the state has too few objects."""
    chosen: list[Object] = []
    for kind in types:
        fitting = [obj for obj in state.of_type(kind) if obj not in chosen]
        if not fitting:
            return None
        chosen.append(fitting[rng.integers(len(fitting))])
    return tuple(chosen)
