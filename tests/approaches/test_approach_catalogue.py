"""The catalogue of approaches."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force_learning import PAPER
from carrying_world import A, B, carrying
from needful.approaches.catalogue import APPROACHES, BILEVEL_APPROACHES, find_approach
from needful.errors import UnknownNameError
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from tiny_worlds import demonstrations


@pytest.mark.parametrize("name", sorted(APPROACHES))
def test_every_approach_is_found_and_described(name):
    approach = find_approach(name)
    assert approach.name == name
    assert approach.description


def test_unknown_names_get_the_nearest_match():
    with pytest.raises(UnknownNameError, match=r"Unknown learner 'necesary'. Did you mean 'necessary'\?"):
        find_approach("necesary")


def test_ablations_keep_the_types_and_the_parameters_of_the_data():
    method = dict(BILEVEL_APPROACHES["necessary"].operator_config)
    assert method == {
        "generalise": "partly_bound",
        "reduce": "reduce_truthfully",
        "schedule": "alternate",
        "types": "merge_types",
        "conditions": "conditions_on_unnamed_objects",
        "divide": "divide_mixed_operators",
        "effects": "reliable_effects",
        "skip_idle_steps": "true",
        "repair": "repair_wrong_atoms",
        "escape": "climb_where_stuck",
        "negatives": "negative_preconditions",
    }
    narrow = {
        **method,
        "types": "keep_types",
        "conditions": "named_objects_only",
        "divide": "keep_mixed_operators",
        "effects": "necessary_effects_only",
        "skip_idle_steps": "false",
        "negatives": "positive_preconditions_only",
    }
    assert BILEVEL_APPROACHES["necessary-paper"].operator_config == {
        **narrow,
        "generalise": "whole_typed_predicate",
        "reduce": "reduce_complexity",
        "repair": "keep_atoms",
        "escape": "stay_where_stuck",
    }
    assert BILEVEL_APPROACHES["necessary-no-complexity"].operator_config == {
        **narrow,
        "reduce": "keep_all_operators",
    }


def test_the_stored_configuration_has_every_setting():
    assert set(OperatorLearningConfig().describe()) == {
        field.name for field in dataclasses.fields(OperatorLearningConfig)
    }


@settings(max_examples=60, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3))
def test_the_approach_of_the_paper_is_the_one_that_brute_force_checks(demos):
    """The tests against brute force use `PAPER`; the approach gives the same result."""
    assert BILEVEL_APPROACHES["necessary-paper"].learn_operators(demos) == learn_operators(demos, PAPER)


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
