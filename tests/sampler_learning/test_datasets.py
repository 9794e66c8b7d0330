"""Positive and negative examples for sampler learning."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pushing_world import PUSH, PUSHED, PUSHING, ROBOT, SEEN, THING, R, demonstrations, operator_data

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import GroundedTransition, Operator, OperatorData
from needful.core.state import State
from needful.sampler_learning import datasets
from needful.sampler_learning.datasets import SamplerExamples, sampler_examples
from needful.sampler_learning.sampling import input_vector

Row = tuple[float, ...]


def rows(inputs: np.ndarray, parameters: np.ndarray) -> list[Row]:
    return [tuple(row) for row in np.hstack([inputs, parameters]).tolist()]


def all_negatives(
    own: OperatorData, data: tuple[OperatorData, ...], demos: tuple[Demonstration, ...]
) -> list[Row]:
    """Return all negative examples, by brute force from their definition."""
    operator = own.operator
    found = []
    for other in data:
        if other.operator.controller != operator.controller:
            continue
        for use in other.groundings:
            transition = list(demos[use.demonstration].transitions())[use.step]
            assert transition.state is not None
            objects = demos[use.demonstration].objects
            for grounding in itertools.permutations(objects, len(operator.parameters)):
                if any(
                    not o.type.is_subtype_of(v.type)
                    for o, v in zip(grounding, operator.parameters, strict=True)
                ):
                    continue
                if other is own and grounding == use.objects:
                    continue
                ground = operator.ground(grounding)
                kept = ground.preconditions & ground.add_effects
                changed = ground.add_effects - kept <= transition.added and kept <= transition.after
                if changed and not ground.delete_effects & transition.after:
                    continue
                vector = input_vector(operator, transition.state, grounding)
                found.append((*vector.tolist(), *transition.action.parameters))
    return found


def only(
    data: tuple[OperatorData, ...], demos: tuple[Demonstration, ...], name: str, seed: int = 0
) -> SamplerExamples:
    (found,) = (e for e in sampler_examples(data, demos, seed) if e.operator.name == name)
    return found


def test_positives_are_the_operators_own_transitions() -> None:
    demos = demonstrations(4)
    examples = only(operator_data(demos), demos, "Push")
    for demo, vector, theta in zip(demos, examples.inputs, examples.parameters, strict=True):
        assert demo.states is not None
        assert vector.tolist() == input_vector(PUSHING, demo.states[1], demo.actions[1].objects).tolist()
        assert tuple(theta) == demo.actions[1].parameters


def test_only_operators_with_parameters_and_states_have_examples() -> None:
    demos = demonstrations(2)
    data = operator_data(demos)
    assert [e.operator.name for e in sampler_examples(data, demos, 0)] == ["Push", "Wave"]
    stateless = tuple(replace(demo, states=None) for demo in demos)
    assert sampler_examples(data, stateless, 0) == ()
    assert len(only(data, (demos[0], stateless[1]), "Push").inputs) == 1


def split_pushes(demos: tuple[Demonstration, ...], chosen: list[bool]) -> tuple[OperatorData, ...]:
    """Return two operators of one controller with different effects, and their transitions."""
    second = Variable("?s", THING)
    other = Operator(
        "Shove",
        (R, *PUSHING.parameters[1:], second),
        frozenset(),
        frozenset({PUSHED.lifted(second)}),
        frozenset(),
        frozenset(),
        PUSH,
        PUSHING.parameters,
    )
    first, rest = [], []
    for index, demo in enumerate(demos):
        robot, target = demo.actions[1].objects
        if chosen[index]:
            first.append(GroundedTransition(index, 1, (robot, target)))
        else:
            spare = next(o for o in demo.objects if o.type == THING and o != target)
            rest.append(GroundedTransition(index, 1, (robot, target, spare)))
    return OperatorData(PUSHING, tuple(first)), OperatorData(other, tuple(rest))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=8), st.integers(0, 10))
def test_negatives_are_as_many_as_positives_and_match_the_definition(chosen: list[bool], seed: int) -> None:
    demos = demonstrations(len(chosen), seed)
    data = split_pushes(demos, chosen)
    for own in data:
        if not own.groundings:
            continue
        examples = only(data, demos, own.operator.name, seed)
        negatives = rows(examples.negative_inputs, examples.negative_parameters)
        expected = all_negatives(own, data, demos)
        assert len(set(negatives)) == len(negatives) == min(len(own.groundings), len(expected))
        assert set(negatives) <= set(expected)


def test_every_negative_is_chosen_by_some_seed() -> None:
    demos = demonstrations(3)
    data = split_pushes(demos, [True, True, False])
    seen: set[Row] = set()
    for seed in range(40):
        examples = only(data, demos, "Push", seed)
        seen |= set(rows(examples.negative_inputs, examples.negative_parameters))
    assert seen == set(all_negatives(data[0], data, demos))


def test_a_transition_that_the_operator_explains_is_no_negative() -> None:
    demos = demonstrations(2)
    # The second push belongs to another operator, but Push explains it too: E+ was added.
    twin = replace(PUSHING, name="Twin")
    data = (
        OperatorData(PUSHING, (GroundedTransition(0, 1, demos[0].actions[1].objects),)),
        OperatorData(twin, (GroundedTransition(1, 1, demos[1].actions[1].objects),)),
    )
    explained = input_vector(PUSHING, demos[1].states[1], demos[1].actions[1].objects)  # type: ignore[index]
    for seed in range(20):
        negative = only(data, demos, "Push", seed).negative_inputs
        assert len(negative) == 1
        assert negative[0].tolist() != explained.tolist()


def test_kept_effects_need_not_be_added_and_deleted_effects_need_not_hold_before() -> None:
    """Swapping two things that are both pushed already changes no atom, so it is no negative example."""
    demos = demonstrations(3)
    first, second = Variable("?k0", THING), Variable("?k1", THING)
    kept = frozenset({PUSHED.lifted(first), PUSHED.lifted(second)})
    with_keep_effects = replace(
        PUSHING,
        parameters=(*PUSHING.parameters, first, second),
        preconditions=kept,
        add_effects=PUSHING.add_effects | kept,
        delete_effects=frozenset({SEEN.lifted(PUSHING.parameters[0])}),
    )
    demo = demos[0]
    robot, target = demo.actions[1].objects
    others = tuple(o for o in demo.objects if o.type == THING and o != target)
    pushed = frozenset(PUSHED(other) for other in others)
    # Both other things are pushed before and after; the robot is not seen before.
    atoms = tuple((state | pushed) - {SEEN(robot)} for state in demo.abstract_states)
    changed = replace(demo, abstract_states=atoms, goal=demo.goal - {SEEN(robot)})
    data = (OperatorData(with_keep_effects, (GroundedTransition(0, 1, (robot, target, *others)),)),)
    swapped = input_vector(with_keep_effects, changed.states[1], (robot, target, *reversed(others)))  # type: ignore[index]
    for seed in range(20):
        (examples,) = sampler_examples(data, (changed,), seed)
        assert swapped.tolist() not in examples.negative_inputs.tolist()


def test_operators_may_have_no_negatives() -> None:
    demos = demonstrations(2)
    examples = only(operator_data(demos), demos, "Wave")
    assert examples.negative_inputs.shape == (0, 2)
    assert examples.negative_parameters.shape == (0, 1)


@pytest.mark.parametrize("arity", [5, 20])
def test_many_groundings_are_not_enumerated(arity: int) -> None:
    robot, things = ROBOT("robby"), [THING(f"thing{i}") for i in range(30)]
    state = State({robot: (0.0,)} | {thing: (float(i), 0.0) for i, thing in enumerate(things)})
    parameters = (R, *(Variable(f"?t{i}", THING) for i in range(arity)))
    operator = replace(
        PUSHING,
        parameters=parameters,
        add_effects=frozenset({PUSHED.lifted(parameters[1])}),
        controller_arguments=parameters[:2],
    )
    action = PUSH(robot, things[0], parameters=(0.0, 2.5))
    added = frozenset({PUSHED(things[0])})
    demo = Demonstration((robot, *things), added, (frozenset(), added), (action,), (state, state))
    own = OperatorData(operator, (GroundedTransition(0, 0, (robot, *things[:arity])),) * 50)
    examples = only((own,), (demo,), "Push")
    assert examples.negative_inputs.shape == (50, 2 + 2 * arity)
    positions = examples.negative_inputs[:, 2::2]
    assert all(len(set(row)) == arity for row in positions.tolist())
    # Pushed(thing0) was added, so no negative example may have thing0 as its first thing.
    assert not np.any(positions[:, 0] == 0.0)
    assert len(set(map(tuple, positions.tolist()))) == 50


def test_candidates_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_CANDIDATES", 5)
    demos = demonstrations(20)
    examples = only(operator_data(demos), demos, "Push")
    assert 0 < len(examples.negative_inputs) <= 5


def test_examples_depend_on_the_seed_alone() -> None:
    demos = demonstrations(10)
    data = operator_data(demos)
    same = [only(data, demos, "Push", 1).negative_inputs.tobytes() for _ in range(2)]
    assert same[0] == same[1]
    assert same[0] != only(data, demos, "Push", 2).negative_inputs.tobytes()
    assert same[0] == only(data[1:], demos, "Push", 1).negative_inputs.tobytes()
