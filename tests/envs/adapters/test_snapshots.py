"""Snapshots of a simulator with hidden state: caching, replay, identity of states, counters and errors."""

from __future__ import annotations

import pickle
from itertools import count

import numpy as np
import pytest

from hidden_velocity import PUSH, WAIT, SlidingPuck
from needful import InvalidInputError, OracleDemonstrator, check_environment
from needful.envs.adapters.gymnasium import GymnasiumEnvironment
from needful.envs.adapters.snapshots import SimulatorCalls, SnapshotState


def pushed(environment: SlidingPuck, *speeds: float) -> list:
    """Return the states of pushes by the given speeds, from the start on."""
    states = [environment.initial_state(1.0)]
    for speed in speeds:
        states.append(environment.simulate(states[-1], PUSH(environment.puck, parameters=[speed])))
    return states


def test_a_state_continues_with_its_hidden_velocity() -> None:
    environment = SlidingPuck()
    *_, state = pushed(environment, 0.5)
    later = environment.simulate(state, WAIT(environment.puck))
    assert later.get(environment.puck, "x") == 1.0


def test_states_with_equal_features_and_different_hidden_states_are_kept_apart() -> None:
    environment = SlidingPuck()
    fast = pushed(environment, 0.5)[-1]  # x = 0.5, velocity 0.5
    slow = pushed(environment, 0.25, 0.0)[-1]  # x = 0.5, velocity 0.25
    assert str(fast) == str(slow)
    assert fast.allclose(slow, 0.0)
    assert fast != slow
    assert len({fast, slow}) == 2
    assert environment.simulate(fast, WAIT(environment.puck)).get(environment.puck, "x") == 1.0
    assert environment.simulate(slow, WAIT(environment.puck)).get(environment.puck, "x") == 0.75


def test_equal_histories_give_equal_states() -> None:
    first, second = pushed(SlidingPuck(), 0.5, 0.25), pushed(SlidingPuck(), 0.5, 0.25)
    assert first == second
    assert list(map(hash, first)) == list(map(hash, second))


def test_the_simulator_is_not_restored_if_it_is_already_there() -> None:
    environment = SlidingPuck()
    pushed(environment, 0.1, 0.1, 0.1)
    assert environment.simulator_calls == SimulatorCalls(runs=3, resets=1, saves=4)


def test_going_back_restores_one_snapshot_and_runs_one_action() -> None:
    environment = SlidingPuck()
    states = pushed(environment, 0.1, 0.1, 0.1)
    before = environment.simulator_calls
    environment.simulate(states[1], WAIT(environment.puck))
    assert environment.simulator_calls - before == SimulatorCalls(runs=1, restores=1, saves=1)


def test_a_lost_snapshot_is_replayed_from_the_last_known_one() -> None:
    environment = SlidingPuck()
    environment.cache_size = 2
    states = pushed(environment, 0.1, 0.1, 0.1, 0.1, 0.1)
    before = environment.simulator_calls
    again = environment.simulate(states[3], PUSH(environment.puck, parameters=[0.1]))
    assert again == states[4]
    # The snapshot of states[3] is lost. The snapshot of the initial state is kept.
    assert environment.simulator_calls - before == SimulatorCalls(runs=1, replays=3, restores=1, saves=4)


@pytest.mark.parametrize("cache_size", [-1, 0, 1, 3, 100])
def test_the_cache_size_does_not_change_results(cache_size: int) -> None:
    environment = SlidingPuck()
    environment.cache_size = cache_size
    tree = [environment.initial_state(1.0), environment.initial_state(2.0)]
    for state, speed in zip(tree, count(-0.5, 0.05), strict=False):
        if len(tree) >= 40:
            break
        tree += [
            environment.simulate(state, PUSH(environment.puck, parameters=[speed])),
            environment.simulate(state, WAIT(environment.puck)),
        ]
    expected = SlidingPuck()
    for state in tree:
        assert isinstance(state, SnapshotState)
        now = expected.initial_state(state.history.start)
        for name, objects, parameters in state.history.actions:
            controller = {"Push": PUSH, "Wait": WAIT}[name]
            now = expected.simulate(now, controller(*objects, parameters=parameters))
        assert now == state


def test_initial_states_are_sampled_again_without_a_reset() -> None:
    environment = SlidingPuck()
    tasks = environment.tasks("train", 5, seed=0)
    assert environment.tasks("train", 5, seed=0) == tasks
    assert environment.simulator_calls.resets == 5


def test_planning_needs_one_run_per_try_and_no_reset() -> None:
    environment = SlidingPuck()
    tasks = environment.tasks("test", 10, seed=0)
    before = environment.simulator_calls
    oracle = OracleDemonstrator(environment)
    assert all(oracle.demonstrate(task, seed).solved for seed, task in enumerate(tasks))
    calls = environment.simulator_calls - before
    assert (calls.resets, calls.replays) == (0, 0)
    assert calls.per_run == 1.0


def test_a_failed_action_leaves_the_state_usable() -> None:
    environment = SlidingPuck()
    states = pushed(environment, *[1.0] * 4)  # at 10, with speed 4
    execution = environment.execute(states[-1], WAIT(environment.puck))
    assert execution.steps == 0
    assert execution.state is states[-1]
    assert execution.offending == (environment.puck,)
    again = environment.simulate(states[-1], PUSH(environment.puck, parameters=[-5.0]))
    assert again.get(environment.puck, "x") == 9.0


def test_an_unknown_state_is_an_error_with_a_remedy() -> None:
    environment = SlidingPuck()
    state = environment.initial_state(1.0).replace({environment.puck: {"x": 0.3}})
    with pytest.raises(InvalidInputError, match=r"no snapshot of this state.*start_of"):
        environment.execute(state, WAIT(environment.puck))


@pytest.mark.parametrize("returned", [None, 0, 2.5])
def test_a_run_must_return_its_number_of_steps(returned: object) -> None:
    class Forgetful(SlidingPuck):
        def run(self, action):
            return returned

    environment = Forgetful()
    with pytest.raises(InvalidInputError, match=r"Return the number of low-level actions, at least 1"):
        environment.simulate(environment.initial_state(1.0), WAIT(environment.puck))


def test_a_start_must_be_hashable() -> None:
    with pytest.raises(InvalidInputError, match=r"\[1.0\].*not hashable.*tuple"):
        SlidingPuck().initial_state([1.0])


def test_private_methods_cannot_be_overridden_by_accident() -> None:
    with pytest.raises(InvalidInputError, match=r"Careless defines '_run'.*another name"):

        class Careless(SlidingPuck):
            def _run(self):
                return None


def test_the_checker_says_where_hidden_state_may_be() -> None:
    class Forgetful(SlidingPuck):
        def save(self):
            return self.simulator.x, 0.0, self.simulator.mark

    findings = check_environment(Forgetful())
    assert any("A snapshot misses hidden state" in str(finding) for finding in findings)


def test_an_environment_that_cannot_be_copied_names_its_attribute() -> None:
    class Uncopyable:
        def __init__(self) -> None:
            self.count, self.library = 1, pytest

        def reset(self, seed: int) -> None:
            self.count = seed

        @property
        def unwrapped(self):
            return self

    class Wrapped(GymnasiumEnvironment):
        name = "wrapped"
        make_gym = staticmethod(lambda scene: Uncopyable())
        run = observe = sample_task = None  # not used

    with pytest.raises(
        InvalidInputError, match=r"Uncopyable\).*\['library'\].*Override `save` and `restore`"
    ):
        Wrapped().initial_state(3)


def test_a_scene_must_be_hashable() -> None:
    class ListedScene(SlidingPuck):
        def scene(self, start):
            return [start]

    with pytest.raises(InvalidInputError, match=r"`scene`.*\[1.0\].*not hashable.*tuple"):
        ListedScene().initial_state(1.0)


def test_start_of_sets_up_a_state_from_its_features() -> None:
    class Recorded(SlidingPuck):
        def start_of(self, state):
            (mark,) = (one for one in state if one.name == "mark")
            return state.get(mark, "x")

    environment = Recorded()
    start = environment.initial_state(1.0).replace({})
    assert type(start) is not SnapshotState
    after = environment.simulate(start, PUSH(environment.puck, parameters=[0.5]))
    assert after == pushed(environment, 0.5)[-1]


def test_a_state_of_another_environment_is_an_error() -> None:
    class Other(SlidingPuck):
        name = "other-puck"

    with pytest.raises(InvalidInputError, match=r"'sliding-puck'.*'other-puck'"):
        Other().simulate(SlidingPuck().initial_state(1.0), WAIT(SlidingPuck.puck))


def test_a_replay_with_another_result_is_an_error() -> None:
    class Drifting(SlidingPuck):
        cache_size = 0
        drift = 0.0

        def observe(self):
            return super().observe().replace({self.puck: {"x": self.simulator.x + self.drift}})

    environment = Drifting()
    states = pushed(environment, 0.1, 0.1)
    environment.drift = 0.01
    with pytest.raises(InvalidInputError, match="deterministic"):
        environment.simulate(states[1], WAIT(environment.puck))
    environment.tolerance = 0.02
    assert environment.simulate(states[1], WAIT(environment.puck)).get(environment.puck, "x") > 0.2


def test_states_and_environments_can_be_sent_to_another_process() -> None:
    environment = SlidingPuck()
    states = pushed(environment, 0.5, 0.25)
    received = pickle.loads(pickle.dumps((environment, states)))
    assert received[1] == states
    assert received[0].simulator_calls == SimulatorCalls()
    after = received[0].simulate(received[1][1], PUSH(environment.puck, parameters=[0.25]))
    assert after == states[2]
    assert received[0].simulator_calls == SimulatorCalls(runs=1, replays=1, resets=1, saves=3)


def test_each_scene_has_its_own_simulator() -> None:
    class Scenes(SlidingPuck):
        made = 0

        def scene(self, start):
            return start > 1.0

        def make_simulator(self, scene):
            Scenes.made += 1
            return super().make_simulator(scene)

    environment = Scenes()
    near, far = environment.initial_state(0.5), environment.initial_state(1.5)
    before = environment.simulator_calls
    for _ in range(3):  # each simulator waits where it was
        near, far = (environment.simulate(one, WAIT(environment.puck)) for one in (near, far))
    assert Scenes.made == 2
    assert environment.simulator_calls - before == SimulatorCalls(runs=6, saves=6)


def test_discarded_snapshots_are_freed_once() -> None:
    class Freed(SlidingPuck):
        cache_size = 2

        def __init__(self):
            self.saved, self.freed = [], []

        def save(self):
            self.saved.append(object())
            return len(self.saved), super().save()

        def restore(self, token):
            super().restore(token[1])

        def discard(self, token):
            self.freed.append(token[0])

    environment = Freed()
    states = pushed(environment, 0.1, 0.1, 0.1, 0.1)
    environment.simulate(states[0], PUSH(environment.puck, parameters=[0.1]))
    assert len(set(environment.freed)) == len(environment.freed)
    assert len(environment.saved) - len(environment.freed) == 3  # two and the initial state


def test_a_snapshot_is_discarded_in_the_simulator_of_its_scene() -> None:
    class Scenes(SlidingPuck):
        cache_size = 1

        def __init__(self):
            self.wrong = []

        def scene(self, start):
            return start > 1.0

        def save(self):
            return self.simulator, super().save()

        def restore(self, token):
            super().restore(token[1])

        def discard(self, token):
            if token[0] is not self.simulator:
                self.wrong.append(token)

    environment = Scenes()
    states = [environment.initial_state(start) for start in (0.5, 1.5)]
    for _ in range(3):
        states = [environment.simulate(one, WAIT(environment.puck)) for one in states]
    assert environment.wrong == []


def test_the_number_of_steps_may_be_an_integer_of_numpy() -> None:
    class Counted(SlidingPuck):
        def run(self, action):
            return np.int64(super().run(action))

    environment = Counted()
    execution = environment.execute(environment.initial_state(1.0), WAIT(environment.puck))
    assert type(execution.steps) is int
    assert execution.steps == 1


def test_the_checker_accepts_snapshots() -> None:
    assert check_environment(SlidingPuck()) == ()
