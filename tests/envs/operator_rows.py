"""Operators as rows of the tables that specify the domains."""

from __future__ import annotations

from collections.abc import Iterable

from needful.core.operators import Operator


def rows_of(operators: Iterable[Operator]) -> list[str]:
    """Return `name(args) | controller(args) | P | E+ | E- | Q` for each operator, atoms sorted."""
    return [_row(operator) for operator in operators]


def _row(operator: Operator) -> str:
    parameters = ", ".join(variable.name for variable in operator.parameters)
    arguments = ", ".join(variable.name for variable in operator.controller_arguments)
    atoms = (operator.preconditions, operator.add_effects, operator.delete_effects)
    columns = [
        f"{operator.name}({parameters})",
        f"{operator.controller.name}({arguments})",
        *(", ".join(sorted(map(str, column))) or "-" for column in atoms),
        ", ".join(sorted(pattern.predicate.name for pattern in operator.delete_patterns)) or "-",
    ]
    return " | ".join(columns)
