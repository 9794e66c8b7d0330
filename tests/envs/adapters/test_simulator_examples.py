"""The examples in `examples/simulators/`; tests are skipped if the simulator is not installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import needful
from documentation_pages import EXAMPLES

SEED = 5
SIMULATORS = {"foraging": "lbforaging", "stacking_blocks": "pybullet"}
CLASSES = {"foraging": "Foraging", "stacking_blocks": "StackingBlocks"}

Load = Callable[[str], Any]


@pytest.fixture(scope="module")
def load() -> Load:
    """Return a function that imports an example, or skips the test."""

    def load_example(name: str) -> Any:
        pytest.importorskip(SIMULATORS[name])
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(EXAMPLES / "simulators")
            return importlib.import_module(name)

    return load_example


@pytest.fixture(params=sorted(SIMULATORS))
def with_script(request: pytest.FixtureRequest, load: Load) -> Any:
    return getattr(load(request.param), CLASSES[request.param])()


@pytest.fixture(params=sorted(SIMULATORS))
def with_oracle(request: pytest.FixtureRequest, load: Load) -> Any:
    return getattr(load(request.param), f"{CLASSES[request.param]}WithOracle")()


def test_the_environment_keeps_its_contract(with_oracle: Any) -> None:
    assert needful.check_environment(with_oracle, tasks=1, rounds=3) == ()


def test_the_oracle_plans_with_one_run_per_try_and_without_resets(with_oracle: Any) -> None:
    tasks = with_oracle.tasks("test", 2, SEED)
    before = with_oracle.simulator_calls
    oracle = needful.OracleDemonstrator(with_oracle, needful.PlanningConfig(timeout=120.0))
    assert all(oracle.demonstrate(task, seed).solved for seed, task in enumerate(tasks))
    calls = with_oracle.simulator_calls - before
    assert calls.resets == 0
    assert calls.per_run <= 1.2


@pytest.mark.slow
def test_a_model_learned_from_recordings_only_solves_larger_tasks(with_script: Any, tmp_path: Path) -> None:
    scripted = needful.ScriptedDemonstrator(with_script)
    demonstrations = needful.collect_demonstrations(with_script, scripted, 30, SEED).demonstrations
    assert len(demonstrations) == 30
    file = tmp_path / "demos.jsonl.gz"
    needful.write_demonstrations(file, with_script.vocabulary, demonstrations)
    recorded = needful.read_demonstrations(file).bound_to(with_script.vocabulary)
    learned = needful.learn_model(recorded.vocabulary, recorded.demonstrations)
    solver = learned.solver(with_script, needful.PlanningConfig(timeout=120.0))
    before = with_script.simulator_calls
    assert all(solver.solve(task, SEED).solved for task in with_script.tasks("test", 3, SEED))
    calls = with_script.simulator_calls - before
    assert calls.replays == 0
    assert calls.resets == 3  # the initial states


def test_restored_states_of_pybullet_continue_as_before(load: Load) -> None:
    example = load("stacking_blocks")
    environment, rng = example.StackingBlocks(), np.random.default_rng(SEED)
    steps = []
    for task in environment.tasks("test", 2, SEED):
        state = task.initial_state
        for action in _random_actions(example, state, rng):
            execution = environment.execute(state, action)
            steps.append((state, action, execution))
            state = execution.state
    for index in rng.permutation(len(steps)):
        state, action, execution = steps[index]
        again = environment.execute(state, action)
        assert (again.steps, again.failure) == (execution.steps, execution.failure)
        assert again.state.allclose(execution.state, environment.tolerance)


def test_the_arm_plans_from_features_of_a_held_block(load: Load) -> None:
    example = load("stacking_blocks")
    environment = example.StackingBlocks()
    state = environment.tasks("train", 1, SEED)[0].initial_state
    block = next(one for one in state.of_type(example.BLOCK) if example.CLEAR.holds(state, (one,)))
    held = environment.simulate(state, example.PICK(example.KUKA, block, parameters=(0.0, 0.0)))
    observed = held.replace({})  # a camera sees features, and has no snapshot
    after = environment.simulate(observed, example.PUT_DOWN(example.KUKA, block, parameters=(0.5, 0.0)))
    assert example.HAND_EMPTY.holds(after, (example.KUKA,))
    assert example.ON_TABLE.holds(after, (block,))


def _random_actions(example: Any, state: needful.State, rng: np.random.Generator) -> list[Any]:
    """Return actions that lift blocks, drop them on others off their centres, and push piles over."""
    blocks = state.of_type(example.BLOCK)
    actions = []
    for upper, lower in (rng.choice(len(blocks), 2, replace=False) for _ in range(5)):
        block, other = blocks[upper], blocks[lower]
        actions += [
            example.PICK(example.KUKA, block, parameters=rng.normal(0.0, 0.003, 2)),
            example.STACK(example.KUKA, block, other, parameters=rng.normal(0.0, 0.02, 2)),
            example.PUT_DOWN(example.KUKA, block, parameters=state[other][:2]),
        ]
    return actions
