"""Types are widened as far as the demonstrations allow."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_learning
from kitchen_world import BAG, BOOK, BOX, CUP, FREE, FRIDGE, IN, NEAR, OPEN, THING, TOY, after, putting
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.tasks import AbstractTask
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.merge_types import (
    keep_types,
    merge_operators,
    merge_types,
    widen_deletes,
)
from needful.planning.planners import generate_abstract_plans, make_planner
from tiny_worlds import CLEAN, ON, PUSH, demonstrations

NARROW = OperatorLearningConfig(types=keep_types)

BOOK1, CUP1, TOY1, BAG1, BOX1, FRIDGE1 = (
    kind(f"{kind.name}1") for kind in (BOOK, CUP, TOY, BAG, BOX, FRIDGE)
)

# A book and a toy are put into a bag, past a cup and a box.
INTO_A_BAG = [putting(BOOK1, BAG1, {BOOK1: [CUP1]}), putting(TOY1, BAG1, {TOY1: [BOX1]})]
WIDENED = """\
Go(?x0:thing)
  controller: Go(?x0)
  needs:      -
  adds:       Near(?x0)
  deletes:    -
  forgets:    Near(*:thing)
Put(?x0:bag, ?x1:thing)
  controller: Put(?x0)
  needs:      Held(?x1), Near(?x0)
  adds:       Free(), In(?x1, ?x0)
  deletes:    Held(?x1)
  forgets:    -
Take(?x0:thing)
  controller: Take(?x0)
  needs:      Free(), Near(?x0)
  adds:       Held(?x0)
  deletes:    Free(), Near(?x0)
  forgets:    -"""


def written(operators) -> str:
    return "\n".join(operator.text for operator in operators)


def headings(operators) -> set[str]:
    return {f"{o.controller.name}({', '.join(map(str, o.parameters))})" for o in operators}


def test_operators_and_deletes_that_differ_only_in_types_are_merged():
    narrow, learned = learn_operators(INTO_A_BAG, NARROW), learn_operators(INTO_A_BAG)
    assert headings(narrow.operators) == {
        *("Go(?x0:bag)", "Go(?x0:book)", "Go(?x0:toy)", "Take(?x0:book)", "Take(?x0:toy)"),
        *("Put(?x0:bag, ?x1:book)", "Put(?x0:bag, ?x1:toy)"),
    }
    assert written(learned.operators) == WIDENED
    assert (learned.uncovered, learned.not_reproduced) == (0, ())
    assert [step.move for step in learned.steps[len(narrow.steps) :]] == [
        "merge",
        "merge",
        "merge",
        "widen",
        "predict",
    ]
    assert sum(len(data.groundings) for data in learned.data) == learned.transitions


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_order_of_demonstrations_does_not_matter(order):
    demos = [*INTO_A_BAG, putting(TOY1, BAG1)]
    assert written(learn_operators([demos[index] for index in order]).operators) == WIDENED


def carried_out(operators, start: AbstractState, goal: AbstractState, objects: tuple[Object, ...]) -> bool:
    """Plan, execute the plan, and return whether it reaches the goal."""
    task = AbstractTask(objects, start, goal)
    plan = next(generate_abstract_plans(operators, task, make_planner("python-greedy")), None)
    if plan is None:
        return False
    state = start
    for step in plan:
        state = after(state, step.operator.controller(*step.controller_objects), {})
    return goal <= state


def test_a_type_that_no_demonstration_had():
    hat = Type("hat", parent=THING)("hat1")
    assert all(hat.type != obj.type for demo in INTO_A_BAG for obj in demo.objects)
    task = (frozenset({FREE()}), frozenset({IN(hat, BAG1)}), (hat, BAG1))
    assert carried_out(learn_operators(INTO_A_BAG).operators, *task)
    assert not carried_out(learn_operators(INTO_A_BAG, NARROW).operators, *task)


def test_deletes_apply_to_a_type_that_no_demonstration_had():
    """After going from a hat to a bag, the hat is no longer near."""
    hat = Type("hat", parent=THING)("hat1")
    (go,) = (one for one in learn_operators(INTO_A_BAG).operators if one.name == "Go")
    assert go.ground((BAG1,)).apply(frozenset({NEAR(hat)})) == {NEAR(BAG1)}


def test_fridges_must_still_be_opened():
    """Merging both ways of putting would cover everything, but no step would need the opening."""
    demos = [putting(BOOK1, BAG1), putting(BOOK1, FRIDGE1, unlock=True)]
    learned = learn_operators(demos)
    assert headings(learned.operators) == {
        *("Go(?x0:thing)", "Take(?x0:book)", "Unlock(?x0:fridge)"),
        *("Put(?x0:bag, ?x1:book)", "Put(?x0:fridge, ?x1:book)"),
    }
    (into_fridge,) = (o for o in learned.operators if o.text.startswith("Put-2(?x0:fridge"))
    assert {str(atom) for atom in into_fridge.preconditions} == {"Held(?x1)", "Near(?x0)", "Open(?x0)"}

    problem = LearningProblem.of(demos, partly_bound)
    narrow = NARROW.schedule(problem, NARROW.reduce, Climb(problem.empty_hypothesis())).hypothesis
    putting_into = [one for one in narrow.candidates if one.controller.name == "Put"]
    (x, y), put = (Variable("?x", THING), Variable("?y", BOOK)), putting_into[0].operator
    anywhere = replace(
        put, parameters=(x, y), add_effects=frozenset({IN.lifted(y, x)}), controller_arguments=(x,)
    )
    rest = [one for one in narrow.candidates if one not in putting_into]
    merged = problem.fit([*rest, canonical_candidate(anywhere, {})], narrow)
    assert merged.objective < narrow.objective


@pytest.mark.parametrize("fridge", ["a-fridge", "fridge", "z-fridge"])
def test_narrower_operators_are_merged_too_or_none_is(fridge):
    """Putting things anywhere would also apply to fridges, regardless of the type's name."""
    cold = Type(fridge, parent=THING)("cold")
    demos = [putting(BOOK1, BAG1), putting(BOOK1, BOX1), putting(BOOK1, cold, unlock=True)]
    containers = {
        str(o.parameters[0]) for o in learn_operators(demos).operators if o.controller.name == "Put"
    }
    assert containers == {"?x0:bag", "?x0:box", f"?x0:{fridge}"}


DOOR, ITEM = Type("door", parent=THING), Type("item", parent=THING)
USED = Predicate("Used", (THING,))
USE = Controller("Use", (THING,))


def using(thing: Object, need: Predicate) -> Demonstration:
    """Use one thing of which the predicate holds; it holds of no other thing, and no action changes it."""
    other = thing.type("other")
    start = frozenset({need(thing)})
    return Demonstration(
        (thing, other), frozenset({USED(thing)}), (start, start | {USED(thing)}), (USE(thing),)
    )


@pytest.mark.parametrize(
    ("door_needs", "item_needs", "containers"),
    [
        (Predicate("Unlocked", (DOOR,)), Predicate("Light", (ITEM,)), {"Use(?x0:door)", "Use(?x0:item)"}),
        (Predicate("Unlocked", (DOOR,)), OPEN, {"Use(?x0:door)", "Use(?x0:item)"}),
        (OPEN, OPEN, {"Use(?x0:thing)"}),
        (OPEN, NEAR, {"Use(?x0:thing)"}),
    ],
)
def test_a_precondition_must_accept_the_wider_type(door_needs, item_needs, containers):
    """Doors and items are used. Coverage, purpose and false claims all allow to merge the operators.

    Open and Near are defined for all things. If only one of the operators requires them, the demonstrations
    of the other show that they are unnecessary.
    """
    demos = [using(DOOR("door1"), door_needs), using(ITEM("item1"), item_needs)] * 2
    learned = learn_operators(demos)
    assert headings(learned.operators) == containers
    assert learned.coverage == 1.0
    needs = {str(atom) for operator in learned.operators for atom in operator.preconditions}
    if len(containers) == 2:
        assert needs == {f"{door_needs.name}(?x0)", f"{item_needs.name}(?x0)"}
    else:
        assert needs == ({"Open(?x0)"} if item_needs == OPEN else set())


def test_a_precondition_without_evidence_does_not_prevent_a_merge():
    """A single use of one of two doors hardly shows that doors have to be unlocked."""
    door, item = using(DOOR("door1"), Predicate("Unlocked", (DOOR,))), using(ITEM("item1"), OPEN)
    for count, headed in ((1, {"Use(?x0:thing)"}), (2, {"Use(?x0:door)", "Use(?x0:item)"})):
        assert headings(learn_operators([*[door] * count, item, item]).operators) == headed


@pytest.mark.parametrize("count", [1, 20])
def test_a_merge_never_loses_what_the_operators_use_up(count):
    """Doors are closed and items are light before they are used, and not afterwards."""
    demos = []
    for thing, need in (
        (DOOR("one"), Predicate("Shut", (DOOR,))),
        (ITEM("one"), Predicate("Light", (ITEM,))),
    ):
        start = frozenset({need(thing), need(thing.type("other"))})
        after = start - {need(thing)} | {USED(thing)}
        goal = frozenset({USED(thing)})
        demos += [Demonstration((thing, thing.type("other")), goal, (start, after), (USE(thing),))] * count
    learned = learn_operators(demos)
    assert headings(learned.operators) == {"Use(?x0:door)", "Use(?x0:item)"}
    assert {str(atom) for one in learned.operators for atom in one.delete_effects} == {
        "Shut(?x0)",
        "Light(?x0)",
    }


CONTAINER = Type("container", parent=THING)
OPEN_TOP = Type("open-top", parent=CONTAINER)
SACK1, CRATE1 = (Type(name, parent=OPEN_TOP)(f"{name}1") for name in ("sack", "crate"))
CHEST1 = Type("chest", parent=CONTAINER)("chest1")


def test_the_nearest_ancestor_is_chosen():
    """Sacks and crates are both open at the top; a chest must be opened first."""
    demos = [putting(BOOK1, SACK1), putting(BOOK1, CRATE1), putting(BOOK1, CHEST1, unlock=True)]
    assert headings(learn_operators(demos).operators) == {
        *("Go(?x0:thing)", "Take(?x0:book)", "Unlock(?x0:chest)"),
        *("Put(?x0:chest, ?x1:book)", "Put(?x0:open-top, ?x1:book)"),
    }


def test_the_narrowest_merge_comes_first():
    """If the chest is open, everything can be merged, one level of the hierarchy after the other."""
    learned = learn_operators([putting(BOOK1, one) for one in (SACK1, CRATE1, CHEST1)])
    merges = [step for step in learned.steps if step.move == "merge"]
    first_lines = [text.splitlines()[0] for step in merges for text in step.added]
    assert [line for line in first_lines if line.startswith("Put")] == [
        "Put(?x0:open-top, ?x1:book)",
        "Put(?x0:container, ?x1:book)",
    ]


ROUND = Type("round", parent=THING)
BALL1, EGG1 = (Type(name, parent=ROUND)(f"{name}1") for name in ("ball", "egg"))
BLOCK1, JAR1, HAMMER = (Type(name, parent=THING)(f"{name}1") for name in ("block", "jar", "hammer"))


@pytest.mark.parametrize(
    ("needed", "forgets"),
    [
        ((), {"Clean(*:thing)"}),
        ((JAR1,), {"Clean(*:block)", "Clean(*:round)"}),
        ((EGG1, JAR1), {"Clean(*:ball)", "Clean(*:block)"}),
    ],
)
def test_a_wider_delete_must_not_match_needed_atoms(needed, forgets):
    """Pushing a hammer makes other things dirty, but a jar stays clean, and so does an egg if needed."""
    clean = frozenset(map(CLEAN, (BALL1, EGG1, BLOCK1, JAR1)))
    dirty = {CLEAN(one) for one in (BALL1, EGG1, BLOCK1) if one not in needed}
    demo = Demonstration(
        (HAMMER, BALL1, EGG1, BLOCK1, JAR1),
        frozenset({CLEAN(HAMMER), *map(CLEAN, needed)}),
        (clean, clean - dirty | {CLEAN(HAMMER)}),
        (PUSH(HAMMER),),
    )
    learned = learn_operators([demo])
    (operator,) = learned.operators
    assert {str(pattern) for pattern in operator.delete_patterns} == forgets
    assert learned.uncovered == 0


def test_deletes_are_widened_one_by_one_and_hints_and_pins_stay():
    """Pushing the hammer deletes Clean and Open of a ball and a block."""
    deleted = frozenset(predicate(one) for predicate in (CLEAN, OPEN) for one in (BALL1, BLOCK1))
    states = (deleted, frozenset({CLEAN(HAMMER)}))
    demo = Demonstration((HAMMER, BALL1, BLOCK1), states[1], states, (PUSH(HAMMER),))
    problem = LearningProblem.of([demo], partly_bound)
    x, none = Variable("?x0", HAMMER.type), frozenset()
    push = Operator("Push", (x,), none, frozenset({CLEAN.lifted(x)}), none, none, PUSH, (x,))
    hints = {(0, 0): {x: problem.demonstrations[0].table.object_number[HAMMER]}}
    reached = problem.fit(
        [canonical_candidate(push, hints, frozenset({(0, 0)}))], problem.empty_hypothesis()
    )
    for forgets in (
        {"Clean(*:thing)", "Open(*:ball)", "Open(*:block)"},
        {"Clean(*:thing)", "Open(*:thing)"},
    ):
        reached = widen_deletes(reached, problem)
        (fitted,) = reached.fitted
        assert set(map(str, fitted.operator.delete_patterns)) == forgets
        assert (fitted.candidate.hints, fitted.candidate.pinned) == (hints, {(0, 0)})
    assert widen_deletes(reached, problem) is reached


def test_without_a_merge_the_climb_is_returned_unchanged():
    problem = LearningProblem.of([putting(BOOK1, BAG1)], partly_bound)
    climb = NARROW.schedule(problem, NARROW.reduce, Climb(problem.empty_hypothesis()))
    assert keep_types(climb, problem) is climb
    empty = Climb(problem.empty_hypothesis())
    assert merge_types(empty, problem) is empty


def test_hints_and_pins_go_into_the_merged_operator():
    """A book and a toy are each pushed onto two cups; the goals need the first and the second cup."""
    cups, none = (CUP("cup1"), CUP("cup2")), frozenset()
    demos = []
    for item, cup in zip((BOOK1, TOY1), cups, strict=True):
        states = (none, frozenset({ON(item, one) for one in cups}))
        demos.append(Demonstration((item, *cups), frozenset({ON(item, cup)}), states, (PUSH(item),)))
    problem = LearningProblem.of(demos, partly_bound)
    tables = [demo.table.object_number for demo in problem.demonstrations]
    candidates = []
    for index, kind in enumerate((BOOK, TOY)):
        x, y = Variable("?x", kind), Variable("?y", CUP)
        operator = Operator("Push", (x, y), none, frozenset({ON.lifted(x, y)}), none, none, PUSH, (x,))
        hints = {(index, 0): {y: tables[index][cups[index]]}}
        candidates.append(canonical_candidate(operator, hints, frozenset({(index, 0)})))
    start = problem.fit(candidates, problem.empty_hypothesis())
    (merged,) = merge_operators(start, problem).candidates
    item, cup = merged.operator.parameters
    assert (item.type, cup.type) == (THING, CUP)
    assert merged.hints == {(0, 0): {cup: tables[0][cups[0]]}, (1, 0): {cup: tables[1][cups[1]]}}
    assert merged.pinned == {(0, 0), (1, 0)}


def needed_adds(operators, demo: Demonstration) -> list[AbstractState | None]:
    """Return the atoms that each step must add by definition, None where the chain does not reach."""
    _, necessary = brute_force_learning.backchain(list(operators), demo)
    return [
        necessary[step + 1] - before if step + 1 in necessary else None
        for step, before in enumerate(demo.abstract_states[:-1])
    ]


@settings(max_examples=150, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=4))
def test_no_demonstration_is_explained_worse(demos):
    narrow, learned = learn_operators(demos, NARROW), learn_operators(demos)
    assert len(learned.operators) <= len(narrow.operators)
    for demo in demos:
        pairs = zip(needed_adds(narrow.operators, demo), needed_adds(learned.operators, demo), strict=True)
        for then, now in pairs:
            assert then is None or (now is not None and then <= now)


@settings(max_examples=150, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=4))
def test_every_transition_fits_its_merged_operator(demos):
    """Every transition that an operator was induced from has a merged operator whose prediction holds."""
    narrow, learned = learn_operators(demos, NARROW), learn_operators(demos)
    identities = {(g.demonstration, g.step) for data in narrow.data for g in data.groundings}
    assert identities <= {(g.demonstration, g.step) for data in learned.data for g in data.groundings}
    for data in learned.data:
        for grounding in data.groundings:
            demo = demos[grounding.demonstration]
            before, after = demo.abstract_states[grounding.step : grounding.step + 2]
            ground = data.operator.ground(grounding.objects)
            assert ground.controller_objects == demo.actions[grounding.step].objects
            assert ground.apply(before) <= after


def test_same_bytes_in_every_process():
    code = (
        "from kitchen_world import *\n"
        "from needful.operator_learning.learn_operators import learn_operators\n"
        "items = [kind(kind.name) for kind in (BOOK, CUP, TOY)]\n"
        "demos = [putting(item, kind('there'), {item: items}) for item in items for kind in (BAG, BOX)]\n"
        "learned = learn_operators(demos)\n"
        "steps = [(step.move, step.objective, step.added, step.removed) for step in learned.steps]\n"
        "print(*learned.operators, *steps, sep='\\n')\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    (output,) = printed
    assert output.count(b"\n  controller: ") == 3
