"""Demonstrations from episodes of the Gymnasium view, of Minari and of low-level actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from minari.dataset.episode_data import EpisodeData

import toy_world
from envs.toy_walk import FAR_RIGHT, PACE, WALK_TO, WALKER, ToyWalk
from needful.core.atoms import AbstractState
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Type
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.demos.episodes import (
    Episode,
    RecordedEpisode,
    Segment,
    Segmenter,
    demonstrations_from_episodes,
    segment_by_controller,
    segment_by_step,
)
from needful.envs.catalogue import make_environment
from needful.envs.gym import GymView
from needful.errors import DemonstrationError
from needful.operator_learning.learn_operators import learn_operators
from needful.storage.demonstrations import read_demonstrations, write_demonstrations
from toy_environment import ToyEnvironment

ANALYTIC = (
    "painting",
    "satellites",
    "cluttered-1d",
    "screws",
    "cluttered-satellites",
    "cluttered-painting",
)


def record(view: GymView, demonstration: Demonstration) -> Episode:
    """Replay a demonstration in the Gymnasium view."""
    assert demonstration.states is not None
    task = Task(demonstration.states[0], demonstration.goal)
    observations, actions = [view.reset(options={"task": task})[0]], []
    for action in demonstration.actions:
        actions.append(view.encode_action(action))
        observations.append(view.step(actions[-1])[0])
    return Episode(observations, actions)


def from_view(view: GymView, episodes: Sequence[RecordedEpisode]) -> tuple[Demonstration, ...]:
    encoding = view.encoding
    return demonstrations_from_episodes(
        episodes,
        view.environment.vocabulary,
        state_of=encoding.decode_state,
        goal_of=encoding.decode_goal,
        segment=segment_by_step(lambda action, state: encoding.decode_action(action, state.objects)),
    )


@pytest.mark.parametrize("name", ANALYTIC)
def test_episodes_of_the_gymnasium_view_give_the_same_operators(name: str, tmp_path: Path) -> None:
    environment = make_environment(name)
    demonstrations = collect_demonstrations(
        environment, OracleDemonstrator(environment), 10, seed=0
    ).demonstrations
    view = GymView(environment)
    imported = from_view(view, [record(view, demonstration) for demonstration in demonstrations])
    assert [len(one) for one in imported] == [len(one) for one in demonstrations]
    assert learn_operators(imported).operators == learn_operators(demonstrations).operators
    file = tmp_path / "demos.jsonl.gz"
    write_demonstrations(file, environment.vocabulary, imported)
    assert read_demonstrations(file).demonstrations == imported


def stacked(rows: Sequence[Any]) -> Any:
    """Return rows in the layout of Minari: one array per part of a space."""
    if isinstance(rows[0], dict):
        return {key: stacked([row[key] for row in rows]) for key in rows[0]}
    if isinstance(rows[0], tuple):
        return tuple(map(stacked, zip(*rows, strict=True)))
    return np.stack(rows)


def test_episodes_of_minari() -> None:
    environment = ToyEnvironment()
    demonstrations = collect_demonstrations(
        environment, OracleDemonstrator(environment), 3, seed=0
    ).demonstrations
    view = GymView(environment, max_objects=10, max_goal_atoms=2)
    episodes = [record(view, demonstration) for demonstration in demonstrations]
    of_minari = []
    for number, episode in enumerate(episodes):
        count = len(episode.actions)
        over = np.arange(count) == count - 1
        observations, actions = stacked(episode.observations), stacked(episode.actions)
        of_minari.append(EpisodeData(number, observations, actions, -np.ones(count), over, ~over, {}))
    assert from_view(view, of_minari) == from_view(view, episodes)


WALK = ToyWalk()
WALKER_0 = WALKER("w0")


def walk_state(observation: np.ndarray) -> State:
    return State({WALKER_0: observation.tolist()})


def to_the_right(observation: Any, state: State) -> AbstractState:
    return frozenset([FAR_RIGHT(WALKER_0)])


def walk(*targets: float) -> tuple[Episode, list[float]]:
    """Walk along a line in small steps; return the episode and the target of each step."""
    state, observations, actions, labels = walk_state(np.zeros(1)), [np.zeros(1)], [], []
    for target in targets:
        while abs(target - state.get(WALKER_0, "x")) > 1e-6:
            actions.append(np.clip([target - state.get(WALKER_0, "x")], -0.5, 0.5))
            state = WALK.step(state, actions[-1])
            observations.append(state.vector([WALKER_0]))
            labels.append(target)
    return Episode(observations, actions), labels


def imported_walk(episode: RecordedEpisode, segment: Segmenter) -> Demonstration:
    (found,) = demonstrations_from_episodes(
        [episode], WALK.vocabulary, state_of=walk_state, goal_of=to_the_right, segment=segment
    )
    return found


def test_low_level_steps_with_labels() -> None:
    episode, labels = walk(-1.0, 2.0, 4.0)
    labelled = Episode(np.stack(episode.observations), (np.stack(episode.actions), np.array(labels)))
    demonstration = imported_walk(
        labelled, segment_by_controller(lambda action, state: WALK_TO(WALKER_0, parameters=[action[1]]))
    )
    assert demonstration.actions == tuple(WALK_TO(WALKER_0, parameters=[x]) for x in (-1.0, 2.0, 4.0))
    assert demonstration.states is not None
    assert [state.get(WALKER_0, "x") for state in demonstration.states] == pytest.approx([0, -1, 2, 4])
    assert demonstration.abstract_states == (*[frozenset()] * 3, {FAR_RIGHT(WALKER_0)})


def test_low_level_steps_with_a_user_segmenter() -> None:
    """A controller ends where the walker turns around."""

    def turns(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        for end in range(1, len(actions) + 1):
            if end == len(actions) or actions[end - 1] * actions[end] < 0:
                yield Segment(WALK_TO(WALKER_0, parameters=states[end][WALKER_0]), end)

    demonstration = imported_walk(walk(-1.0, 2.0, 4.0)[0], turns)
    assert [action.parameters[0] for action in demonstration.actions] == pytest.approx([-1.0, 4.0])


def test_an_episode_without_actions() -> None:
    demonstration = imported_walk(
        Episode(np.array([[4.0]]), []), segment_by_step(lambda action, state: None)
    )
    assert len(demonstration) == 0


class TestBrokenEpisodes:
    """Each episode has one error."""

    def error_of(
        self,
        observations: Any = (0.0, 4.0, 4.5),
        actions: Any = (4.0, 4.5),
        state_of: Any = walk_state,
        goal_of: Any = to_the_right,
        segment: Any = None,
    ) -> str:
        if isinstance(observations, tuple):
            observations = np.array(observations)[:, None]
        if isinstance(actions, tuple):
            actions = list(actions)
        with pytest.raises(DemonstrationError) as error:
            demonstrations_from_episodes(
                [Episode(observations, actions)],
                WALK.vocabulary,
                state_of=state_of,
                goal_of=goal_of,
                segment=segment or segment_by_step(self.walk_to),
            )
        return str(error.value)

    @staticmethod
    def walk_to(action: Any, state: State) -> GroundController | None:
        return WALK_TO(WALKER_0, parameters=[float(action)])

    def test_lengths(self) -> None:
        assert self.error_of(actions=(4.0, 4.5, 5.0)) == (
            "Episode 0: 3 actions need 4 observations, got 3. "
            "Record one before the first action and one after each action."
        )
        parts = {"x": np.zeros(3), "inner": (np.zeros(3), np.zeros(2))}
        assert self.error_of(observations=parts) == (
            "Episode 0: The parts of observations['inner'] must have the same length, got lengths [2, 3]."
        )
        assert "The parts of actions must have the same length, got lengths []." in self.error_of(
            actions={}
        )
        assert "observations must be a list or an array with one entry per step, got 5." in (
            self.error_of(observations=5)
        )

    def test_the_episode_is_named(self) -> None:
        good, broken = Episode(np.array([[4.0]]), []), Episode(np.array([[4.0]]), [4.5])
        with pytest.raises(DemonstrationError, match="Episode 2: 1 actions need 2 observations, got 1"):
            demonstrations_from_episodes(
                iter([good, good, broken]),
                WALK.vocabulary,
                state_of=walk_state,
                goal_of=to_the_right,
                segment=segment_by_step(self.walk_to),
            )

    def test_an_action_that_no_controller_explains(self) -> None:
        def seldom(action: Any, state: State) -> GroundController | None:
            return self.walk_to(action, state) if action < 4.2 else None

        assert self.error_of(segment=segment_by_step(seldom)).startswith(
            "Episode 0, step 1: No controller explains the action 4.5. Add a controller"
        )

    def test_unknown_objects(self) -> None:
        other = WALKER("other")
        message = self.error_of(
            segment=segment_by_step(lambda action, state: WALK_TO(other, parameters=[action]))
        )
        assert message.startswith("Episode 0, step 0: Unknown object of WalkTo 'other:walker'.")
        message = self.error_of(goal_of=lambda observation, state: {FAR_RIGHT(other)})
        assert "Episode 0: Unknown object in the goal atom FarRight(other) 'other:walker'." in message
        message = self.error_of(
            state_of=lambda observation: State({WALKER_0 if observation[0] < 4.2 else other: observation})
        )
        assert message.startswith("Episode 0, step 2: The object other:walker is not in all states.")

    def test_names_that_are_not_in_the_vocabulary(self) -> None:
        ghost = Type("ghost", ("x",))("s")
        message = self.error_of(state_of=lambda observation: State({ghost: observation}))
        assert message == "Episode 0, step 0: Unknown type of 's' 'ghost'. Known: walker."
        message = self.error_of(
            goal_of=lambda observation, state: {toy_world.HAND_FREE(toy_world.ROBOT("r"))}
        )
        assert message == "Episode 0: Unknown predicate in the goal 'HandFree'. Known: FarRight."
        lift = toy_world.TAKE_LID_OFF(toy_world.ROBOT("r"), toy_world.JAR("j"))
        message = self.error_of(segment=segment_by_step(lambda action, state: lift))
        assert message == "Episode 0, step 0: Unknown controller 'TakeLidOff'. Known: Pace, WalkTo."

    def test_invalid_states_and_parameters(self) -> None:
        message = self.error_of(observations=(0.0, np.nan, 4.5))
        assert message.startswith("Episode 0, step 1: Object 'w0' has a value that is not finite")
        message = self.error_of(actions=(4.0, 6.01))
        assert message.startswith(
            "Episode 0, step 1: Parameter 0 of WalkTo(w0; 6.01) is outside of [-6.0, 6.0]. Clip it"
        )
        assert "takes 1 parameters, got 0" in self.error_of(
            segment=segment_by_step(lambda action, state: PACE(WALKER_0))
        )

    def test_actions_and_goals_of_a_wrong_type(self) -> None:
        wrong = self.error_of(segment=segment_by_step(lambda action, state: "pace"))  # type: ignore[arg-type, return-value]
        assert "Episode 0, step 0: The segment has 'pace' as its action. Return a ground" in wrong
        assert self.error_of(goal_of=lambda observation, state: ["Far"]) == (
            "Episode 0: 'Far' in the goal is no ground atom, such as ON(cup, table)."
        )

    def test_goals_that_are_missed_or_empty(self) -> None:
        assert self.error_of(observations=(4.0, 4.0, 0.0)) == (
            "Episode 0: The goal does not hold at the end of a demonstration: FarRight(w0)."
        )
        assert self.error_of(goal_of=lambda observation, state: ()) == (
            "Episode 0: The goal is empty. Name at least one atom to achieve."
        )

    @pytest.mark.parametrize(
        ("ends", "message"),
        [
            ([0], "step 0: A segment that begins here ends at 0. It must end after 0 "),
            ([1, 1], "step 1: A segment that begins here ends at 1. It must end after 1 "),
            ([3], "step 0: A segment that begins here ends at 3."),
            ([1], "step 1: the segments end here, but there are 2 steps. Return segments for all"),
            ([], "step 0: the segments end here, but there are 2 steps."),
        ],
    )
    def test_segments_with_gaps(self, ends: list[int], message: str) -> None:
        there = WALK_TO(WALKER_0, parameters=[4.0])
        found = self.error_of(segment=lambda states, actions: [Segment(there, end) for end in ends])
        assert found.startswith(f"Episode 0, {message}")
