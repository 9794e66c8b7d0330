"""Invention in a world whose missing predicates are known, with and without its simulator."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gripping_world import HOLDING, Gripping
from needful import (
    Demonstration,
    DemonstrationError,
    InvalidInputError,
    Invention,
    InventionConfig,
    LearningTimeoutError,
    RunConfig,
    ScriptedDemonstrator,
    Split,
    UnknownNameError,
    abstract,
    collect_demonstrations,
    invent_predicates,
    run,
)
from needful.core.limits import Deadline

WORLD = Gripping()


def demonstrations(count: int = 12, seed: int = 0) -> tuple[Demonstration, ...]:
    return collect_demonstrations(WORLD, ScriptedDemonstrator(WORLD), count, seed).demonstrations


def practice(count: int = 15) -> list:
    return [WORLD.task(Split.TRAIN, 100 + index, 0) for index in range(count)]


@pytest.fixture(scope="module")
def offline() -> Invention:
    return invent_predicates(WORLD.vocabulary, demonstrations())


@pytest.fixture(scope="module")
def with_simulator() -> Invention:
    return invent_predicates(WORLD.vocabulary, demonstrations(), WORLD.execute, practice())


def features(invention: Invention) -> set[str]:
    definitions = [one.predicate.definition for one in invention.predicates]
    return {
        part.expression.features[0][0] for one in definitions if one is not None for part, _ in one.parts
    }


def test_the_missing_predicate_is_invented_from_demonstrations(offline: Invention) -> None:
    (found,) = offline.predicates
    assert offline.costs[0] > offline.costs[-1] == 0
    assert offline.solved == ()
    assert found.controller in ("PutOnTable", "PutOnShelf")
    assert found.excluded > 0
    for task in practice():
        state = task.initial_state
        for one in demonstrations(4, seed=9):
            for state in (task.initial_state, *one.states):
                invented = {atom.objects for atom in abstract(state, [found.predicate])}
                assert invented == {atom.objects for atom in abstract(state, [HOLDING])}


def test_the_simulator_reveals_a_choice_within_parameters(with_simulator: Invention) -> None:
    assert features(with_simulator) == {"held", "grip"}
    assert with_simulator.solved[0] < with_simulator.solved[-1] == with_simulator.practice_tasks == 15
    assert any(one.in_simulator for one in with_simulator.predicates)
    assert "failed in the simulator" in "\n".join(with_simulator.lines())


def test_vocabulary_and_demonstrations_have_the_invented_predicates(with_simulator: Invention) -> None:
    names = [one.name for one in with_simulator.vocabulary.predicates]
    assert names[:2] == ["OnTable", "OnShelf"]
    assert names[2:] == [one.predicate.name for one in with_simulator.predicates]
    for one in with_simulator.demonstrations:
        for state, atoms in zip(one.states, one.abstract_states, strict=True):
            assert atoms == abstract(state, with_simulator.vocabulary.predicates)


def test_kept_predicates_are_not_invented_again() -> None:
    config = InventionConfig(keep=("Holding",))
    found = invent_predicates(WORLD.vocabulary, demonstrations(), config=config)
    assert found.predicates == ()
    assert found.costs == (0.0,)
    assert [one.name for one in found.vocabulary.predicates] == ["OnTable", "OnShelf", "Holding"]


def test_a_run_solves_unseen_tasks_with_invented_predicates() -> None:
    result = run(WORLD, RunConfig(demos=12, tasks=10, invention=InventionConfig()))
    assert result.summary["success_rate"] == 1.0
    assert result.learned is not None
    assert set(result.summary["invention"]["predicates"]) == {
        one.name for one in result.learned.model.vocabulary.predicates if one.definition
    }


def test_names_are_legal_in_pddl_and_new(with_simulator: Invention) -> None:
    names = [one.predicate.name for one in with_simulator.predicates]
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_-]*", name) for name in names)


def test_a_single_demonstration_is_enough_to_start() -> None:
    assert invent_predicates(WORLD.vocabulary, demonstrations(1)).costs


def test_invalid_arguments() -> None:
    with pytest.raises(DemonstrationError, match="no demonstrations"):
        invent_predicates(WORLD.vocabulary, ())
    without_states = [replace(one, states=None) for one in demonstrations(2)]
    with pytest.raises(DemonstrationError, match="Demonstration 0 has no states"):
        invent_predicates(WORLD.vocabulary, without_states)
    with pytest.raises(UnknownNameError, match="Did you mean 'Holding'"):
        invent_predicates(WORLD.vocabulary, demonstrations(2), config=InventionConfig(keep=("Holdin",)))
    with pytest.raises(InvalidInputError, match="max_nodes must be at least 1"):
        InventionConfig(max_nodes=0)


def test_policies_need_no_invented_predicates() -> None:
    pytest.importorskip("torch")
    with pytest.raises(InvalidInputError, match="operator learners"):
        RunConfig(learner="gnn-model-free", invention=InventionConfig())


def test_a_deadline_stops_the_invention() -> None:
    ticks = iter(range(1_000_000))
    deadline = Deadline.after(20.0, lambda: float(next(ticks)))
    with pytest.raises(LearningTimeoutError):
        invent_predicates(WORLD.vocabulary, demonstrations(), deadline=deadline)


PROGRAM = """
from test_invent_predicates import WORLD, demonstrations, practice
from needful import invent_predicates
found = invent_predicates(WORLD.vocabulary, demonstrations(), WORLD.execute, practice())
print(*found.lines(), sep="\\n")
"""


def test_the_result_does_not_depend_on_the_hash_seed(with_simulator: Invention) -> None:
    tests = Path(__file__).parent
    for seed in ("1", "2"):
        path = ":".join([str(tests), str(tests.parent), *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == with_simulator.lines()
