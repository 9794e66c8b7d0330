"""The arguments and options that several verbs share."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer

from needful.errors import UnknownNameError
from needful.planning.planners import planner_names

Member = TypeVar("Member", bound=Enum)


def positive_seconds(seconds: float | None) -> float | None:
    """Return a number of seconds, if one is given; raise if it is not positive and finite."""
    if seconds is not None and not seconds > 0:
        raise typer.BadParameter(f"must be more than 0 seconds, got {seconds}.")
    if seconds == math.inf:
        raise typer.BadParameter("must end some time; give a large number of seconds.")
    return seconds


def require_suffix(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """Return what checks the name of a file, if one is given."""

    def check(path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in suffixes:
            raise typer.BadParameter(f"the name must end in {' or '.join(suffixes)}, got {str(path)!r}.")
        return path

    return check


def member(kind: type[Member], what: str, name: str) -> Member:
    """Return the member of an enumeration that has this value; raise with the nearest one if none has."""
    members = {str(one.value): one for one in kind}
    if name not in members:
        raise UnknownNameError(what, name, members)
    return members[name]


Domain: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DOMAIN",
        help="Name of a domain (`needful envs`), or MODULE:CLASS of one of your own, whose code is run.",
    ),
]
ModelPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model directory, or a run folder that holds one.")
]
LearnerName: TypeAlias = Annotated[
    str, typer.Option("--learner", help="Name of an operator learner or a policy.")
]
Demos: TypeAlias = Annotated[
    int, typer.Option("--demos", min=1, help="How many training tasks to demonstrate.")
]
Tasks: TypeAlias = Annotated[int, typer.Option("--tasks", min=0, help="How many unseen tasks to solve.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="The one seed of everything random.")]
Timeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", callback=positive_seconds, help="Seconds of planning a task.")
]
LearningTimeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--learning-timeout",
        callback=positive_seconds,
        help="Seconds of learning after which it is given up; without it, it takes what it takes.",
    ),
]
AbstractPlans: TypeAlias = Annotated[
    int, typer.Option("--abstract-plans", min=1, help="How many abstract plans to try for a task.")
]
PlannerName: TypeAlias = Annotated[
    str,
    typer.Option("--planner", help=f"What searches for abstract plans: {', '.join(planner_names())}."),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an earlier output; nothing else is ever replaced.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
