"""What the page tells of each operator: its PDDL, and why it is the way it is."""

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

# Further ones would make the page long to load, and nobody reads so many.
MAX_DEMONSTRATIONS = 100
# The comment on what an action runs, which the card tells beside it.
RUNS = "; action "


def operator_cards(model: RecordedModel) -> list[dict[str, Any]]:
    """Return a card for each operator."""
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
                "pddl": "\n".join(line for line in action.split("\n") if not line.startswith(RUNS)),
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
    """Return for each demonstration the steps that operators were made from, in their order.

    Each tells what was necessary after it, and which of the changes its operator predicts.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for number, operator in enumerate(model.stored.model.operators):
        for seen in (model.evidence or {}).get(operator.name, ()):
            if _is_shown(seen):
                step = {"step": seen.step, "operator": number, **_step(operator, seen, atoms)}
                found.setdefault(seen.demonstration, []).append(step)
    return {place: sorted(steps, key=lambda step: step["step"]) for place, steps in sorted(found.items())}


def call_text(operator: Operator) -> str:
    """Return the controller of an operator with its arguments."""
    arguments = ", ".join(variable.name for variable in operator.controller_arguments)
    return f"{operator.controller.name}({arguments})"


def _is_shown(seen: TransitionEvidence) -> bool:
    return seen.demonstration < MAX_DEMONSTRATIONS


def _reasons(explained: OperatorExplanation) -> Iterator[dict[str, Any]]:
    operator, total = explained.operator, explained.transitions
    for atom in sorted(operator.preconditions - operator.keep_effects):
        yield {"kind": "needs", "part": str(atom), "count": total, "first": None}
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
        "needed": [[atoms.add([atom])[0], who] for atom, who in sorted(seen.needed_by.items())],
        "added": atoms.add(seen.added & ground.add_effects),
        "deleted": atoms.add(deleted),
        "forgotten": atoms.add(forgotten),
        "addedUnpredicted": atoms.add(seen.added - ground.add_effects),
        "deletedUnpredicted": atoms.add(seen.deleted - deleted - forgotten),
    }


def _is_forgotten(ground: GroundOperator, atom: Any) -> bool:
    return any(pattern.matches(atom) for pattern in ground.delete_patterns)
