"""`needful run --repeat`: run recorded runs again, and report whether the results are identical."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, cast

import typer

from needful.cli import console
from needful.cli.environments import chosen_environment, demonstrations_for
from needful.cli.report import runs_in
from needful.errors import InvalidInputError, ResultsError
from needful.evaluation.pipeline import RunConfig, run
from needful.evaluation.run_folder import (
    RunDescription,
    RunFolder,
    differing_results,
    flat_settings,
    read_run_description,
)

# The options that may be given together with --repeat.
ALLOWED = ("domain", "repeat", "out", "force", "as_json")
# At most this many differences are printed for each run.
MAX_PRINTED = 20

# A function that returns the settings of a run. Its arguments are the context with the options of
# `needful run`, and the domain.
MakeConfig: TypeAlias = Callable[[typer.Context, str], RunConfig]


@dataclass(frozen=True, slots=True)
class Repetition:
    """The comparison of a recorded run with its repetition.

    Attributes:
        folder: the recorded run.
        differences: one text per difference of the settings and results; empty if they are identical.
        changed_versions: one text per package or platform version that differs between the two runs. Such
            a change may be the cause of the differences.
        seconds, seconds_before: the durations of the repetition and of the recorded run.
    """

    folder: Path
    differences: tuple[str, ...]
    changed_versions: tuple[str, ...]
    seconds: float
    seconds_before: float

    def describe(self) -> str:
        """Return a text for the terminal: whether the results are identical, otherwise the differences."""
        took = f"{self.seconds:.1f} s, before {self.seconds_before:.1f} s"
        if not self.differences:
            return f"{self.folder}: {console.good('identical results')} ({took})."
        shown = [f"  {text}" for text in self.differences[:MAX_PRINTED]]
        hidden = len(self.differences) - len(shown)
        lines = [f"{self.folder}: {console.bad('different results')} ({took}).", *shown]
        lines += [f"  and {hidden} more"] * bool(hidden)
        return "\n".join([*lines, *(f"  {text}" for text in self.changed_versions)])

    def to_json(self) -> dict[str, Any]:
        """Return the repetition as JSON values."""
        return {
            "run": str(self.folder),
            "identical": not self.differences,
            "differences": list(self.differences),
            "versions": list(self.changed_versions),
            "seconds": self.seconds,
            "seconds_before": self.seconds_before,
        }


def repeat_runs(
    context: typer.Context, runs: Path, domain: str | None, out: Path | None, make_config: MakeConfig
) -> None:
    """Make runs again with their recorded commands; exit with code 1 if results differ.

    `runs` is a run folder, or a folder that contains run folders. The new results are written to `out`. If
    `out` is None, they are deleted after the comparison. A recorded command may name the user's environment
    class. For security, this class is loaded only if the user names it again as `domain`.
    """
    _check_options(context)
    folders = runs_in(runs)
    if out is not None and len(folders) > 1:
        raise typer.BadParameter(f"is for one run, but {runs} contains {len(folders)}.", param_hint="--out")
    repeated = []
    for folder in folders:
        with _output_folder(out) as target:
            one = _repeat(context, folder, domain, target, make_config)
        repeated.append(one)
        if not context.params["as_json"]:
            console.print_result(one.describe())
    if context.params["as_json"]:
        console.print_json({"runs": [one.to_json() for one in repeated]})
    if any(one.differences for one in repeated):
        raise typer.Exit(console.FAILED)


def _check_options(context: typer.Context) -> None:
    for name in context.params:
        if name not in ALLOWED and console.is_given(context, name):
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(
                f"--repeat uses the recorded settings. Leave {option} out.", param_hint=option
            )


@contextmanager
def _output_folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "run"


def _repeat(
    context: typer.Context, folder: Path, domain: str | None, target: Path, make_config: MakeConfig
) -> Repetition:
    before = _recorded(folder)
    arguments = shlex.split(before.command)[2:]
    options = cast(typer.Context, context.command.make_context("run", arguments, parent=context.parent))
    reference = domain or options.params["domain"]
    if domain is None and ":" in reference:
        raise InvalidInputError(
            f"{folder} was made with your environment {reference}. Its code is run, so name it: "
            f"needful run {reference} --repeat {folder}."
        )
    config = make_config(options, reference)
    with chosen_environment(reference) as environment, console.progress_bars() as progress:
        if environment.name != before.settings.get("domain"):
            raise InvalidInputError(
                f"{folder} is a run of {before.settings.get('domain')!r}, but {reference} is "
                f"{environment.name!r}. Give the environment of the run."
            )
        recorded = None
        if "demonstrations" in before.settings:
            count = json.loads((folder / "summary.json").read_text())["demos"]
            recorded = demonstrations_for(environment, folder / "demos.jsonl.gz")[:count]
        with RunFolder.replacing(target, context.params["force"], before.command) as made:
            run(environment, config, made, progress, recorded)
    after = _recorded(target)
    return Repetition(
        folder,
        (
            *_changes("setting ", flat_settings(before.settings), flat_settings(after.settings)),
            *differing_results(folder, target),
        ),
        tuple(_changes("", before.versions, after.versions)),
        after.seconds or 0.0,
        before.seconds or 0.0,
    )


def _recorded(folder: Path) -> RunDescription:
    """Return the description of a finished run; raise if the run cannot be repeated."""
    description = read_run_description(folder)
    if description is None:
        raise ResultsError(f"{folder} has no run.json, so its settings are unknown. Make the run again.")
    if description.seconds is None:
        raise ResultsError(f"{folder}: the run did not finish. Make it again: {description.command}")
    if shlex.split(description.command)[:2] != ["needful", "run"]:
        raise ResultsError(f"{folder} was not made by `needful run`. Only such runs can be repeated.")
    return description


def _changes(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, "none"), after.get(name, "none")
        if old != new:
            yield f"{kind}{name}: {new}, before {old}"
