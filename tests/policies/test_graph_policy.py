"""What a policy chooses, from weights that were set by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cup_world import A_CUP, A_ROOM, BLOCK, CUP, GOAL, MOVE, ROOM, STATE, THING, VOCABULARY, WAIT

from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError
from needful.policies.graph_policy import GraphPolicy, network_size
from needful.policies.network import weight_shapes

SHAPES = weight_shapes(network_size(VOCABULARY))


def weights(**biases: list[float]) -> dict[str, np.ndarray]:
    """A network that says the same of every graph: `whole` for graphs and `node` for nodes."""
    made = {name: np.zeros(shape, dtype=np.float32) for name, shape in SHAPES.items()}
    for name, values in biases.items():
        made[f"decode.{name}.bias"] = np.array(values, dtype=np.float32)
    return made


def opinionated() -> dict[str, np.ndarray]:
    """A network that moves things and has some opinion of every node."""
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


def test_the_likeliest_controller_acts_with_its_share_of_the_parameters() -> None:
    policy = GraphPolicy(VOCABULARY, weights(whole=[2.0, 1.0, 0.25, 0.75]))
    # The second parameter is pulled into the box.
    assert policy.act(STATE, GOAL) == MOVE(A_CUP, A_ROOM, parameters=(0.25, 0.5))
    policy = GraphPolicy(VOCABULARY, weights(whole=[1.0, 2.0, 0.25, 0.75]))
    assert policy.act(STATE, GOAL) == WAIT()


def test_objects_have_the_right_type_whatever_the_network_likes() -> None:
    cups = [CUP(f"cup{number}") for number in range(3)]
    rooms = [ROOM(f"room{number}") for number in range(2)]
    blocks = [THING(f"block{number}") for number in range(3)]
    rng = np.random.default_rng(0)
    chosen = set()
    for _ in range(30):
        vectors = {obj: rng.normal(size=len(obj.type.features)) for obj in (*cups, *rooms, *blocks)}
        action = GraphPolicy(VOCABULARY, opinionated()).act(State(vectors), frozenset())
        assert action is not None
        assert action.controller == MOVE
        assert action.objects[0] in cups
        assert action.objects[1] in rooms
        chosen.add(action.objects)
    assert len(chosen) > 1


def test_a_controller_without_objects_is_left_out() -> None:
    policy = GraphPolicy(VOCABULARY, weights(whole=[2.0, 1.0, 0.0, 0.0]))
    assert policy.act(State({BLOCK: (1.0,), A_ROOM: (1.0,)}), frozenset()) == WAIT()
    picky = replace(VOCABULARY, controllers=(MOVE,))
    shapes = weight_shapes(network_size(picky))
    zeros = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
    assert GraphPolicy(picky, zeros).act(State({BLOCK: (1.0,)}), frozenset()) is None


def test_a_policy_is_bound_to_a_domain_in_its_own_order() -> None:
    turned = Vocabulary(
        VOCABULARY.types[::-1], VOCABULARY.predicates[::-1], (*VOCABULARY.controllers[::-1],)
    )
    signatures = Vocabulary(
        VOCABULARY.types,
        tuple(replace(predicate, classifier=None) for predicate in VOCABULARY.predicates),
        VOCABULARY.controllers,
    )
    bound = GraphPolicy(signatures, weights()).bound_to(turned)
    assert bound.vocabulary == VOCABULARY
    assert all(predicate.classifier is not None for predicate in bound.vocabulary.predicates)
    assert bound.weights.keys() == SHAPES.keys()


@pytest.mark.parametrize(
    ("domain", "complaint"),
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
def test_policies_of_other_domains_are_refused(domain: Vocabulary, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        GraphPolicy(VOCABULARY, weights()).bound_to(domain)


def test_weights_must_be_those_of_the_network() -> None:
    some = min(SHAPES)
    with pytest.raises(InvalidInputError, match="is missing"):
        GraphPolicy(VOCABULARY, {name: w for name, w in weights().items() if name != some})
    with pytest.raises(UnknownNameError, match=r"Unknown weight 'decode\.node\.bia'\. Did you mean"):
        GraphPolicy(VOCABULARY, weights() | {"decode.node.bia": np.zeros(2, dtype=np.float32)})
    with pytest.raises(InvalidInputError, match=r"has shape \[3\], not \[2\]"):
        GraphPolicy(VOCABULARY, weights(node=[0.0] * 3))
    with pytest.raises(InvalidInputError, match="finite 32-bit floats"):
        GraphPolicy(VOCABULARY, weights(node=[0.0, np.nan]))
    with pytest.raises(InvalidInputError, match="finite 32-bit floats"):
        GraphPolicy(VOCABULARY, weights() | {"decode.node.bias": np.zeros(2)})
