"""Convert recorded episodes, such as those of Gymnasium and Minari, to demonstrations.

An episode has n `actions` and n + 1 `observations`. User functions interpret them: `state_of` maps an
observation to a state, `goal_of` returns the goal, and a segmenter splits the steps into executions of
controllers. The classifiers of the vocabulary's predicates give the abstract states.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import Object, counted
from needful.core.state import State
from needful.errors import DemonstrationError, InvalidInputError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an episode in which one controller is executed; it starts where the previous segment ends.

    Attributes:
        action: the controller with its objects and parameters; None if no controller explains the steps.
        end: the number of steps from the start of the episode to the end of this segment.
    """

    action: GroundController | None
    end: int


# A function from a recorded action and the state before it to the executed controller, or to None if no
# controller explains the action.
ControllerOf: TypeAlias = Callable[[Any, State], GroundController | None]
# A function from the n + 1 states and the n actions of an episode to its segments, in order. Together, the
# segments must cover all steps.
Segmenter: TypeAlias = Callable[[Sequence[State], Sequence[Any]], Iterable[Segment]]
# A function from a recorded observation to the state that it describes.
StateOf: TypeAlias = Callable[[Any], State]
# A function from the first observation and the first state of an episode to its goal.
GoalOf: TypeAlias = Callable[[Any, State], AbstractState]


def segment_by_step(controller_of: ControllerOf) -> Segmenter:
    """Return a segmenter for episodes in which each action executes a whole controller.

    `controller_of` returns the controller that an action executes.
    """

    def segment(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        for step, action in enumerate(actions):
            yield Segment(controller_of(action, states[step]), step + 1)

    return segment


def segment_by_controller(controller_of: ControllerOf) -> Segmenter:
    """Return a segmenter for episodes in which a controller takes several low-level actions.

    `controller_of` returns the controller that each action belongs to. Successive steps with the same
    controller, objects and parameters are one execution.
    """

    def segment(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        last: Segment | None = None
        for step in segment_by_step(controller_of)(states, actions):
            if last is not None and (step.action is None or step.action != last.action):
                yield last
            last = step
        if last is not None:
            yield last

    return segment


def segment_by_start(starting_controller: ControllerOf) -> Segmenter:
    """Return a segmenter for episodes in which only the start of each controller is labelled.

    `starting_controller` returns the controller that starts with an action, or None if the controller of
    the previous step continues. Two successive segments may have the same controller.
    """

    def segment(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        running: GroundController | None = None
        for step, action in enumerate(actions):
            started = starting_controller(action, states[step])
            if started is None and step == 0:
                raise InvalidInputError(
                    "No controller starts with the first action. Return one for it, or omit the steps "
                    "before the first controller."
                )
            if started is not None:
                if running is not None:
                    yield Segment(running, step)
                running = started
        if running is not None:
            yield Segment(running, len(actions))

    return segment


@dataclass(frozen=True, slots=True)
class AtomChange:
    """A part of an episode that ends when atoms change, or at the end of the episode.

    Attributes:
        before, after: the states before and after this part.
        added, deleted: the atoms that hold only after this part, and those that hold only before it.
        actions: the recorded actions of this part.
    """

    before: State
    after: State
    added: AbstractState
    deleted: AbstractState
    actions: tuple[Any, ...]

    def __str__(self) -> str:
        parts = [f"+{atom}" for atom in sorted(self.added)] + [f"-{atom}" for atom in sorted(self.deleted)]
        return f"{', '.join(parts) or 'no atom'} in {counted(self.actions, 'step')}"


def segment_by_atoms(
    predicates: Iterable[Predicate], controller_of: Callable[[AtomChange], GroundController | None]
) -> Segmenter:
    """Return a segmenter for episodes without labels; a segment ends when an action changes atoms.

    `controller_of` returns the controller that causes a change. If it returns None, the controller has not
    finished yet, and the segment continues to the next change. Steps after the last change belong to the
    last segment.
    """
    predicates = tuple(predicates)

    def segment(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        if not actions:
            return
        atoms = [abstract(state, predicates) for state in states]
        ends = [end for end in range(1, len(states)) if atoms[end] != atoms[end - 1]]
        ends[-1:] = [len(actions)]
        start = 0
        for end in ends:
            change = AtomChange(
                states[start],
                states[end],
                atoms[end] - atoms[start],
                atoms[start] - atoms[end],
                tuple(actions[start:end]),
            )
            action = controller_of(change)
            if action is not None:
                yield Segment(action, end)
                start = end
            elif end == len(actions):
                raise InvalidInputError(
                    f"No controller explains the last change ({change}). Return a controller for it, or "
                    "omit the steps after the goal."
                )

    return segment


class RecordedEpisode(Protocol):
    """The attributes that an episode must have; Minari's `EpisodeData` has them."""

    @property
    def observations(self) -> Any:
        """One observation before the first action and one after each action."""
        ...

    @property
    def actions(self) -> Any:
        """The recorded actions."""
        ...


@dataclass(frozen=True, slots=True)
class Episode:
    """A recorded episode: a list or array of observations, and a list or array of actions.

    In some Gymnasium environments, an observation or action is a dictionary or a tuple. Then, as in Minari,
    `observations` or `actions` is a dictionary or a tuple, in which each entry is a list or array.
    """

    observations: Any
    actions: Any


def demonstrations_from_episodes(
    episodes: Iterable[RecordedEpisode],
    vocabulary: Vocabulary,
    *,
    state_of: StateOf,
    goal_of: GoalOf,
    segment: Segmenter,
) -> tuple[Demonstration, ...]:
    """Convert each recorded episode to a demonstration.

    Raises `DemonstrationError` if an episode is invalid; the message names the episode and, if known, the
    step, both counted from 0. An episode that does not reach its goal is invalid, so do not pass it.

    Args:
        episodes: for example `dataset.iterate_episodes()` of Minari, or a list of `Episode`.
        vocabulary: the types, predicates with classifiers, and controllers.
        state_of: maps an observation to its state; all states of an episode must have the same objects.
        goal_of: returns the goal of an episode, given its first observation and its first state.
        segment: splits an episode into executions of controllers: `segment_by_step(...)` if each
            action executes a whole controller, `segment_by_controller(...)` if the controller of each
            action is known, `segment_by_start(...)` if only the first action of each controller is
            labelled, `segment_by_atoms(...)` if nothing is labelled, or your own function.
    """
    reader = _Reader(vocabulary, state_of, goal_of, segment)
    return tuple(reader.read(number, episode) for number, episode in enumerate(episodes))


@dataclass(frozen=True, slots=True)
class _Reader:
    vocabulary: Vocabulary
    state_of: StateOf
    goal_of: GoalOf
    segment: Segmenter

    def read(self, number: int, episode: RecordedEpisode) -> Demonstration:
        with _locate_errors(f"Episode {number}"):
            observations, actions = _steps(episode)
        states = self._states(number, observations)
        with _locate_errors(f"Episode {number}"):
            goal = self._goal(observations[0], states[0])
        executed = list(self._executed_actions(number, states, actions))
        visited = (states[0], *(states[end] for _, end in executed))
        with _locate_errors(f"Episode {number}"):
            return Demonstration(
                states[0].objects,
                goal,
                tuple(abstract(state, self.vocabulary.predicates) for state in visited),
                tuple(action for action, _ in executed),
                visited,
            )

    def _states(self, number: int, observations: Sequence[Any]) -> list[State]:
        states: list[State] = []
        for step, observation in enumerate(observations):
            with _locate_errors(f"Episode {number}, step {step}"):
                states.append(self.state_of(observation))
                _check_objects(states[0], states[-1], self.vocabulary)
        return states

    def _goal(self, observation: Any, state: State) -> AbstractState:
        goal = frozenset(self.goal_of(observation, state))
        if not goal:
            raise InvalidInputError("The goal is empty. Name at least one atom to achieve.")
        for atom in goal:
            if not isinstance(atom, GroundAtom):
                raise InvalidInputError(f"{atom!r} in the goal is no ground atom, such as ON(cup, table).")
        for atom in sorted(goal):
            if atom.predicate not in self.vocabulary.predicates:
                known = (one.name for one in self.vocabulary.predicates)
                raise UnknownNameError("predicate in the goal", atom.predicate.name, known)
            _check_known(atom.objects, state, f"object in the goal atom {atom}")
        return goal

    def _executed_actions(
        self, number: int, states: Sequence[State], actions: Sequence[Any]
    ) -> Iterator[tuple[GroundController, int]]:
        """Yield the action of each segment, with the index of the state in which the segment ends.

        `number` is the index of the episode. Errors name the first step of an invalid or missing segment.
        """
        start = 0
        segments = iter(self.segment(states, actions))
        while True:
            with _locate_errors(f"Episode {number}, step {start}"):
                segment = next(segments, None)
                if segment is None:
                    break
                action = self._checked_action(segment, start, states[start], actions)
            yield action, segment.end
            start = segment.end
        if start != len(actions):
            raise DemonstrationError(
                f"Episode {number}, step {start}: the segments end here, but there are {len(actions)} "
                "steps. Return segments for all steps, or omit the steps after the goal."
            )

    def _checked_action(
        self, segment: Segment, start: int, state: State, actions: Sequence[Any]
    ) -> GroundController:
        """Return the action of a segment, or raise if the segment is invalid.

        `start` is the index of the segment's first step, `state` the state before it, and `actions` are the
        recorded actions of the episode.
        """
        if not start < segment.end <= len(actions):
            raise InvalidInputError(
                f"A segment that begins here ends at {segment.end}. It must end after {start} and at or "
                f"before {len(actions)}, the number of steps."
            )
        action, controllers = segment.action, self.vocabulary.controllers
        if action is None:
            raise InvalidInputError(
                f"No controller explains the action {reprlib.repr(actions[start])}. "
                "Add a controller for it, or omit such episodes."
            )
        if not isinstance(action, GroundController):
            raise InvalidInputError(
                f"The segment has {reprlib.repr(action)} as its action. Return a ground controller, such "
                "as PICK(robot, cup)."
            )
        if action.controller not in controllers:
            raise UnknownNameError("controller", action.controller.name, (one.name for one in controllers))
        _check_known(action.objects, state, f"object of {action.controller.name}")
        index = action.controller.first_out_of_bounds(action.parameters)
        if index is not None:
            raise InvalidInputError(
                f"Parameter {index} of {action} is outside of [{action.controller.low[index]}, "
                f"{action.controller.high[index]}]. Clip it, or widen the controller's bounds."
            )
        return action


def _check_objects(first: State, state: State, vocabulary: Vocabulary) -> None:
    if state.objects != first.objects:
        stray = sorted(set(state.objects) ^ set(first.objects))[0]
        raise InvalidInputError(
            f"The object {stray} is not in all states. All states of an episode must have the same objects."
        )
    for obj in state.objects if state is first else ():
        if obj.type not in vocabulary.types:
            known = (kind.name for kind in vocabulary.types)
            raise UnknownNameError(f"type of {obj.name!r}", obj.type.name, known)


def _check_known(objects: Iterable[Object], state: State, what: str) -> None:
    for obj in objects:
        if obj not in state:
            raise UnknownNameError(what, str(obj), map(str, state.objects))


def _steps(episode: RecordedEpisode) -> tuple[list[Any], list[Any]]:
    """Return the n + 1 observations and the n actions of an episode as lists."""
    observations = _unstacked(episode.observations, "observations")
    actions = _unstacked(episode.actions, "actions")
    if len(observations) != len(actions) + 1:
        raise InvalidInputError(
            f"{len(actions)} actions need {len(actions) + 1} observations, got {len(observations)}. "
            "Record one before the first action and one after each action."
        )
    return observations, actions


def _unstacked(recorded: Any, name: str) -> list[Any]:
    """Return recorded observations or actions as a list with one entry per step.

    A dictionary of lists becomes a list of dictionaries, and a tuple of lists a list of tuples. `name` is
    the name of `recorded` in error messages.
    """
    if isinstance(recorded, Mapping):
        rows = _rows([_unstacked(part, f"{name}[{key!r}]") for key, part in recorded.items()], name)
        return [dict(zip(recorded, row, strict=True)) for row in rows]
    if isinstance(recorded, tuple):
        return _rows([_unstacked(part, f"{name}[{key}]") for key, part in enumerate(recorded)], name)
    try:
        return list(recorded)
    except TypeError:
        raise InvalidInputError(
            f"{name} must be a list or an array with one entry per step, got {reprlib.repr(recorded)}."
        ) from None


def _rows(columns: list[list[Any]], name: str) -> list[tuple[Any, ...]]:
    lengths = sorted({len(column) for column in columns})
    if len(lengths) != 1:
        raise InvalidInputError(f"The parts of {name} must have the same length, got lengths {lengths}.")
    return list(zip(*columns, strict=True))


@contextmanager
def _locate_errors(location: str) -> Iterator[None]:
    """Raise an `InvalidInputError` of the block as a `DemonstrationError`; `location` begins its text."""
    try:
        yield
    except InvalidInputError as error:
        raise DemonstrationError(f"{location}: {error}") from error
