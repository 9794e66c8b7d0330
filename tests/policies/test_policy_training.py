"""Training a graph policy: examples, standardisation, loss, early stopping and reproducibility."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

import toy_world
from fake_clock import FakeClock
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.limits import Deadline
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.contract import Split
from needful.errors import DemonstrationError, InvalidInputError, LearningTimeoutError
from needful.policies.graph_network import (
    Graph,
    GraphEncoding,
    NumpyBackend,
    evaluate_network,
    weight_shapes,
)
from needful.policies.graph_policy import PolicyConfig, RolloutLimits, follow, network_size, shoot
from needful.policies.training import (
    Adam,
    Examples,
    Standardisation,
    batched,
    imitation_loss,
    make_examples,
    single_thread,
    train_network,
    train_policy,
)
from needful.seeding import rng_for
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
CUP = Type("cup")
EMPTY = State({CUP("cup"): ()})
VOCABULARY = TOY.vocabulary
SHAPES = weight_shapes(network_size(VOCABULARY))
DEMONSTRATIONS = collect_demonstrations(TOY, OracleDemonstrator(TOY), 4, seed=0).demonstrations
EXAMPLES = make_examples(VOCABULARY, DEMONSTRATIONS)
STANDARDISATION = Standardisation.of(EXAMPLES, GraphEncoding.of(VOCABULARY).first_feature)
SCALED = [STANDARDISATION.apply(example) for example in EXAMPLES]


def as_tensors(examples: Examples) -> Examples:
    graph = Graph(*(torch.from_numpy(getattr(examples.graph, one.name)) for one in fields(Graph)))
    targets = (examples.argument_labels, examples.controllers, examples.parameters)
    return Examples(graph, *map(torch.from_numpy, targets))


def loss_of(weights: dict[str, np.ndarray], examples: list[Examples] = SCALED) -> float:
    (everything,) = batched(examples, len(examples))
    tensors = {name: torch.from_numpy(weight) for name, weight in weights.items()}
    return float(imitation_loss(tensors, as_tensors(everything)))


def trained(config: PolicyConfig, seed: int = 0) -> dict[str, np.ndarray]:
    return train_network(SHAPES, SCALED, config, seed)


def test_examples_by_hand() -> None:
    # Task 1 has the objects ball0, ball1, jar0, robot; each demonstration moves, grasps and drops.
    move, grasp, drop = EXAMPLES[3:6]
    names = [controller.name for controller in VOCABULARY.controllers]
    done = [names[int(one.controllers[0])] for one in (move, grasp, drop)]
    assert done == ["MoveTo", "Grasp", "Drop"]
    assert move.argument_labels.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert drop.argument_labels.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]
    (parameter,) = DEMONSTRATIONS[1].actions[0].parameters
    assert move.parameters.tolist() == [[np.float32(parameter)]]
    assert drop.parameters.tolist() == [[0.0]]


def test_batches_keep_the_order() -> None:
    batches = batched(EXAMPLES, 5)
    assert [len(batch) for batch in batches] == [5, 5, 2]
    numbers = [number for batch in batches for number in batch.controllers.tolist()]
    assert numbers == [int(example.controllers[0]) for example in EXAMPLES]
    assert sum(len(batch.graph.nodes) for batch in batches) == sum(len(e.graph.nodes) for e in EXAMPLES)


def test_demonstrations_must_have_states_and_steps() -> None:
    stateless: Demonstration = replace(DEMONSTRATIONS[1], states=None)
    with pytest.raises(DemonstrationError, match="Demonstration 1 has no states"):
        make_examples(VOCABULARY, [DEMONSTRATIONS[0], stateless])
    assert DEMONSTRATIONS[0].states is not None
    done = Demonstration(
        DEMONSTRATIONS[0].objects,
        DEMONSTRATIONS[0].goal,
        DEMONSTRATIONS[0].abstract_states[-1:],
        (),
        DEMONSTRATIONS[0].states[-1:],
    )
    with pytest.raises(DemonstrationError, match="has a step to learn from"):
        make_examples(VOCABULARY, [done])


def test_features_are_standardised_and_flags_are_not() -> None:
    first = GraphEncoding.of(VOCABULARY).first_feature
    raw = np.concatenate([example.graph.nodes for example in EXAMPLES])
    nodes = np.concatenate([example.graph.nodes for example in SCALED])
    np.testing.assert_array_equal(nodes[:, :first], raw[:, :first])
    varies = raw.std(axis=0)[first:] > 0
    assert varies.any()
    np.testing.assert_allclose(nodes[:, first:].mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(nodes[:, first:].std(axis=0)[varies], 1.0, atol=1e-5)
    assert not np.any(nodes[:, first:][:, ~varies])


def test_folding_gives_the_same_outputs_for_raw_numbers() -> None:
    spread = [replace(e, parameters=np.array([[k]], dtype=np.float32)) for k, e in enumerate(EXAMPLES)]
    standardisation = Standardisation.of(spread, GraphEncoding.of(VOCABULARY).first_feature)
    assert standardisation.parameter_scale == pytest.approx(np.std(np.arange(len(EXAMPLES))))
    weights = trained(PolicyConfig(epochs=3))
    logits, outputs = evaluate_network(weights, standardisation.apply(spread[4]).graph, NumpyBackend())
    raw_logits, raw_outputs = evaluate_network(
        standardisation.fold_into_weights(weights), spread[4].graph, NumpyBackend()
    )
    np.testing.assert_allclose(raw_logits, logits, atol=1e-3)
    np.testing.assert_allclose(raw_outputs[:, :-1], outputs[:, :-1], atol=1e-3)
    np.testing.assert_allclose(
        raw_outputs[:, -1:], outputs[:, -1:] * standardisation.parameter_scale, atol=1e-3
    )


def test_the_loss_is_the_sum_of_three_means() -> None:
    zeros = {name: np.zeros(shape, dtype=np.float32) for name, shape in SHAPES.items()}
    # All logits are 0: log 2 for each argument of each node, log 4 for one of four controllers.
    squares = np.mean([example.parameters**2 for example in SCALED])
    assert loss_of(zeros) == pytest.approx(np.log(2) + np.log(4) + squares, rel=1e-5)


def test_training_lowers_the_loss() -> None:
    first, later, last = (loss_of(trained(PolicyConfig(epochs=epochs, batch=5))) for epochs in (1, 20, 80))
    assert first > 1.5 * later > 3.0 * last


def test_weights_depend_on_the_seed_alone() -> None:
    short = PolicyConfig(epochs=2)
    one, same, other = trained(short, 1), trained(short, 1), trained(short, 2)
    assert all(one[name].tobytes() == same[name].tobytes() for name in SHAPES)
    assert any(one[name].tobytes() != other[name].tobytes() for name in SHAPES)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    threads = torch.get_num_threads()
    trained(short, 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


# Contradicts the first example: the better that one is learned, the higher the loss of this one.
CONTRADICTION = replace(
    SCALED[0], argument_labels=1.0 - SCALED[0].argument_labels, controllers=SCALED[2].controllers
)


def test_the_weights_with_the_lowest_validation_loss_are_kept() -> None:
    config = PolicyConfig(epochs=60, held_out=0.1, check_every=20)
    kept = train_network(SHAPES, [CONTRADICTION, SCALED[0]], config, 0)
    last = train_network(SHAPES, [SCALED[0]], replace(config, held_out=0.0), 0)
    assert loss_of(kept, [CONTRADICTION]) < loss_of(last, [CONTRADICTION]) - 0.5
    assert loss_of(kept, [SCALED[0]]) > loss_of(last, [SCALED[0]])


def test_patience_ends_training() -> None:
    epochs: list[int] = []
    config = PolicyConfig(epochs=100, held_out=0.1, check_every=1, patience=5)
    train_network(SHAPES, [CONTRADICTION, SCALED[0]], config, 0, epochs.append)
    assert epochs == list(range(len(epochs)))
    assert 5 < len(epochs) < 60


def test_a_single_example_trains_and_validates() -> None:
    config = PolicyConfig(epochs=30, held_out=0.1, check_every=10)
    only = SCALED[:1]
    barely = train_network(SHAPES, only, PolicyConfig(epochs=1), 0)
    weights = train_network(SHAPES, only, config, 0)
    assert loss_of(weights, only) < loss_of(barely, only)


def test_on_epoch_may_stop_training() -> None:
    deadline = Deadline.after(3.0, FakeClock(tick=1.0))
    with pytest.raises(LearningTimeoutError):
        train_policy(VOCABULARY, DEMONSTRATIONS, PolicyConfig(), 0, lambda done: deadline.check() and None)


def test_domains_without_relations_or_parameters() -> None:
    plain = Vocabulary((CUP,), (Predicate("Full", (CUP,)),), (Controller("Wait", ()),))
    demonstration = Demonstration(
        (CUP("cup"),), frozenset(), (frozenset(), frozenset()), (plain.controllers[0](),), (EMPTY, EMPTY)
    )
    policy = train_policy(plain, [demonstration], PolicyConfig(epochs=2), 0)
    assert all(np.all(np.isfinite(weight)) for weight in policy.weights.values())
    assert policy.weights["encode.edge.from_edge"].shape == (0, 16)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"held_out": 1.0}, "held_out must be .* from 0 to below 1, got 1.0"),
        ({"held_out": -0.1}, "got -0.1"),
    ],
)
def test_configurations_are_checked(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PolicyConfig(**wrong)  # type: ignore[arg-type]


def test_a_trained_policy_solves_larger_tasks() -> None:
    demonstrations = collect_demonstrations(TOY, OracleDemonstrator(TOY), 6, seed=0).demonstrations
    policy = train_policy(VOCABULARY, demonstrations, PolicyConfig(epochs=300), 0)
    limits = RolloutLimits(20, lambda: False)
    for task in TOY.tasks(Split.TEST, 8, seed=0):
        for solve in (shoot, follow):
            result = solve(policy, task, toy_world.execute, limits, rng_for(0))
            assert [action.controller.name for action in result.actions] == ["MoveTo", "Grasp", "Drop"]
            assert result.solved


PROGRAM = """
import hashlib
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.catalogue import make_environment
from needful.policies.graph_policy import PolicyConfig
from needful.policies.training import train_policy
env = make_environment("cluttered-1d")
demonstrations = collect_demonstrations(env, OracleDemonstrator(env), 4, 0).demonstrations
policy = train_policy(env.vocabulary, demonstrations, PolicyConfig(epochs=5), 0)
action = policy.act(demonstrations[0].states[0], demonstrations[0].goal)
weights = b"".join(policy.weights[name].tobytes() for name in sorted(policy.weights))
print(hashlib.sha256(weights).hexdigest(), action)
"""


@pytest.mark.slow
def test_weights_do_not_depend_on_hash_seed_or_threads() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, threads in (("0", "1"), ("1", "2"))
    }
    assert len(outputs) == 1
    assert "MoveGrasp" in outputs.pop()


def test_acting_needs_no_torch() -> None:
    program = "import sys, needful.policies.graph_policy, needful.policies.graph_policy; "
    program += "assert not {'torch', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_reprs_are_short() -> None:
    (everything,) = batched(EXAMPLES, len(EXAMPLES))
    for each in (everything, everything.graph, STANDARDISATION, GraphEncoding.of(VOCABULARY)):
        assert repr(each).startswith(type(each).__name__ + "(")
        assert len(repr(each)) <= 120
    nodes = f"{len(everything.graph.nodes)} items"
    assert repr(everything) == (
        f"Examples(graph=Graph(...), argument_labels={nodes}, controllers=12 items, parameters=12 items)"
    )


def test_adam_agrees_with_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    ours = torch.rand((3, 2), generator=generator)
    theirs = ours.clone().requires_grad_()
    adam, reference = Adam(ours), torch.optim.Adam([theirs], lr=1e-3)
    for _ in range(20):
        gradient = torch.rand((3, 2), generator=generator) - 0.3
        adam.step(gradient, learning_rate=1e-3)
        theirs.grad = gradient
        reference.step()
    assert torch.allclose(ours, theirs, atol=1e-7)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_the_number_of_threads_is_restored(two_threads: None) -> None:
    with single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
