"""Replays: random actions in states of demonstrations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import toy_world
from needful.abstraction import abstract
from needful.core.controllers import Execution, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.operators import Operator
from needful.core.state import State
from needful.demos.collect import (
    OracleDemonstrator,
    collect_demonstrations,
    collect_replays,
    random_ground_operator,
)
from needful.errors import DemonstrationError
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()


def demonstrations(count: int) -> tuple[Demonstration, ...]:
    return collect_demonstrations(TOY, OracleDemonstrator(TOY), count, 0).demonstrations


def test_a_replay_is_the_transition_of_an_action_in_a_state_of_a_demonstration() -> None:
    demos = demonstrations(2)
    seen = {state: demo for demo in demos for state in (demo.states or ())[:-1]}
    replays = collect_replays(TOY, demos, 40, 0)
    assert len(replays) == 40
    for replay in replays:
        assert replay.states is not None
        before, after = replay.states
        assert replay.objects == seen[before].objects
        (action,) = replay.actions
        assert TOY.execute(before, action).state == after
        predicates = TOY.vocabulary.predicates
        assert replay.abstract_states == (abstract(before, predicates), abstract(after, predicates))
        assert replay.goal == frozenset()


def test_replays_depend_only_on_the_seed() -> None:
    demos = demonstrations(2)
    assert collect_replays(TOY, demos, 20, 3) == collect_replays(TOY, demos, 20, 3)
    assert collect_replays(TOY, demos, 20, 3) != collect_replays(TOY, demos, 20, 4)
    assert collect_replays(TOY, demos, 20, 3)[:5] == collect_replays(TOY, demos, 5, 3)


def test_demonstrations_are_chosen_in_proportion_to_their_states() -> None:
    demos = demonstrations(3)
    count = 3000
    starts = Counter(replay.objects for replay in collect_replays(TOY, demos, count, 0))
    states = sum(len(demo.abstract_states) for demo in demos)
    for demo in demos:
        expected = count * len(demo.abstract_states) / states
        assert starts[demo.objects] == pytest.approx(expected, rel=0.15)


def test_groundings_are_drawn_uniformly() -> None:
    model, state = TOY.oracle_model(), toy_world.task(balls=2).initial_state
    rng = np.random.default_rng(0)
    drawn = Counter(str(random_ground_operator(model, state, rng)) for _ in range(4000))
    possible = sum(
        sum(
            len(set(objects)) == len(objects)
            for objects in np.array(
                np.meshgrid(*(np.array(list(map(str, state.of_type(v.type)))) for v in operator.parameters))
            )
            .reshape(len(operator.parameters), -1)
            .T.tolist()
        )
        for operator in model.operators
    )
    assert len(drawn) == possible
    assert max(drawn.values()) < 1.25 * min(drawn.values())


def test_draws_that_the_simulator_rejects_are_repeated() -> None:
    class Rejecting(ToyEnvironment):
        def execute(self, state: State, action: GroundController) -> Execution:
            if action.controller.name == "MoveTo":
                return Execution(state, steps=0, failure="no")
            return super().execute(state, action)

    replays = collect_replays(Rejecting(), demonstrations(2), 30, 0)
    assert len(replays) == 30
    assert "MoveTo" not in {replay.actions[0].controller.name for replay in replays}


def test_controllers_that_may_not_start_are_not_executed() -> None:
    """Only MoveTo may start here, and no other controller is executed."""

    class Cautious(ToyEnvironment):
        def oracle_model(self) -> PlanningModel:
            model = super().oracle_model()
            return replace(model, operators=tuple(map(cautious, model.operators)))

        def execute(self, state: State, action: GroundController) -> Execution:
            assert action.controller.name == "MoveTo"
            return super().execute(state, action)

    def cautious(operator: Operator) -> Operator:
        allowed = operator.controller.name == "MoveTo"
        controller = replace(operator.controller, initiable=lambda *_: allowed)
        return replace(operator, controller=controller)

    replays = collect_replays(Cautious(), demonstrations(2), 10, 0)
    assert {replay.actions[0].controller.name for replay in replays} == {"MoveTo"}


def test_without_operators_there_are_no_replays() -> None:
    class WithoutOperators(ToyEnvironment):
        def oracle_model(self) -> PlanningModel:
            return PlanningModel(self.vocabulary, ())

    with pytest.raises(DemonstrationError, match="No action could be replayed"):
        collect_replays(WithoutOperators(), demonstrations(1), 2, 0)


def test_an_error_is_raised_if_every_draw_is_rejected() -> None:
    class Broken(ToyEnvironment):
        executions = 0

        def execute(self, state: State, action: GroundController) -> Execution:
            Broken.executions += 1
            return Execution(state, steps=0, failure="no")

    with pytest.raises(DemonstrationError, match="replayed in 1 demonstrations of 'toy'"):
        collect_replays(Broken(), demonstrations(1), 10, 0)
    assert Broken.executions == 200


def test_replays_need_states_and_actions() -> None:
    (demo,) = demonstrations(1)
    with pytest.raises(DemonstrationError, match="Replays need states"):
        collect_replays(TOY, [replace(demo, states=None)], 10, 0)
    done = Demonstration(demo.objects, demo.goal, demo.abstract_states[-1:], (), (demo.states or ())[-1:])
    with pytest.raises(DemonstrationError, match="No action could be replayed in 0 demonstrations"):
        collect_replays(TOY, [done], 10, 0)
