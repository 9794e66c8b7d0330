"""Encoded demonstrations are equivalent to the demonstrations themselves."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_learning
from needful.core.demonstrations import Demonstration
from needful.operator_learning.encoding import TransitionIndex, encode_demonstrations, ignore_transitions
from tiny_worlds import BLOCK, CLEAN, PUSH, demonstrations

few_demonstrations = st.lists(demonstrations(), min_size=1, max_size=3)


@settings(max_examples=100, deadline=None)
@given(demos=few_demonstrations)
def test_decoding_restores_the_demonstration(demos):
    for index, (demo, encoded) in enumerate(zip(demos, encode_demonstrations(demos), strict=True)):
        decode = encoded.table.decode
        assert decode(encoded.goal) == demo.goal
        for step, (plain, fast) in enumerate(zip(demo.transitions(), encoded.transitions, strict=True)):
            assert (decode(fast.before), decode(fast.after)) == (plain.before, plain.after)
            assert (decode(fast.added), decode(fast.deleted)) == (plain.added, plain.deleted)
            assert fast.controller == plain.action.controller
            assert tuple(encoded.table.objects[n] for n in fast.arguments) == plain.action.objects
            assert fast.transition_id == (index, step)


@settings(max_examples=50, deadline=None)
@given(demos=few_demonstrations)
def test_transitions_are_found_by_number_and_by_controller(demos):
    encoded = encode_demonstrations(demos)
    index = TransitionIndex.of(encoded)
    assert list(index.by_number) == [one for demo in encoded for one in demo.transitions]
    assert [one.number for one in index.by_number] == list(range(len(index.by_number)))
    for name, transitions in index.by_controller.items():
        assert transitions == [one for one in index.by_number if one.controller.name == name]
    assert sum(map(len, index.by_controller.values())) == len(index.by_number)


@settings(max_examples=100, deadline=None)
@given(demos=few_demonstrations)
def test_skippable_idle_redone_and_incidental_steps_by_definition(demos):
    skippable = brute_force_learning.adding_controllers(demos)
    incidental = brute_force_learning.incidental_controllers(demos)
    for demo, encoded in zip(demos, encode_demonstrations(demos, skip_idle_steps=True), strict=True):
        for step, fast in enumerate(encoded.transitions):
            assert fast.skippable == (fast.controller.name in skippable)
            assert fast.idle == (fast.skippable and brute_force_learning.is_idle(demo, step))
            assert fast.redone == brute_force_learning.is_redone(demo, step, skippable)
            assert fast.incidental == (fast.controller.name in incidental)
    for encoded in encode_demonstrations(demos):
        for fast in encoded.transitions:
            flags = (fast.skippable, fast.idle, fast.ignored, fast.redone, fast.incidental)
            assert not any(flags)


@settings(max_examples=50, deadline=None)
@given(demos=few_demonstrations, data=st.data())
def test_outliers_and_repeated_steps_are_not_learned_from(demos, data):
    everything = [(index, step) for index, demo in enumerate(demos) for step in range(len(demo))]
    outliers = data.draw(st.frozensets(st.sampled_from(everything)))
    encoded = ignore_transitions(encode_demonstrations(demos, True), outliers)
    index = TransitionIndex.of(encoded)
    skippable = brute_force_learning.adding_controllers(demos)
    repeated = {
        (number, step)
        for number, step in everything
        if brute_force_learning.is_ignored(demos[number], step, skippable)
    }
    assert {one.transition_id for one in index.by_number if one.ignored} == outliers | repeated
    unchanged = {one.transition_id for one in index.by_number if one.idle and one.before == one.after}
    to_learn_from = [one.transition_id for some in index.by_controller.values() for one in some]
    assert sorted(to_learn_from) == sorted(set(everything) - outliers - unchanged)


def test_a_wrong_atom_does_not_make_a_controller_skippable():
    """The controller adds nothing but one wrong atom, in one of five uses."""
    block = BLOCK("a")
    nothing = Demonstration((block,), frozenset(), (frozenset(), frozenset()), (PUSH(block),))
    wrong = Demonstration((block,), frozenset(), (frozenset(), frozenset({CLEAN(block)})), (PUSH(block),))
    for demos, expected in (([wrong, *[nothing] * 3], True), ([wrong, *[nothing] * 4], False)):
        encoded = encode_demonstrations(demos, skip_idle_steps=True)
        assert {one.skippable for demo in encoded for one in demo.transitions} == {expected}
