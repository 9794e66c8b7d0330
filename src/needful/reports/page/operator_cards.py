"""The data of the page's operator cards.

A card shows an operator as PDDL, the reasons for its preconditions and effects, and the demonstrations
that it was learned from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from needful.core.operators import GroundOperator, Operator
from needful.operator_learning.explanation import (
    OperatorExplanation,
    Reason,
    TransitionEvidence,
    explain_operator,
)
from needful.planning.pddl.writer import write_actions
from needful.reports.page.recorded_run import RecordedModel
from needful.reports.page.shared_tables import AtomList

# More demonstrations than this would make the page slow to load.
MAX_DEMONSTRATIONS = 100
# PDDL comments with this prefix name the controller. They are removed, because cards show it elsewhere.
ACTION_COMMENT_PREFIX = "; action "


def operator_cards(model: RecordedModel) -> list[dict[str, Any]]:
    """Return the data of one card per operator, as JSON values."""
    operators, evidence = model.stored.model.operators, model.evidence or {}
    actions = write_actions(model.stored.model.vocabulary, operators)
    cards = []
    for operator, action in zip(operators, actions, strict=True):
        seen = evidence.get(operator.name, ())
        explained = explain_operator(operator, seen)
        cards.append(
            {
                "name": operator.name,
                "parameters": [[v.name, v.type.name] for v in operator.parameters],
                "runs": call_text(operator),
                "pddl": _without_action_comments(action),
                "transitions": explained.transitions,
                "demonstrations": explained.demonstrations,
                "reasons": list(_reasons(explained)),
                "notPredicted": dict(explained.not_predicted),
                "dropped": dict(model.dropped.get(operator.name, {})),
                "seen": [[one.demonstration, one.step] for one in seen if _is_shown(one)],
            }
        )
    return cards


def demonstration_steps(model: RecordedModel, atoms: AtomList) -> dict[int, list[dict[str, Any]]]:
    """Return the steps that operators were learned from, as one list of JSON objects per demonstration.

    The keys are the numbers of the demonstrations. The object of a step has the atoms that the step added,
    the atoms that it deleted, and the atoms that must hold after the step because later steps or the goal
    need them. Changes that the step's operator does not predict are listed separately.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for number, operator in enumerate(model.stored.model.operators):
        for seen in (model.evidence or {}).get(operator.name, ()):
            if _is_shown(seen):
                step = {"step": seen.step, "operator": number, **_step(operator, seen, atoms)}
                found.setdefault(seen.demonstration, []).append(step)
    return {
        demonstration: sorted(steps, key=lambda step: step["step"])
        for demonstration, steps in sorted(found.items())
    }


def call_text(operator: Operator) -> str:
    """Return the controller call of an operator, such as `Pick(?x0)`."""
    arguments = ", ".join(variable.name for variable in operator.controller_arguments)
    return f"{operator.controller.name}({arguments})"


def _without_action_comments(action: str) -> str:
    lines = (line for line in action.split("\n") if not line.startswith(ACTION_COMMENT_PREFIX))
    return "\n".join(lines)


def _is_shown(seen: TransitionEvidence) -> bool:
    return seen.demonstration < MAX_DEMONSTRATIONS


def _reasons(explained: OperatorExplanation) -> Iterator[dict[str, Any]]:
    operator, total = explained.operator, explained.transitions
    for atom in sorted(operator.preconditions - operator.keep_effects):
        yield {"kind": "needs", "part": str(atom), "count": total, "first": None}
    for atom in sorted(operator.negative_preconditions):
        yield {"kind": "forbids", "part": str(atom), "count": total, "first": None}
    sections: Sequence[tuple[str, Mapping[Any, Reason]]] = (
        ("adds", explained.adds),
        ("keeps", explained.keeps),
        ("deletes", explained.deletes),
        ("forgets", explained.patterns),
    )
    for kind, reasons in sections:
        for part, reason in reasons.items():
            first = reason.first
            yield {
                "kind": kind,
                "part": str(part),
                "count": reason.count,
                "first": first
                and {
                    "demonstration": first.demonstration,
                    "step": first.step,
                    "atom": str(first.atom),
                    "neededBy": first.needed_by,
                },
            }


def _step(operator: Operator, seen: TransitionEvidence, atoms: AtomList) -> dict[str, Any]:
    ground = operator.ground(seen.objects)
    deleted = seen.deleted & ground.delete_effects
    forgotten = frozenset(atom for atom in seen.deleted - deleted if _is_forgotten(ground, atom))
    return {
        "objects": [obj.name for obj in seen.objects],
        "necessary": None if seen.necessary is None else atoms.add(seen.necessary),
        "needed": [[atoms.add([atom])[0], user] for atom, user in sorted(seen.needed_by.items())],
        "added": atoms.add(seen.added & ground.add_effects),
        "deleted": atoms.add(deleted),
        "forgotten": atoms.add(forgotten),
        "addedUnpredicted": atoms.add(seen.added - ground.add_effects),
        "deletedUnpredicted": atoms.add(seen.deleted - deleted - forgotten),
    }


def _is_forgotten(ground: GroundOperator, atom: Any) -> bool:
    return any(pattern.matches(atom) for pattern in ground.delete_patterns)
