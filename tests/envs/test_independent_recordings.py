"""The domains reproduce the recordings of an independent implementation, row by row."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from envs.independent_recordings import Reader, recorded_environment, recordings
from needful.abstraction import abstract
from needful.core.controllers import GroundController
from needful.core.objects import Object
from needful.core.operators import GroundOperator, Operator

pytestmark = pytest.mark.slow  # as a whole

TOLERANCE = 1e-4


@pytest.mark.parametrize(("name", "path"), recordings("transitions") + recordings("demos"))
def test_the_vocabulary_equals_the_recorded_one(name: str, path: Path) -> None:
    vocabulary = recorded_environment(name).vocabulary
    header = Reader(path, vocabulary).header
    assert {kind["name"]: tuple(kind["features"]) for kind in header["types"]} == {
        kind.name: kind.features for kind in vocabulary.types
    }
    assert {predicate["name"]: predicate["types"] for predicate in header["predicates"]} == {
        predicate.name: [kind.name for kind in predicate.types] for predicate in vocabulary.predicates
    }
    assert {c["name"]: c["types"] for c in header["controllers"]} == {
        c.name: [kind.name for kind in c.types] for c in vocabulary.controllers
    }
    # Recorded in single precision.
    bounds = {c["name"]: (*c["low"], *c["high"]) for c in header["controllers"]}
    for controller in vocabulary.controllers:
        assert (*controller.low, *controller.high) == pytest.approx(bounds[controller.name], rel=1e-6)


@pytest.mark.parametrize(("name", "path"), recordings("transitions"))
def test_every_recorded_transition_is_reproduced(name: str, path: Path) -> None:
    env = recorded_environment(name)
    steps = Reader(path, env.vocabulary).steps()
    assert len(steps) >= 30
    for step in steps:
        assert abstract(step.state, env.vocabulary.predicates) == step.atoms
        execution = env.execute(step.state, step.action)
        assert execution.state.allclose(step.next_state, TOLERANCE), step.action
        assert abstract(execution.state, env.vocabulary.predicates) == step.next_atoms, step.action
        assert tuple(obj.name for obj in execution.offending) == step.offending


@pytest.mark.parametrize(("name", "path"), recordings("demos"))
def test_every_demonstrated_transition_is_reproduced(name: str, path: Path) -> None:
    env = recorded_environment(name)
    demonstrations = Reader(path, env.vocabulary).demonstrations()
    assert len(demonstrations) >= 4
    for demonstration in demonstrations:
        assert demonstration.states is not None
        replayed = demonstration.states[0]
        assert abstract(replayed, env.vocabulary.predicates) == demonstration.abstract_states[0]
        for index, action in enumerate(demonstration.actions):
            recorded, expected = demonstration.states[index], demonstration.states[index + 1]
            for before in (recorded, replayed):
                after = env.execute(before, action).state
                assert after.allclose(expected, TOLERANCE), action
                assert (
                    abstract(after, env.vocabulary.predicates) == demonstration.abstract_states[index + 1]
                )
            replayed = env.execute(replayed, action).state


@pytest.mark.parametrize(("name", "path"), recordings("demos"))
def test_an_oracle_operator_explains_every_demonstrated_step(name: str, path: Path) -> None:
    env = recorded_environment(name)
    operators = env.oracle_model().operators
    for demonstration in Reader(path, env.vocabulary).demonstrations():
        for transition in demonstration.transitions():
            assert any(
                step.preconditions <= transition.before and step.add_effects <= transition.after
                for operator in operators
                for step in _groundings(operator, transition.action, demonstration.objects)
            ), transition.action


def _groundings(
    operator: Operator, action: GroundController, objects: tuple[Object, ...]
) -> Iterator[GroundOperator]:
    """Yield the groundings of an operator that call the controller with the objects of an action."""
    if operator.controller != action.controller:
        return
    called = dict(zip(operator.controller_arguments, action.objects, strict=True))
    choices = [
        (called[v],) if v in called else [o for o in objects if o.type.is_subtype_of(v.type)]
        for v in operator.parameters
    ]
    for chosen in itertools.product(*choices):
        if len(set(chosen)) == len(chosen):
            yield operator.ground(chosen)
