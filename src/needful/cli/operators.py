"""The operators of a model: `needful explain` shows their origin, `needful export` writes them as PDDL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from needful.abstraction import abstract
from needful.approaches.files import (
    bind_model,
    dropped_preconditions,
    invention_reasons,
    model_directory,
    open_model,
)
from needful.cli import console
from needful.cli.environments import chosen_environment
from needful.cli.options import AsJson, Force, ModelPath, Seed, enum_member, enum_option
from needful.core.atoms import LiftedAtom, Predicate
from needful.core.model import PlanningModel
from needful.core.objects import counted
from needful.core.operators import DeletePattern, Operator
from needful.core.tasks import AbstractTask
from needful.envs.contract import Split
from needful.errors import UnknownNameError
from needful.operator_learning.doubts import MAX_LISTED_DOUBTS, Doubt, list_doubts
from needful.operator_learning.explanation import (
    Occurrence,
    OperatorExplanation,
    Reason,
    TransitionEvidence,
    explain_operator,
)
from needful.planning.pddl.writer import PddlStyle, write_pddl
from needful.storage.evidence import load_doubts, load_evidence
from needful.storage.outputs import PDDL, check_output_directory, staged_directory, write_text
from needful.storage.vocabulary_json import atom_to_json, atoms_to_json, lifted_to_json

MAX_SHOWN_TRANSITIONS = 5


def explanation_to_json(
    explained: OperatorExplanation,
    evidence: Sequence[TransitionEvidence],
    dropped: Mapping[str, int],
    doubts: Sequence[Doubt] = (),
) -> dict[str, Any]:
    """Return the whole explanation of an operator as JSON; steps of demonstrations are counted from 1."""
    operator = explained.operator
    forbidden = [lifted_to_json(atom) for atom in sorted(operator.negative_preconditions)]
    return {
        "operator": str(operator),
        "parameters": [{"name": one.name, "type": one.type.name} for one in operator.parameters],
        "controller": operator.controller.name,
        "controller_arguments": [variable.name for variable in operator.controller_arguments],
        "demonstrations": explained.demonstrations,
        "needs": [lifted_to_json(atom) for atom in sorted(operator.preconditions)],
        **({"forbids": forbidden} if forbidden else {}),
        "adds": _reasons_to_json(explained.adds),
        "keeps": _reasons_to_json(explained.keeps),
        "deletes": _reasons_to_json(explained.deletes),
        "forgets": _reasons_to_json(explained.patterns),
        "not_predicted": dict(explained.not_predicted),
        "dropped_by_experiment": dict(dropped),
        "doubts": [
            {"operator": one.operator, "kind": one.kind.value, "text": one.text}
            for one in doubts
            if one.concerns(operator)
        ],
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


@console.reporting_errors
def explain(
    model: ModelPath,
    operator: Annotated[
        str | None, typer.Argument(metavar="OPERATOR", help="Operator to explain; by default all.")
    ] = None,
    show_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help=f"List all transitions, not only the first {MAX_SHOWN_TRANSITIONS}, and all doubts.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show which transitions an operator was learned from, the reason for each effect, and doubts.

    Demonstrations are numbered from 0, like test tasks, and their steps from 1.
    """
    stored = open_model(model)
    operators = {one.name: one for one in stored.model.operators}
    if operator is not None and operator not in operators:
        raise UnknownNameError("operator", operator, operators)
    evidence = load_evidence(model_directory(model), stored.model)
    chosen = [operator] if operator is not None else list(operators)
    explained = [explain_operator(operators[name], evidence[name]) for name in chosen]
    dropped = dropped_preconditions(stored)
    found = load_doubts(model_directory(model))
    doubts = () if found is None else found.items
    if as_json:
        console.print_json(
            {
                name: explanation_to_json(one, evidence[name], dropped.get(name, {}), doubts)
                for name, one in zip(chosen, explained, strict=True)
            }
        )
        return
    shown = None if show_all else 0 if operator is None else MAX_SHOWN_TRANSITIONS
    reasons = invention_reasons(stored)
    if operator is None:
        used: Sequence[Predicate] = stored.model.vocabulary.predicates
    else:
        used = sorted({atom.predicate for atom in _atoms(operators[operator])})
    invented = [
        f"{one}: {one.definition.sentence}{reasons.get(one.name, '')}" for one in used if one.definition
    ]
    if invented:
        console.print_result("\n".join(["Invented predicates:", *(f"  {line}" for line in invented), ""]))
    for name, one in zip(chosen, explained, strict=True):
        lines = [*_lines(one), *_dropped_lines(one, dropped)]
        console.print_result("\n".join([*lines, *_transition_lines(one.operator, evidence[name], shown)]))
        console.print_result()
    listed = [one for one in doubts if operator is None or one.concerns(operators[operator])]
    if listed:
        about = "the model" if operator is None else operator
        lines = list_doubts(listed, None if show_all else MAX_LISTED_DOUBTS)
        console.print_result("\n".join([f"Doubts about {about}:", *(f"  {line}" for line in lines)]))


def _atoms(operator: Operator) -> Iterable[LiftedAtom | DeletePattern]:
    yield from operator.preconditions | operator.negative_preconditions
    yield from operator.add_effects | operator.delete_effects
    yield from operator.delete_patterns


def _lines(explained: OperatorExplanation) -> Iterable[str]:
    yield str(explained.operator)
    total = explained.transitions
    demonstrations = counted(range(explained.demonstrations), "demonstration")
    yield f"  learned from {counted(range(total), 'transition')} in {demonstrations}"
    for atom in sorted(explained.operator.preconditions - explained.operator.keep_effects):
        yield f"  needs {atom}: held before all {total}"
    for atom in sorted(explained.operator.negative_preconditions):
        yield f"  forbids {atom}: must not hold before the step"
    sections = (
        ("adds", "became true and was necessary", explained.adds),
        ("keeps", "was necessary and would otherwise be forgotten", explained.keeps),
        ("deletes", "became false", explained.deletes),
        ("forgets", "a matching atom became false", explained.patterns),
    )
    for verb, what, reasons in sections:
        for part, reason in reasons.items():
            yield f"  {verb} {part}: {what} in {reason.count} of {total}"
            if reason.first is not None:
                yield f"      first: {reason.first}"
    left_out = ", ".join(
        f"{name} ({counted(range(count), 'atom')})" for name, count in explained.not_predicted.items()
    )
    yield f"  became true but is not predicted, because it was not necessary: {left_out or 'nothing'}"


def _dropped_lines(
    explained: OperatorExplanation, dropped: Mapping[str, Mapping[str, int]]
) -> Iterable[str]:
    for atom, experiments in dropped.get(explained.operator.name, {}).items():
        yield f"  does not need {atom}: {experiments} experiments succeeded without it"


def _transition_lines(
    operator: Operator, evidence: Sequence[TransitionEvidence], shown: int | None
) -> Iterable[str]:
    if shown == 0:
        return
    chosen = evidence[:shown]
    left_out = "" if len(chosen) == len(evidence) else f" (first {len(chosen)}; --all shows all)"
    yield f"  transitions{left_out}:"
    for seen in chosen:
        objects = ", ".join(obj.name for obj in operator.ground(seen.objects).controller_objects)
        action = f"{operator.controller.name}({objects})"
        yield f"    demonstration {seen.demonstration}, step {seen.step + 1}: {action}"
        if seen.necessary is None:
            yield "        necessary atoms unknown: no operators explain the steps after it"
            continue
        yield f"        necessary: {', '.join(map(str, sorted(seen.necessary)))}"
        for atom, who in sorted(seen.needed_by.items()):
            became = "false" if atom in seen.deleted else "true"
            yield f"        {atom} became {became}, needed by {who}"


@console.reporting_errors
def export(
    model: ModelPath,
    pddl: Annotated[Path, typer.Option("--pddl", "--out", help="Folder to write.")],
    style: Annotated[
        str,
        enum_option("--style", PddlStyle, "How quantified deletes are written; strips needs --problem."),
    ] = PddlStyle.FORALL.value,
    problem: Annotated[
        str | None,
        typer.Option("--problem", metavar="DOMAIN:K", help="Also write test task K of a domain."),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write domain.pddl and, with --problem, problem.pddl."""
    console.check_paths_disjoint(model_directory(model), pddl, "--pddl")
    check_output_directory(pddl, PDDL, force)
    chosen = enum_member(PddlStyle, "style", style)
    if chosen is PddlStyle.STRIPS and problem is None:
        raise typer.BadParameter("strips needs the objects of a task. Add --problem.", param_hint="--style")
    stored = open_model(model).model
    task = None if problem is None else _task(problem, seed, stored)
    text = write_pddl(stored.vocabulary, stored.operators, task, chosen)
    files = {"domain.pddl": text.domain}
    if text.problem is not None:
        files["problem.pddl"] = text.problem
    with staged_directory(pddl, PDDL, force) as folder:
        for name, content in files.items():
            write_text(folder / name, content)
    if as_json:
        console.print_json({"files": [str(pddl / name) for name in files]})
    else:
        console.print_result(f"Wrote {' and '.join(str(pddl / name) for name in files)}.")


def _task(problem: str, seed: int, model: PlanningModel) -> AbstractTask:
    """Return test task K of a domain as an abstract task; `problem` is the text `DOMAIN:K`."""
    domain, _, number = problem.rpartition(":")
    if not domain or not number.isdecimal():
        raise typer.BadParameter(
            f"expected DOMAIN:K, for example screws:0, got {problem!r}.", param_hint="--problem"
        )
    with chosen_environment(domain) as environment:
        bound = bind_model(model, environment)  # raises if the model belongs to another domain
        task = environment.task(Split.TEST, int(number), seed)
        known = set(model.vocabulary.predicates)
        initial = abstract(task.initial_state, [one for one in bound.vocabulary.predicates if one in known])
    return AbstractTask(task.objects, initial, task.goal)
