"""Arguments and options shared by several verbs, and shell completion of their values.

Completion also works after an equals sign: `--learner=nec`. Typer writes the scripts for the shells. They
call this program with the words of the command line in environment variables.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from needful.approaches.catalogue import APPROACHES
from needful.envs.catalogue import CATALOGUE
from needful.errors import UnknownNameError
from needful.evaluation.execution import CLOSED_LOOP, OPEN_LOOP, Disturbances, ExecutionConfig
from needful.invention.invent import InventionConfig
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import make_planner, planner_names

Member = TypeVar("Member", bound=Enum)

# `learn` and `run` cross-validate the operators with this many folds. They skip cross-validation if it
# would take more than a few seconds.
VALIDATION_FOLDS = 5
BASH_WORDS, BASH_INDEX, OTHER_SHELLS = "COMP_WORDS", "COMP_CWORD", "_TYPER_COMPLETE_ARGS"


def positive_seconds(seconds: float | None) -> float | None:
    """Return the value of an option; raise if it is not positive or not finite. None is allowed."""
    if seconds is not None and not seconds > 0:
        raise typer.BadParameter(f"must be more than 0 seconds, got {seconds}.")
    if seconds == math.inf:
        raise typer.BadParameter("must be finite. Use a large number of seconds instead of inf.")
    return seconds


def count_option(name: str, help_text: str, least: int = 1) -> Any:
    """Return an option whose value is a whole number of at least `least`."""
    return typer.Option(name, metavar="N", min=least, help=help_text)


def enum_option(name: str, kind: type[Enum], help_text: str) -> Any:
    """Return an option whose value is one of the values of an enumeration; see `enum_member`."""
    return typer.Option(name, metavar="|".join(one.value for one in kind), help=help_text)


def seconds_option(name: str, text: str) -> Any:
    """Return an option whose value is a number of seconds, positive and finite."""
    return typer.Option(name, callback=positive_seconds, help=text)


def require_suffix(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """Return an option callback that raises if the path given by the user has none of `suffixes`."""

    def check(path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in suffixes:
            raise typer.BadParameter(f"the name must end in {' or '.join(suffixes)}, got {str(path)!r}.")
        return path

    return check


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function for shell completion: it returns the names that start with the typed text.

    If the typed text is a list such as `screws,pain`, the function completes the last name of the list.
    """

    def complete(incomplete: str) -> list[str]:
        earlier, comma, last = incomplete.rpartition(",")
        return [f"{earlier}{comma}{name}" for name in names if name.startswith(last)]

    return complete


def enum_member(kind: type[Member], what: str, name: str) -> Member:
    """Return the member of the enumeration `kind` with the value `name`.

    If there is no such member, raises an error that suggests similar values. In this error, `what` is the
    word for the value, such as "kind of samplers".
    """
    members = {str(one.value): one for one in kind}
    if name not in members:
        raise UnknownNameError(what, name, members)
    return members[name]


def planning_config(
    timeout: float,
    abstract_plans: int,
    planner: str,
    samples_per_step: int = 10,
    horizon: int | None = None,
) -> PlanningConfig:
    """Return the settings of planning; the arguments are the values of the options with the same names."""
    return PlanningConfig(
        timeout=timeout,
        max_abstract_plans=abstract_plans,
        samples_per_step=samples_per_step,
        horizon=horizon,
        planner=make_planner(planner),
    )


def execution_config(
    execute: str, skill_failures: float, observation_noise: float, parameter_noise: float
) -> ExecutionConfig:
    """Return the settings of execution; the arguments are the values of the options with the same names."""
    if execute not in (OPEN_LOOP, CLOSED_LOOP):
        raise UnknownNameError("kind of execution", execute, (OPEN_LOOP, CLOSED_LOOP))
    disturbances = Disturbances(skill_failures, observation_noise, parameter_noise)
    return ExecutionConfig(execute == CLOSED_LOOP, disturbances)


_DOMAIN = typer.Argument(
    metavar="DOMAIN",
    help="Domain name (see 'needful envs'), or MODULE:CLASS of your environment; its code is run.",
    autocompletion=completing(CATALOGUE),
)
Domain: TypeAlias = Annotated[str, _DOMAIN]
OptionalDomain: TypeAlias = Annotated[str | None, _DOMAIN]
ModelPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model directory, or run folder that contains one.")
]
LearnerName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--learner",
        help=f"Approach to learn with: {', '.join(APPROACHES)}.",
        autocompletion=completing(APPROACHES),
    ),
]
Demos: TypeAlias = Annotated[int, count_option("--demos", "Number of training tasks to demonstrate.")]
Tasks: TypeAlias = Annotated[int, count_option("--tasks", "Number of unseen tasks to solve.", least=0)]
Seed: TypeAlias = Annotated[int, count_option("--seed", "Seed of all random numbers.", least=0)]
Timeout: TypeAlias = Annotated[float, seconds_option("--timeout", "Planning time per task, in seconds.")]
LearningTimeout: TypeAlias = Annotated[
    float | None,
    seconds_option("--learning-timeout", "Time limit of learning, in seconds; no limit by default."),
]
AbstractPlans: TypeAlias = Annotated[
    int, count_option("--abstract-plans", "Maximum number of abstract plans per task.")
]
SamplesPerStep: TypeAlias = Annotated[
    int, count_option("--samples-per-step", "Maximum number of parameters to try for each step.")
]
Horizon: TypeAlias = Annotated[
    int | None,
    count_option("--horizon", "Maximum number of low-level actions; by default the domain's horizon."),
]
Recorded: TypeAlias = Annotated[
    Path | None,
    typer.Option("--demonstrations", metavar="FILE", help="Recorded demonstrations: a needful-demos file."),
]
PlannerName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--planner",
        help=f"Planner that finds abstract plans: {', '.join(planner_names())}.",
        autocompletion=completing(planner_names()),
    ),
]
Invent: TypeAlias = Annotated[
    bool,
    typer.Option("--invent", help="Invent predicates; only those of goals are given, and --keep."),
]
Keep: TypeAlias = Annotated[
    str,
    typer.Option("--keep", metavar="NAME,...", help="Predicates to keep with --invent; 'all' keeps all."),
]
Formulas: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--formula",
        metavar="FORMULA",
        help="An expression for --invent, such as 'gap: abs(a.x - b.x) - a.width'. Can be repeated.",
    ),
]


def invention_config(
    invent: bool, keep: str, formulas: Sequence[str], no_simulator: bool = False
) -> InventionConfig | None:
    """Return the settings of predicate invention, or None without --invent.

    Raises if other options of predicate invention are given without --invent.
    """
    if not invent:
        given = {"--keep": keep, "--formula": formulas, "--no-simulator": no_simulator}
        for option, value in given.items():
            if value:
                raise typer.BadParameter("has no effect without --invent. Add --invent.", param_hint=option)
        return None
    kept = tuple(name.strip() for name in keep.split(",") if name.strip())
    config = InventionConfig(keep=kept, formulas=tuple(formulas))
    return replace(config, practice_tasks=0) if no_simulator else config


Execute: TypeAlias = Annotated[
    str,
    typer.Option(
        "--execute",
        metavar="MODE",
        help="Execute the whole plan (open-loop), or observe after each controller (closed-loop).",
    ),
]
_SHARE = partial(typer.Option, metavar="SHARE", min=0, max=1)
_DEVIATION = "Standard deviation of {}, as a share of each {}."
SkillFailures: TypeAlias = Annotated[
    float, _SHARE("--skill-failures", help="Probability that a controller fails.")
]
ObservationNoise: TypeAlias = Annotated[
    float, _SHARE("--observation-noise", help=_DEVIATION.format("observed features", "feature's range"))
]
ParameterNoise: TypeAlias = Annotated[
    float, _SHARE("--parameter-noise", help=_DEVIATION.format("executed parameters", "parameter's bounds"))
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an earlier output of this command, and nothing else.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


def drop_equals_signs(environment: MutableMapping[str, str]) -> None:
    """Change the words from Bash as if the user had typed spaces instead of equals signs after options.

    Bash splits `--learner=nec` into three words, `--learner`, `=` and `nec`, and completes only the last.
    """
    if not (BASH_WORDS in environment and environment.get(BASH_INDEX, "").isdigit()):
        return
    index = int(environment[BASH_INDEX])
    words = environment[BASH_WORDS].split("\n")[: index + 1]
    kept = [word for word, before in zip(words, ["", *words], strict=False) if not _joins(word, before)]
    dropped_before = sum(map(_joins, words[1:index], words))
    environment[BASH_WORDS] = "\n".join(kept)
    environment[BASH_INDEX] = str(index - dropped_before)


def _joins(word: str, before: str) -> bool:
    """Return whether `word` is the equals sign after an option; `before` is the word before it."""
    return word == "=" and before.startswith("--")


def keep_options_in_completions(parameters: Iterable[Any]) -> None:
    """Make the parameters of a verb complete `--learner=nec` to `--learner=necessary`, not to `necessary`.

    Shells that do not split words at equals signs replace the whole word, so `--learner=` would be lost.
    """
    for one in parameters:
        one.shell_complete = partial(_complete_whole_word, one.shell_complete)


def _complete_whole_word(complete: Callable[..., list[Any]], context: object, incomplete: str) -> list[Any]:
    items = complete(context, incomplete)
    for item in items:
        item.value = f"{typed_option(os.environ)}{item.value}"
    return items


def typed_option(environment: Mapping[str, str]) -> str:
    """Return the part of the current word up to the equals sign, such as `--learner=`, or an empty text."""
    if BASH_WORDS in environment:
        word = "".join(environment[BASH_WORDS].split("\n")[int(environment[BASH_INDEX]) :][:1])
    else:
        word = environment.get(OTHER_SHELLS, "").rpartition(" ")[2]
    option, equals, _ = word.partition("=")
    return f"{option}=" if equals and option.startswith("--") else ""
