"""Environments on top of a simulator with hidden state, such as velocities, contacts or random generators.

The features of a `State` do not determine the full state of such a simulator. Therefore a
`SnapshotEnvironment` saves a snapshot of the simulator after every action, and restores it when the planner
continues from that state.

A state has a history: how the simulator was started, and the actions since then. The history identifies the
snapshot of a state, and distinguishes states with equal features but different hidden state. If a snapshot
is not in the cache, or if a state comes from another process, the actions of the history are run again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from needful.core.controllers import GroundController, Parameters
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.contract import MAX_STEPS, Environment
from needful.errors import EnvironmentFailure, InvalidInputError, UnknownNameError

# The controller is stored by name, because controllers may hold functions, which cannot be pickled.
PastAction: TypeAlias = tuple[str, tuple[Object, ...], Parameters]


@dataclass(frozen=True, slots=True)
class History:
    """The origin of a state: the environment, how its simulator was started, and the actions since then."""

    environment: str
    start: Hashable
    actions: tuple[PastAction, ...] = ()

    def after(self, action: GroundController) -> History:
        """Return the history that continues with the given action."""
        past = (action.controller.name, action.objects, action.parameters)
        return replace(self, actions=(*self.actions, past))


class SnapshotState(State):
    """A state with the history that led to it.

    Two such states are equal if their features and their histories are equal. `replace`, which changes
    features, returns a plain `State`: no actions led to the changed state, so it has no history.
    """

    __slots__ = ("history",)

    history: History

    def __init__(self, features: State, history: History) -> None:
        super().__init__({obj: features[obj] for obj in features})
        self.history = history

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SnapshotState) and self.history == other.history and super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


@dataclass(frozen=True, slots=True)
class SimulatorCalls:
    """How often a `SnapshotEnvironment` called its simulator.

    Attributes:
        runs: how many actions were run because a caller requested their result.
        replays: how many actions were run again because a snapshot was not in the cache.
        resets: how often the simulator was set up from the `start` of a task.
        restores: how often a snapshot was restored.
        saves: how often a snapshot was saved.
    """

    runs: int = 0
    replays: int = 0
    resets: int = 0
    restores: int = 0
    saves: int = 0

    def __sub__(self, earlier: SimulatorCalls) -> SimulatorCalls:
        """Return the calls since `earlier`."""
        pairs = zip(astuple(self), astuple(earlier), strict=True)
        return SimulatorCalls(*(now - before for now, before in pairs))

    @property
    def per_run(self) -> float:
        """The number of costly calls (runs, replays and resets) per requested run; 1 is the optimum."""
        return (self.runs + self.replays + self.resets) / self.runs if self.runs else 0.0


class SnapshotEnvironment(Environment):
    """An environment whose states are snapshots of a simulator with hidden state.

    Implement `make_simulator`, `reset`, `run`, `observe`, `save` and `restore`, which work on
    `self.simulator`. In `sample_task`, call `initial_state(start)` to get the initial state of a task.
    Here, `start` is a hashable value from which `reset` sets up the simulator, such as a seed or the poses
    of all objects.

    If the same action is run twice from the same snapshot, the resulting atoms must be equal, and the
    features may differ by at most `tolerance`. Otherwise, `execute` breaks the contract of `Environment`.

    Attributes:
        tolerance: the largest allowed difference of features between two runs of the same action.
        cache_size: the maximum number of stored snapshots, for initial and for all other states each.
    """

    # In low-level actions: enough for 100 controller calls of MAX_STEPS low-level actions each.
    horizon: int = 100 * MAX_STEPS
    tolerance: float = 0.0
    cache_size: int = 256

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise `InvalidInputError` if a subclass overrides a private attribute of this class."""
        super().__init_subclass__(**options)
        private = {name for name in vars(SnapshotEnvironment) if name.startswith("_") and name[1] != "_"}
        for name in sorted(private & vars(cls).keys() - {"_abc_impl"}):
            raise InvalidInputError(
                f"The class {cls.__name__} defines {name!r}, which SnapshotEnvironment uses internally. "
                "Choose another name."
            )

    @abstractmethod
    def make_simulator(self, scene: Hashable) -> Any:
        """Return a new simulator of a scene; this method is called once per process and scene."""

    @abstractmethod
    def reset(self, start: Any) -> None:
        """Set up `self.simulator` from `start`; the result must not depend on what happened before."""

    @abstractmethod
    def run(self, action: GroundController) -> int:
        """Run a controller in `self.simulator` until it terminates; return the number of low-level actions.

        If the action is not possible, raise `EnvironmentFailure` with the objects that prevent it, if any.
        The simulator may then be in any state, because a snapshot is restored before the next action.
        """

    @abstractmethod
    def observe(self) -> State:
        """Return the features of the current state of `self.simulator`, without changing it."""

    @abstractmethod
    def save(self) -> Any:
        """Return a snapshot of the current state of `self.simulator`, including its hidden state."""

    @abstractmethod
    def restore(self, token: Any) -> None:
        """Put `self.simulator` back into the state that it had when `save` returned `token`."""

    def discard(self, token: Any) -> None:
        """Free the memory of a snapshot that will not be restored again.

        `self.simulator` is the simulator in which the snapshot was saved.
        """

    def scene(self, start: Any) -> Hashable:
        """Return the scene of `start`: a hashable value that identifies the simulator to use.

        Each scene has its own simulator and snapshots. Override this method if tasks differ in the bodies
        that are loaded, for example in the number of blocks.
        """
        return None

    def start_of(self, state: State) -> Hashable:
        """Return the `start` from which `reset` sets up a state that did not come from this environment.

        Such states come from files, cameras and `State.replace`; they have no hidden state. Override this
        method if the features of a state at rest are enough to set up the simulator. By default, it
        raises an error.
        """
        raise InvalidInputError(
            f"The environment {self.name!r} has no snapshot of this state: it did not come from its "
            "`initial_state` or `execute`, or it was read with noise. Continue from one of their states, "
            "or write `start_of`, which sets up the simulator from features."
        )

    @property
    def simulator(self) -> Any:
        """The simulator of the current scene."""
        return self._session.live.simulator

    @property
    def simulator_calls(self) -> SimulatorCalls:
        """How often the simulator was called so far, in this process."""
        return self._session.calls

    def initial_state(self, start: Any) -> State:
        """Return the state of the simulator after `reset(start)`."""
        if not _hashable(start):
            raise InvalidInputError(
                f"The start {start!r} of the environment {self.name!r} is not hashable. Pass a number, a "
                "string, or a tuple of these."
            )
        history = History(self.name, start)
        self._go_to(history)
        return SnapshotState(self.observe(), history)

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after an action; raise `EnvironmentFailure` if the action fails."""
        return self._run(state, action)[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the simulators and snapshots, which stay in their process."""
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    @cached_property
    def _session(self) -> _Session:
        return _Session()

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        history = self._history(state)
        replays = self._go_to(history)
        if replays:
            self._check_replay(state, replays)
        self._session.count(runs=1)
        steps = self._advance(history, action)
        return SnapshotState(self.observe(), history.after(action)), steps

    def _history(self, state: State) -> History:
        if not isinstance(state, SnapshotState):
            return History(self.name, self.start_of(state))
        if state.history.environment != self.name:
            raise InvalidInputError(
                f"This state came from the environment {state.history.environment!r}, but it was passed to "
                f"{self.name!r}. Use the environment that returned the state."
            )
        return state.history

    def _go_to(self, history: History) -> int:
        """Bring the simulator to the state at the end of a history.

        Returns how many actions of the history had to be run again.
        """
        session = self._session
        scene = self.scene(history.start)
        if not _hashable(scene):
            raise InvalidInputError(
                f"`scene` of the environment {self.name!r} returned {scene!r}, which is not hashable. "
                "Return a number, a string, or a tuple of these."
            )
        session.select(scene, self.make_simulator)
        if session.live.history == history:
            return 0
        known = session.longest_known(history)
        session.live.history = None  # unknown if `restore` or `reset` raises
        if known is not None:
            session.count(restores=1)
            self.restore(session.snapshot(known))
            session.live.history = known
        else:
            known = replace(history, actions=())
            session.count(resets=1)
            self.reset(history.start)
            self._arrive(known)
        lost = history.actions[len(known.actions) :]
        for past in lost:
            action = self._ground(past)
            session.count(replays=1)
            try:
                self._advance(known, action)
            except EnvironmentFailure as failure:
                raise self._not_deterministic(f"{action} now fails: {failure.reason}") from failure
            known = known.after(action)
        return len(lost)

    def _advance(self, history: History, action: GroundController) -> int:
        """Run an action in the state at the end of a history, and save a snapshot.

        Returns the number of low-level actions.
        """
        self._session.live.history = None  # unknown while the action runs, and if it fails
        steps = self.run(action)
        if not isinstance(steps, int | np.integer) or steps < 1:
            raise InvalidInputError(
                f"`run` of the environment {self.name!r} returned {steps!r} for {action}. Return the "
                "number of low-level actions, at least 1. If the action is not possible, raise "
                "EnvironmentFailure."
            )
        self._arrive(history.after(action))
        return int(steps)

    def _arrive(self, history: History) -> None:
        """Save a snapshot for `history`, which led to the current state, unless there already is one."""
        session = self._session
        if session.longest_known(history) == history:
            # The state of the simulator may differ slightly from the stored snapshot. So leave
            # `live.history` at None: `_go_to` then restores the snapshot before the next action.
            return
        session.count(saves=1)
        session.live.history = history
        for replaced, token in session.keep(history, self.save(), self.cache_size):
            session.scene = self.scene(replaced.start)
            self.discard(token)
        session.scene = self.scene(history.start)

    def _ground(self, past: PastAction) -> GroundController:
        name, objects, parameters = past
        for controller in self.vocabulary.controllers:
            if controller.name == name:
                return GroundController(controller, objects, parameters)
        raise UnknownNameError("controller", name, (one.name for one in self.vocabulary.controllers))

    def _check_replay(self, state: State, replays: int) -> None:
        found = self.observe()
        if not found.allclose(state, self.tolerance):
            limit = f"the tolerance of {self.tolerance:g}"
            raise self._not_deterministic(f"after {replays} actions, features differ by more than {limit}")

    def _not_deterministic(self, detail: str) -> InvalidInputError:
        return InvalidInputError(
            f"To recover a snapshot, the environment {self.name!r} ran past actions again, with another "
            f"result: {detail}. Make `reset` and `run` deterministic, increase `tolerance`, or increase "
            "`cache_size`."
        )


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@dataclass(slots=True)
class _LiveSimulator:
    """A simulator and the history of its current state; the history is None if it is not known."""

    simulator: Any
    history: History | None = None


@dataclass(slots=True)
class _Session:
    """The simulators of one process, one per scene, with the snapshots of their states.

    The least recently used snapshots are discarded first. Snapshots of initial states are stored
    separately, because every plan for a task starts from one of them.
    """

    calls: SimulatorCalls = SimulatorCalls()
    simulators: dict[Hashable, _LiveSimulator] = field(default_factory=dict)
    scene: Hashable = None
    initial: OrderedDict[History, Any] = field(default_factory=OrderedDict)
    later: OrderedDict[History, Any] = field(default_factory=OrderedDict)

    @property
    def live(self) -> _LiveSimulator:
        if self.scene not in self.simulators:
            raise InvalidInputError("No simulator runs yet. Call `initial_state` first.")
        return self.simulators[self.scene]

    def select(self, scene: Hashable, make_simulator: Callable[[Hashable], Any]) -> None:
        """Switch to the simulator of a scene; if there is none yet, create it with `make_simulator`."""
        if scene not in self.simulators:
            self.simulators[scene] = _LiveSimulator(make_simulator(scene))
        self.scene = scene

    def count(self, **more: int) -> None:
        """Increase fields of `calls` by the given numbers: `count(runs=1)` adds 1 to `calls.runs`."""
        self.calls = replace(
            self.calls, **{name: getattr(self.calls, name) + number for name, number in more.items()}
        )

    def longest_known(self, history: History) -> History | None:
        """Return `history` up to its latest state that has a snapshot; None if no state has one."""
        for end in range(len(history.actions), -1, -1):
            beginning = replace(history, actions=history.actions[:end])
            if beginning in self._kept(beginning):
                return beginning
        return None

    def snapshot(self, history: History) -> Any:
        """Return the stored snapshot of a history, and mark it as the most recently used one."""
        self._kept(history).move_to_end(history)
        return self._kept(history)[history]

    def keep(self, history: History, token: Any, capacity: int) -> list[tuple[History, Any]]:
        """Store a snapshot; return the snapshots that were removed for it, with their histories.

        At most `capacity` snapshots of initial states are stored in `initial`, and as many of other states
        in `later`; the least recently used are removed.
        """
        kept = self._kept(history)
        replaced = [(history, kept.pop(history))] if history in kept else []
        kept[history] = token
        # Keep one initial state even if `capacity` is 0, so that past actions can be rerun without `reset`.
        while len(kept) > max(0 if history.actions else 1, capacity):
            replaced.append(kept.popitem(last=False))
        return replaced

    def _kept(self, history: History) -> OrderedDict[History, Any]:
        return self.later if history.actions else self.initial
