"""Negative preconditions are learned where there is evidence, and plans then succeed in large tasks."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator, Wildcard
from needful.operator_learning import complements as module
from needful.operator_learning import negative_preconditions
from needful.operator_learning.complements import find_complements, translate_complements, with_complements
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.explanation import explain_operator, gather_evidence
from needful.operator_learning.find_doubts import find_doubts
from needful.operator_learning.hill_climbing import Climb, alternate, reduce_truthfully
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.matching import Matcher
from needful.operator_learning.negative_evidence import (
    count_redundant_steps,
    predicates_to_negate,
    redundant_steps,
)
from needful.operator_learning.negative_preconditions import positive_preconditions_only
from negative_worlds import BLOCKED, NEXT_TO, WITHOUT_CONDITION, WORLDS, first_plan
from tiny_worlds import demonstrations, operators

DEMONSTRATIONS = 60
POSITIVE = OperatorLearningConfig(negatives=positive_preconditions_only)


def demonstrate(world, count=DEMONSTRATIONS):
    return [world.demonstrate(seed, 3 + seed % 3) for seed in range(count)]


def forbidden(some_operators) -> set[tuple[str, str]]:
    """The controllers with negative preconditions, and the predicates of these."""
    return {
        (one.controller.name, atom.predicate.name)
        for one in some_operators
        for atom in one.negative_preconditions
    }


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_conditions_are_learned_and_large_tasks_are_solved_like_small_ones(world):
    learned = learn_operators(demonstrate(world))
    assert forbidden(learned.operators) == forbidden(world.operators)
    assert learned.coverage == 1.0
    for size, seed in itertools.product((5, 20), range(1000, 1008)):
        task = world.task(seed, size)
        plan = first_plan(learned.operators, task)
        assert plan is not None
        assert world.achieves_goal(task, plan), f"{task} with seed {seed}"


@pytest.mark.parametrize("world", WITHOUT_CONDITION.values(), ids=WITHOUT_CONDITION)
def test_habits_are_no_conditions(world):
    demos = demonstrate(world)
    learned = learn_operators(demos)
    assert forbidden(learned.operators) == set()
    assert learned == learn_operators(demos, POSITIVE)


def test_without_negative_preconditions_plans_fail():
    world = WORLDS["clear blocked rooms"]
    learned = learn_operators(demonstrate(world), POSITIVE)
    assert forbidden(learned.operators) == set()
    assert world.valid_plans(learned.operators, 20, range(1000, 1010)) < 10


def test_learning_again_is_given_up_if_it_takes_too_long(monkeypatch):
    demos = demonstrate(WORLDS["clear blocked rooms"])
    monkeypatch.setattr(negative_preconditions, "MAX_CHECKS", 0)
    found = learn_operators(demos).operators
    assert forbidden(found) == {("Go", "Blocked")}, "The demonstrator avoided blocked rooms."
    without = tuple(replace(one, negative_preconditions=frozenset()) for one in found)
    assert without == learn_operators(demos, POSITIVE).operators


def test_operators_of_blocked_rooms():
    learned = learn_operators(demonstrate(WORLDS["clear blocked rooms"]))
    assert "\n".join(one.text for one in learned.operators) == (
        "Clear(?x0:room, ?x1:room)\n"
        "  controller: Clear(?x0, ?x1)\n"
        "  needs:      At(?x0), Blocked(?x1), NextTo(?x0, ?x1), NextTo(?x1, ?x0)\n"
        "  adds:       -\n"
        "  deletes:    Blocked(?x1)\n"
        "  forgets:    -\n"
        "Go(?x0:room, ?x1:room)\n"
        "  controller: Go(?x0, ?x1)\n"
        "  needs:      At(?x0), NextTo(?x0, ?x1), NextTo(?x1, ?x0)\n"
        "  forbids:    Blocked(?x1)\n"
        "  adds:       At(?x1)\n"
        "  deletes:    At(?x0)\n"
        "  forgets:    -"
    )


def test_an_effect_that_only_a_negative_precondition_concerns_is_predicted():
    """Nothing needs a wet or an occupied thing, but the operators must say that it cannot be used."""
    for name, operator, effect in (
        ("rooms are wet after mopping", "Mop", "Wet(?x1)"),
        ("choose an empty shelf", "Put", "Occupied(?x1)"),
    ):
        learned = learn_operators(demonstrate(WORLDS[name]))
        (found,) = (one for one in learned.operators if one.name == operator)
        assert effect in {str(atom) for atom in found.add_effects}


def test_names_and_the_order_of_demonstrations_do_not_matter():
    demos = demonstrate(WORLDS["empty a shelf first"], 20)
    texts = [one.text for one in learn_operators(demos).operators]
    rng = random.Random(0)
    for _ in range(3):
        shuffled = [renamed(demo, rng) for demo in rng.sample(demos, len(demos))]
        assert [one.text for one in learn_operators(shuffled).operators] == texts


def renamed(demo: Demonstration, rng: random.Random) -> Demonstration:
    names = rng.sample(range(100), len(demo.objects))
    new = {obj: obj.type(f"x{number:02}") for obj, number in zip(demo.objects, names, strict=True)}

    def atoms(state):
        return frozenset(atom.predicate(*(new[obj] for obj in atom.objects)) for atom in state)

    return Demonstration(
        tuple(new.values()),
        atoms(demo.goal),
        tuple(map(atoms, demo.abstract_states)),
        tuple(one.controller(*(new[obj] for obj in one.objects)) for one in demo.actions),
    )


def fail_first(demo: Demonstration, rng: random.Random) -> Demonstration:
    """Try at times to go into a blocked room before it is cleared; nothing changes."""
    states, actions = [demo.abstract_states[0]], []
    for action, after in zip(demo.actions, demo.abstract_states[1:], strict=True):
        if action.controller.name == "Clear" and rng.random() < 0.3:
            states.append(states[-1])
            actions.append(Controller("Go", action.controller.types)(*action.objects))
        states.append(after)
        actions.append(action)
    return replace(demo, abstract_states=tuple(states), actions=tuple(actions))


def test_failed_attempts_do_not_hide_the_condition():
    world, rng = WORLDS["clear blocked rooms"], random.Random(0)
    learned = learn_operators([fail_first(demo, rng) for demo in demonstrate(world)])
    assert forbidden(learned.operators) == {("Go", "Blocked")}


def test_steps_that_remove_a_forbidden_atom_have_a_purpose():
    """They are neither doubtful nor idle, and the explanation names the step that needs them."""
    demos = demonstrate(WORLDS["push jammed doors, which get scratched"])
    without, learned = learn_operators(demos, POSITIVE), learn_operators(demos)
    assert find_doubts(without, demos).purposeless_steps > 0
    assert (find_doubts(learned, demos).purposeless_steps, learned.idle_steps) == (0, frozenset())
    (push,) = (one for one in learned.operators if one.name == "Push")
    explanation = explain_operator(push, gather_evidence(learned, demos)["Push"])
    (reason,) = explanation.deletes.values()
    assert reason.count == explanation.transitions
    assert reason.first is not None
    assert str(reason.first.needed_by).startswith("Go(")


@settings(max_examples=200, deadline=None)
@given(demos=st.lists(demonstrations(max_steps=5), min_size=1, max_size=2))
def test_redundant_steps_by_definition(demos):
    """The state before a redundant group satisfies what is necessary after it; shorter groups do not."""
    problem = LearningProblem.of(demos, partly_bound)
    climb = alternate(problem, reduce_truthfully, Climb(problem.empty_hypothesis()))
    for chain in climb.hypothesis.coverage.chains:
        transitions = chain.demonstration.transitions
        states = [transitions[0].before, *(one.after for one in transitions)]
        expected = set()
        for end in range(chain.uncovered + 1, len(states)):
            starts = [i for i in range(end) if not chain.necessary[end] & ~states[i]]
            if starts:
                expected.add((max(starts), end - max(starts)))
        assert set(redundant_steps(chain)) == expected


ROOM, HERE = Type("room"), Predicate("Here", (Type("room"),))
DIRT = Predicate("Dirt", (ROOM,))
SWEEP, ENTER = Controller("Sweep", (ROOM,)), Controller("Enter", (ROOM,))
A, B = ROOM("a"), ROOM("b")


def sweep_and_enter(first, second) -> Demonstration:
    """Sweep a dirty room and enter it, while another room is dirty, too."""
    start = frozenset({DIRT(first), DIRT(second)})
    clean, end = start - {DIRT(first)}, start - {DIRT(first)} | {HERE(first)}
    return Demonstration(
        (A, B), frozenset({HERE(first)}), (start, clean, end), (SWEEP(first), ENTER(first))
    )


def test_the_evidence_by_hand():
    """Two rooms in two states are four opportunities to enter, and dirt lies at three: log2(5 / 2) bits.

    Two demonstrations have 2.6 bits, and 2 are required. One demonstration is not enough.
    """
    for demos, expected in (
        ([sweep_and_enter(A, B)], frozenset()),
        ([sweep_and_enter(A, B), sweep_and_enter(B, A)], frozenset({"Dirt"})),
    ):
        problem = LearningProblem.of(demos, partly_bound)
        climb = alternate(problem, reduce_truthfully, Climb(problem.empty_hypothesis()))
        assert [list(redundant_steps(one)) for one in climb.hypothesis.coverage.chains] == [[(0, 1)]] * len(
            demos
        )
        assert count_redundant_steps(climb.hypothesis.coverage) == len(demos)
        assert predicates_to_negate(climb.hypothesis, problem) == expected
        learned = learn_operators(demos)
        assert {name for _, name in forbidden(learned.operators)} == expected


@settings(max_examples=100, deadline=None)
@given(demo=demonstrations(), data=st.data())
def test_complements_hold_exactly_if_the_atom_does_not(demo, data):
    known = sorted({atom.predicate for state in demo.abstract_states for atom in state})
    chosen = data.draw(st.sets(st.sampled_from(known))) if known else set()
    complements = {one: Predicate(f"not {one.name}", one.types) for one in chosen}
    (extended,) = with_complements([demo], complements)
    for state, new in zip(demo.abstract_states, extended.abstract_states, strict=True):
        expected = set(state)
        for predicate, complement in complements.items():
            for objects in itertools.permutations(demo.objects, len(predicate.types)):
                if predicate.fits(objects) and predicate(*objects) not in state:
                    expected.add(complement(*objects))
        assert new == expected
    assert (extended.goal, extended.actions) == (demo.goal, demo.actions)


def test_a_predicate_with_a_complement_in_the_vocabulary_is_not_negated():
    """Also not if its complement would be too large."""
    tidy = Predicate("Tidy", (ROOM,))
    demos = [sweep_and_enter(A, B), sweep_and_enter(B, A)]
    assert set(find_complements({"Dirt", "Unknown"}, demos)) == {DIRT}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_COMPLEMENTS", 1)
        assert find_complements({"Dirt"}, demos) == {}
    both = [
        replace(
            demo,
            abstract_states=tuple(
                state | {tidy(room) for room in (A, B) if DIRT(room) not in state}
                for state in demo.abstract_states
            ),
        )
        for demo in demos
    ]
    assert find_complements({"Dirt"}, both) == {}


def test_a_complement_gets_a_free_name():
    taken = Predicate("not Dirt", (ROOM, ROOM))
    demos = [
        replace(demo, abstract_states=tuple(state | {taken(A, B)} for state in demo.abstract_states))
        for demo in (sweep_and_enter(A, B), sweep_and_enter(B, A))
    ]
    (complement,) = find_complements({"Dirt"}, demos).values()
    assert complement.name not in {"Dirt", "not Dirt"}


def test_a_quantified_delete_is_certain_if_it_always_happened():
    """Planners take deleted atoms for false, so negative preconditions may only rely on certain deletes."""
    pattern = DeletePattern(DIRT, (Wildcard(ROOM),))
    one, two, none = frozenset({DIRT(A)}), frozenset({DIRT(A), DIRT(B)}), frozenset()
    assert not module._is_uncertain(pattern, [({}, one, none), ({}, two, none)])
    assert module._is_uncertain(pattern, [({}, one, none), ({}, two, one)]), "an atom is left"
    assert module._is_uncertain(pattern, [({}, one, none), ({}, none, none)]), "there was no atom to delete"


def test_translation_of_complements():
    """A delete effect `not P` becomes an add effect only if P held after every transition."""
    lit, dirty = Predicate("Lit", (ROOM,)), DIRT
    no_lit, no_dirt = Predicate("not Lit", (ROOM,)), Predicate("not Dirt", (ROOM,))
    states = ([{DIRT(A)}, {lit(A), DIRT(A), HERE(A)}], [set(), {DIRT(B), HERE(B)}])
    demos = [
        Demonstration((room,), frozenset({HERE(room)}), tuple(map(frozenset, pair)), (ENTER(room),))
        for room, pair in zip((A, B), states, strict=True)
    ]
    x = Variable("?x0", ROOM)
    entering = Operator(
        "Enter",
        (x,),
        preconditions=frozenset({no_lit.lifted(x)}),
        add_effects=frozenset({HERE.lifted(x)}),
        delete_effects=frozenset({no_lit.lifted(x), no_dirt.lifted(x)}),
        delete_patterns=frozenset(),
        controller=ENTER,
        controller_arguments=(x,),
    )
    plain = learn_operators(demos, POSITIVE)
    learned = replace(
        plain,
        data=tuple(replace(one, operator=entering) for one in plain.data),
        chains=tuple(tuple(GroundOperator(entering, one.objects) for one in row) for row in plain.chains),
        necessary=tuple(
            (frozenset({no_lit(demo.objects[0])}), frozenset({HERE(demo.objects[0])})) for demo in demos
        ),
    )
    found = translate_complements(learned, {lit: no_lit, dirty: no_dirt}, demos)
    (operator,) = found.operators
    assert operator.preconditions == frozenset()
    assert operator.negative_preconditions == {lit.lifted(x)}
    assert operator.add_effects == {HERE.lifted(x), DIRT.lifted(x)}
    assert operator.delete_effects == frozenset()
    assert found.necessary[0] == (frozenset(), frozenset({HERE(A)}))
    assert found.forbidden[0] == (frozenset({lit(A)}), frozenset())
    assert {step.operator for row in found.chains for step in row} == {operator}


@settings(max_examples=200, deadline=None)
@given(demo=demonstrations(), operator=operators(), data=st.data())
def test_applicable_groundings_respect_negative_preconditions(demo, operator, data):
    """Groundings that differ only by interchangeable parameters are found once."""
    candidates = sorted((operator.add_effects | operator.delete_effects) - operator.preconditions)
    if candidates:
        negative = data.draw(st.sets(st.sampled_from(candidates), max_size=2))
        operator = replace(operator, negative_preconditions=frozenset(negative))
    (encoded,) = encode_demonstrations([demo])
    for transition, state in zip(encoded.transitions, demo.abstract_states, strict=False):
        action = demo.actions[transition.step]
        if action.controller.name != operator.controller.name:
            continue
        expected = {
            effects(ground)
            for objects in itertools.permutations(demo.objects, len(operator.parameters))
            if all(map(is_bindable, objects, operator.parameters))
            and (ground := operator.ground(objects)).controller_objects == action.objects
            and ground.applicable(state)
        }
        found = {
            effects(operator.ground([encoded.table.objects[number] for number in numbers]))
            for numbers in Matcher().applicable(operator, transition)
        }
        assert found == expected


def is_bindable(obj: Object, variable: Variable) -> bool:
    return obj.type.is_subtype_of(variable.type)


def effects(ground: GroundOperator) -> tuple:
    parts = (ground.preconditions, ground.negative_preconditions, ground.add_effects, ground.delete_effects)
    return (*parts, ground.delete_patterns)


def test_static_relations_of_rooms_are_never_forbidden():
    learned = learn_operators(demonstrate(WORLDS["walk around blocked rooms"]))
    assert {atom.predicate for one in learned.operators for atom in one.negative_preconditions} == {BLOCKED}
    assert NEXT_TO in {atom.predicate for one in learned.operators for atom in one.preconditions}


@pytest.mark.parametrize("name", ["clear blocked rooms", "walk around blocked rooms"])
def test_rare_side_effects_do_not_hide_the_condition(name):
    """After a tenth of the steps, a random room becomes blocked."""
    world = WORLDS[name]
    demos = [
        world.demonstrate_with_side_effects(seed, 3 + seed % 3, BLOCKED, share=0.1) for seed in range(60)
    ]
    going = [one for one in learn_operators(demos).operators if one.controller.name == "Go"]
    assert going
    for one in going:
        target = one.controller_arguments[1]
        assert BLOCKED.lifted(target) in one.negative_preconditions
