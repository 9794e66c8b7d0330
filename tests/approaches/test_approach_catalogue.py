"""The catalogue of approaches."""

from __future__ import annotations

import pytest

from carrying_world import A, B, carrying
from needful.approaches.catalogue import APPROACHES, BILEVEL_APPROACHES, find_approach
from needful.errors import UnknownNameError


@pytest.mark.parametrize("name", sorted(APPROACHES))
def test_every_approach_is_found_and_described(name):
    approach = find_approach(name)
    assert approach.name == name
    assert approach.description


def test_unknown_names_get_the_nearest_match():
    with pytest.raises(UnknownNameError, match=r"Unknown learner 'necesary'. Did you mean 'necessary'\?"):
        find_approach("necesary")


def test_ablations_differ_in_one_choice_each_and_keep_the_types_of_the_data():
    method = dict(BILEVEL_APPROACHES["necessary"].operator_config)
    assert method == {
        "generalise": "partly_bound",
        "reduce": "reduce_complexity",
        "schedule": "alternate",
        "types": "merge_types",
    }
    narrow = {**method, "types": "keep_types"}
    assert BILEVEL_APPROACHES["necessary-paper"].operator_config == {
        **narrow,
        "generalise": "whole_predicate",
    }
    assert BILEVEL_APPROACHES["necessary-no-complexity"].operator_config == {
        **narrow,
        "reduce": "keep_all_operators",
    }


def test_operator_learners_follow_their_configuration():
    demos = [carrying(B, (A, B), (B,))]
    forgets = {
        name: {
            str(p)
            for operator in BILEVEL_APPROACHES[name].learn_operators(demos).operators
            for p in operator.delete_patterns
        }
        for name in ("necessary", "necessary-paper")
    }
    assert forgets == {"necessary": {"Near(?x0, *:cup)"}, "necessary-paper": {"Near(*:robot, *:cup)"}}


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        APPROACHES["mine"] = APPROACHES["necessary"]
