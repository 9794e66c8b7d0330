"""Wrong atoms are repaired by the most likely values; clean demonstrations stay as they are."""

from __future__ import annotations

import itertools
import math
import operator
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kitchen_world
from carrying_world import A, B, C, D, carrying
from delivery_world import deliver
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE
from needful.core.objects import Type
from needful.operator_learning import wrong_atoms
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.wrong_atoms import ERROR_COST, MIN_REPAIRS, keep_atoms, repair_wrong_atoms
from needful.storage.demonstrations import read_demonstrations
from tiny_worlds import BLOCK, CLEAN, PREDICATES, PUSH, STACK, demonstrations

DATA = Path(__file__).parents[1] / "data"
NAMES = {predicate.name for predicate in PREDICATES}


def series_of(demos, changing=NAMES):
    changes = [
        tuple(before ^ after for before, after in itertools.pairwise(demo.abstract_states))
        for demo in demos
    ]
    atoms = [
        [atom for atom in frozenset().union(*demo.abstract_states) if atom.predicate.name in changing]
        for demo in demos
    ]
    return wrong_atoms._Series.of(demos, changes, atoms, NO_DEADLINE)


def forms_of(series, row):
    """Return the forms of the steps of one atom."""
    return series.forms[series.rows == row]


def values_of(series, values, row):
    """Return the values of one atom."""
    return np.split(values, np.cumsum(series.lengths + 1)[:-1])[row]


def cost_of(values, series, row, costs) -> float:
    """Return the cost of a sequence of values for one atom: of its steps and its detection errors."""
    forms = forms_of(series, row)
    steps = sum(
        costs[min(step, 1), forms[step], int(before), int(after)]
        for step, (before, after) in enumerate(itertools.pairwise(values))
    )
    recorded = values_of(series, series.recorded, row)
    return steps + sum(map(operator.ne, values, recorded)) * ERROR_COST


def allowed_sequences(series, row):
    """Yield all sequences of values of one atom; a goal atom holds at the end."""
    goal = series.atoms[row] in series.demonstrations[series.owners[row]].goal
    for values in itertools.product([False, True], repeat=series.lengths[row] + 1):
        if values[-1] or not goal:
            yield values


def assert_most_likely(series, costs):
    values = series.most_likely(costs)
    assert values.shape == series.recorded.shape
    for row in range(len(series.atoms)):
        found, recorded = (values_of(series, one, row) for one in (values, series.recorded))
        best = min(cost_of(one, series, row, costs) for one in allowed_sequences(series, row))
        assert cost_of(found, series, row, costs) == pytest.approx(best, abs=1e-6)
        assert tuple(found) in set(allowed_sequences(series, row))
        if cost_of(recorded, series, row, costs) <= best + 1e-12:
            assert found.tolist() == recorded.tolist(), "a tie keeps the recorded values"


@settings(max_examples=50, deadline=None)
@given(demos=st.lists(demonstrations(max_steps=4), min_size=1, max_size=2), seed=st.integers(0, 100))
def test_the_most_likely_values_are_the_best_of_all_sequences(demos, seed):
    series = series_of(demos)
    form_count = 1 + series.forms.max(initial=-1)
    shares = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), size=form_count).reshape(-1, 2, 2)
    shares = np.maximum(shares, 1e-9)
    later = shares / shares.sum(axis=2, keepdims=True)
    assert_most_likely(series, -np.log(np.stack((shares, later))))


@settings(max_examples=50, deadline=None)
@given(demos=st.lists(demonstrations(max_steps=3), min_size=1, max_size=3))
def test_costs_are_shares_of_steps_with_the_same_form(demos):
    """The form is the controller, the predicate, and the positions of the objects among the arguments."""
    series = series_of(demos)
    costs = wrong_atoms._step_costs(series, series.recorded)
    forms: dict = {}
    counts: dict = {}
    for owner, demo in enumerate(demos):
        rows = np.flatnonzero(series.owners == owner)
        assert {series.atoms[row] for row in rows} == set().union(*demo.abstract_states)
        for row in rows:
            atom = series.atoms[row]
            recorded = values_of(series, series.recorded, row)
            assert recorded.tolist() == [atom in state for state in demo.abstract_states]
            for number, transition in zip(forms_of(series, row), demo.transitions(), strict=True):
                arguments = transition.action.objects
                positions = tuple(
                    len(arguments) - 1 - arguments[::-1].index(obj) if obj in arguments else -1
                    for obj in atom.objects
                )
                form = (transition.action.controller.name, atom.predicate.name, positions)
                assert forms.setdefault(form, number) == number
                key = (number, atom in transition.before, atom in transition.after)
                counts[key] = counts.get(key, 0) + 1
    assert len(set(forms.values())) == len(forms)
    for form, before, after in itertools.product(forms.values(), (False, True), (False, True)):
        count = max(counts.get((form, before, after), 0) - 1, 0) + 0.5
        total = counts.get((form, before, False), 0) + counts.get((form, before, True), 0)
        every = sum(counts.get((form, *pair), 0) for pair in itertools.product((False, True), repeat=2))
        found = costs[:, form, int(before), int(after)]
        assert found[0] == pytest.approx(-math.log(count / max(every, 1)))
        assert found[1] == pytest.approx(-math.log(count / max(total, 1)))
    assert_most_likely(series, costs)


@settings(max_examples=50, deadline=None)
@given(demos=st.lists(demonstrations(max_steps=3), max_size=3))
def test_only_atoms_change(demos):
    repairs = repair_wrong_atoms(demos)
    for demo, repaired, count in zip(demos, repairs.demonstrations, repairs.counts, strict=True):
        assert replace(repaired, abstract_states=demo.abstract_states) == demo
        pairs = zip(demo.abstract_states, repaired.abstract_states, strict=True)
        assert sum(len(old ^ new) for old, new in pairs) == count
        assert (repaired is demo) == (count == 0)
        assert demo.goal <= repaired.abstract_states[-1]
    assert repairs.total == 0 or repairs.total >= MIN_REPAIRS


def kitchen() -> list[Demonstration]:
    items = [kind(kind.name) for kind in (kitchen_world.BOOK, kitchen_world.CUP, kitchen_world.TOY)]
    return [
        kitchen_world.putting(item, kind(kind.name), {item: items}, unlock=kind is kitchen_world.FRIDGE)
        for item in items
        for kind in (kitchen_world.BAG, kitchen_world.FRIDGE)
    ]


CLEAN_WORLDS = {
    "kitchen": kitchen,
    "carrying": lambda: [
        carrying(B, (A, B, C), (A, B)),
        carrying(A, (A,), (A, D)),
        carrying(C, (C, D), (C,)),
    ],
    "deliveries": lambda: [deliver(seed) for seed in range(20)],
    "cities": lambda: [deliver(seed, cities=3) for seed in range(20)],
    **{
        path.name: lambda path=path: read_demonstrations(path).demonstrations
        for path in sorted(
            (*DATA.glob("worlds/*_train.jsonl.gz"), *DATA.glob("independent_demos/*.jsonl.gz"))
        )
    },
}


@pytest.mark.parametrize("name", CLEAN_WORLDS)
def test_clean_demonstrations_are_the_same_objects(name):
    demos = CLEAN_WORLDS[name]()
    assert demos
    for repairs in (repair_wrong_atoms(demos), keep_atoms(demos)):
        assert all(map(lambda old, new: new is old, demos, repairs.demonstrations))
        assert repairs.counts == (0,) * len(demos)


def flipped(demos, seed: int, count: int) -> list[Demonstration]:
    """Return the demonstrations with one wrong atom in each of `count` demonstrations.

    The first and the last states stay correct: there, a wrong atom has only one neighbour.
    """
    rng = random.Random(seed)
    result = list(demos)
    for index in rng.sample(range(len(demos)), count):
        states = list(demos[index].abstract_states)
        step = rng.randrange(1, len(states) - 1)
        states[step] ^= {rng.choice(sorted(frozenset().union(*states)))}
        result[index] = replace(demos[index], abstract_states=tuple(states))
    return result


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [2, 5])
def test_single_wrong_atoms_are_repaired(seed, count):
    clean = [deliver(number) for number in range(40)]
    noisy = flipped(clean, seed, count)
    repairs = repair_wrong_atoms(noisy)
    assert list(repairs.demonstrations) == clean
    assert repairs.total == count
    assert all(new is old for old, new in zip(noisy, repairs.demonstrations, strict=True) if old in clean)
    learned = learn_operators(noisy)
    assert learned.operators == learn_operators(clean).operators
    assert learned.repairs == repairs


def cooking(seed: int) -> Demonstration:
    """Cook with two of five pans and wash them. The controllers do not name the pan in the hand."""
    rng = random.Random(seed)
    robot, pan = Type("robot"), Type("pan")
    held, washed = Predicate("Held", (pan,)), Predicate("Washed", (pan,))
    take, cook, wash = (
        Controller(name, (kind,)) for name, kind in (("Take", pan), ("Cook", robot), ("Wash", robot))
    )
    robby, pans = robot("robby"), [pan(f"pan{number}") for number in range(5)]
    everything = frozenset(map(washed, pans))
    states, actions = [everything], []
    for one in rng.sample(pans, 2):
        holding = everything | {held(one)}
        states += [holding, holding - {washed(one)}, holding]
        actions += [take(one), cook(robby), wash(robby)]
    return Demonstration((robby, *pans), states[-1], tuple(states), tuple(actions))


def with_dirty_pans(clean, steps: dict[int, int]) -> list[Demonstration]:
    """Report a pan that is never in the hand as dirty, in one state of each given demonstration."""
    noisy = list(clean)
    for index, step in steps.items():
        states = list(clean[index].abstract_states)
        used = {obj for action in clean[index].actions for obj in action.objects}
        states[step] -= {min(atom for atom in states[0] if not used & set(atom.objects))}
        noisy[index] = replace(clean[index], abstract_states=tuple(states))
    return noisy


def test_wrong_atoms_of_objects_that_no_action_names_are_repaired():
    """In one state of some demonstrations, a pan is reported as dirty although it was never in the hand.

    In state 0, the atom has no earlier value. In the states 2 and 5, the robot has just cooked with another
    pan, and washes it next.
    """
    clean = [cooking(number) for number in range(40)]
    noisy = with_dirty_pans(clean, {3: 0, 8: 0, 17: 2, 25: 5})
    assert repair_wrong_atoms(clean).total == 0
    assert list(repair_wrong_atoms(noisy).demonstrations) == clean
    # Demonstrations may list an object several times.
    twice = [replace(one, objects=(one.objects[0], *one.objects)) for one in noisy]
    expected = [replace(one, objects=(one.objects[0], *one.objects)) for one in clean]
    assert list(repair_wrong_atoms(twice).demonstrations) == expected


def test_wrong_atoms_of_predicates_that_change_often_are_repaired():
    """Cooking and washing often change `Washed`. Only the wrong atom of `Held` appears as a rare change."""
    clean = [cooking(number) for number in range(40)]
    noisy = with_dirty_pans(clean, {3: 2, 8: 5, 17: 2, 25: 5})
    states = list(clean[30].abstract_states)
    (held,) = (atom for atom in states[1] if atom.predicate.name == "Held")
    states[5] |= {held}
    noisy[30] = replace(clean[30], abstract_states=tuple(states))
    assert list(repair_wrong_atoms(noisy).demonstrations) == clean


def test_fewer_repairs_than_the_minimum_are_not_made():
    demos = flipped([deliver(number) for number in range(40)], seed=0, count=1)
    repairs = repair_wrong_atoms(demos)
    assert all(new is old for old, new in zip(demos, repairs.demonstrations, strict=True))


def test_a_tiny_share_of_odd_changes_is_no_noise():
    clean = [deliver(number) for number in range(40)]
    noisy = flipped(clean, seed=0, count=2)
    assert repair_wrong_atoms(noisy).total == 2
    assert repair_wrong_atoms([*noisy, *clean, *clean, *clean, *clean]).total == 0


def test_goal_atoms_stay():
    """Stacking b makes it dirty. Pushing a does not change that, except in a few last states."""
    a, b = BLOCK("a"), BLOCK("b")
    dirty, clean = frozenset({CLEAN(a)}), frozenset({CLEAN(a), CLEAN(b)})
    usual = Demonstration((a, b), dirty, (clean, *[dirty] * 5), (STACK(b, a), *[PUSH(a)] * 4))
    odd = replace(usual, abstract_states=(*usual.abstract_states[:-1], clean))
    assert repair_wrong_atoms([usual] * 100 + [odd] * 2).demonstrations == (usual,) * 102
    wanted = replace(odd, goal=frozenset({CLEAN(b)}))
    repairs = repair_wrong_atoms([usual] * 100 + [odd] * 2 + [wanted])
    assert repairs.counts[:-1] == (0,) * 100 + (1,) * 2, "the atom is an error elsewhere"
    assert CLEAN(b) in repairs.demonstrations[-1].abstract_states[-1]


def test_atoms_may_hold_in_last_states_only():
    """Before all actions, no object has any property that could predict the changes of b."""
    a, b = BLOCK("a"), BLOCK("b")
    empty = frozenset()
    usual = Demonstration((a, b), empty, (empty, empty, frozenset({CLEAN(b)})), (PUSH(a), PUSH(a)))
    rare = Demonstration((a, b), empty, (empty, frozenset({CLEAN(a)})), (STACK(a, b),))
    assert repair_wrong_atoms([usual] * 20 + [rare]).total == 0
