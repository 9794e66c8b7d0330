"""`needful explain`: why the operators are the way they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from needful.cli.console import reporting_errors, say, say_json
from needful.cli.options import AsJson, ModelPath
from needful.errors import UnknownNameError
from needful.evaluation.model_files import dropped_preconditions, model_directory, open_model
from needful.operator_learning.explanation import OperatorExplanation, Reason, explain_operator
from needful.storage.evidence import load_evidence


@reporting_errors
def explain(
    model: ModelPath,
    operator: Annotated[
        str | None, typer.Argument(metavar="OPERATOR", help="The operator to explain; all if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which transitions made an operator, which atoms were necessary, and why each delete is there."""
    stored = open_model(model)
    operators = {one.name: one for one in stored.model.operators}
    if operator is not None and operator not in operators:
        raise UnknownNameError("operator", operator, operators)
    evidence = load_evidence(model_directory(model), stored.model)
    chosen = [operator] if operator is not None else list(operators)
    explained = [explain_operator(operators[name], evidence[name]) for name in chosen]
    dropped = dropped_preconditions(stored)
    if as_json:
        say_json({one.operator.name: _as_json(one, dropped) for one in explained})
        return
    for one in explained:
        say("\n".join([*_lines(one), *_dropped_lines(one, dropped)]))
        say()


def _lines(explained: OperatorExplanation) -> Iterable[str]:
    yield str(explained.operator)
    total = explained.transitions
    yield f"  made from {total} transitions in {explained.demonstrations} demonstrations"
    for atom in sorted(explained.operator.preconditions - explained.operator.keep_effects):
        yield f"  needs {atom}: it held before all {total}"
    sections = (
        ("adds", "became true and was necessary", explained.adds),
        ("keeps", "was necessary and would have been forgotten", explained.keeps),
        ("deletes", "became false", explained.deletes),
        ("forgets", "an atom like it became false", explained.patterns),
    )
    for verb, what, reasons in sections:
        for part, reason in reasons.items():
            yield f"  {verb} {part}: {what} in {reason.count} of {total}"
            if reason.first is not None:
                yield f"      first: {reason.first}"
    left_out = ", ".join(f"{name} ({count} atoms)" for name, count in explained.not_predicted.items())
    yield f"  became true and is deliberately not predicted: {left_out or 'nothing'}"


def _dropped_lines(
    explained: OperatorExplanation, dropped: Mapping[str, Mapping[str, int]]
) -> Iterable[str]:
    for atom, experiments in dropped.get(explained.operator.name, {}).items():
        yield f"  does not need {atom}: it always held, but {experiments} experiments did without it"


def _as_json(explained: OperatorExplanation, dropped: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    def reasons(given: Mapping[Any, Reason]) -> dict[str, Any]:
        return {
            str(part): {"transitions": reason.count, "first": str(reason.first) if reason.first else None}
            for part, reason in given.items()
        }

    return {
        "operator": str(explained.operator),
        "transitions": explained.transitions,
        "demonstrations": explained.demonstrations,
        "adds": reasons(explained.adds),
        "keeps": reasons(explained.keeps),
        "deletes": reasons(explained.deletes),
        "forgets": reasons(explained.patterns),
        "not_predicted": dict(explained.not_predicted),
        "dropped_by_experiment": dict(dropped.get(explained.operator.name, {})),
    }
