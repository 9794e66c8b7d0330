"""Accidental preconditions are found by experiment.

A robot dries itself, goes to a lamp and presses its switch. Pressing requires it to be near, not dry.
`Blessed` never changes, so no experiment can refute it and it stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from needful.abstraction import abstract
from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import ConstantSampler, PlanningModel, Vocabulary
from needful.core.objects import Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.errors import DemonstrationError, InvalidInputError
from needful.operator_learning.accidental_preconditions import (
    ExperimentConfig,
    drop_accidental_preconditions,
)
from needful.operator_learning.learn_operators import learn_operators

ROBOT = Type("robot", ("x", "wet"))
LAMP = Type("lamp", ("x", "on"))
DRY = Predicate("Dry", (ROBOT,), lambda state, o: state.get(o[0], "wet") < 0.5)
BLESSED = Predicate("Blessed", (ROBOT,), lambda state, o: True)
NEAR = Predicate("Near", (ROBOT, LAMP), lambda state, o: state.get(o[0], "x") == state.get(o[1], "x"))
ON = Predicate("On", (LAMP,), lambda state, o: state.get(o[0], "on") > 0.5)
TOWEL = Controller("Towel", (ROBOT,))
GO = Controller("Go", (ROBOT, LAMP))
PRESS = Controller("Press", (ROBOT, LAMP), (0.0,), (1.0,))
WORDS = Vocabulary((ROBOT, LAMP), (DRY, BLESSED, NEAR, ON), (TOWEL, GO, PRESS))
ROBBY, LIGHT = ROBOT("robby"), LAMP("light")
R, L = Variable("?x0", ROBOT), Variable("?x1", LAMP)


def execute(state: State, action: GroundController) -> Execution:
    name = action.controller.name
    if name == "Towel":
        return Execution(state.replace({ROBBY: {"wet": 0.0}}))
    if name == "Go":
        return Execution(state.replace({ROBBY: {"x": state.get(LIGHT, "x")}}))
    pressed = NEAR(ROBBY, LIGHT).holds(state) and action.parameters[0] > 0.5
    return Execution(state.replace({LIGHT: {"on": 1.0}}) if pressed else state)


def demonstration(lamp_at: float) -> Demonstration:
    states = [State({ROBBY: (0.0, 1.0), LIGHT: (lamp_at, 0.0)})]
    actions = (TOWEL(ROBBY), GO(ROBBY, LIGHT), PRESS(ROBBY, LIGHT, parameters=(0.9,)))
    for action in actions:
        states.append(execute(states[-1], action).state)
    atoms = tuple(abstract(state, WORDS.predicates) for state in states)
    return Demonstration((ROBBY, LIGHT), frozenset({ON(LIGHT)}), atoms, actions, tuple(states))


DEMOS = (demonstration(5.0), demonstration(7.0))


def learned_model(strength: float = 0.9) -> PlanningModel:
    operators = learn_operators(DEMOS).operators
    return PlanningModel(WORDS, operators, {"Press": ConstantSampler((strength,))})


def needs(model: PlanningModel, name: str) -> set[str]:
    (operator,) = (one for one in model.operators if one.name == name)
    return set(map(str, operator.preconditions))


def test_accidental_preconditions_are_dropped_and_needed_ones_stay() -> None:
    model = learned_model()
    assert needs(model, "Press") == {"Blessed(?x0)", "Dry(?x0)", "Near(?x0, ?x1)"}
    better, dropped = drop_accidental_preconditions(model, DEMOS, execute)
    assert needs(better, "Press") == {"Blessed(?x0)", "Near(?x0, ?x1)"}
    assert [(one.operator, str(one.atom)) for one in dropped if one.operator == "Press"] == [
        ("Press", "Dry(?x0)")
    ]
    # Each demonstration replayed without the towel has a state with the robot wet and near, the light off.
    assert all(one.experiments >= 2 for one in dropped)


def test_preconditions_without_a_counter_example_state_stay() -> None:
    """The robots are always dry: no state lacks Dry, so it stays."""
    dry = [
        replace(
            demo, actions=demo.actions[1:], abstract_states=demo.abstract_states[1:], states=demo.states[1:]
        )
        for demo in DEMOS
        if demo.states is not None
    ]
    better, dropped = drop_accidental_preconditions(learned_model(), dry, execute)
    assert needs(better, "Press") == {"Blessed(?x0)", "Dry(?x0)", "Near(?x0, ?x1)"}
    assert not [one for one in dropped if one.operator == "Press"]


def test_a_failing_sampler_does_not_refute_a_precondition() -> None:
    better, _ = drop_accidental_preconditions(learned_model(strength=0.1), DEMOS, execute)
    assert needs(better, "Press") == {"Blessed(?x0)", "Dry(?x0)", "Near(?x0, ?x1)"}


def test_a_side_effect_in_the_atoms_absence_counts_as_failure() -> None:
    """With wet hands, pressing throws the robot back: the prediction that it stays near is wrong."""

    def slippery(state: State, action: GroundController) -> Execution:
        after = execute(state, action).state
        if action.controller.name == "Press" and not DRY(ROBBY).holds(state):
            after = after.replace({ROBBY: {"x": -1.0}})
        return Execution(after)

    better, _ = drop_accidental_preconditions(learned_model(), DEMOS, slippery)
    assert "Dry(?x0)" in needs(better, "Press")


def test_keep_effects_stay() -> None:
    keeping = Operator(
        "Press",
        (R, L),
        frozenset({DRY.lifted(R), NEAR.lifted(R, L)}),
        frozenset({DRY.lifted(R), ON.lifted(L)}),
        frozenset(),
        frozenset(),
        PRESS,
        (R, L),
    )
    model = PlanningModel(WORDS, (keeping,), {"Press": ConstantSampler((0.9,))})
    better, dropped = drop_accidental_preconditions(model, DEMOS, execute)
    assert better.operators == (keeping,)
    assert dropped == ()


def test_an_operator_that_predicts_no_change_cannot_be_tested() -> None:
    """Doing nothing would satisfy the prediction, so no precondition is dropped."""
    idle = Operator(
        "Go", (R, L), frozenset({DRY.lifted(R)}), frozenset(), frozenset(), frozenset(), GO, (R, L)
    )
    better, dropped = drop_accidental_preconditions(PlanningModel(WORDS, (idle,)), DEMOS, execute)
    assert better.operators == (idle,)
    assert dropped == ()


def test_limits_must_be_positive() -> None:
    for name, value in (("experiments", 0), ("tries", -1)):
        with pytest.raises(InvalidInputError, match=rf"{name}.*at least 1.*{value}"):
            ExperimentConfig(**{name: value})


def test_the_number_of_experiments_and_tries_is_limited() -> None:
    calls: list[str] = []

    class Hesitant:
        def sample(self, *_: object) -> tuple[float, ...]:
            calls.append("drawn")
            return (0.9 if len(calls) % 3 == 0 else 0.1,)

    model = replace(learned_model(), samplers={"Press": Hesitant()})
    better, dropped = drop_accidental_preconditions(
        model, DEMOS, execute, config=ExperimentConfig(experiments=1, tries=3)
    )
    assert "Dry(?x0)" not in needs(better, "Press")
    assert {one.experiments for one in dropped if one.operator == "Press"} == {1}
    calls.clear()
    better, _ = drop_accidental_preconditions(
        model, DEMOS, execute, config=ExperimentConfig(experiments=1, tries=2)
    )
    assert "Dry(?x0)" in needs(better, "Press")


def test_results_depend_on_the_seed_alone() -> None:
    one, other = (drop_accidental_preconditions(learned_model(), DEMOS, execute, seed=3) for _ in range(2))
    assert one[0].operators == other[0].operators
    assert one[1] == other[1]


def test_experiments_need_states() -> None:
    demos = [DEMOS[0], replace(DEMOS[1], states=None)]
    with pytest.raises(DemonstrationError, match=r"demonstration 1 .*Record"):
        drop_accidental_preconditions(learned_model(), demos, execute)


def test_a_controller_that_cannot_start_is_a_failed_try() -> None:
    never = replace(PRESS, initiable=lambda *_: False)
    model = learned_model()
    stuck = [replace(o, controller=never) if o.name == "Press" else o for o in model.operators]
    better, _ = drop_accidental_preconditions(replace(model, operators=tuple(stuck)), DEMOS, execute)
    assert "Dry(?x0)" in needs(better, "Press")
    assert np.all([o.name in ("Go", "Press", "Towel") for o in better.operators])


SIDE = Predicate("FromSide", (LAMP,), lambda state, o: 0.5 < state.get(o[0], "on") < 1.5)
TOP = Predicate("FromTop", (LAMP,), lambda state, o: state.get(o[0], "on") > 1.5)
FREE = Predicate("Free", (LAMP,), lambda state, o: state.get(o[0], "on") < 0.5)
RELEASE = Controller("Release", (ROBOT, LAMP))


def test_atoms_that_exclude_the_precondition_become_deletes() -> None:
    """A lamp is held from the side or from the top; only the former was released so far."""

    def release(state: State, action: GroundController) -> Execution:
        return Execution(state.replace({LIGHT: {"on": 0.0}}))

    def released(grasp: float) -> Demonstration:
        states = (
            State({ROBBY: (0.0, 0.0), LIGHT: (0.0, grasp)}),
            State({ROBBY: (0.0, 0.0), LIGHT: (0.0, 0.0)}),
        )
        atoms = tuple(abstract(state, (SIDE, TOP, FREE)) for state in states)
        return Demonstration(
            (ROBBY, LIGHT), frozenset({FREE(LIGHT)}), atoms, (RELEASE(ROBBY, LIGHT),), states
        )

    words = Vocabulary((ROBOT, LAMP), (SIDE, TOP, FREE), (RELEASE,))
    side, top, free = SIDE.lifted(L), TOP.lifted(L), FREE.lifted(L)
    only_side = Operator(
        "Release",
        (R, L),
        frozenset({side}),
        frozenset({free}),
        frozenset({side}),
        frozenset(),
        RELEASE,
        (R, L),
    )
    both = replace(only_side, preconditions=frozenset(), delete_effects=frozenset({side, top}))
    model = PlanningModel(words, (only_side,))
    better, dropped = drop_accidental_preconditions(model, [released(1.0), released(2.0)], release)
    assert better.operators == (both,)
    assert [one.atom for one in dropped] == [side]


def test_no_experiment_where_a_negative_precondition_holds() -> None:
    """The robot is always blessed, so an operator that forbids this can never be applied."""
    model = learned_model()
    forbidding = tuple(
        replace(
            one,
            preconditions=one.preconditions - {BLESSED.lifted(R)},
            negative_preconditions=frozenset({BLESSED.lifted(R)}),
        )
        for one in model.operators
    )
    demonstrations = [demonstration(lamp_at) for lamp_at in (1.0, 2.0)]
    assert drop_accidental_preconditions(model, demonstrations, execute)[1]
    changed = replace(model, operators=forbidding)
    assert drop_accidental_preconditions(changed, demonstrations, execute) == (changed, ())
