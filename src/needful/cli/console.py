"""Console output (results on stdout, progress and errors on stderr) and texts that describe results."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from needful.core.atoms import AbstractState
from needful.core.cards import quote_code, seconds_text
from needful.core.failure_causes import explain_failure
from needful.core.objects import counted
from needful.core.operators import GroundOperator
from needful.core.plans import Outcome, PlanningResult
from needful.demos.collect import CollectedDemonstrations
from needful.errors import NeedfulError, OutputExistsError, UnknownNameError
from needful.evaluation.run_folder import command_text

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
# A description of a plan lists at most this many suspects: ground operators whose tries all failed.
MAX_SUSPECTS = 10

# If stderr is not a terminal, this is the number of seconds between two progress lines.
SECONDS_PER_LINE = 10.0
# The key in `typer.Context.meta` under which the arguments of a verb are stored.
ARGUMENTS = "needful.arguments"

P = ParamSpec("P")


def reporting_errors(verb: Callable[P, None]) -> Callable[P, None]:
    """Decorate a verb (subcommand): print its errors and warnings on stderr, and set the exit code.

    The notes of an exception are printed after its message. For example, a note names the folder with
    partial results.
    """

    @functools.wraps(verb)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: print_stderr(f"warning: {message}")
                verb(*args, **kwargs)
        except NeedfulError as error:
            print_stderr(" ".join([f"error: {error}", *_notes(error)]))
            wrong_usage = isinstance(error, UnknownNameError | OutputExistsError)
            raise typer.Exit(WRONG_USAGE if wrong_usage else FAILED) from error
        except KeyboardInterrupt as interrupt:
            print_stderr(" ".join(["Interrupted.", *_notes(interrupt)]))
            raise typer.Exit(INTERRUPTED) from interrupt

    return wrapped


def _notes(error: BaseException) -> Sequence[str]:
    return getattr(error, "__notes__", ())


def given_command(context: typer.Context) -> str:
    """Return the command that the user typed, for run.json; see `command_text`."""
    return command_text(f"needful {context.info_name}", context.meta.get(ARGUMENTS, ()))


def is_given(context: typer.Context, option: str) -> bool:
    """Return whether the user gave an option; otherwise its value is the default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def good(text: str) -> str:
    """Return a text in green, for success."""
    return _coloured(text, typer.colors.GREEN)


def bad(text: str) -> str:
    """Return a text in red, for failures and errors."""
    return _coloured(text, typer.colors.RED)


def _coloured(text: str, colour: str) -> str:
    # `typer.echo` removes colours if the output is not a terminal.
    return text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour)


def check_paths_disjoint(source: Path, out: Path, option: str = "--out") -> None:
    """Raise if writing to the path `out` would delete or change the input `source`.

    `option` is the command line option that `out` was given with; the error message names this option.
    """
    resolved, target = source.resolve(), out.resolve()
    if resolved == target:
        reason = f"{out} is the input, which would be lost. Choose another path."
    elif resolved.is_relative_to(target):
        reason = f"{out} contains the input {source}, which would be lost. Choose another path."
    elif target.is_relative_to(resolved):
        reason = f"{out} is inside the input {source}. Choose a path outside it."
    else:
        return
    raise typer.BadParameter(reason, param_hint=option)


def print_stderr(text: str) -> None:
    """Print a message on stderr; the first word of an error or a warning is coloured on a terminal."""
    for word, colour in (("error:", typer.colors.RED), ("warning:", typer.colors.YELLOW)):
        if text.startswith(word):
            text = f"{_coloured(word, colour)}{text.removeprefix(word)}"
    typer.echo(quote_code(text), err=True)


def print_result(text: str = "") -> None:
    """Print a result on stdout; text in backticks (code) is printed in quotes instead."""
    typer.echo(quote_code(text))


def print_json(value: Mapping[str, Any]) -> None:
    """Print a machine-readable result on stdout."""
    typer.echo(json.dumps(value, indent=1))


class ProgressBars:
    """Show the stages of a command, such as collecting and learning, as progress bars."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._current: TaskID | None = None

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage with its own bar, and mark the previous stage as finished.

        `total` is the number of parts of the new stage, None if unknown. Returns a function that updates
        the bar: call it with the number of finished parts whenever this number changes.
        """
        self.finish()
        task = self._current = self._bars.add_task(name, total=total, counted=total is not None)
        return lambda done: self._bars.update(task, completed=done)

    def line(self) -> str:
        """Return a line such as "Collecting: 3 of 20, 12 s"; empty before the first stage."""
        if self._current is None:
            return ""
        task = self._bars.tasks[self._current]
        parts = "" if task.total is None else f" {task.completed:.0f} of {task.total:.0f},"
        return f"{task.description}:{parts} {task.elapsed or 0.0:.0f} s"

    def finish(self) -> None:
        """Mark the current stage as finished."""
        if self._current is not None:
            total = self._bars.tasks[self._current].total or 1
            self._bars.update(self._current, total=total, completed=total)


class _PartsColumn(MofNCompleteColumn):
    """Finished and total parts of a stage, such as "3/20" tasks; empty if the total is not known."""

    def render(self, task: Task) -> Text:
        return super().render(task) if task.fields["counted"] else Text()


@contextmanager
def progress_bars() -> Iterator[ProgressBars]:
    """Show progress on stderr during the `with` block: bars on a terminal, otherwise a line every 10 s."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), _PartsColumn(), TimeElapsedColumn())
    # Do not use `console.is_terminal`: if FORCE_COLOR is set, it is True even if stderr is a log file.
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as bars:
        shown = ProgressBars(bars)
        with progress_lines(shown.line):
            yield shown
        shown.finish()


@contextmanager
def progress_lines(line: Callable[[], str], seconds: float = SECONDS_PER_LINE) -> Iterator[None]:
    """Print `line()` on stderr every `seconds` during the `with` block, unless stderr is a terminal."""
    if sys.stderr.isatty():
        yield
        return
    ended, stream = threading.Event(), sys.stderr

    def print_lines() -> None:
        while not ended.wait(seconds):
            text = line()
            if text:
                print(text, file=stream, flush=True)

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def describe_skipped(collected: CollectedDemonstrations) -> list[str]:
    """Return one warning per training task that could not be demonstrated."""
    return [
        f"warning: training task {index} has no demonstration: {outcome.value.replace('_', ' ')}"
        for index, outcome in collected.skipped
    ]


def describe_evaluation(summary: Mapping[str, Any]) -> str:
    """Return a text with the numbers of solved and failed tasks and the mean planning time."""
    lines = [
        f"Solved {summary['solved']}/{counted(summary['tasks'], 'unseen task')} "
        f"({summary['success_rate']:.1%}), planning {seconds_text(summary['seconds']['planning_mean'])} "
        "per task on average."
    ]
    lines += [
        f"  {count} failed: {outcome.replace('_', ' ')}"
        for outcome, count in summary["failures"].items()
        if count
    ]
    if summary.get("solved_ignoring_preconditions"):
        count = counted(summary["solved_ignoring_preconditions"], "task")
        lines.append(f"  {count} solved by ignoring a precondition: there is no plan with all of them")
    if "execution" in summary:
        lines.append(_describe_execution(summary["execution"]))
    return "\n".join(lines)


def _describe_execution(execution: Mapping[str, Any]) -> str:
    rates = ("skill_failures", "observation_noise", "parameter_noise")
    listed = ", ".join(f"{rate.replace('_', ' ')} {execution[rate]:g}" for rate in rates if execution[rate])
    world = f" ({listed})" if listed else ""
    counts = f"{execution['controllers_mean']:.1f} controllers and {execution['replans_mean']:.1f} replans"
    return f"Executed {execution['mode'].replace('-', ' ')}{world}: {counts} per task on average."


def describe_plan(result: PlanningResult) -> str:
    """Return a text with the steps of a plan and, if the task was not solved, the reason."""
    if not result.abstract_plan and result.actions:
        return _describe_rollout(result)
    lines = []
    for index, operator in enumerate(result.abstract_plan):
        verdict = result.step_verdict(index)
        call = verdict or str(result.actions[index])
        lines.append(f"{index + 1}. {operator}")
        lines.append(f"     {bad(call) if verdict == 'failed' else call}")
        lines += _describe_changes(operator, result.subgoals[index])
    statistics = result.statistics
    lines.append(
        f"Abstract plans: {statistics.abstract_plans}, expanded nodes: {statistics.nodes_expanded}, "
        f"samples: {statistics.samples}."
    )
    lines += _describe_suspects(result)
    if result.ignored:
        lines.append("There is no plan with all preconditions. This plan ignores:")
        lines += (f"  {one}" for one in result.ignored)
    return "\n".join([*lines, _conclusion(result)])


def _describe_changes(operator: GroundOperator, before: AbstractState) -> list[str]:
    """Return a line with the atoms that a step adds (+) and one with those that it deletes (-).

    `before` has the atoms that had to hold before the step, and so were checked. Only these can match a
    delete pattern of the operator, and they do not count as added.
    """
    matched = {atom for atom in before for one in operator.delete_patterns if one.matches(atom)}
    added = sorted(operator.add_effects - before)
    deleted = sorted((operator.delete_effects | matched) - operator.add_effects)
    lines = [good(f"     + {', '.join(map(str, added))}")] if added else []
    return lines + ([bad(f"     - {', '.join(map(str, deleted))}")] if deleted else [])


def _describe_suspects(result: PlanningResult) -> list[str]:
    """Return a heading and one line per suspect (a ground operator whose tries all failed), if any."""
    if not result.suspects:
        return []
    shown = [f"  {suspect}" for suspect in result.suspects[:MAX_SUSPECTS]]
    hidden = len(result.suspects) - len(shown)
    return [
        "Suspected operators, avoided in later plans:",
        *shown,
        *([f"  and {hidden} more"] * bool(hidden)),
    ]


def _describe_rollout(result: PlanningResult) -> str:
    """Return a text with the actions that a policy chose and whether they solved the task."""
    lines = [f"{number}. {action}" for number, action in enumerate(result.actions, 1)]
    return "\n".join([*lines, f"Samples: {result.statistics.samples}.", _conclusion(result)])


def _conclusion(result: PlanningResult) -> str:
    explained = explain_failure(result)
    if explained is None:
        return good("Solved.")
    advice = f"\nWhat to do: {explained.advice}" if explained.advice else ""
    return f"{bad('Not solved:')} {describe_failure(result)}\nCause: {explained.cause}{advice}"


def describe_failure(result: PlanningResult) -> str:
    """Return one sentence that explains why the task was not solved."""
    if result.failure is not None:
        return f"{result.failure.detail} (step {result.failure.step + 1}, {result.outcome.value})"
    too_many = "search nodes" if result.statistics.nodes_created else "ground operators"
    return {
        Outcome.NO_ABSTRACT_PLAN: "no abstract plan reaches the goal.",
        Outcome.TIMEOUT: "no abstract plan was found within the time limit. Try a larger --timeout.",
        Outcome.OUT_OF_NODES: f"the task is too large: the limit of {too_many} was reached.",
    }.get(result.outcome, result.outcome.value)
