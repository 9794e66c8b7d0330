"""Small HTML cards that show operators, models and results in notebooks.

The cards use inline styles and no scripts, and every name is escaped. They are readable in light and dark
notebooks: most text has the colour of the notebook's text, and borders are half transparent.

Messages mark code with backticks, such as the command in "Run `needful envs`". `code_as_html` and
`quote_code` replace the backticks by HTML elements or by single quotes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needful.core.objects import counted

if TYPE_CHECKING:
    from needful.core.operators import Operator
    from needful.core.plans import PlanningResult

# The maximum number of operators or steps to show; more would make the output of a cell too long.
MAX_ROWS = 50
MAX_LETTERS = 2_000

_CARD = (
    "border:1px solid rgba(128,128,128,.4);border-radius:8px;padding:.6em .9em;margin:.3em .3em .3em 0;"
    "display:inline-block;vertical-align:top;text-align:left;max-width:44em;overflow-wrap:anywhere"
)
_MONO = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em"
_QUIET = "opacity:.7;font-size:.9em"
_VERBS = {
    "adds": "color:#1a8a5a;font-size:.9em",
    "deletes": "color:#c0394f;font-size:.9em",
    "forgets": "color:#b07a00;font-size:.9em",
}
# Finds code between backticks. A longer text between backticks is not code that this package wrote, so its
# backticks belong to the user's text and are kept.
_CODE = re.compile(r"`([^`\n]{1,500})`")


def escaped(text: object) -> str:
    """Return a text as HTML; a very long one is cut off."""
    return html.escape(_shortened(str(text)))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]}…"


def card(title: object, *parts: str) -> str:
    """Return a card with a title; `parts` are HTML."""
    return f'<div style="{_CARD}"><b dir="auto">{escaped(title)}</b>{"".join(parts)}</div>'


def note(text: object) -> str:
    """Return a line of small, dimmed text as HTML."""
    return f'<div dir="auto" style="{_QUIET}">{escaped(text)}</div>'


def sentence(title: str, text: str) -> str:
    """Return a paragraph with a title as HTML; text between backticks is shown as code."""
    shown = code_as_html(_shortened(text))
    return f'<div dir="auto"><b>{escaped(title)}:</b> {shown}</div>' if text else ""


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table with a name and a text per row."""
    lines = (
        f'<tr style="background:none"><td style="text-align:left;vertical-align:top;'
        f'{_VERBS.get(name, _QUIET)}">{escaped(name)}</td>'
        f'<td dir="auto" style="text-align:left;{_MONO}">{escaped(text)}</td></tr>'
        for name, text in pairs
    )
    return f'<table style="border:0;margin:.2em 0">{"".join(lines)}</table>'


def operator_card(operator: Operator) -> str:
    """Return an operator as a card: its call, preconditions and effects."""
    arguments = ", ".join(variable.name for variable in operator.controller_arguments)
    sections = (
        ("needs", operator.preconditions),
        ("forbids", operator.negative_preconditions),
        ("adds", operator.add_effects),
        ("deletes", operator.delete_effects),
        ("forgets", operator.delete_patterns),
    )
    listed = [(name, ", ".join(map(str, sorted(items)))) for name, items in sections if items]
    changes = operator.add_effects or operator.delete_effects or operator.delete_patterns
    return card(
        f"{operator.name}({', '.join(map(str, operator.parameters))})",
        note(f"runs {operator.controller.name}({arguments})"),
        rows(listed),
        "" if changes else note("It changes no atom: no predicate describes what it does."),
    )


def operator_cards(title: str, operators: Sequence[Operator]) -> str:
    """Return the cards of several operators below a title."""
    hidden = len(operators) - MAX_ROWS
    more = note(f"and {hidden} more operators") if hidden > 0 else ""
    cards = "".join(map(operator_card, operators[:MAX_ROWS]))
    return f"<div><div><b>{escaped(title)}</b></div>{cards}{more}</div>"


def result_card(result: PlanningResult) -> str:
    """Return a planning result as a card: its steps and, if the task was not solved, the cause."""
    from needful.core.failure_causes import explain_failure

    steps = [
        (f"{index + 1}", f"{step}  ({verdict})" if (verdict := result.step_verdict(index)) else str(step))
        for index, step in enumerate(result.steps[:MAX_ROWS])
    ]
    hidden = len(result.steps) - MAX_ROWS
    cause = explain_failure(result)
    statistics = result.statistics
    return card(
        "Solved" if result.solved else f"Not solved: {result.outcome.value.replace('_', ' ')}",
        note(
            f"{counted(result.steps, 'step')}, {counted(statistics.abstract_plans, 'abstract plan')}, "
            f"{counted(statistics.nodes_created, 'node')}, {counted(statistics.samples, 'sample')}"
        ),
        rows(steps),
        note(f"and {counted(hidden, 'more step')}") if hidden > 0 else "",
        "" if cause is None else sentence("Cause", cause.cause) + sentence("What to do", cause.advice),
    )


def run_card(summary: Mapping[str, Any], operators: Sequence[Operator]) -> str:
    """Return a card with the summary of a run (the content of summary.json), and cards of its operators."""
    seconds = summary["seconds"]
    facts = [
        (
            "learner",
            f"{summary['learner']}, {counted(summary['demos'], 'demonstration')}, seed {summary['seed']}",
        ),
        ("operators", f"{summary['operators']}, coverage {summary['coverage']:.0%}"),
        ("solved", f"{summary['solved']} of {counted(summary['tasks'], 'unseen task')}"),
        ("planning", f"{seconds_text(seconds['planning_mean'])} per task on average"),
    ]
    facts += [
        (f"failed: {name.replace('_', ' ')}", str(count))
        for name, count in summary["failures"].items()
        if count
    ]
    cards = operator_cards("Operators", operators) if operators else ""
    return f"{card(summary['domain'], rows(facts))}{cards}"


def seconds_text(seconds: float) -> str:
    """Return a duration with its unit; below 1 s with two significant digits, such as "0.0051 s"."""
    return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.2f} s"


def quote_code(text: str) -> str:
    """Return a text with single quotes around its code instead of backticks, for terminals and pictures."""
    return _CODE.sub(r"'\1'", text)


def code_as_html(text: str) -> str:
    """Return a text as HTML, with its code in `code` elements; everything else is escaped."""
    parts = _CODE.split(text)  # text and code alternate
    return "".join(
        f"<code>{html.escape(part)}</code>" if index % 2 else html.escape(part)
        for index, part in enumerate(parts)
    )
