"""Errors and suggestions of similar names."""

from __future__ import annotations

import pytest

from needful import errors
from needful.core.objects import Type
from needful.errors import EnvironmentFailure, UnknownNameError, nearest_name

LEARNERS = ["necessary", "loft", "loft-replay", "ci", "ci-qe"]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("necesary", "necessary"),
        ("NECESSARY", "necessary"),
        ("loft_replay", "loft-replay"),
        ("lotf", "loft"),
        ("zzz", None),
        ("", None),
    ],
)
def test_nearest_name(name, nearest):
    assert nearest_name(name, LEARNERS) == nearest
    assert nearest_name(name, reversed(LEARNERS)) == nearest


def test_nearest_name_keeps_the_spelling_of_the_known_name():
    assert nearest_name("moveto", ["MoveTo", "Grasp"]) == "MoveTo"


def test_nearest_name_without_known_names():
    assert nearest_name("anything", []) is None


def test_unknown_name_lists_the_known_names():
    error = UnknownNameError("learner", "loftt", LEARNERS)
    assert (
        str(error)
        == "Unknown learner 'loftt'. Did you mean 'loft'? Known: ci, ci-qe, loft, loft-replay, necessary."
    )
    assert str(UnknownNameError("learner", "x", [])) == "Unknown learner 'x'. Known: none."
    many = [f"domain{number}" for number in range(100)]
    assert (
        str(UnknownNameError("domain", "domain7x", many))
        == "Unknown domain 'domain7x'. Did you mean 'domain7'?"
    )
    assert str(UnknownNameError("domain", "zzz", many)).endswith("domain98, domain99.")


def test_every_error_is_a_needful_error():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = [kind for kind in kinds if issubclass(kind, Exception)]
    assert len(raised) >= 7
    assert all(issubclass(kind, errors.NeedfulError) for kind in raised)
    assert issubclass(errors.InvalidInputError, ValueError)


def test_environment_failure_sorts_the_offending_objects():
    cup = Type("cup")
    failure = EnvironmentFailure("the lid is closed", [cup("b"), cup("a"), cup("b")])
    assert failure.offending == (cup("a"), cup("b"))
    assert str(failure) == "the lid is closed"
