"""Imperfect demonstrations: repeated and failed steps, detours and wrong atoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TypeAlias

import pytest

import toy_world
from needful.abstraction import abstract
from needful.core.atoms import GroundAtom
from needful.core.controllers import Execution, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.state import State
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.demos.imperfections import (
    MAX_DRAWS,
    ImperfectionRates,
    flip_atoms,
    insert_detours,
    insert_failed_steps,
    insert_repeated_steps,
    make_imperfect,
)
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.errors import DemonstrationError, InvalidInputError
from needful.storage.demonstrations import write_demonstrations
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
DOMAINS = ("painting", "satellites", "cluttered-1d", "screws", "cluttered-painting")
Insert: TypeAlias = Callable[[Sequence[Demonstration], Environment, float, int], tuple[Demonstration, ...]]
INSERTIONS: tuple[Insert, ...] = (insert_repeated_steps, insert_failed_steps, insert_detours)
EVERYTHING = ImperfectionRates(repeated=0.2, failed=0.2, detours=0.2, flipped=0.01)


@cache
def collected(domain: str, count: int) -> tuple[Environment, tuple[Demonstration, ...]]:
    env = TOY if domain == "toy" else make_environment(domain)
    return env, collect_demonstrations(env, OracleDemonstrator(env), count, 0).demonstrations


def steps(demonstrations: Sequence[Demonstration]) -> int:
    return sum(map(len, demonstrations))


def is_execution(demo: Demonstration, env: Environment) -> bool:
    """Return whether the states are those of the simulator, and the atoms those of the states."""
    assert demo.states is not None
    state = demo.states[0]
    visited = [state]
    for action in demo.actions:
        state = env.execute(state, action).state
        visited.append(state)
    atoms = tuple(abstract(state, env.vocabulary.predicates) for state in visited)
    return tuple(visited) == demo.states and atoms == demo.abstract_states


def inserted(clean: Demonstration, imperfect: Demonstration) -> list[int]:
    """Return the indices of inserted actions; fail if a clean action is missing or in another order.

    Of equal actions in a row, the later ones count as inserted.
    """
    found, remaining = [], list(clean.actions)
    for index, action in enumerate(imperfect.actions):
        if remaining and action == remaining[0]:
            remaining.pop(0)
        else:
            found.append(index)
    assert not remaining
    return found


@pytest.mark.parametrize("insert", INSERTIONS)
@pytest.mark.parametrize("domain", [*DOMAINS, "toy"])
def test_inserted_steps_are_really_executed_and_the_goal_is_reached(domain: str, insert: Insert) -> None:
    env, clean = collected(domain, 5)
    imperfect = insert(clean, env, 0.5, 0)
    for before, after in zip(clean, imperfect, strict=True):
        assert (after.objects, after.goal) == (before.objects, before.goal)
        assert is_execution(after, env)
        assert after.states is not None
        assert all(atom.holds(after.states[-1]) for atom in after.goal)
        inserted(before, after)


@pytest.mark.parametrize("domain", DOMAINS)
def test_repeated_steps_have_the_objects_and_parameters_of_the_step_before(domain: str) -> None:
    env, clean = collected(domain, 5)
    imperfect = insert_repeated_steps(clean, env, 0.5, 0)
    assert steps(imperfect) > steps(clean)
    for before, after in zip(clean, imperfect, strict=True):
        for index in inserted(before, after):
            assert after.actions[index] == after.actions[index - 1]


def test_steps_are_not_repeated_if_the_goal_would_be_missed() -> None:
    class Toggling(ToyEnvironment):
        """Grasping a held ball releases it."""

        def execute(self, state: State, action: GroundController) -> Execution:
            if action.controller == toy_world.GRASP and state.get(action.objects[1], "held"):
                return Execution(state.replace({action.objects[1]: {"held": 0.0}}))
            return super().execute(state, action)

    _, clean = collected("toy", 3)
    for demo in insert_repeated_steps(clean, Toggling(), 1.0, 0):
        names = [action.controller.name for action in demo.actions]
        assert names == ["MoveTo", "MoveTo", "Grasp", "Drop", "Drop"]


@pytest.mark.parametrize("domain", ["painting", "cluttered-1d", "cluttered-painting", "satellites"])
def test_failed_steps_change_no_atom_and_the_same_step_follows(domain: str) -> None:
    env, clean = collected(domain, 10)
    imperfect = insert_failed_steps(clean, env, 0.5, 0)
    assert steps(imperfect) > steps(clean)
    for before, after in zip(clean, imperfect, strict=True):
        for index in inserted(before, after):
            failed, retry = after.actions[index : index + 2]
            assert after.abstract_states[index] == after.abstract_states[index + 1]
            assert (failed.controller, failed.objects) == (retry.controller, retry.objects)
            assert failed.parameters != retry.parameters
            assert failed.controller.first_out_of_bounds(failed.parameters) is None


def test_controllers_without_parameters_cannot_fail() -> None:
    env, clean = collected("screws", 5)
    assert insert_failed_steps(clean, env, 1.0, 0) == clean


def test_a_failure_that_the_simulator_reports_is_a_failed_step() -> None:
    class Narrow(ToyEnvironment):
        """The robot can move only to the ball itself."""

        def execute(self, state: State, action: GroundController) -> Execution:
            if action.parameters not in ((), (0.0,)):
                return Execution(state, steps=0, failure="out of the way")
            return super().execute(state, action)

    _, clean = collected("toy", 3)
    for before, demo in zip(clean, insert_failed_steps(clean, Narrow(), 1.0, 0), strict=True):
        assert demo.states is not None
        assert demo.states[0] == demo.states[1]
        assert demo.actions[1:] == before.actions
        assert demo.states[1:] == before.states


@pytest.mark.parametrize("domain", DOMAINS)
def test_detours_change_the_state(domain: str) -> None:
    env, clean = collected(domain, 5)
    imperfect = insert_detours(clean, env, 0.3, 0)
    assert steps(imperfect) > steps(clean)
    drawn = set()
    for before, after in zip(clean, imperfect, strict=True):
        assert after.states is not None
        changes = sum(a != b for a, b in zip(after.states, after.states[1:], strict=False))
        assert changes >= len(after) - len(before)
        drawn |= {action.controller for action in set(after.actions) - set(before.actions)}
    assert drawn <= set(env.vocabulary.controllers)


def test_a_domain_in_which_every_other_action_fails_has_no_detours() -> None:
    class Strict(ToyEnvironment):
        executions = 0

        def execute(self, state: State, action: GroundController) -> Execution:
            Strict.executions += 1
            return Execution(state, steps=0, failure="not now")

    _, clean = collected("toy", 2)
    assert insert_detours(clean, Strict(), 1.0, 0) == clean
    assert Strict.executions <= MAX_DRAWS * steps(clean)


@pytest.mark.parametrize(
    ("insert", "domain"),
    [
        (insert_repeated_steps, "screws"),
        (insert_failed_steps, "cluttered-1d"),
        (insert_detours, "satellites"),
    ],
)
def test_steps_are_inserted_about_as_often_as_asked(insert: Insert, domain: str) -> None:
    """Nearly every insertion is possible in these domains."""
    env, clean = collected(domain, 40)
    rate = (steps(insert(clean, env, 0.2, 0)) - steps(clean)) / steps(clean)
    assert rate == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize("insert", INSERTIONS)
def test_the_extreme_probabilities(insert: Insert) -> None:
    env, clean = collected("cluttered-1d", 5)
    unchanged = insert(clean, env, 0.0, 0)
    assert all(before is after for before, after in zip(clean, unchanged, strict=True))
    for before, after in zip(clean, insert(clean, env, 1.0, 0), strict=True):
        assert len(before) < len(after) <= 2 * len(before)


@pytest.mark.parametrize("insert", INSERTIONS)
def test_steps_before_the_first_insertion_are_unchanged(insert: Insert) -> None:
    env, clean = collected("painting", 10)
    for before, after in zip(clean, insert(clean, env, 0.1, 0), strict=True):
        first = next(iter(inserted(before, after)), len(before))
        assert before.states is not None
        assert after.states is not None
        assert after.actions[:first] == before.actions[:first]
        assert after.states[: first + 1] == before.states[: first + 1]
        assert after.abstract_states[: first + 1] == before.abstract_states[: first + 1]


def test_the_same_seed_gives_the_same_bytes(tmp_path) -> None:
    env, clean = collected("painting", 5)
    files = {}
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        path = tmp_path / f"{name}.jsonl"
        write_demonstrations(path, env.vocabulary, make_imperfect(clean, env, EVERYTHING, seed))
        files[name] = path.read_bytes()
    assert files["one"] == files["two"]
    assert files["one"] != files["other"]


@pytest.mark.parametrize("insert", [*INSERTIONS, lambda demos, env, p, seed: flip_atoms(demos, p, seed)])
def test_imperfections_do_not_depend_on_later_demonstrations(insert: Insert) -> None:
    env, clean = collected("painting", 5)
    assert insert(clean, env, 0.3, 0)[:2] == insert(clean[:2], env, 0.3, 0)


def test_all_imperfections_together_are_applied_in_order() -> None:
    env, clean = collected("cluttered-1d", 10)
    detours = insert_detours(clean, env, 0.2, 1)
    repeated = insert_repeated_steps(detours, env, 0.2, 1)
    failed = insert_failed_steps(repeated, env, 0.2, 1)
    assert steps(clean) < steps(detours) < steps(repeated) < steps(failed)
    assert all(is_execution(demo, env) for demo in failed)
    assert make_imperfect(clean, env, EVERYTHING, 1) == flip_atoms(failed, 0.01, 1)
    assert make_imperfect(clean, env, ImperfectionRates(), 1) == clean


def test_flipped_atoms() -> None:
    """Only atoms of the demonstration are flipped, about as often as asked, and the goal stays reached."""
    _, clean = collected("painting", 40)
    probability = 0.05
    noisy = flip_atoms(clean, probability, 0)
    flips = possible = 0
    for before, after in zip(clean, noisy, strict=True):
        assert (after.actions, after.states) == (before.actions, before.states)
        assert after.goal == before.goal <= after.abstract_states[-1]
        known = frozenset[GroundAtom]().union(*before.abstract_states)
        assert frozenset[GroundAtom]().union(*after.abstract_states) <= known
        possible += len(known) * len(before.abstract_states) - len(before.goal)
        flips += sum(len(a ^ b) for a, b in zip(before.abstract_states, after.abstract_states, strict=True))
    assert flips / possible == pytest.approx(probability, rel=0.1)


def test_certain_flips_negate_every_atom_except_the_reached_goal() -> None:
    _, (demo, *_) = collected("toy", 1)
    known = frozenset[GroundAtom]().union(*demo.abstract_states)
    (noisy,) = flip_atoms([demo], 1.0, 0)
    assert noisy.abstract_states[:-1] == tuple(known - state for state in demo.abstract_states[:-1])
    assert noisy.abstract_states[-1] == (known - demo.abstract_states[-1]) | demo.goal
    (same,) = flip_atoms([demo], 0.0, 0)
    assert same is demo


@pytest.mark.parametrize("probability", [-0.1, 1.5, float("nan")])
def test_a_probability_must_be_between_0_and_1(probability: float) -> None:
    for use in (
        *(partial(insert, (), TOY) for insert in INSERTIONS),
        partial(flip_atoms, ()),
    ):
        with pytest.raises(InvalidInputError, match="must be a probability from 0 to 1"):
            use(probability, 0)
    with pytest.raises(InvalidInputError, match="failed must be a probability"):
        ImperfectionRates(failed=probability)


def test_inserted_steps_need_states() -> None:
    _, (demo, *_) = collected("toy", 1)
    for insert in INSERTIONS:
        with pytest.raises(DemonstrationError, match="need states"):
            insert([replace(demo, states=None)], TOY, 0.5, 0)
    assert len(flip_atoms([replace(demo, states=None)], 0.5, 0)) == 1
