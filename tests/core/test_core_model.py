"""Vocabularies, planning models, and binding a model to the vocabulary of a domain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.errors import InvalidInputError, UnknownNameError

CUP = Type("cup", ("x",))
FULL = Predicate("Full", (CUP,))
WET = Predicate("Wet", (CUP,))
POUR = Controller("Pour", (CUP,), (0.0,), (1.0,))
LOOK = Controller("Look", ())
VOCABULARY = Vocabulary((CUP,), (FULL, WET), (POUR, LOOK))
X = Variable("?x", CUP)

POURING = Operator(
    "Pour",
    (X,),
    preconditions=frozenset({WET.lifted(X)}),
    add_effects=frozenset({FULL.lifted(X)}),
    delete_effects=frozenset({WET.lifted(X)}),
    delete_patterns=frozenset({DeletePattern(WET, (Wildcard(CUP),))}),
    controller=POUR,
    controller_arguments=(X,),
)
LOOKING = Operator("Look", (), *[frozenset()] * 4, controller=LOOK, controller_arguments=())
MODEL = PlanningModel(VOCABULARY, (POURING, LOOKING))


class Half:
    """A sampler that always returns 0.5."""

    def sample(self, state, objects, rng):
        return (0.5,)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"types": (CUP, CUP)}, r"types \['cup'\]"),
        ({"predicates": (FULL, WET, Predicate("Full", ()))}, r"predicates \['Full'\]"),
        ({"controllers": (LOOK, POUR, LOOK, POUR)}, r"controllers \['Look', 'Pour'\]"),
    ],
)
def test_names_in_a_vocabulary_are_unique(change, kind):
    with pytest.raises(InvalidInputError, match=f"The {kind} are declared twice"):
        replace(VOCABULARY, **change)


def test_operators_have_distinct_names():
    with pytest.raises(InvalidInputError, match=r"distinct names, got \['Pour', 'Pour'\]"):
        PlanningModel(VOCABULARY, (POURING, POURING))


def test_samplers_belong_to_operators():
    with pytest.raises(InvalidInputError, match=r"samplers for \['Puor'\], but no such operators"):
        PlanningModel(VOCABULARY, (POURING,), {"Puor": Half()})


def test_only_operators_with_continuous_parameters_need_samplers():
    assert MODEL.missing_samplers() == ("Pour",)
    assert replace(MODEL, samplers={"Pour": Half()}).missing_samplers() == ()


def test_bound_to_uses_the_domains_own_predicates_and_controllers():
    def full(state, objects):
        return True

    def wet(state, objects):
        return False

    def initiable(state, objects, parameters):
        return False

    own = Vocabulary(
        (CUP,),
        (Predicate("Full", (CUP,), full), Predicate("Wet", (CUP,), wet)),
        (Controller("Pour", (CUP,), (-1.0,), (2.0,), initiable), LOOK),
    )
    model = replace(MODEL, samplers={"Pour": Half()})
    bound = model.bound_to(own)
    pouring = bound.operators[0]
    assert bound.vocabulary is own
    assert bound.samplers == model.samplers
    assert bound.operators[1] == LOOKING
    assert pouring.controller is own.controllers[0]
    assert {a.predicate.classifier for a in pouring.preconditions} == {wet}
    assert {a.predicate.classifier for a in pouring.add_effects} == {full}
    assert {a.predicate.classifier for a in pouring.delete_effects} == {wet}
    assert {p.predicate.classifier for p in pouring.delete_patterns} == {wet}
    assert replace(pouring, controller=POUR) == POURING, "nothing else changes"


MUG = Type("mug", ("x",))


@pytest.mark.parametrize(
    ("domain", "error", "message"),
    [
        (
            Vocabulary((CUP,), (Predicate("Fully", (CUP,)), WET), (POUR, LOOK)),
            UnknownNameError,
            "Unknown predicate in operator Pour 'Full'. Did you mean 'Fully'",
        ),
        (
            Vocabulary((CUP,), (FULL, Predicate("Wet", (CUP, CUP))), (POUR, LOOK)),
            InvalidInputError,
            r"The model has the predicate Wet\(cup\), but the domain has Wet\(cup, cup\)",
        ),
        (
            Vocabulary((CUP,), (FULL, WET), (replace(POUR, name="Pours"), LOOK)),
            UnknownNameError,
            "Unknown controller of operator Pour 'Pour'. Did you mean 'Pours'",
        ),
        (
            Vocabulary((CUP,), (FULL, WET), (replace(POUR, low=(), high=()), LOOK)),
            InvalidInputError,
            "disagree about the arguments of controller 'Pour'",
        ),
        (
            Vocabulary((CUP, MUG), (FULL, WET), (replace(POUR, types=(MUG,)), LOOK)),
            InvalidInputError,
            "disagree about the arguments of controller 'Pour'",
        ),
    ],
)
def test_bound_to_a_domain_with_other_signatures(domain, error, message):
    with pytest.raises(error, match=message):
        MODEL.bound_to(domain)


def test_bound_to_a_domain_that_lacks_a_type():
    beaker = Type("beaker", ("x",), CUP)
    b = Variable("?b", beaker)
    narrow = Operator("Pour", (b,), *[frozenset()] * 4, controller=POUR, controller_arguments=(b,))
    forgetful = replace(POURING, delete_patterns=frozenset({DeletePattern(WET, (Wildcard(beaker),))}))
    for operator in (narrow, forgetful):
        model = PlanningModel(replace(VOCABULARY, types=(CUP, beaker)), (operator,))
        with pytest.raises(UnknownNameError, match="Unknown type in operator Pour 'beaker'"):
            model.bound_to(VOCABULARY)


def test_bound_to_a_domain_whose_type_has_other_features():
    beaker = Type("beaker", ("x",), CUP)
    b = Variable("?b", beaker)
    narrow = Operator("Pour", (b,), *[frozenset()] * 4, controller=POUR, controller_arguments=(b,))
    model = PlanningModel(replace(VOCABULARY, types=(CUP, beaker)), (narrow,))
    with pytest.raises(InvalidInputError, match="disagree about the type 'beaker'"):
        model.bound_to(replace(VOCABULARY, types=(CUP, Type("beaker", ("x", "y"), CUP))))
