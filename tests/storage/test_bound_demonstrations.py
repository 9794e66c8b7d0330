"""Demonstrations from a file get the predicates and controllers of a domain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drawer_world import DRAWER, HAND, NEAR, OPEN, PULL, REACH_FOR, Drawers
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.demos.collect import collect_demonstrations, make_demonstrator
from needful.errors import DemonstrationError
from needful.storage.demonstrations import (
    DemonstrationSet,
    demonstrations_digest,
    read_demonstrations,
    write_demonstrations,
)

DOMAIN = Drawers.vocabulary
COLLECTED = collect_demonstrations(Drawers(), make_demonstrator(Drawers()), 3, seed=0).demonstrations


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DemonstrationSet:
    file: Path = tmp_path_factory.mktemp("demos") / "demos.jsonl"
    write_demonstrations(file, DOMAIN, COLLECTED)
    return read_demonstrations(file)


def test_bound_demonstrations_are_those_of_the_environment(data: DemonstrationSet) -> None:
    bound = data.bound_to(DOMAIN)
    assert bound.vocabulary is DOMAIN
    assert bound.demonstrations == COLLECTED
    for one in bound.demonstrations:
        assert one.states is not None
        for atoms, state in zip(one.abstract_states, one.states, strict=True):
            assert all(atom.holds(state) for atom in atoms)
        assert all(atom.holds(one.states[-1]) for atom in one.goal)
        assert all(action.controller in (PULL, REACH_FOR) for action in one.actions)


def test_a_domain_may_have_more_types_and_controllers(data: DemonstrationSet) -> None:
    larger = Vocabulary(
        (*DOMAIN.types, Type("lamp")), DOMAIN.predicates, (*DOMAIN.controllers, Controller("Wave", (HAND,)))
    )
    assert data.bound_to(larger).demonstrations == COLLECTED


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"types": (HAND,)}, "Unknown type in the demonstrations 'drawer'"),
        ({"types": (HAND, Type("drawer", ("x",)))}, "declare the type 'drawer' differently"),
        ({"predicates": (NEAR,)}, "Unknown predicate in the demonstrations 'Open'"),
        (
            {"predicates": (NEAR, Predicate("Open", (HAND,)))},
            "declare the predicate 'Open' differently. Use the domain in which",
        ),
        (
            {"predicates": (NEAR, OPEN, Predicate("Red", (DRAWER,)))},
            "do not declare the predicate 'Red' of the domain.* Record its atoms too, or remove",
        ),
        ({"controllers": (PULL,)}, "Unknown controller in the demonstrations 'ReachFor'"),
        (
            {"controllers": (PULL, replace(REACH_FOR, low=(), high=()))},
            "declare the controller 'ReachFor' differently",
        ),
        (
            {"controllers": (PULL, replace(REACH_FOR, low=(-0.01,), high=(0.01,)))},
            "Demonstration 0: parameter 0 of ReachFor.* is outside of the bounds.* Widen the bounds",
        ),
    ],
)
def test_other_domains_are_refused(data: DemonstrationSet, parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(DemonstrationError, match=problem):
        data.bound_to(replace(DOMAIN, **parts))


def test_the_digest_identifies_demonstrations(data: DemonstrationSet) -> None:
    assert demonstrations_digest(COLLECTED) == demonstrations_digest(data.demonstrations)
    assert demonstrations_digest(COLLECTED) != demonstrations_digest(COLLECTED[:2])
