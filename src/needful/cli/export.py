"""`needful export`: write a model as PDDL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from needful.abstraction import abstract
from needful.approaches.files import bind_model, model_directory, open_model
from needful.cli import console
from needful.cli.environments import chosen_environment
from needful.cli.options import AsJson, Force, ModelPath, Seed, enum_member, enum_option
from needful.core.model import PlanningModel
from needful.core.tasks import AbstractTask
from needful.envs.contract import Split
from needful.planning.pddl.writer import PddlStyle, write_pddl
from needful.storage.outputs import PDDL, check_output_directory, staged_directory, write_text


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
