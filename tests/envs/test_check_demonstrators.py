"""The checker: environments without an oracle, differences within a tolerance, replays of recordings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from drawer_world import DRAWER, HAND, NEAR, OPEN, PULL, REACH_FOR, Drawers, RecordedDrawers
from hidden_velocity import SlidingPuck
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.plans import Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import collect_demonstrations, make_demonstrator
from needful.envs.checker import check_environment
from needful.envs.contract import Environment, Split
from needful.envs.findings import Finding
from needful.errors import EnvironmentFailure

RECORDED = collect_demonstrations(Drawers(), make_demonstrator(Drawers()), 5, seed=0).demonstrations


def solve(env: Environment, task: Task) -> PlanningResult:
    return make_demonstrator(env).demonstrate(task, seed=0)


def checked(env: Environment, **options: Any) -> tuple[tuple[Finding, ...], list[str]]:
    notes: list[str] = []
    return check_environment(env, tasks=2, on_note=notes.append, **options), notes


def drawers(**members: Any) -> Environment:
    """Return the recorded drawers with some members replaced."""
    environment: Environment = type("Changed", (RecordedDrawers,), members)()
    return environment


class Noisy(RecordedDrawers):
    """The position of the hand after reaching differs from call to call, by at most 0.001."""

    def __init__(self, tolerance: float, noise: float = 1e-3) -> None:
        self.tolerance = tolerance
        self.noise = noise
        self.calls = 0

    def simulate(self, state: State, action: GroundController) -> State:
        self.calls += 1
        after = super().simulate(state, action)
        if action.controller != REACH_FOR:
            return after
        hand = action.objects[0]
        return after.replace({hand: {"x": after.get(hand, "x") + self.noise * (self.calls % 3 == 0)}})


def test_an_environment_without_oracle_and_drawing_keeps_the_contract() -> None:
    findings, notes = checked(RecordedDrawers(), solve=solve)
    assert findings == ()
    assert notes == ["No task was solved: there is neither an oracle model nor a scripted policy."]


def test_a_misspelled_optional_method_is_found() -> None:
    _, notes = checked(drawers(demonstrates=lambda self, task, rng: ()), solve=solve)
    assert notes[0] == (
        "The method `demonstrates` looks like a misspelled `demonstrate`. "
        "Rename it if the package should call it."
    )
    both = drawers(demonstrates=lambda self, task, rng: (), demonstrate=Drawers.demonstrate)
    assert checked(both, solve=solve) == ((), [])
    assert len(checked(drawers(_demonstrate=print, redraw=print), solve=solve)[1]) == 1


def test_goal_atoms_without_a_plan_are_named() -> None:
    class NoPlan(Drawers):
        def oracle_model(self) -> PlanningModel:
            return PlanningModel(self.vocabulary, ())

    findings, _ = checked(NoPlan(), solve=solve)
    (finding,) = [one for one in findings if one.location == "oracle_model"]
    assert "no_abstract_plan (no sequence of operators makes Open(drawer0)" in finding.problem


def test_a_scripted_policy_is_checked_on_the_tasks() -> None:
    assert checked(Drawers(), solve=solve) == ((), [])

    class Lazy(RecordedDrawers):
        def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterator[GroundController]:
            yield PULL(HAND("hand"), DRAWER("drawer0"))

    findings, _ = checked(Lazy(), solve=solve)
    (finding,) = findings
    assert (finding.location, finding.count) == ("demonstrate", 4)
    assert "train task 0: the scripted policy ended with goal_missed" in finding.problem


def test_a_scripted_policy_may_miss_some_tasks() -> None:
    def often(env: Environment, task: Task) -> PlanningResult:
        missed = task == Drawers().task(Split.TRAIN, 1, seed=0)
        return PlanningResult(Outcome.GOAL_MISSED if missed else Outcome.SOLVED)

    findings, notes = checked(Drawers(), solve=often)
    assert findings == ()
    assert notes == [
        "The scripted policy solved 3 of 4 tasks. train task 1: the scripted policy ended with goal_missed."
    ]


def test_a_scripted_policy_with_its_own_random_numbers_is_found() -> None:
    rng = np.random.default_rng(0)

    class Unseeded(Drawers):
        def demonstrate(self, task: Task, _: np.random.Generator) -> Any:
            return super().demonstrate(task, rng)

    findings, _ = checked(Unseeded(), solve=solve)
    assert "gave different actions" in findings[0].problem
    assert "random numbers from `rng` only" in findings[0].remedy


def test_a_difference_beyond_the_tolerance_names_the_feature_and_the_remedies() -> None:
    findings, _ = checked(Noisy(tolerance=0.0))
    (finding,) = [one for one in findings if one.location == "simulate"]
    assert "the largest difference is hand.x by 0.001, the tolerance is 0" in finding.problem
    assert "SnapshotEnvironment (needful.envs.adapters.snapshots)" in finding.remedy
    assert "set `tolerance` on the class to 0.00" in finding.remedy


def test_a_difference_within_the_tolerance_is_a_note() -> None:
    findings, notes = checked(Noisy(tolerance=0.0011))
    assert findings == ()
    assert notes == ["Repeated simulations differ, most in hand.x by 0.001 (within the tolerance 0.0011)."]


def test_the_suggested_tolerance_suffices() -> None:
    (finding, *_) = checked(Noisy(tolerance=0.0, noise=1.2345e-4))[0]
    suggested = float(finding.remedy.split("on the class to ")[1].split(" or more")[0])
    assert 1.2345e-4 <= suggested < 1.5e-4
    assert checked(Noisy(suggested, noise=1.2345e-4))[0] == ()


def test_atoms_may_not_differ_within_the_tolerance() -> None:
    findings, _ = checked(Noisy(tolerance=2.0, noise=1.0))
    (finding,) = [one for one in findings if one.location == "simulate"]
    assert "Near(hand, drawer" in finding.problem
    assert "holds after one of two calls only" in finding.problem


def test_a_failure_of_one_of_two_calls_is_found() -> None:
    class Moody(Noisy):
        def simulate(self, state: State, action: GroundController) -> State:
            after = super().simulate(state, action)
            if self.calls % 2:
                raise EnvironmentFailure("no")
            return after

    findings, _ = checked(Moody(tolerance=0.1))
    assert any("only one of two calls failed" in one.problem for one in findings)


def test_tasks_are_compared_within_the_tolerance() -> None:
    class Shaky(Noisy):
        def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
            self.calls += 1
            task = super().sample_task(split, index, rng)
            moved = {HAND("hand"): {"x": -3.0 + 1e-3 * (self.calls % 3 == 0)}}
            return Task(task.initial_state.replace(moved), task.goal)

    assert any("a different train task" in one.problem for one in checked(Shaky(0.0))[0])
    assert checked(Shaky(0.0011))[0] == ()


def test_recordings_are_replayed() -> None:
    findings, notes = checked(RecordedDrawers(), demonstrations=RECORDED)
    assert findings == ()
    assert notes == ["Replayed 5 demonstrations: equal to the recording."]


def test_the_first_difference_names_demonstration_and_step() -> None:
    def shifted(self: RecordedDrawers, state: State, action: GroundController) -> State:
        after = RecordedDrawers.simulate(self, state, action)
        moved = action.controller == REACH_FOR
        return after.replace({HAND("hand"): {"x": after.get(HAND("hand"), "x") + 0.01}}) if moved else after

    for env, count in ((drawers(simulate=shifted), 1), (drawers(simulate=shifted, tolerance=0.005), 1)):
        findings, _ = checked(env, demonstrations=RECORDED)
        assert len(findings) == count
        assert findings[0].location == "demonstration 0, step 1"
        assert "the simulator differs from the recording, most in hand.x by 0.01" in findings[0].problem
        assert "(5 of 5 demonstrations cannot be repeated)" in findings[0].problem
        assert "set `tolerance` on the class to 0.01" in findings[0].remedy
    findings, notes = checked(drawers(simulate=shifted, tolerance=0.02), demonstrations=RECORDED)
    assert findings == ()
    assert notes == ["Replayed 5 demonstrations: the largest difference is hand.x by 0.01."]


def test_a_replay_reports_atoms_that_differ() -> None:
    first = RECORDED[0]
    with_atom = (
        frozenset({OPEN(DRAWER("drawer2"))}) | first.abstract_states[0],
        *first.abstract_states[1:],
    )
    wrong = replace(first, abstract_states=with_atom)
    ((finding,), _) = checked(RecordedDrawers(), demonstrations=[*RECORDED[1:], wrong])
    assert finding.location == "demonstration 4, first state"
    assert finding.problem.startswith(
        "Open(drawer2) holds in the recording but not in the simulator (1 of 5"
    )
    near = frozenset(atom for atom in first.abstract_states[-1] if atom.predicate != NEAR)
    wrong = replace(first, abstract_states=(*first.abstract_states[:-1], near))
    ((finding,), _) = checked(RecordedDrawers(), demonstrations=[wrong])
    assert finding.location == f"demonstration 0, step {len(first)}"
    assert "holds in the simulator but not in the recording" in finding.problem


def test_a_replay_reports_actions_that_fail_or_cannot_start() -> None:
    def jammed(self: RecordedDrawers, state: State, action: GroundController) -> State:
        if action.controller == PULL:
            raise EnvironmentFailure("the drawer is jammed")
        return RecordedDrawers.simulate(self, state, action)

    env = drawers(simulate=jammed, execute=Environment.execute)
    ((finding, *_), _) = checked(env, demonstrations=RECORDED)
    assert "Pull(hand, drawer0) failed: the drawer is jammed" in finding.problem
    stuck = replace(PULL, initiable=lambda state, objects, parameters: False)
    held = tuple(
        replace(action, controller=stuck) if action.controller == PULL else action
        for action in RECORDED[0].actions
    )
    ((finding,), _) = checked(RecordedDrawers(), demonstrations=[replace(RECORDED[0], actions=held)])
    assert "Pull(hand, drawer0) cannot start" in finding.problem


def test_a_recording_without_states_cannot_be_replayed() -> None:
    ((finding,), _) = checked(RecordedDrawers(), demonstrations=[replace(RECORDED[0], states=None)])
    assert finding.location == "demonstration 0"
    assert "has no states" in finding.problem
    assert "Record states" in finding.remedy


def test_a_controller_that_no_recording_uses_is_found() -> None:
    findings, _ = checked(RecordedDrawers(), demonstrations=[_only_reaching(RECORDED[0])])
    assert [(one.location, one.problem.split(",")[0]) for one in findings] == [
        ("Pull", "no recorded demonstration uses it")
    ]


def _only_reaching(demonstration: Demonstration) -> Demonstration:
    assert demonstration.states is not None
    return Demonstration(
        demonstration.objects,
        frozenset(sorted(demonstration.abstract_states[1])[:1]),
        demonstration.abstract_states[:2],
        demonstration.actions[:1],
        demonstration.states[:2],
    )


def test_a_recording_longer_than_the_horizon_is_found() -> None:
    findings, _ = checked(drawers(horizon=10), demonstrations=RECORDED)
    (finding,) = findings
    assert finding.location == "horizon"
    assert "low-level actions, but plans may have 10" in finding.problem
    assert "Set `horizon` on the class to " in finding.remedy


def test_an_error_while_replaying_is_a_finding() -> None:
    def broken(self: RecordedDrawers, state: State, action: GroundController) -> Any:
        raise KeyError("lost")

    findings, _ = checked(drawers(execute=broken), demonstrations=RECORDED)
    assert "recorded demonstrations" in [one.location for one in findings]


@pytest.mark.parametrize("goal", [frozenset(), frozenset({OPEN(DRAWER("drawer1"))})])
def test_the_default_drawing_lists_features(goal: Any) -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    state = RecordedDrawers().task("test", 0, seed=0).initial_state
    RecordedDrawers().draw(state, axes, goal)
    texts = {text.get_text(): text.get_fontweight() for text in axes.texts}
    assert len(texts) == len(state.objects)
    assert "hand:hand  x -3" in texts
    bold = [text for text, weight in texts.items() if weight == "bold"]
    assert [text.split(":")[0] for text in bold] == [obj.name for atom in goal for obj in atom.objects]


def test_replays_in_a_simulator_with_hidden_state_start_in_a_training_task() -> None:
    env = SlidingPuck()
    collected = collect_demonstrations(env, make_demonstrator(env), 3, seed=5).demonstrations
    recorded = [
        replace(one, states=tuple(State({obj: state[obj] for obj in state}) for state in one.states or ()))
        for one in collected
    ]
    findings, notes = checked(SlidingPuck(), seed=5, demonstrations=recorded)
    assert {one.location for one in findings} <= {"Wait"}  # no demonstration uses it
    assert "Replayed 3 demonstrations: equal to the recording." in notes
    findings, _ = checked(SlidingPuck(), seed=6, demonstrations=recorded)
    (finding,) = [one for one in findings if one.location == "recorded demonstrations"]
    assert "write `start_of`" in finding.problem
