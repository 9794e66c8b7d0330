from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy_world
from needful.core.atoms import GroundAtom, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.objects import Object
from needful.core.operators import GroundOperator
from needful.core.plans import SearchStatistics
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.engines.python_planner import with_distrusted_start, with_failure
from needful.planning.engines.searches import AStar
from needful.planning.grounding import GroundProblem
from planning_problems import Problem, negated, problems, toy_problem
from toy_world import JAR, ROBOT

ALERT = Predicate("Alert", (ROBOT,))


def index_of(problem: GroundProblem, name: str) -> int:
    count = len(problem.ground_operators)
    return [str(problem.ground_operator(i)) for i in range(count)].index(name)


def first_plan(problem: GroundProblem) -> list[str] | None:
    steps = next(AStar()(problem, 0, Budget.unlimited(), SearchStatistics()), None)
    return None if steps is None else [str(step) for step in problem.plan(steps)]


def test_the_next_plan_acts_on_the_offending_object_first() -> None:
    problem = toy_problem(balls=1, jars=1).grounded()
    drop = index_of(problem, "Drop(robot, ball0, jar0)")
    short = ["MoveTo(robot, ball0)", "Grasp(robot, ball0)", "Drop(robot, ball0, jar0)"]
    assert first_plan(problem) == short
    repaired = first_plan(with_failure(problem, drop, [JAR("jar0")]))
    assert repaired is not None
    assert sorted(repaired) == sorted([*short, "TakeLidOff(robot, jar0)"])
    assert repaired.index("TakeLidOff(robot, jar0)") < repaired.index("Drop(robot, ball0, jar0)")


def remedies_by_definition(problem: GroundProblem, offending: Object) -> set[int]:
    """The ground operators that change an atom of the object; without any, those that mention it."""
    steps = problem.plan(range(len(problem.ground_operators)))

    def changed_atoms(step: GroundOperator) -> set[GroundAtom]:
        """The atoms that the step adds or deletes in some state in which it is applicable."""
        possible = [atom for atom in problem.atoms if atom not in step.negative_preconditions]
        for_all = frozenset(possible)
        deleted = for_all - step.apply(for_all)
        return set(deleted | (step.add_effects - step.preconditions))

    changes = [changed_atoms(step) for step in steps]
    mentioning = {index for index, step in enumerate(steps) if offending in step.objects}
    remedies = {i for i, atoms in enumerate(changes) if any(offending in atom.objects for atom in atoms)}
    return remedies | {i for i in mentioning if not changes[i]} or mentioning


@settings(max_examples=200, deadline=None)
@given(negated(problems()), st.data())
def test_one_precondition_here_and_one_add_effect_in_each_remedy(
    problem: Problem, data: st.DataObject
) -> None:
    before = problem.grounded()
    if not before.ground_operators:
        return
    step = data.draw(st.integers(0, len(before.ground_operators) - 1))
    number = data.draw(st.integers(0, len(before.objects) - 1))
    after = with_failure(before, step, [before.objects[number]])
    fresh = 1 << before.atom_count
    remedies = remedies_by_definition(before, before.objects[number])
    assert after.atom_count == before.atom_count + 1
    assert (after.initial, after.goal, after.pattern_masks) == (
        before.initial,
        before.goal,
        before.pattern_masks,
    )
    for index, (old, new) in enumerate(zip(before.ground_operators, after.ground_operators, strict=True)):
        needs_it, adds_it = index == step, index != step and index in remedies
        assert new.preconditions == old.preconditions | (fresh if needs_it else 0)
        assert new.adds == old.adds | (fresh if adds_it else 0)
        assert (new.deletes, new.patterns, new.objects) == (old.deletes, old.patterns, old.objects)
        assert new.negative_preconditions == old.negative_preconditions
        assert after.ground_operator(index) == before.ground_operator(index)


def test_a_known_failure_changes_nothing() -> None:
    problem = toy_problem().grounded()
    once = with_failure(problem, 3, [JAR("jar0")])
    assert with_failure(once, 3, [JAR("jar0")]) is once
    assert with_failure(problem, 3, []) is problem


def test_each_offending_object_has_an_atom_of_its_own() -> None:
    problem = toy_problem(jars=2).grounded()
    drop = index_of(problem, "Drop(robot, ball0, jar0)")
    both = with_failure(problem, drop, [JAR("jar1"), JAR("jar0")])
    assert both.atom_count == problem.atom_count + 2
    repaired = first_plan(both)
    assert repaired is not None
    assert {"TakeLidOff(robot, jar0)", "TakeLidOff(robot, jar1)"} <= set(repaired)


def test_walking_past_the_object_is_no_remedy() -> None:
    """An operator that mentions the jar but changes only atoms of the robot does not deal with it."""
    base = toy_problem(balls=1, jars=1)
    robot, jar = (
        next(v for o in base.operators for v in o.parameters if v.type == t) for t in (ROBOT, JAR)
    )
    look = toy_world.operator(Controller("LookAt", (ROBOT, JAR)), (robot, jar), adds=[ALERT.lifted(robot)])
    problem = replace(base, operators=(*base.operators, look)).grounded()
    drop = index_of(problem, "Drop(robot, ball0, jar0)")
    repaired = first_plan(with_failure(problem, drop, [JAR("jar0")]))
    assert repaired is not None
    assert "TakeLidOff(robot, jar0)" in repaired
    without = replace(base.without_noops(), operators=(*base.without_noops().operators, look)).grounded()
    drop = index_of(without, "Drop(robot, ball0, jar0)")
    assert first_plan(with_failure(without, drop, [JAR("jar0")])) is None


def test_without_a_remedy_the_step_is_unusable() -> None:
    problem = toy_problem(balls=1, jars=1).without_noops().grounded()
    drop = index_of(problem, "Drop(robot, ball0, jar0)")
    assert first_plan(with_failure(problem, drop, [JAR("jar0")])) is None


def test_objects_of_another_task_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="jar0"):
        with_failure(toy_problem(jars=1).grounded(), 0, [JAR("jar7")])


@settings(max_examples=200, deadline=None)
@given(negated(problems()), st.data())
def test_distrusted_preconditions_must_be_made_true_again(problem: Problem, data: st.DataObject) -> None:
    before = problem.grounded()
    if not before.ground_operators:
        return
    number = data.draw(st.integers(0, len(before.ground_operators) - 1))
    after = with_distrusted_start(before, number)
    assert with_distrusted_start(after, number) is after
    assert (after.initial, after.atom_count) == (before.initial, before.atom_count + 1)
    initial = {atom for index, atom in enumerate(before.atoms) if before.initial >> index & 1}
    steps = before.plan(range(len(before.ground_operators)))
    distrusted = steps[number].preconditions & initial
    remedies = {
        i
        for i, one in enumerate(steps)
        if i != number and (one.add_effects - one.preconditions) & distrusted
    }
    remedies = remedies or set(range(len(steps))) - {number}
    fresh = 1 << before.atom_count
    for index, (old, new) in enumerate(zip(before.ground_operators, after.ground_operators, strict=True)):
        assert new.preconditions == old.preconditions | (fresh if index == number else 0)
        assert new.adds == old.adds | (fresh if index in remedies else 0)
        assert replace(new, preconditions=old.preconditions, adds=old.adds) == old


def test_a_step_with_distrusted_start_is_prepared() -> None:
    """Near(robot, ball0) holds initially. If it is distrusted, the robot moves to the ball all the same."""
    base = toy_problem(balls=1, jars=1)
    robot, ball = (next(o for o in base.objects if o.type == kind) for kind in (ROBOT, toy_world.BALL))
    problem = replace(base, initial=base.initial | {toy_world.NEAR(robot, ball)}).grounded()
    short = ["Grasp(robot, ball0)", "Drop(robot, ball0, jar0)"]
    assert first_plan(problem) == short
    grasp = index_of(problem, short[0])
    assert first_plan(with_distrusted_start(problem, grasp)) == ["MoveTo(robot, ball0)", *short]


def test_a_distrusted_step_is_a_ground_operator() -> None:
    with pytest.raises(InvalidInputError, match="ground operator"):
        with_distrusted_start(toy_problem().grounded(), 1000)
