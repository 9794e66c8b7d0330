from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy_world
from fake_clock import FakeClock
from needful.abstraction.atom_table import bits
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.objects import Type, Variable
from needful.core.tasks import AbstractTask
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.grounding import GroundProblem, ground, operator_masks
from planning_problems import (
    Problem,
    every_grounding,
    negated,
    problems,
    relaxed_reachable,
    state_space,
    toy_problem,
    with_negation,
)


@settings(max_examples=300, deadline=None)
@given(problems(max_objects=4))
def test_same_groundings_as_product_then_filter(problem: Problem) -> None:
    steps = every_grounding(problem)
    reachable = relaxed_reachable(problem.initial, steps)
    compact = problem.grounded()
    found = [compact.ground_operator(i) for i in range(len(compact.ground_operators))]
    assert found == [step for step in steps if step.preconditions <= reachable]
    assert frozenset(compact.atoms[i] for i in bits(compact.reachable)) == reachable
    assert compact.goal_reachable == (problem.goal <= reachable)


@settings(max_examples=300, deadline=None)
@given(negated(problems()), st.data())
def test_masks_are_equivalent_to_operators(problem: Problem, data: st.DataObject) -> None:
    compact = problem.grounded()
    mask = data.draw(st.integers(0, compact.reachable)) & compact.reachable
    state = decode(compact, mask)
    assert decode(compact, compact.initial) == problem.initial
    assert decode(compact, compact.goal) == problem.goal
    for index, encoded in enumerate(compact.ground_operators):
        step = compact.ground_operator(index)
        needs, forbids = encoded.preconditions, encoded.negative_preconditions
        assert (mask & needs == needs and not mask & forbids) == step.applicable(state)
        masks = operator_masks(index, compact)
        assert masks.applicable(mask) == step.applicable(state)
        if step.applicable(state):
            after = mask & ~encoded.deletes
            for pattern in encoded.patterns:
                after &= ~compact.pattern_masks[pattern]
            assert decode(compact, after | encoded.adds) == step.apply(state)
            assert decode(compact, masks.apply(mask)) == step.apply(state)


@settings(max_examples=300, deadline=None)
@given(st.builds(with_negation, problems(), st.integers(0, 2**32)))
def test_only_steps_that_are_never_applicable_are_left_out(problem: Problem) -> None:
    compact = problem.grounded()
    found = {compact.ground_operator(i) for i in range(len(compact.ground_operators))}
    deleted = {atom.predicate for o in problem.operators for atom in o.delete_effects}
    deleted |= {pattern.predicate for o in problem.operators for pattern in o.delete_patterns}
    always = {atom for atom in problem.initial if atom.predicate not in deleted}
    assert all(step.negative_preconditions.isdisjoint(always) for step in found)
    space = state_space(problem, at_most=100)
    if space is not None:
        for step in every_grounding(problem):
            assert step in found or not any(map(step.applicable, space.successors))


def test_a_negated_static_atom_that_holds_prevents_groundings() -> None:
    """Ball 0 is fragile, and nothing changes this, so it is never grasped; the other ball is."""
    problem = toy_problem(balls=2)
    fragile = Predicate("Fragile", (toy_world.BALL,))
    move, grasp, *others = problem.operators
    ball = next(v for v in grasp.parameters if v.type == toy_world.BALL)
    careful = replace(grasp, negative_preconditions=frozenset([fragile.lifted(ball)]))
    initial = problem.initial | {fragile(toy_world.BALL("ball0"))}
    changed = Problem((move, careful, *others), problem.objects, initial, problem.goal).grounded()
    steps = [str(changed.ground_operator(i)) for i in range(len(changed.ground_operators))]
    assert [step for step in steps if step.startswith("Grasp")] == ["Grasp(robot, ball1)"]
    assert not changed.goal_reachable


def test_the_memory_of_masks_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mask can be as long as the number of atoms, so their total size grows quadratically."""
    problem = toy_problem(balls=3)
    taken = sum(encoded.mask_bytes for encoded in problem.grounded().ground_operators)
    for limit, refused in ((taken, False), (taken - 1, True)):
        monkeypatch.setattr("needful.planning.grounding._MAX_OPERATOR_BYTES", limit)
        assert (problem.given_to(PythonPlanner()) is None) == refused


def test_the_number_of_atoms_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = toy_problem(balls=3)
    for limit, refused in ((1000, False), (len(problem.initial), True)):
        monkeypatch.setattr("needful.planning.grounding._MAX_ATOMS", limit)
        assert (problem.given_to(PythonPlanner()) is None) == refused


def decode(compact: GroundProblem, mask: int) -> frozenset:
    return frozenset(compact.atoms[i] for i in bits(mask))


@settings(max_examples=50, deadline=None)
@given(problems())
def test_atoms_and_ground_operators_are_sorted(problem: Problem) -> None:
    compact = problem.grounded()
    assert list(compact.atoms) == sorted(compact.atoms)
    keys = [(o.operator, o.objects) for o in compact.ground_operators]
    assert keys == sorted(set(keys))
    backwards = Problem(problem.operators, tuple(reversed(problem.objects)), problem.initial, problem.goal)
    assert backwards.grounded() == compact


def test_a_ground_pattern_has_one_mask() -> None:
    compact = toy_problem(balls=3).grounded()
    moves = [o for o in compact.ground_operators if o.operator == 0]
    assert [o.patterns for o in moves] == [(0,), (0,), (0,)]
    assert len(compact.pattern_masks) == 1
    assert {str(atom) for atom in decode(compact, compact.pattern_masks[0])} == {
        "Near(robot, ball0)",
        "Near(robot, ball1)",
        "Near(robot, ball2)",
    }


def test_goal_that_nothing_adds_is_found_unreachable() -> None:
    problem = toy_problem()
    impossible = Problem(problem.operators[:2], problem.objects, problem.initial, problem.goal)
    assert not impossible.grounded().goal_reachable
    assert problem.grounded().goal_reachable


def test_time_runs_out_even_in_a_join_without_results() -> None:
    """Twelve distinct objects are required and there are eleven: the join has 11! dead ends."""
    kind = Type("thing")
    here = Predicate("Here", (kind,))
    variables = tuple(Variable(f"?v{i}", kind) for i in range(12))
    greedy = toy_world.operator(
        Controller("Take", ()), variables, needs=[here.lifted(v) for v in variables], adds=[]
    )
    objects = [kind(f"o{i}") for i in range(11)]
    initial = frozenset(here(obj) for obj in objects)
    clock = FakeClock(tick=0.01)
    budget = Budget.seconds(10.0, clock=clock)
    assert ground([greedy], AbstractTask(tuple(objects), initial, initial), budget) is None
    assert clock.now < 12.0


def test_time_runs_out_while_groundings_are_found() -> None:
    problem = toy_problem(balls=30, jars=30)
    budget = Budget.seconds(1.0, clock=FakeClock(tick=0.01))
    assert ground(problem.operators, problem.task, budget) is None


def test_operators_without_preconditions_are_grounded_once() -> None:
    compact = toy_problem(balls=2, jars=3).grounded()
    names = [str(compact.ground_operator(i)) for i in range(len(compact.ground_operators))]
    assert names == [
        "MoveTo(robot, ball0)",
        "MoveTo(robot, ball1)",
        "Grasp(robot, ball0)",
        "Grasp(robot, ball1)",
        *(f"Drop(robot, ball{b}, jar{j})" for b, j in itertools.product(range(2), range(3))),
        *(f"TakeLidOff(robot, jar{j})" for j in range(3)),
    ]
