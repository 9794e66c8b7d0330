"""The choices of a policy with hand-set weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from cup_world import A_CUP, A_ROOM, BLOCK, CUP, GOAL, MOVE, ROOM, STATE, THING, VOCABULARY, WAIT

from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError
from needful.policies.graph_network import weight_shapes
from needful.policies.graph_policy import GraphPolicy, network_size

SHAPES = weight_shapes(network_size(VOCABULARY))


def weights(**biases: list[float]) -> dict[str, np.ndarray]:
    """Return weights with constant outputs: `whole` for graphs and `node` for nodes."""
    made = {name: np.zeros(shape, dtype=np.float32) for name, shape in SHAPES.items()}
    for name, values in biases.items():
        made[f"decode.{name}.bias"] = np.array(values, dtype=np.float32)
    return made


def random_argument_weights() -> dict[str, np.ndarray]:
    """Return weights that always choose Move, with random argument logits."""
    rng = np.random.default_rng(0)
    random = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    same = weights(whole=[1.0, 0.0, 0.25, 0.25])
    return random | {name: same[name] for name in same if name.startswith("decode.whole")}


def test_the_size_of_the_network() -> None:
    size = network_size(VOCABULARY)
    assert (size.node, size.edge, size.whole) == (8, 8, 3)
    assert (size.node_outputs, size.whole_outputs) == (2, 2 + 2)
    with pytest.raises(InvalidInputError, match="at least one controller"):
        network_size(replace(VOCABULARY, controllers=()))


def test_the_most_likely_controller_acts_with_its_parameters() -> None:
    policy = GraphPolicy(VOCABULARY, weights(whole=[2.0, 1.0, 0.25, 0.75]))
    # The second parameter is clipped to its bounds.
    assert policy.act(STATE, GOAL) == MOVE(A_CUP, A_ROOM, parameters=(0.25, 0.5))
    policy = GraphPolicy(VOCABULARY, weights(whole=[1.0, 2.0, 0.25, 0.75]))
    assert policy.act(STATE, GOAL) == WAIT()


def test_objects_have_the_right_types() -> None:
    cups = [CUP(f"cup{number}") for number in range(3)]
    rooms = [ROOM(f"room{number}") for number in range(2)]
    blocks = [THING(f"block{number}") for number in range(3)]
    rng = np.random.default_rng(0)
    chosen = set()
    for _ in range(30):
        vectors = {obj: rng.normal(size=len(obj.type.features)) for obj in (*cups, *rooms, *blocks)}
        action = GraphPolicy(VOCABULARY, random_argument_weights()).act(State(vectors), frozenset())
        assert action is not None
        assert action.controller == MOVE
        assert action.objects[0] in cups
        assert action.objects[1] in rooms
        chosen.add(action.objects)
    assert len(chosen) > 1


def test_a_controller_without_objects_is_skipped() -> None:
    policy = GraphPolicy(VOCABULARY, weights(whole=[2.0, 1.0, 0.0, 0.0]))
    assert policy.act(State({BLOCK: (1.0,), A_ROOM: (1.0,)}), frozenset()) == WAIT()
    only_move = replace(VOCABULARY, controllers=(MOVE,))
    shapes = weight_shapes(network_size(only_move))
    zeros = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
    assert GraphPolicy(only_move, zeros).act(State({BLOCK: (1.0,)}), frozenset()) is None


def test_a_bound_policy_keeps_its_order() -> None:
    reversed_domain = Vocabulary(
        VOCABULARY.types[::-1], VOCABULARY.predicates[::-1], VOCABULARY.controllers[::-1]
    )
    signatures = Vocabulary(
        VOCABULARY.types,
        tuple(replace(predicate, classifier=None) for predicate in VOCABULARY.predicates),
        VOCABULARY.controllers,
    )
    bound = GraphPolicy(signatures, weights()).bound_to(reversed_domain)
    assert bound.vocabulary == VOCABULARY
    assert all(predicate.classifier is not None for predicate in bound.vocabulary.predicates)
    assert bound.weights.keys() == SHAPES.keys()


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (
            replace(VOCABULARY, predicates=VOCABULARY.predicates[1:]),
            "Unknown predicate of the policy 'Rainy'",
        ),
        (replace(VOCABULARY, controllers=(MOVE,)), "Unknown controller of the policy 'Wait'"),
        (
            replace(VOCABULARY, controllers=(Controller("Move", (CUP, ROOM)), WAIT)),
            "disagree about the controller 'Move'",
        ),
        (
            replace(VOCABULARY, types=(*VOCABULARY.types[:2], Type("room", ("size", "colour")))),
            "disagree about the type 'room'",
        ),
    ],
)
def test_policies_of_other_domains_are_refused(domain: Vocabulary, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GraphPolicy(VOCABULARY, weights()).bound_to(domain)


def test_weights_must_be_those_of_the_network() -> None:
    first = min(SHAPES)
    with pytest.raises(InvalidInputError, match="is missing"):
        GraphPolicy(VOCABULARY, {name: w for name, w in weights().items() if name != first})
    with pytest.raises(UnknownNameError, match=r"Unknown weight 'decode\.node\.bia'\. Did you mean"):
        GraphPolicy(VOCABULARY, weights() | {"decode.node.bia": np.zeros(2, dtype=np.float32)})
    with pytest.raises(InvalidInputError, match=r"has shape \[3\], not \[2\]"):
        GraphPolicy(VOCABULARY, weights(node=[0.0] * 3))
    with pytest.raises(InvalidInputError, match="finite 32-bit floats"):
        GraphPolicy(VOCABULARY, weights(node=[0.0, np.nan]))
    with pytest.raises(InvalidInputError, match="finite 32-bit floats"):
        GraphPolicy(VOCABULARY, weights() | {"decode.node.bias": np.zeros(2)})


def test_the_repr_is_short() -> None:
    assert repr(GraphPolicy(VOCABULARY, weights())) == (
        f"GraphPolicy(4 predicates, 2 controllers, {sum(map(math.prod, SHAPES.values())):,} weights)"
    )
