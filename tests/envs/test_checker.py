"""Each broken environment violates one part of the contract, and the checker reports only that part."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from envs.toy_walk import WALK_TO, ToyWalk
from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import ConstantSampler, PlanningModel, Vocabulary
from needful.core.objects import Object, Type
from needful.core.plans import Failure, Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.checker import check_environment
from needful.envs.cluttered_1d import DOT, MOVE_GRASP, ROBOT, Cluttered1D
from needful.envs.contract import Environment, Split
from needful.envs.findings import Finding
from needful.errors import EnvironmentFailure

GOOD = Cluttered1D()
GHOST = Type("ghost")


def broken(**members: Any) -> Environment:
    """Return Cluttered 1D with some members replaced."""
    environment: Environment = type("Broken", (Cluttered1D,), members)()
    return environment


def with_predicate(classifier: Callable[[State, Sequence[Object]], Any]) -> Environment:
    odd = Predicate("Odd", (ROBOT, DOT), classifier)
    vocabulary = replace(GOOD.vocabulary, predicates=(*GOOD.vocabulary.predicates, odd))
    return broken(vocabulary=vocabulary)


def with_vocabulary(**parts: Any) -> Environment:
    return broken(vocabulary=replace(GOOD.vocabulary, **parts))


def with_samplers(samplers: Mapping[str, Any]) -> Environment:
    model = GOOD.oracle_model()
    return broken(oracle_model=lambda self: replace(model, samplers={**model.samplers, **samplers}))


class RandomSampler:
    """Uses its own random generator."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        return [self.rng.uniform(), 0.0]


class Counter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        return self.count


def every_third_time() -> Callable[[State, Sequence[Object]], bool]:
    calls = Counter()
    return lambda state, objects: calls() % 3 == 0


def modify(state: State, objects: Sequence[Object]) -> bool:
    state._vectors[objects[1]] = (0.0, 0.0)
    return True


def raise_error(*arguments: object) -> Any:
    raise KeyError("lost")


def counting_simulator() -> Any:
    """Return a `simulate` whose result depends on the number of calls."""
    calls = Counter()

    def simulate(self: Environment, state: State, action: GroundController) -> State:
        return state.replace({action.objects[0]: {"x": float(calls())}})

    return simulate


def mutating(self: Environment, state: State, action: GroundController) -> State:
    state._vectors[action.objects[0]] = (1.0,)
    return state


def losing(self: Environment, state: State, action: GroundController) -> State:
    return State({action.objects[0]: state[action.objects[0]]})


def failing(self: Environment, state: State, action: GroundController) -> State:
    raise EnvironmentFailure("it failed", [DOT("dot99")])


def unclipped(self: Environment, state: State, action: GroundController) -> Execution:
    return Execution(self.simulate(state, action))


def hidden_tasks() -> Any:
    rng = np.random.default_rng(0)
    return lambda self, split, index, _: GOOD.sample_task(split, index, rng)


def solved(self: Environment, split: Split, index: int, rng: np.random.Generator) -> Task:
    task = GOOD.sample_task(split, index, rng)
    done = {atom.objects[1]: {"grasped": 1.0} for atom in task.goal}
    return Task(task.initial_state.replace(done), task.goal)


def undeclared_goal(self: Environment, split: Split, index: int, rng: np.random.Generator) -> Task:
    task = GOOD.sample_task(split, index, rng)
    haunted = Predicate("Haunted", (ROBOT,), lambda state, objects: False)
    return Task(task.initial_state, frozenset({haunted(ROBOT("robby"))}))


def other_predicates(self: Environment) -> PlanningModel:
    model = GOOD.oracle_model()
    haunted = Predicate("Haunted", (ROBOT,))
    move, grasp = model.operators
    odd = replace(move, preconditions=frozenset({haunted.lifted(move.parameters[0])}))
    return PlanningModel(GOOD.vocabulary, (odd, grasp), model.samplers)


CASES: dict[str, tuple[Environment, str, str]] = {
    "a predicate that raises": (
        with_predicate(raise_error),
        "predicate Odd",
        "Odd(robby, dot0) raised KeyError",
    ),
    "a predicate that returns None": (with_predicate(lambda s, o: None), "predicate Odd", "returned None"),
    "a predicate that returns a number": (with_predicate(lambda s, o: 1), "predicate Odd", "returned 1"),
    "a predicate that counts": (
        with_predicate(every_third_time()),
        "predicate Odd",
        "the result differs from the first call",
    ),
    "a predicate that modifies the state": (with_predicate(modify), "predicate Odd", "modified the state"),
    "a predicate without a classifier": (
        with_vocabulary(predicates=(*GOOD.vocabulary.predicates, Predicate("Odd", ()))),
        "Odd",
        "has no classifier",
    ),
    "a predicate of an undeclared type": (
        with_vocabulary(predicates=(Predicate("Odd", (GHOST,), lambda s, o: True),)),
        "Odd",
        "uses undeclared ['ghost']",
    ),
    "no controllers": (with_vocabulary(controllers=()), "class attributes", "no controllers"),
    "no name": (broken(name=""), "class attributes", "the name '' must consist of"),
    "a name that is not a valid path": (
        broken(name="My/Env"),
        "class attributes",
        "the name 'My/Env' must consist of",
    ),
    "a name that is not a string": (broken(name=7), "class attributes", "raised TypeError"),
    "a long description": (broken(description="one\ntwo"), "class attributes", "is not one line of text"),
    "a missing vocabulary": (broken(vocabulary=None), "class attributes", "raised AttributeError"),
    "a policy that is never used": (
        with_vocabulary(controllers=(replace(MOVE_GRASP, policy=WALK_TO.policy),)),
        "MoveGrasp",
        "has a policy that is never used",
    ),
    "a controller without objects": (
        with_vocabulary(
            types=(*GOOD.vocabulary.types, GHOST), controllers=(MOVE_GRASP, Controller("Boo", (GHOST,)))
        ),
        "Boo",
        "cannot be called in any task",
    ),
    "a controller that the oracle never uses": (
        with_vocabulary(controllers=(MOVE_GRASP, replace(MOVE_GRASP, name="Wave"))),
        "Wave",
        "no oracle operator uses it",
    ),
    "an initiation test that returns a number": (
        with_vocabulary(controllers=(replace(MOVE_GRASP, initiable=lambda s, o, p: 1),)),
        "MoveGrasp",
        "got 1 instead of a bool",
    ),
    "a simulator that raises": (broken(simulate=raise_error), "simulate", "raised KeyError: 'lost'"),
    "a simulator that returns nothing": (
        broken(simulate=lambda self, state, action: None),
        "simulate",
        "got None instead of a State",
    ),
    "a simulator that counts": (
        broken(simulate=counting_simulator()),
        "simulate",
        "a second call gave a different result",
    ),
    "a simulator that mutates": (broken(simulate=mutating), "simulate", "modified the state passed in"),
    "a simulator that loses objects": (broken(simulate=losing), "simulate", "other objects"),
    "a failure that names unknown objects": (
        broken(simulate=failing),
        "simulate",
        "the failure names ['dot99']",
    ),
    "an execution that does not clip": (broken(execute=unclipped), "execute", "parameters clipped"),
    "tasks that raise": (broken(sample_task=raise_error), "sample_task", "a train task raised KeyError"),
    "no tasks": (broken(tasks=lambda self, *_: ()), "tasks", "returned 0 train tasks instead of 2"),
    "tasks of another type": (
        broken(sample_task=lambda self, *_: "task"),
        "sample_task",
        "got 'task' instead of a Task",
    ),
    "tasks from another generator": (
        broken(sample_task=hidden_tasks()),
        "sample_task",
        "a second call gave a different train task: the largest difference is",
    ),
    "tasks that are solved from the start": (
        broken(sample_task=solved),
        "sample_task",
        "every goal holds in its initial state",
    ),
    "goals of undeclared predicates": (
        broken(sample_task=undeclared_goal),
        "sample_task",
        "train task 0 uses undeclared ['Haunted']",
    ),
    "an oracle that raises": (
        broken(oracle_model=raise_error),
        "oracle_model",
        "the model raised KeyError",
    ),
    "an oracle with undeclared predicates": (
        broken(oracle_model=other_predicates),
        "oracle operator Move",
        "Unknown predicate in operator Move 'Haunted'",
    ),
    "an oracle without samplers": (
        broken(oracle_model=lambda self: replace(GOOD.oracle_model(), samplers={})),
        "oracle operator Grasp",
        "has no sampler",
    ),
    "a sampler with too few parameters": (
        with_samplers({"Move": ConstantSampler((0.0,))}),
        "oracle operator Move",
        "takes 2 parameters, got 1",
    ),
    "a sampler that returns infinity": (
        with_samplers({"Move": ConstantSampler((0.0, float("inf")))}),
        "oracle operator Move",
        "not finite",
    ),
    "a sampler with its own generator": (
        with_samplers({"Grasp": RandomSampler()}),
        "oracle operator Grasp",
        "gave different parameters",
    ),
    "a drawing that raises": (broken(draw=raise_error), "draw", "train task 0 raised KeyError"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_violation_is_found_and_no_other(case: str) -> None:
    env, location, problem = CASES[case]
    findings = check_environment(env, tasks=2, rounds=6)
    assert any(finding.location == location and problem in finding.problem for finding in findings), (
        findings
    )
    # A broken task or simulator may also cause findings elsewhere.
    if location not in {"sample_task", "simulate"} and case != "an oracle without samplers":
        assert {finding.location for finding in findings} == {location}
    assert all(finding.remedy for finding in findings)


def test_a_closed_loop_without_a_policy_is_found() -> None:
    class WithoutPolicy(ToyWalk):
        vocabulary = Vocabulary(
            ToyWalk.vocabulary.types, ToyWalk.vocabulary.predicates, (replace(WALK_TO, policy=None),)
        )

    (finding,) = check_environment(WithoutPolicy())
    assert (finding.location, finding.problem) == ("WalkTo", "has no policy")


def test_a_vocabulary_that_raises_later_is_a_finding() -> None:
    class FailsLater(Cluttered1D):
        """An environment whose vocabulary can be read only twice."""

        calls = Counter()

        @property
        def vocabulary(self) -> Vocabulary:
            if self.calls() > 2:
                raise RuntimeError("not now")
            return GOOD.vocabulary

    assert any("not now" in finding.problem for finding in check_environment(FailsLater()))


def test_predicates_may_return_bools_of_numpy() -> None:
    assert check_environment(with_predicate(lambda s, o: np.bool_(s.get(o[1], "x") > 3))) == ()


def test_the_same_problem_is_reported_once() -> None:
    env = broken(simulate=raise_error)
    assert len([finding for finding in check_environment(env) if finding.location == "simulate"]) == 1


def test_solving_is_checked_when_a_planner_is_given() -> None:
    assert check_environment(GOOD, solve=lambda env, task: PlanningResult(Outcome.SOLVED)) == ()
    (hard,) = check_environment(GOOD, tasks=1, solve=lambda env, task: PlanningResult(Outcome.TIMEOUT))
    assert (hard.location, hard.problem) == ("oracle_model", "train task 0: planning ended with timeout")
    assert hard.count == 2
    assert "timeout (2 such problems). " in str(hard)
    assert "raised KeyError" in check_environment(GOOD, tasks=1, solve=raise_error)[0].problem


def test_the_reason_of_a_planning_failure_is_reported() -> None:
    def solve(env: Environment, task: Task) -> PlanningResult:
        move = env.oracle_model().operators[0].ground(task.objects[-1:] + task.objects[:1])
        failure = Failure(0, move, Outcome.SUBGOAL_MISSED, detail="It fell short.")
        return PlanningResult(Outcome.SUBGOAL_MISSED, failure=failure)

    (finding,) = check_environment(GOOD, tasks=1, solve=solve)
    assert finding.problem == "train task 0: planning ended with subgoal_missed (It fell short)"


def test_a_sampler_outside_the_bounds_is_found() -> None:
    def solve(env: Environment, task: Task) -> PlanningResult:
        move = env.oracle_model().operators[0].ground(task.objects[-1:] + task.objects[:1])
        return PlanningResult(Outcome.SOLVED, (move,), states=(task.initial_state,))

    assert check_environment(GOOD, solve=solve) == ()
    (finding,) = check_environment(with_samplers({"Move": ConstantSampler((-1.0, 7.0))}), solve=solve)
    assert finding.location == "oracle operator Move"
    assert (
        "MoveGrasp(robby, dot0; -1, 7) is outside the bounds (-1.0, -1.0) to (1.0, 1.0)" in finding.problem
    )


def test_a_finding_names_the_line_that_raised() -> None:
    (finding,) = check_environment(with_predicate(raise_error))
    line = raise_error.__code__.co_firstlineno + 1
    assert finding.problem.endswith(f"raised KeyError: 'lost' (test_checker.py, line {line})")


def test_sys_exit_is_a_finding() -> None:
    (finding,) = check_environment(with_predicate(lambda state, objects: sys.exit(3)))
    assert "raised SystemExit: 3" in finding.problem


def test_keyboard_interrupt_ends_the_check() -> None:
    def interrupt(state: State, objects: Sequence[Object]) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_environment(with_predicate(interrupt))


def test_a_finding_reads_as_a_sentence() -> None:
    finding = Finding("returned None", "predicate Odd", "Return True or False.")
    assert str(finding) == "predicate Odd: returned None. Return True or False."
