"""Operators that explain two kinds of transitions are divided, in a small world with known operators."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from needful.core.atoms import Predicate
from needful.core.objects import Type, Variable
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.hill_climbing import Climb, alternate, reduce_truthfully
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learning_problem import LearningProblem, TooManyOperators
from needful.operator_learning.mixed_operators import divide_mixed_operators, keep_mixed_operators
from negative_worlds import Sampled, World, objects_of, operator

NONE = frozenset()
CRATE, DOOR = Type("crate"), Type("door")
C, D = Variable("?crate", CRATE), Variable("?door", DOOR)
ON_FLOOR, HELD = Predicate("OnFloor", (CRATE,)), Predicate("Held", (CRATE,))
PROPS, OPEN, CLOSED = (
    Predicate("Props", (CRATE, DOOR)),
    Predicate("Open", (DOOR,)),
    Predicate("Closed", (DOOR,)),
)

TAKE = operator(
    "Take", [C], [C], needs=[ON_FLOOR.lifted(C)], adds=[HELD.lifted(C)], deletes=[ON_FLOOR.lifted(C)]
)
TAKE_FROM_DOOR = operator(
    "Take",
    [C, D],
    [C],
    needs=[PROPS.lifted(C, D), OPEN.lifted(D)],
    adds=[HELD.lifted(C), CLOSED.lifted(D)],
    deletes=[PROPS.lifted(C, D), OPEN.lifted(D)],
)


def sample(rng: random.Random, size: int) -> Sampled:
    """Crates on the floor, and crates that prop doors open."""
    crates, doors = objects_of(CRATE, size, rng), objects_of(DOOR, size, rng)
    initial = set()
    for crate, door in zip(crates, doors, strict=True):
        free = rng.random() < 0.5
        initial |= {ON_FLOOR(crate), CLOSED(door)} if free else {PROPS(crate, door), OPEN(door)}
    return [*crates, *doors], initial, {HELD(rng.choice(crates)), CLOSED(rng.choice(doors))}


WORLD = World((TAKE, TAKE_FROM_DOOR), sample)


def resume(climb: Climb, problem: LearningProblem) -> Climb:
    return alternate(problem, reduce_truthfully, climb)


def test_an_operator_with_effects_that_sometimes_held_already_is_divided() -> None:
    problem = LearningProblem.of([WORLD.demonstrate(seed, 3) for seed in range(30)], partly_bound)
    # This operator explains all transitions, because some door is closed after each of them.
    effects = frozenset({HELD.lifted(C), CLOSED.lifted(D)})
    both = replace(TAKE, parameters=(C, D), preconditions=NONE, add_effects=effects, delete_effects=NONE)
    mixed = problem.fit([canonical_candidate(both, {})], problem.empty_hypothesis())
    assert mixed.coverage.uncovered == 0
    assert problem.false_claims(mixed) > 0
    divided = divide_mixed_operators(Climb(mixed), problem, resume)
    assert problem.false_claims(divided.hypothesis) == 0
    assert divided.hypothesis.coverage.uncovered == 0
    from_floor, from_door = sorted(
        (one.operator for one in divided.hypothesis.fitted), key=lambda one: len(one.add_effects)
    )
    assert {atom.predicate for atom in from_floor.preconditions} == {ON_FLOOR}
    assert {atom.predicate for atom in from_door.preconditions} == {PROPS, OPEN}
    assert keep_mixed_operators(Climb(mixed), problem, resume).hypothesis is mixed


def test_operators_without_false_claims_are_not_divided() -> None:
    problem = LearningProblem.of([WORLD.demonstrate(seed, 3) for seed in range(30)], partly_bound)
    climb = resume(Climb(problem.empty_hypothesis()), problem)
    assert problem.false_claims(climb.hypothesis) == 0
    assert divide_mixed_operators(climb, problem, resume) is climb


def test_growth_is_limited() -> None:
    problem = LearningProblem.of([WORLD.demonstrate(seed, 3) for seed in range(30)], partly_bound)
    hypothesis = resume(Climb(problem.empty_hypothesis()), problem).hypothesis
    limited = problem.with_limited_growth(len(hypothesis.fitted))
    assert limited.max_operators == 2 * (len(hypothesis.fitted) + 1)
    assert limited.fit(hypothesis.candidates, hypothesis).fitted == hypothesis.fitted
    with pytest.raises(TooManyOperators):
        replace(problem, max_operators=1).fit(hypothesis.candidates, hypothesis)
