"""An explanation of an operator as JSON: its parts with their reasons, and every transition behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needful.core.atoms import LiftedAtom
from needful.core.operators import DeletePattern
from needful.operator_learning.evidence import TransitionEvidence
from needful.operator_learning.explanation import Occurrence, OperatorExplanation, Reason
from needful.storage.ground_atoms_json import atom_to_json, atoms_to_json
from needful.storage.operators_json import lifted_to_json


def explanation_to_json(
    explained: OperatorExplanation, evidence: Sequence[TransitionEvidence], dropped: Mapping[str, int]
) -> dict[str, Any]:
    """Return all there is to say; steps count from 1, as they do in `needed_by`."""
    operator = explained.operator
    return {
        "operator": str(operator),
        "parameters": [{"name": one.name, "type": one.type.name} for one in operator.parameters],
        "controller": operator.controller.name,
        "controller_arguments": [variable.name for variable in operator.controller_arguments],
        "demonstrations": explained.demonstrations,
        "needs": [lifted_to_json(atom) for atom in sorted(operator.preconditions)],
        "adds": _reasons_to_json(explained.adds),
        "keeps": _reasons_to_json(explained.keeps),
        "deletes": _reasons_to_json(explained.deletes),
        "forgets": _reasons_to_json(explained.patterns),
        "not_predicted": dict(explained.not_predicted),
        "dropped_by_experiment": dict(dropped),
        "transitions": [_transition_to_json(explained, one) for one in evidence],
    }


def _reasons_to_json(reasons: Mapping[LiftedAtom, Reason] | Mapping[DeletePattern, Reason]) -> list[Any]:
    return [
        {
            "atom": lifted_to_json(part),
            "transitions": reason.count,
            "first": None if reason.first is None else _occurrence_to_json(reason.first),
        }
        for part, reason in reasons.items()
    ]


def _occurrence_to_json(seen: Occurrence) -> dict[str, Any]:
    return {
        "demonstration": seen.demonstration,
        "step": seen.step + 1,
        "atom": atom_to_json(seen.atom),
        "needed_by": seen.needed_by,
    }


def _transition_to_json(explained: OperatorExplanation, seen: TransitionEvidence) -> dict[str, Any]:
    ground = explained.operator.ground(seen.objects)
    return {
        "demonstration": seen.demonstration,
        "step": seen.step + 1,
        "objects": [obj.name for obj in seen.objects],
        "action": {
            "controller": explained.operator.controller.name,
            "objects": [obj.name for obj in ground.controller_objects],
        },
        "necessary": None if seen.necessary is None else atoms_to_json(seen.necessary),
        "needed_by": [
            {"atom": atom_to_json(atom), "by": who} for atom, who in sorted(seen.needed_by.items())
        ],
        "added": atoms_to_json(seen.added),
        "deleted": atoms_to_json(seen.deleted),
    }
