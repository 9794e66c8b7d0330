"""`repr` fits on one short line, however large the object is."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import MAX_REPR, Abbreviated, Type, Variable
from needful.core.operators import DeletePattern, GroundedTransition, Operator, OperatorData, Wildcard
from needful.core.plans import Failure, Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import CollectedDemonstrations
from needful.storage.demonstrations import DemonstrationSet
from needful.storage.model_directory import StoredModel

CUP = Type("cup", tuple(f"feature{index}" for index in range(50)))
FULL = Predicate("Full", (CUP,))
POUR = Controller("Pour", (CUP,), (0.0,), (1.0,))
X = Variable("?x", CUP)


def predicate(index: int) -> Predicate:
    return Predicate(f"Predicate{index}", (CUP,) * 20)


MANY = tuple(map(predicate, range(100)))
CUPS = tuple(CUP(f"cup{index:03}") for index in range(200))
ATOMS = frozenset(map(FULL, CUPS))
VOCABULARY = Vocabulary((CUP,), (FULL, *MANY), (POUR,))
OPERATOR = Operator(
    "Pour",
    (X,),
    frozenset(one.lifted(*(X,) * 20) for one in MANY),
    frozenset({FULL.lifted(X)}),
    frozenset(),
    frozenset({DeletePattern(FULL, (Wildcard(CUP),))}),
    POUR,
    (X,),
)
STATE = State(dict.fromkeys(CUPS, (0.0,) * 50))
ACTION = POUR(CUPS[0], parameters=(0.5,))
DEMONSTRATION = Demonstration(CUPS, ATOMS, (frozenset(), ATOMS), (ACTION,), (STATE, STATE))
MODEL = PlanningModel(VOCABULARY, (OPERATOR,))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (CUP, "Type('cup', 50 features)"),
        (Type("mug", CUP.features, CUP), "Type('mug', parent 'cup', 50 features)"),
        (CUPS[0], "Object(cup000:cup)"),
        (X, "Variable(?x:cup)"),
        (FULL, "Predicate(Full(cup))"),
        (FULL(CUPS[0]), "GroundAtom(Full(cup000))"),
        (FULL.lifted(X), "LiftedAtom(Full(?x))"),
        (POUR, "Controller(Pour(cup), 1 parameter)"),
        (ACTION, "GroundController(Pour(cup000; 0.5))"),
        (Wildcard(CUP), "Wildcard(*:cup)"),
        (DeletePattern(FULL, (Wildcard(CUP),)), "DeletePattern(Full(*:cup))"),
        (OPERATOR.ground(CUPS[:1]).delete_patterns[0], "GroundDeletePattern(Full(*:cup))"),
        (OPERATOR, "Operator('Pour', 1 parameter, 100 preconditions, 1 add effect)"),
        (OPERATOR.ground(CUPS[:1]), "GroundOperator(Pour(cup000))"),
        (
            OperatorData(OPERATOR, (GroundedTransition(0, 0, CUPS[:1]),) * 500),
            "OperatorData('Pour', 500 transitions)",
        ),
        (STATE, "State(200 objects)"),
        (Task(STATE, ATOMS), "Task(200 objects, 200 goal atoms)"),
        (DEMONSTRATION, "Demonstration(1 action, 200 objects, 2 states)"),
        (next(DEMONSTRATION.transitions()), "Transition(Pour(cup000; 0.5), 200 added, 0 deleted)"),
        (VOCABULARY, "Vocabulary(1 type, 101 predicates, 1 controller)"),
        (MODEL, "PlanningModel(1 operator, 0 samplers, 1 type, 101 predicates, 1 controller)"),
        (
            PlanningResult(Outcome.TIMEOUT, actions=(ACTION,) * 100, states=(STATE,) * 101),
            "PlanningResult(timeout, 0 abstract steps, 100 actions)",
        ),
        (
            Failure(3, OPERATOR.ground(CUPS[:1]), Outcome.SUBGOAL_MISSED, tuple(sorted(ATOMS)), "No."),
            "Failure(step 3, subgoal_missed, 200 missing atoms, 'No.')",
        ),
        (
            CollectedDemonstrations((DEMONSTRATION,) * 50, ((7, Outcome.TIMEOUT),)),
            "CollectedDemonstrations(50 demonstrations, 1 skipped task)",
        ),
        (
            DemonstrationSet(VOCABULARY, (DEMONSTRATION,) * 50),
            "DemonstrationSet(50 demonstrations, Vocabulary(1 type, 101 predicates, 1 controller))",
        ),
        (StoredModel(MODEL, {"notes": "x" * 1000}), f"StoredModel(model={MODEL!r})"),
    ],
)
def test_repr_has_the_name_and_the_sizes(value: object, expected: str) -> None:
    assert repr(value) == expected
    assert len(repr(value)) <= MAX_REPR


LONG = "long" * 100


@pytest.mark.parametrize(
    "value",
    [
        Type(LONG),
        CUP(LONG),
        Predicate(LONG, ()),
        predicate(0),
        predicate(0)(*CUPS[:20]),
        predicate(0).lifted(*(Variable("?cup", CUP),) * 20),
        Controller("Swap", (CUP,) * 50),
        Controller("Swap", (CUP,) * 50)(*CUPS[:50]),
        Operator(LONG, (), *[frozenset()] * 4, controller=Controller("Wait", ()), controller_arguments=()),
    ],
)
def test_long_reprs_are_cut_off(value: object) -> None:
    assert len(repr(value)) == MAX_REPR
    assert repr(value).endswith("...)")


@dataclass(frozen=True, slots=True, repr=False)
class Parcel(Abbreviated):
    """One field of each kind that is abbreviated."""

    name: str
    items: tuple[int, ...]
    mask: int
    outcome: Outcome
    inner: Parcel | None = None
    secret: str = field(default="", repr=False)


def test_abbreviated_dataclasses_count_items() -> None:
    parcel = Parcel("a", (1, 2), 5, Outcome.TIMEOUT, secret="x")
    assert repr(parcel) == "Parcel(name='a', items=2 items, mask=5, outcome=timeout, inner=None)"
    # Python refuses to write a number of more than 4300 decimal digits.
    outer = Parcel(LONG, (1,), (1 << 50_000) - 1, Outcome.SOLVED, parcel)
    assert (
        repr(outer)
        == "Parcel(name=400 characters, items=1 item, mask=50000 bits, outcome=solved, inner=Parcel(...))"
    )
