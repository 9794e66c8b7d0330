"""Definitions of predicates: values against scalar arithmetic, quantifiers, negation, validation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from needful import InvalidInputError, Object, State, Type, UnknownNameError, abstract
from needful.core.definitions import Conjunction, Definition, defined_predicate, true_tuples
from needful.core.expressions import KINDS, Expression
from needful.core.state import feature_array

THING = Type("thing", ("x", "y", "theta", "id"))
ROBOT = Type("robot", ("x", "y", "theta", "id", "battery"), THING)
PLACE = Type("place", ("x", "y", "id"))

PAIR = (("x", "y"), ("x", "y"))
EXPRESSIONS = [
    Expression("feature", (THING,), (("id",),)),
    Expression("difference", (THING, PLACE), (("x",), ("x",))),
    Expression("absolute difference", (THING, THING), (("id",), ("id",))),
    Expression("distance", (THING, PLACE), PAIR),
    Expression("distance", (ROBOT, THING), PAIR),
    Expression("bearing", (ROBOT, PLACE), (("x", "y", "theta"), ("x", "y"))),
    Expression("line distance", (ROBOT, PLACE, THING), (*PAIR, ("x", "y"))),
    Expression("segment distance", (ROBOT, PLACE, THING), (*PAIR, ("x", "y"))),
    Expression("segment distance", (THING, THING, ROBOT), (*PAIR, ("x", "y"))),
]
QUANTIFIED = [
    Expression(one.kind, one.types, one.features, quantifier)
    for one in (*EXPRESSIONS, Expression("distance", (THING, ROBOT), PAIR))
    for quantifier in ("min", "max")
]


def sample_state(seed: int, robots: int = 2) -> State:
    rng = np.random.default_rng(seed)
    objects = [ROBOT(f"r{i}") for i in range(robots)]
    objects += [THING("t0"), THING("t1"), PLACE("p0"), PLACE("p1")]
    return State({obj: rng.integers(-4, 5, len(obj.type.features)).tolist() for obj in objects})


def scalar(kind: str, a: list[float], b: list[float], *rest: list[float]) -> float:
    """Return the value of an expression by plain arithmetic; distances from lines by ternary search."""
    if kind == "feature":
        return a[0]
    if kind == "difference":
        return a[0] - b[0]
    if kind == "absolute difference":
        return abs(a[0] - b[0])
    if kind == "distance":
        return math.dist(a, b)
    if rest:
        reach = 1e4 if kind == "line distance" else 0.0

        def distance(share: float) -> float:
            return math.dist(rest[0], [p + share * (q - p) for p, q in zip(a, b, strict=True)])

        low, high = -reach, 1.0 + reach
        for _ in range(200):
            third = (high - low) / 3
            if distance(low + third) < distance(high - third):
                high -= third
            else:
                low += third
        return distance(low)
    turn = (math.atan2(b[1] - a[1], b[0] - a[0]) - a[2]) % (2 * math.pi)
    return min(turn, 2 * math.pi - turn)


def expected(expression: Expression, state: State, objects: tuple[Object, ...]) -> float:
    """Return the value of an expression for a tuple of objects by brute force."""
    if len(set(objects)) < len(objects):
        return math.nan
    if expression.quantifier is not None:
        inner = Expression(expression.kind, expression.types, expression.features)
        others = [one for one in state.of_type(expression.types[-1]) if one not in objects]
        values = [expected(inner, state, (*objects, other)) for other in others]
        reduce = min if expression.quantifier == "min" else max
        return reduce(values, default=math.inf if reduce is min else -math.inf)
    chosen = [
        [state.get(obj, name) for name in names]
        for obj, names in zip(objects, expression.features, strict=True)
    ]
    return scalar(expression.kind, chosen[0], *(chosen[1:] or chosen))


@pytest.mark.parametrize("expression", [*EXPRESSIONS, *QUANTIFIED], ids=str)
@pytest.mark.parametrize("robots", [0, 1, 2])
def test_values_equal_brute_force(expression: Expression, robots: int) -> None:
    states = [sample_state(seed, robots) for seed in range(4)]
    features = {kind: feature_array(states, kind) for kind in expression.types}
    values = expression.values(states, features)
    for row, state in zip(values, states, strict=True):
        domains = [state.of_type(kind) for kind in expression.arguments]
        assert row.shape == tuple(map(len, domains))
        for index in np.ndindex(row.shape):
            objects = tuple(domain[i] for domain, i in zip(domains, index, strict=True))
            wanted = expected(expression, state, objects)
            assert row[index] == pytest.approx(wanted, abs=1e-6, nan_ok=True)
            assert expression.value(state, objects) == pytest.approx(wanted, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("expression", [*EXPRESSIONS, *QUANTIFIED], ids=str)
def test_a_definition_and_its_negation_divide_the_tuples_of_distinct_objects(
    expression: Expression,
) -> None:
    state = sample_state(7)
    definition = Definition(expression, "<=", 1.25)
    found = [set(true_tuples(one, state)) for one in (definition, definition.negation)]
    domains = (state.of_type(kind) for kind in expression.arguments)
    distinct = {one for one in itertools.product(*domains) if len(set(one)) == len(one)}
    assert found[0].isdisjoint(found[1])
    assert found[0] | found[1] == distinct
    assert definition.negation.negation == definition


@pytest.mark.parametrize("compare", ["<=", ">"])
def test_a_defined_predicate_abstracts_states(compare: str) -> None:
    state = sample_state(3)
    for expression in (*EXPRESSIONS, *QUANTIFIED):
        predicate = defined_predicate(Definition(expression, compare, 2.0), "p")
        domains = (state.of_type(kind) for kind in predicate.types)
        single = {one for one in itertools.product(*domains) if predicate.holds(state, one)}
        assert {atom.objects for atom in abstract(state, [predicate])} == single


TRIPLE = (*PAIR, ("x", "y"))
ID = (("id",),)
SAME_X = (("x",), ("x",))
POSE = (("x", "y", "id"), ("x", "y"))


@pytest.mark.parametrize(
    ("expression", "compare", "sentence"),
    [
        (Expression("feature", (THING,), ID), ">", "id of the thing is more than 1"),
        (Expression("feature", (THING,), ID, "max"), "<=", "id of every thing is at most 1"),
        (Expression("feature", (THING,), ID, "max"), ">", "id of some thing is more than 1"),
        (
            Expression("absolute difference", (ROBOT, PLACE), SAME_X),
            "<=",
            "x of the robot and x of the place differ by at most 1",
        ),
        (
            Expression("distance", (ROBOT, PLACE), PAIR),
            "<=",
            "the distance from (x, y) of the robot to (x, y) of the place is at most 1",
        ),
        (
            Expression("distance", (THING, THING), PAIR, "min"),
            ">",
            "the distance from (x, y) of the thing to (x, y) of every other thing is more than 1",
        ),
        (
            Expression("bearing", (THING, PLACE), POSE),
            "<=",
            "id of the thing is within 1 rad of the direction to the place",
        ),
        (
            Expression("line distance", (ROBOT, PLACE, THING), TRIPLE, "min"),
            ">",
            "every thing is more than 1 away from the infinite line through the robot and the place",
        ),
        (
            Expression("segment distance", (THING, THING, THING), TRIPLE, "min"),
            "<=",
            "some other thing is within 1 of the segment between the first thing and the second thing",
        ),
        (
            Expression("gap: abs(a.x - b.x) - 1", (THING, PLACE), SAME_X),
            ">",
            "gap of the thing and the place is more than 1",
        ),
    ],
)
def test_sentences(expression: Expression, compare: str, sentence: str) -> None:
    assert Definition(expression, compare, 1.0).sentence == sentence


@pytest.mark.parametrize(
    ("make", "expected_text"),
    [
        (lambda: Expression("code", (THING,), (("x",),)), "Unknown kind of expression 'code'"),
        (lambda: Expression("feature", (THING,), (("z",),)), "Unknown feature of thing 'z'"),
        (lambda: Expression("feature", (THING,), ((),)), "takes (1,) features"),
        (lambda: Expression("feature", (THING, THING), (("x",), ("x",))), "takes 1 objects"),
        (lambda: Expression("distance", (THING, PLACE), (("x", "y"), ("x",))), "takes (2, 2) or (3, 3)"),
        (lambda: Expression("bearing", (THING, PLACE), PAIR), "takes (3, 2) features"),
        (lambda: Expression("feature", (THING,), (("x",),), "sum"), "Unknown quantifier 'sum'"),
        (lambda: Definition(EXPRESSIONS[0], "==", 1.0), "Unknown comparison '=='"),
        (lambda: Definition(EXPRESSIONS[0], "<=", math.nan), "must be finite"),
        (lambda: Definition(EXPRESSIONS[0], "<=", math.inf), "must be finite"),
    ],
)
def test_invalid_definitions_are_rejected(make, expected_text: str) -> None:
    with pytest.raises((InvalidInputError, UnknownNameError)) as raised:
        make()
    assert expected_text in str(raised.value)


NEAR = Definition(Expression("distance", (THING, PLACE), PAIR), "<=", 6.0)
RIGHT = Definition(Expression("difference", (PLACE, THING), (("x",), ("x",))), ">", 0.0)
LARGE = Definition(Expression("feature", (PLACE,), (("id",),)), ">", -3.0)
BOTH = Conjunction((THING, PLACE), ((NEAR, (0, 1)), (RIGHT, (1, 0)), (LARGE, (1,))))


def test_a_conjunction_holds_where_all_parts_hold() -> None:
    found = 0
    for seed in range(8):
        state = sample_state(seed)
        predicate = defined_predicate(BOTH, "both")
        wanted = {
            (a, b)
            for a, b in itertools.product(state.of_type(THING), state.of_type(PLACE))
            if NEAR.holds(state, (a, b)) and RIGHT.holds(state, (b, a)) and LARGE.holds(state, (b,))
        }
        assert {atom.objects for atom in abstract(state, [predicate])} == wanted
        assert all(
            predicate.holds(state, pair) == (pair in wanted)
            for pair in itertools.product(state.of_type(THING), state.of_type(PLACE))
        )
        found += len(wanted)
    assert found > 0


def test_the_sentence_of_a_conjunction_names_the_same_objects_in_all_parts() -> None:
    apart = Definition(Expression("difference", (THING, THING), (("x",), ("x",))), ">", 1.0)
    other = Definition(Expression("difference", (THING, THING), (("y",), ("y",))), ">", 2.0)
    assert Conjunction((THING, THING), ((apart, (0, 1)), (other, (1, 0)))).sentence == (
        "x of the first thing minus x of the second thing is more than 1, and y of the second thing minus "
        "y of the first thing is more than 2"
    )


def test_the_sentence_of_three_parts_numbers_them() -> None:
    assert BOTH.sentence == (
        "(1) the distance from (x, y) of the thing to (x, y) of the place is at most 6, (2) x of the place "
        "minus x of the thing is more than 0, and (3) id of the place is more than -3"
    )


@pytest.mark.parametrize(
    ("parts", "expected_text"),
    [
        (((NEAR, (0, 1)),), "at least two parts"),
        (((NEAR, (0, 1)), (RIGHT, (0, 1))), "does not fit the arguments"),
        (((NEAR, (0, 1)), (RIGHT, (1, 2))), "are not those of the arguments"),
    ],
)
def test_invalid_conjunctions_are_rejected(parts, expected_text: str) -> None:
    with pytest.raises(InvalidInputError, match=expected_text):
        Conjunction((THING, PLACE), parts)


def test_every_kind_is_tested() -> None:
    assert {one.kind for one in EXPRESSIONS} == set(KINDS)
