"""Operator learners by name."""

from __future__ import annotations

import pytest

from carrying_world import A, B, carrying
from needful.errors import UnknownNameError
from needful.operator_learning.catalogue import LEARNERS, find_learner


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_learner_is_found_and_described(name):
    learner = find_learner(name)
    assert learner.name == name
    assert learner.description


def test_unknown_learner_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown learner 'necesary'. Did you mean 'necessary'\?"):
        find_learner("necesary")


def test_ablations_differ_in_one_choice_each_and_keep_the_types_of_the_data():
    method = dict(find_learner("necessary").config)
    assert method == {
        "generalise": "partly_bound",
        "reduce": "reduce_complexity",
        "schedule": "alternate",
        "types": "merge_types",
    }
    narrow = {**method, "types": "keep_types"}
    assert find_learner("necessary-paper").config == {**narrow, "generalise": "whole_predicate"}
    assert find_learner("necessary-no-complexity").config == {**narrow, "reduce": "keep_all_operators"}


def test_learners_learn_as_configured():
    demos = [carrying(B, (A, B), (B,))]
    forgets = {
        name: {
            str(p)
            for operator in find_learner(name).learn(demos).operators
            for p in operator.delete_patterns
        }
        for name in ("necessary", "necessary-paper")
    }
    assert forgets == {"necessary": {"Near(?x0, *:cup)"}, "necessary-paper": {"Near(*:robot, *:cup)"}}


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        LEARNERS["mine"] = LEARNERS["necessary"]
