"""Random tiny worlds for property tests: about three objects, four predicates, two controllers."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard

THING = Type("thing")
BLOCK = Type("block", parent=THING)
BALL = Type("ball", parent=THING)

RAIN = Predicate("Rain", ())
CLEAN = Predicate("Clean", (THING,))
ROUND = Predicate("Round", (BALL,))
ON = Predicate("On", (THING, THING))
PREDICATES = (RAIN, CLEAN, ROUND, ON)

PUSH = Controller("Push", (THING,))
STACK = Controller("Stack", (THING, THING))
CONTROLLERS = (PUSH, STACK)


def all_ground_atoms(objects: tuple[Object, ...]) -> list[GroundAtom]:
    return [
        GroundAtom(predicate, arguments)
        for predicate in PREDICATES
        for arguments in itertools.product(objects, repeat=len(predicate.types))
        if all(o.type.is_subtype_of(kind) for o, kind in zip(arguments, predicate.types, strict=True))
    ]


def all_lifted_atoms(variables: tuple[Variable, ...]) -> list[LiftedAtom]:
    return [
        LiftedAtom(predicate, arguments)
        for predicate in PREDICATES
        for arguments in itertools.product(variables, repeat=len(predicate.types))
        if all(v.type.is_subtype_of(kind) for v, kind in zip(arguments, predicate.types, strict=True))
    ]


def all_patterns(variables: tuple[Variable, ...]) -> list[DeletePattern]:
    choices = (*variables, Wildcard(THING), Wildcard(BLOCK), Wildcard(BALL))
    return [
        DeletePattern(predicate, arguments)
        for predicate in PREDICATES
        for arguments in itertools.product(choices, repeat=len(predicate.types))
        if all(a.type.is_subtype_of(kind) for a, kind in zip(arguments, predicate.types, strict=True))
    ]


object_tuples = st.lists(st.sampled_from([THING, BLOCK, BALL]), min_size=2, max_size=4).map(
    lambda kinds: tuple(Object(f"o{index}", kind) for index, kind in enumerate(kinds))
)


@st.composite
def demonstrations(draw: st.DrawFn, max_steps: int = 3) -> Demonstration:
    """Draw a demonstration with arbitrary states, which no real domain would produce."""
    objects = draw(object_tuples)
    atoms = all_ground_atoms(objects)
    states = [
        frozenset(draw(st.sets(st.sampled_from(atoms), max_size=6)))
        for _ in range(draw(st.integers(1, max_steps)) + 1)
    ]
    states[-1] |= {draw(st.sampled_from(atoms))}
    goal = frozenset(draw(st.sets(st.sampled_from(sorted(states[-1])), min_size=1, max_size=2)))
    actions = []
    for _ in states[1:]:
        controller = draw(st.sampled_from(CONTROLLERS))
        arguments = draw(st.permutations(objects))[: len(controller.types)]
        actions.append(controller(*arguments))
    return Demonstration(objects, goal, tuple(states), tuple(actions))


@st.composite
def operators(draw: st.DrawFn, stripped: bool = False, negative: bool = False) -> Operator:
    """Draw an operator with up to three parameters; a stripped one has only add and keep effects.

    With `negative`, it can have negative preconditions, which learning never produces.
    """
    controller = draw(st.sampled_from(CONTROLLERS))
    count = draw(st.integers(len(controller.types), 3))
    kinds = [draw(st.sampled_from([THING, BLOCK, BALL])) for _ in range(count)]
    variables = tuple(Variable(f"?x{index}", kind) for index, kind in enumerate(kinds))
    atoms = st.sampled_from(all_lifted_atoms(variables))
    adds = frozenset(draw(st.sets(atoms, max_size=2)))
    keeps = frozenset(draw(st.sets(st.sampled_from(sorted(adds)), max_size=1))) if adds else frozenset()
    needs = keeps if stripped else keeps | draw(st.frozensets(atoms, max_size=2))
    return Operator(
        "op",
        variables,
        needs,
        adds,
        frozenset() if stripped else draw(st.frozensets(atoms, max_size=2)),
        frozenset()
        if stripped
        else draw(st.frozensets(st.sampled_from(all_patterns(variables)), max_size=2)),
        controller,
        variables[: len(controller.types)],
        draw(st.frozensets(atoms, max_size=2)) - needs if negative else frozenset(),
    )
