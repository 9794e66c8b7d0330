"""Tables as LaTeX, without any package."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from needful.reports.table import Cell, Table

_ESCAPES = MappingProxyType(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # A row must not begin with these: after a line break they would be taken for its arguments.
        "[": "{[}",
        "*": "{*}",
        "–": "--",
        "−": "$-$",
        "±": r"$\pm$",
        "×": r"$\times$",
        **{sign: "\\" + sign for sign in "&%$#_{}"},
    }
)
_SPECIAL = re.compile("|".join(re.escape(sign) for sign in _ESCAPES))
_BLANK = re.compile(r"\s+")


def escape_latex(text: str) -> str:
    """Return text that LaTeX sets as it is."""
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], _BLANK.sub(" ", text).strip())


def as_latex(table: Table) -> str:
    """Return a table with four lines a domain: measured, published, difference and notes.

    Lines without any entry are left out.
    """
    lines = [
        r"\begin{table}",
        r"\centering\small",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\hline",
        _line("Domain", [rf"\textbf{{{escape_latex(column)}}}" for column in table.columns]),
        r"\hline",
    ]
    for row in table.rows:
        lines.append(_line(escape_latex(row.title), [_measured(table, cell) for cell in row.cells]))
        for label, part in _PARTS:
            entries = [escape_latex(part(table, cell)) for cell in row.cells]
            if any(entries):
                lines.append(_line(rf"\quad {label}", entries))
    caption = escape_latex(f"{table.title}. {table.caption}")
    lines += [r"\hline", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}", ""]
    return "\n".join(lines)


def _line(label: str, entries: list[str]) -> str:
    return " & ".join([label, *entries]) + r" \\"


def _measured(table: Table, cell: Cell) -> str:
    text = escape_latex(table.estimate_text(cell.measured))
    return rf"\textbf{{{text}}}" if cell.best else text


def _published(table: Table, cell: Cell) -> str:
    return "" if cell.published is None else table.estimate_text(cell.published)


def _difference(table: Table, cell: Cell) -> str:
    return "" if cell.difference is None else table.difference_text(cell.difference)


def _notes(table: Table, cell: Cell) -> str:
    return ", ".join(cell.notes)


_PARTS: tuple[tuple[str, Callable[[Table, Cell], str]], ...] = (
    ("paper", _published),
    ("difference", _difference),
    ("notes", _notes),
)
