"""The command `needful` and its verbs (subcommands)."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from needful.cli import console
from needful.cli.collect import collect
from needful.cli.envs import check_env, envs
from needful.cli.eval import evaluate_model
from needful.cli.explain import explain
from needful.cli.export import export
from needful.cli.learn import learn
from needful.cli.new_env import new_env
from needful.cli.options import drop_equals_signs, keep_options_in_completions
from needful.cli.plan import plan_task
from needful.cli.report import report
from needful.cli.reproduce import reproduce
from needful.cli.run import run_domain
from needful.cli.view import view
from needful.storage.outputs import disk_is_full


class Verb(TyperCommand):
    """A verb that stores the arguments as the user typed them, so that run.json can record the command.

    In a verb without positional arguments, a repeatable option accepts several words: `--domains a b` is
    the same as `--domains a --domains b`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments and keep a copy of them in the context."""
        ctx.meta[console.ARGUMENTS] = tuple(args)
        if ctx.resilient_parsing:  # the shell asks for completions
            keep_options_in_completions(self.params)
        if all(one.param_type_name == "option" for one in self.params):
            repeatable = {
                name for one in self.params if getattr(one, "multiple", False) for name in one.opts
            }
            args = list(_with_repeated_options(args, repeatable))
        return super().parse_args(ctx, args)


def _with_repeated_options(arguments: Sequence[str], repeatable: AbstractSet[str]) -> Iterator[str]:
    """Yield the arguments; for a repeatable option, `--domains a b` becomes `--domains a --domains b`."""
    option, has_value = "", False
    for argument in arguments:
        if argument.startswith("-"):
            option, has_value = argument if argument in repeatable else "", False
        elif option and has_value:
            yield option
        else:
            has_value = True
        yield argument


def build_app() -> typer.Typer:
    """Return the command line application with all verbs."""
    app = typer.Typer(
        name="needful",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_options)
    for name, verb, example in (
        ("run", run_domain, "needful run screws --demos 50 --tasks 50 --seed 0 --out runs/screws"),
        ("envs", envs, "needful envs"),
        ("collect", collect, "needful collect cluttered-1d --demos 50 --out demos.jsonl.gz"),
        ("learn", learn, "needful learn demos.jsonl.gz --out model"),
        ("eval", evaluate_model, "needful eval model cluttered-1d --tasks 50"),
        ("plan", plan_task, "needful plan model cluttered-1d --task 3"),
        ("export", export, "needful export model --pddl pddl --problem cluttered-1d:3"),
        ("explain", explain, "needful explain model MoveGrasp-1"),
        ("report", report, "needful report runs/screws-necessary-seed0 --out report.html"),
        ("view", view, "needful view runs"),
        ("reproduce", reproduce, "needful reproduce --table main --domains screws --seeds 2 --out results"),
        ("new-env", new_env, "needful new-env my_domain"),
        ("check-env", check_env, "needful check-env my_domain/my_domain.py:MyDomain"),
    ):
        app.command(name, cls=Verb, epilog=f"Example: {example}")(verb)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"needful {version('needful')}")
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Learn robot planning models that predict only the changes that planning needs."""


def main() -> None:
    """Run the command line; characters that a stream cannot encode are printed as escape sequences."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    drop_equals_signs(os.environ)
    try:
        build_app()()
    except OSError as error:
        # An `OSError` without a file name comes from printing. If it means that stdout goes to a full disk,
        # report it here. Raise all other errors again.
        if error.filename is not None or not disk_is_full(error):
            raise
        console.print_stderr(
            f"error: Cannot write the output: {error.strerror}. Redirect it to another disk."
        )
        # Redirect stdout to the null device: Python flushes it at exit, and would print a second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(console.FAILED)
