"""Tests of every domain in the catalogue."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.abstraction import abstract
from needful.core.atoms import GroundAtom
from needful.core.controllers import GroundController
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.catalogue import CATALOGUE, environment_names, make_environment
from needful.envs.checker import check_environment
from needful.envs.contract import Environment, Split
from needful.errors import InvalidInputError, UnknownNameError

NAMES = environment_names()

# Houses identify rooms and furniture by name, and the physics solver depends on the order of names.
RENAMABLE = [name for name in NAMES if CATALOGUE[name].extra != "household"]


def random_action(env: Environment, state: State, rng: np.random.Generator) -> GroundController:
    controllers = env.vocabulary.controllers
    controller = controllers[rng.integers(len(controllers))]
    objects = [state.of_type(kind)[rng.integers(len(state.of_type(kind)))] for kind in controller.types]
    return controller(*objects, parameters=rng.uniform(controller.low, controller.high))


def random_state(env: Environment, seed: int, steps: int) -> State:
    """Return the state after some random actions in a random task."""
    rng = np.random.default_rng(seed)
    state = env.sample_task(Split.TRAIN, seed, rng).initial_state
    for _ in range(steps):
        state = env.execute(state, random_action(env, state, rng)).state
    return state


def random_renaming(state: State, rng: np.random.Generator) -> dict[Object, Object]:
    """Return a random permutation of the objects of each type."""
    renaming = {}
    for kind in sorted({obj.type for obj in state}):
        members = [obj for obj in state if obj.type == kind]
        renaming |= {
            old: members[new] for old, new in zip(members, rng.permutation(len(members)), strict=True)
        }
    return renaming


@pytest.mark.parametrize("name", NAMES)
def test_the_contract_is_kept(name: str) -> None:
    assert check_environment(make_environment(name)) == ()


@pytest.mark.parametrize("name", NAMES)
def test_catalogue_and_domain_have_the_same_name_and_description(name: str) -> None:
    env = make_environment(name)
    assert (env.name, env.description) == (name, CATALOGUE[name].description)


@pytest.mark.parametrize("name", [name for name in NAMES if CATALOGUE[name].sizes])
def test_the_catalogue_gives_the_right_sizes(name: str) -> None:
    env, sizes = make_environment(name), CATALOGUE[name].sizes
    assert sizes is not None
    vocabulary = (env.vocabulary.types, env.vocabulary.predicates, env.vocabulary.controllers)
    assert tuple(map(len, vocabulary)) == (sizes.types, sizes.predicates, sizes.controllers)
    for split in Split:
        low, high = map(int, sizes.objects[split.value].split("-"))
        assert all(low <= len(task.objects) <= high for task in env.tasks(split, 3, seed=0))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("needful.envs.household.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    needed = r"'sorting-books' needs mujoco.*pip install 'needful\[household\]'"
    with pytest.raises(InvalidInputError, match=needed):
        make_environment("sorting-books")


def test_a_missing_module_of_this_package_is_not_reported_as_a_missing_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, CATALOGUE["screws"].module, None)
    with pytest.raises(ModuleNotFoundError):
        make_environment("screws")


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'screws'"):
        make_environment("screw")


@pytest.mark.parametrize("name", NAMES)
def test_a_task_depends_on_its_index_and_not_on_the_count(name: str) -> None:
    env = make_environment(name)
    many = env.tasks(Split.TEST, 5, seed=3)
    assert env.tasks(Split.TEST, 2, seed=3) == many[:2]
    for one, other in permutations((*many, *env.tasks(Split.TRAIN, 1, 3), *env.tasks(Split.TEST, 1, 4)), 2):
        assert one != other


@pytest.mark.parametrize("name", RENAMABLE)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), steps=st.integers(0, 6))
def test_renaming_objects_renames_atoms_and_outcomes(name: str, seed: int, steps: int) -> None:
    env = make_environment(name)
    predicates = env.vocabulary.predicates
    state, rng = random_state(env, seed, steps), np.random.default_rng(seed)
    renaming = random_renaming(state, rng)

    def renamed(old: State) -> State:
        return State(
            {renaming[obj]: old[obj] for obj in rng.permutation(np.array(old.objects, dtype=object))}
        )

    assert abstract(renamed(state), predicates) == {
        GroundAtom(atom.predicate, tuple(renaming[obj] for obj in atom.objects))
        for atom in abstract(state, predicates)
    }
    action = random_action(env, state, rng)
    same = action.controller(*(renaming[obj] for obj in action.objects), parameters=action.parameters)
    assert env.execute(renamed(state), same).state == renamed(env.execute(state, action).state)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), steps=st.integers(0, 6))
def test_execute_does_not_modify_the_given_state(name: str, seed: int, steps: int) -> None:
    env = make_environment(name)
    state, rng = random_state(env, seed, steps), np.random.default_rng(seed)
    before = {obj: state[obj] for obj in state}
    env.execute(state, random_action(env, state, rng))
    assert {obj: state[obj] for obj in state} == before


PRINT_TASKS = """
from needful.abstraction import abstract
from needful.envs.catalogue import environment_names, make_environment
from needful.envs.contract import Split
for name in environment_names():
    env = make_environment(name)
    for task in env.tasks(Split.TRAIN, 3, 0):
        print(task.initial_state, sorted(map(str, task.goal)))
        print(sorted(map(str, abstract(task.initial_state, env.vocabulary.predicates))))
"""


def test_tasks_are_the_same_in_every_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_TASKS],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"robby" in outputs.pop()


def test_domains_load_without_matplotlib() -> None:
    code = (
        "import sys; from needful.envs.catalogue import environment_names, make_environment\n"
        "[make_environment(name) for name in environment_names()]\n"
        "assert not {'matplotlib', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
