"""Segmenters of episodes, on made-up actions and states."""

from __future__ import annotations

import pytest

from needful.core.atoms import Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.demos.episodes import (
    AtomChange,
    Episode,
    Segment,
    demonstrations_from_episodes,
    segment_by_atoms,
    segment_by_controller,
    segment_by_start,
    segment_by_step,
)
from needful.errors import DemonstrationError, InvalidInputError

ROBOT = Type("robot", ("x",))
ROBBY = ROBOT("robby")
GO = Controller("Go", (ROBOT,), (0.0,), (9.0,))
STOP = Controller("Stop", (ROBOT,))
STATES = [State({ROBBY: (float(x),)}) for x in range(7)]


def controller_of(action: str, state: State) -> GroundController | None:
    """Return the controller of a letter; the parameter of `Go` is a digit or the robot's position."""
    if action[0] == "g":
        return GO(ROBBY, parameters=[float(action[1:] or state.get(ROBBY, "x"))])
    return STOP(ROBBY) if action == "s" else None


def by_step(actions: str) -> list[Segment]:
    return list(segment_by_step(controller_of)(STATES, actions.split()))


def by_controller(actions: str) -> list[Segment]:
    return list(segment_by_controller(controller_of)(STATES, actions.split()))


def go(target: float) -> GroundController:
    return GO(ROBBY, parameters=[target])


def test_every_step_is_a_segment() -> None:
    assert by_step("g1 g1 s ? g") == [
        Segment(go(1), 1),
        Segment(go(1), 2),
        Segment(STOP(ROBBY), 3),
        Segment(None, 4),
        Segment(go(4), 5),  # the state before the action
    ]
    assert by_step("") == []


def test_equal_neighbours_are_one_segment() -> None:
    assert by_controller("g1 g1 g2 s s g1") == [
        Segment(go(1), 2),
        Segment(go(2), 3),
        Segment(STOP(ROBBY), 5),
        Segment(go(1), 6),
    ]
    assert by_controller("") == []


def test_unexplained_steps_stay_apart() -> None:
    assert by_controller("s ? ? s") == [
        Segment(STOP(ROBBY), 1),
        Segment(None, 2),
        Segment(None, 3),
        Segment(STOP(ROBBY), 4),
    ]


def test_steps_are_explained_one_by_one() -> None:
    """An error is raised only after the segments before it."""
    segments = iter(segment_by_step(lambda action, state: go({"a": 1.0}[action]))(STATES, ["a", "b"]))
    assert next(segments) == Segment(go(1), 1)
    with pytest.raises(KeyError):
        next(segments)


def by_start(actions: str) -> list[Segment]:
    return list(segment_by_start(controller_of)(STATES, actions.split()))


def test_a_label_at_the_start_lasts_until_the_next_label() -> None:
    assert by_start("g2 - - s - g2") == [Segment(go(2), 3), Segment(STOP(ROBBY), 5), Segment(go(2), 6)]
    assert by_start("s - -") == [Segment(STOP(ROBBY), 3)]
    assert by_start("") == []


def test_a_controller_may_directly_follow_itself() -> None:
    assert by_start("s - s - -") == [Segment(STOP(ROBBY), 2), Segment(STOP(ROBBY), 5)]


def test_the_first_action_needs_a_label() -> None:
    with pytest.raises(InvalidInputError, match=r"No controller starts with the first action. Return one"):
        by_start("- s")


PAST = [Predicate(f"Past{x}", (ROBOT,), lambda s, o, x=x: s.get(o[0], "x") >= x) for x in (2, 3, 5)]
PAST2, PAST3, PAST5 = PAST
VOCABULARY = Vocabulary((ROBOT,), tuple(PAST), (GO, STOP))


def past(change: AtomChange) -> GroundController | None:
    """Name the controller after the position at the end, unless only Past2 was added."""
    if change.added == {PAST2(ROBBY)}:
        return None
    return GO(ROBBY, parameters=[change.after.get(ROBBY, "x")])


def test_segments_end_where_atoms_change() -> None:
    segment = segment_by_atoms(PAST, lambda change: go(change.after.get(ROBBY, "x")))
    assert list(segment(STATES[:6], "abcde")) == [Segment(go(2), 2), Segment(go(3), 3), Segment(go(5), 5)]


def test_steps_after_the_last_change_belong_to_the_last_segment() -> None:
    changes: list[AtomChange] = []
    segment = segment_by_atoms(PAST[:1], lambda change: changes.append(change) or STOP(ROBBY))
    assert list(segment(STATES, "abcdef")) == [Segment(STOP(ROBBY), 6)]
    (change,) = changes
    assert (change.before, change.after) == (STATES[0], STATES[6])
    assert (change.added, change.deleted) == ({PAST2(ROBBY)}, frozenset())
    assert change.actions == tuple("abcdef")


def test_a_change_that_ends_no_controller_is_joined_with_the_next() -> None:
    assert list(segment_by_atoms(PAST, past)(STATES[:6], "abcde")) == [Segment(go(3), 3), Segment(go(5), 5)]


def test_an_episode_without_changes_is_one_segment() -> None:
    still = [STATES[0]] * 3
    assert list(segment_by_atoms(PAST, lambda change: STOP(ROBBY))(still, "ab")) == [
        Segment(STOP(ROBBY), 2)
    ]
    assert list(segment_by_atoms(PAST, lambda change: STOP(ROBBY))(still[:1], "")) == []


def test_an_unexplained_last_change_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match=r"last change \(\+Past2\(robby\) in 2 steps\). Return a"):
        list(segment_by_atoms(PAST, past)(STATES[:3], "ab"))
    back = [STATES[2], STATES[0]]
    with pytest.raises(InvalidInputError, match=r"\(-Past2\(robby\) in 1 step\)"):
        list(segment_by_atoms(PAST, lambda change: None)(back, "a"))


def test_segments_by_atoms_give_demonstrations() -> None:
    episode = Episode(observations=list(range(6)), actions=list("abcde"))

    def read(*episodes: Episode) -> tuple[int, ...]:
        demonstrations = demonstrations_from_episodes(
            episodes,
            VOCABULARY,
            state_of=lambda x: STATES[x],
            goal_of=lambda observation, state: {PAST5(ROBBY)},
            segment=segment_by_atoms(PAST, past),
        )
        return tuple(map(len, demonstrations))

    assert read(episode) == (2,)
    with pytest.raises(DemonstrationError, match="Episode 1, step 0: No controller explains the last"):
        read(episode, Episode(observations=[0, 1, 2], actions=["a", "b"]))
