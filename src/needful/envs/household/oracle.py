"""The hand-written model of the household domains: an operator for each controller, two for one."""

from __future__ import annotations

from needful.core.atoms import LiftedAtom
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.samplers import Sampler
from needful.envs.household.object_types import OBJ, THING
from needful.envs.household.oracle_samplers import Around, AtHandle, IntoCavity, NearBy, OnSurface
from needful.envs.household.worlds import Worlds
from needful.envs.oracle import oracle_operator

# Floors are left out: the robot can do nothing to them.
THE_OBJ, THE_HELD = Variable("?obj", THING), Variable("?held", THING)


def make_oracle(vocabulary: Vocabulary, worlds: Worlds) -> PlanningModel:
    """Return the operators with their samplers."""
    samplers: dict[str, Sampler] = {
        "NavigateTo": NearBy(worlds),
        "Grasp": Around(),
        "PlaceOnTop": OnSurface(worlds),
        "PlaceInside": IntoCavity(),
        "PlaceInsideOpen": IntoCavity(),
        "Open": AtHandle(),
        "Close": AtHandle(),
    }
    return PlanningModel(vocabulary, _operators(vocabulary), samplers)


def _operators(vocabulary: Vocabulary) -> tuple[Operator, ...]:
    is_ = {predicate.name: predicate for predicate in vocabulary.predicates}
    do = {controller.name: controller for controller in vocabulary.controllers}
    reachable, holding = is_["Reachable"].lifted(THE_OBJ), is_["Holding"].lifted(THE_OBJ)
    opened, closed = is_["Open"].lifted(THE_OBJ), is_["Closed"].lifted(THE_OBJ)
    hand_empty, held = is_["HandEmpty"].lifted(), is_["Holding"].lifted(THE_HELD)

    def placing(name: str, controller: str, relation: str, *condition: str) -> Operator:
        return oracle_operator(
            name,
            (THE_HELD, THE_OBJ),
            (do[controller], (THE_OBJ,)),
            needs=[held, reachable, *(is_[one].lifted(THE_OBJ) for one in condition)],
            adds=[hand_empty, is_[relation].lifted(THE_HELD, THE_OBJ)],
            deletes=[held],
        )

    def turning(name: str, before: LiftedAtom, after: LiftedAtom) -> Operator:
        return oracle_operator(
            name,
            (THE_OBJ,),
            (do[name], (THE_OBJ,)),
            needs=[hand_empty, reachable, before],
            adds=[after],
            deletes=[before],
        )

    anything = Wildcard(OBJ)
    return (
        oracle_operator(
            "NavigateTo",
            (THE_OBJ,),
            (do["NavigateTo"], (THE_OBJ,)),
            adds=[reachable],
            deletes=[is_["ReachableNothing"].lifted()],
            forgets=[is_["Reachable"]],
        ),
        oracle_operator(
            "Grasp",
            (THE_OBJ,),
            (do["Grasp"], (THE_OBJ,)),
            needs=[hand_empty, reachable],
            adds=[holding],
            deletes=[hand_empty, reachable],
            # The held object is on nothing and in nothing, and nothing is on it or in it.
            forgets=[
                DeletePattern(is_[relation], arguments)
                for relation in ("Inside", "OnTop")
                for arguments in ((THE_OBJ, anything), (anything, THE_OBJ))
            ],
        ),
        placing("PlaceOnTop", "PlaceOnTop", "OnTop"),
        placing("PlaceInside", "PlaceInside", "Inside", "NotOpenable"),
        placing("PlaceInsideOpen", "PlaceInside", "Inside", "Open"),
        turning("Open", before=closed, after=opened),
        turning("Close", before=opened, after=closed),
    )
