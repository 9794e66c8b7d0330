"""Evidence for proposals, bounds, and conjunctions, against direct calculation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from needful import (
    Controller,
    Demonstration,
    Expression,
    GroundAtom,
    GroundController,
    Object,
    Operator,
    Predicate,
    State,
    Type,
    Variable,
    abstract,
)
from needful.core.definitions import Conjunction, Definition, defined_predicate
from needful.core.operators import GroundedTransition, OperatorData
from needful.invention.proposals import (
    Proposal,
    Use,
    UseFeatures,
    enough_evidence,
    evidence_of,
    fit_bound,
    propose,
)
from needful.invention.revise import add_proposal, without_part
from needful.invention.scoring import DemonstrationAbstractor, Scorer
from needful.invention.search import not_weaker, true_uses
from needful.planning.planners import make_planner

BOX = Type("box", ("x", "y"))
FAR = Definition(Expression("difference", (BOX, BOX), (("x",), ("x",))), ">", 1.0)
HIGH = Definition(Expression("difference", (BOX, BOX), (("y",), ("y",))), ">", 2.0)


def test_evidence_is_the_improbability_of_a_separation_by_chance() -> None:
    rng = np.random.default_rng(0)
    true, false, excluded = 4, 3, 2
    labels = np.array([True] * true + [False] * false)
    extreme = [rng.permutation(labels)[:excluded] for _ in range(20_000)]
    chance = np.mean([not one.any() for one in extreme])
    assert 2.0 ** -evidence_of(true, false, excluded, 1.0, 0) == pytest.approx(chance, rel=0.1)
    assert evidence_of(true, false, excluded, 0.5, 3) == pytest.approx(-math.log2(chance) - 4, abs=0.2)


def test_a_bound_is_close_to_values_that_are_spread_out() -> None:
    values = np.linspace(0.0, 1.0, 11)
    assert 1.0 < fit_bound(values, 9.0) <= 1.2
    assert 1.0 < fit_bound(values, 1.01) < 1.01


def test_a_bound_is_halfway_if_all_values_are_equal() -> None:
    assert fit_bound(np.zeros(9), 1.0) == 0.5


def operator_with_uses(name: str, values: list[float]) -> tuple[Operator, UseFeatures]:
    box = BOX("box")
    uses = [Use(State({box: (value, 0.0)}), (box,)) for value in values]
    variable = Variable("?box", BOX)
    empty: frozenset = frozenset()
    operator = Operator(
        name, (variable,), empty, empty, empty, empty, Controller(name, (BOX,)), (variable,)
    )
    return operator, UseFeatures(uses)


@pytest.mark.parametrize(
    ("others", "shared"),
    [
        ([*np.linspace(0.0, 1.0, 19), 1.1], True),  # the other operator needs the condition, too
        ([*np.linspace(0.0, 1.0, 19), 3.0], False),  # nothing would be excluded any more
        ([0.5, 1.1], False),  # half of its uses do not fulfil the condition
    ],
)
def test_a_bound_includes_the_uses_of_operators_that_share_a_condition(
    others: list[float], shared: bool
) -> None:
    operator, true = operator_with_uses("Push", list(np.linspace(0.0, 1.0, 20)))
    _, false = operator_with_uses("Push", [1.05, *np.linspace(2.0, 2.5, 19)])
    known = [(operator, true), operator_with_uses("Pull", others)]
    x = Expression("feature", (BOX,), (("x",),))
    (found,) = propose([x], operator, true, false, known)
    assert found.definition.compare == "<="
    assert (found.definition.bound > 1.1) == shared
    assert (0 in found.which) != shared


def test_a_limit_of_evidence_leaves_out_the_proposals_below_it() -> None:
    rng = np.random.default_rng(0)
    x, y = (Expression("feature", (BOX,), ((name,),)) for name in "xy")
    counts = []
    for size in (2, 5, 20, 40):
        box = BOX("box")
        operator, _ = operator_with_uses("Push", [0.0])
        features = []
        for shift in (0.0, 3.0):  # x separates the uses, and y does not
            rows = np.column_stack([rng.random(size) + shift, rng.random(size)])
            features.append(UseFeatures([Use(State({box: tuple(row)}), (box,)) for row in rows]))
        everything = list(propose([x, y], operator, *features, [(operator, features[0])]))
        limit = enough_evidence([x, y])
        some = list(propose([x, y], operator, *features, [(operator, features[0])], limit))
        assert some == [one for one in everything if one.evidence > limit]
        assert {one.definition.expression for one in some} <= {x}
        counts.append((len(everything), len(some)))
    assert counts[0][1] == 0  # two uses of each kind prove nothing
    assert counts[-1][1] == 1
    assert any(all_of_them > some for all_of_them, some in counts[2:])  # y excludes a few uses by chance


def test_fewer_than_one_of_many_meaningless_expressions_has_enough_evidence() -> None:
    rng = np.random.default_rng(1)
    many = Type("many", tuple(f"f{number}" for number in range(100)))
    expressions = [Expression("feature", (many,), ((name,),)) for name in many.features]
    one, variable = many("one"), Variable("?one", many)
    empty: frozenset = frozenset()
    operator = Operator(
        "Push", (variable,), empty, empty, empty, empty, Controller("Push", (many,)), (variable,)
    )
    found = 0
    for _ in range(20):
        true, false = (
            UseFeatures([Use(State({one: tuple(rng.random(100))}), (one,)) for _ in range(10)])
            for _ in range(2)
        )
        limit = enough_evidence(expressions)
        found += len(list(propose(expressions, operator, true, false, (), limit)))
    assert found < 20


def test_a_second_bound_is_simpler_than_a_second_expression() -> None:
    proposal = Proposal(FAR, "Push", "Push", (0, 1), 12.0, (0,), 1.0)
    again = replace(proposal, reuses=True)
    assert (proposal.complexity, again.complexity) == (2 + FAR.expression.complexity, 2)
    assert again.value > proposal.value


def test_weaker_proposals_are_left_out() -> None:
    """The second one excludes a part of what the first one excludes, and is not simpler."""
    simple = Definition(Expression("feature", (BOX,), (("x",),)), ">", 1.0)
    strongest, weaker, other, simpler = (
        Proposal(definition, "Push", "Push", (0, 1), 1.0, which, 1.0, evidence)
        for definition, which, evidence in (
            (FAR, (0, 1, 2), 9.0),
            (HIGH, (0, 2), 8.0),
            (HIGH, (2, 3), 7.0),
            (simple, (0,), 6.0),
        )
    )
    assert list(not_weaker([weaker, strongest, other, simpler])) == [strongest, other, simpler]
    assert list(not_weaker([weaker])) == [weaker]
    assert list(not_weaker([])) == []


def test_a_demonstrated_use_counts_even_if_a_precondition_did_not_hold() -> None:
    """The bound of NEAR is too strict for the second demonstration, but the box was pushed there, too."""
    box, variable = BOX("box"), Variable("?box", BOX)
    near = defined_predicate(Definition(Expression("feature", (BOX,), (("x",),)), "<=", 1.0))
    pushed = Predicate("Pushed", (BOX,), lambda state, objects: state.get(objects[0], "y") > 0.5)
    push = Controller("Push", (BOX,))
    empty: frozenset = frozenset()
    operator = Operator(
        "Push",
        (variable,),
        frozenset({near.lifted(variable)}),
        frozenset({pushed.lifted(variable)}),
        empty,
        empty,
        push,
        (variable,),
    )

    def shown(x: float, before: float, after: float) -> Demonstration:
        states = tuple(State({box: (x, y)}) for y in (before, after))
        abstract_states = tuple(abstract(state, [near, pushed]) for state in states)
        return Demonstration((box,), empty, abstract_states, (GroundController(push, (box,), ()),), states)

    # The box is pushed twice, it stays where it is, and it had been pushed before.
    demonstrations = [
        shown(0.5, 0.0, 1.0),
        shown(1.5, 0.0, 1.0),
        shown(0.5, 0.0, 0.0),
        shown(0.5, 1.0, 1.0),
    ]
    data = OperatorData(operator, (GroundedTransition(0, 0, (box,)),))
    uses = true_uses(data, range(4), demonstrations)
    assert [use.state.get(box, "x") for use in uses] == [0.5, 1.5]
    assert len(true_uses(data, [0], demonstrations)) == 1


def test_demonstrated_uses_need_the_given_preconditions_and_distinct_objects() -> None:
    """Predicates of files have no classifiers: their atoms are those of the demonstrations."""
    a, b = BOX("a"), BOX("b")
    first, second = Variable("?a", BOX), Variable("?b", BOX)
    dry, touching = Predicate("Dry", (BOX,)), Predicate("Touching", (BOX, BOX))
    rub = Controller("Rub", (BOX, BOX))
    empty: frozenset = frozenset()
    operator = Operator(
        "Rub",
        (first, second),
        frozenset({dry.lifted(first)}),
        frozenset({touching.lifted(first, second)}),
        empty,
        empty,
        rub,
        (first, second),
    )
    state = State({a: (0.0, 0.0), b: (0.0, 0.0)})

    def shown(objects: tuple[Object, Object], atoms: set[GroundAtom]) -> Demonstration:
        states = frozenset(atoms), frozenset({touching(*objects)})
        return Demonstration((a, b), empty, states, (GroundController(rub, objects, ()),), (state, state))

    demonstrations = [shown((a, b), {dry(a)}), shown((a, b), set()), shown((a, a), {dry(a)})]
    uses = true_uses(OperatorData(operator, ()), range(3), demonstrations)
    assert uses == [Use(state, (a, b))]


def test_without_expressions_no_evidence_is_needed() -> None:
    assert enough_evidence([]) == 0.0


def test_proposals_join_a_predicate_whose_bound_has_moved() -> None:
    """An operator needs FAR; its bound moves, and two proposals are added for the same boxes."""
    a, b = Variable("?a", BOX), Variable("?b", BOX)
    far = defined_predicate(FAR)
    empty: frozenset = frozenset()
    push = Controller("Push", (BOX, BOX))
    operator = Operator("Push", (a, b), frozenset({far.lifted(a, b)}), empty, empty, empty, push, (a, b))
    near = Definition(Expression("distance", (BOX, BOX), (("x", "y"), ("x", "y"))), "<=", 5.0)
    boxes = BOX("a"), BOX("b")
    states = [State({boxes[0]: (x, y), boxes[1]: (0.0, 0.0)}) for x, y in ((9.0, 9.0), (0.0, 0.0))]
    shown = Demonstration(boxes, empty, (empty,) * 2, (GroundController(push, boxes, ()),), tuple(states))
    scorer = Scorer(DemonstrationAbstractor([shown]), (), (), make_planner("paper"), 1)
    predicates = (defined_predicate(Definition(FAR.expression, ">", 2.5)),)
    for new in (HIGH, near):
        proposal = Proposal(new, "Push", "Push", (0, 1), 1.0, (0,), 1.0)
        predicates = add_proposal(predicates, proposal, scorer, operator)
    (joined,) = predicates
    assert {part.without_bound for part, _ in joined.definition.parts} == {
        one.without_bound for one in (FAR, HIGH, near)
    }


@pytest.mark.parametrize(
    ("needed", "usual", "bounds"),
    [
        (True, True, [9.0]),  # the operator needs the predicate, so its bound moves
        (False, True, [5.0, 9.0]),  # another operator needs the bound 5, so there is a second predicate
        (True, False, [5.0, 9.0]),
        (False, False, [9.0]),
    ],
)
def test_operators_can_have_different_bounds_of_an_expression(
    needed: bool, usual: bool, bounds: list[float]
) -> None:
    low, high = (Definition(Expression("feature", (BOX,), (("x",),)), "<=", bound) for bound in (5.0, 9.0))
    predicate, box = defined_predicate(low), Variable("?box", BOX)
    needs = frozenset({predicate.lifted(box)} if needed else ())
    empty: frozenset = frozenset()
    operator = Operator("Push", (box,), needs, empty, empty, empty, Controller("Push", (BOX,)), (box,))
    scorer = Scorer(DemonstrationAbstractor([]), (), (), make_planner("paper"), 1)
    proposal = Proposal(high, "Push", "Push", (0,), 1.0, (0,), 1.0)
    found = add_proposal((predicate,), proposal, scorer, operator, usual)
    assert [one.definition.bound for one in found] == bounds


def test_a_part_of_a_conjunction_can_be_left_out() -> None:
    both = defined_predicate(Conjunction((BOX, BOX), ((FAR, (0, 1)), (HIGH, (1, 0)))))
    (left,) = without_part([both], FAR)
    assert left.definition == HIGH
    assert without_part([left], HIGH) == ()
    assert without_part([left], FAR) == (left,)
