"""The controllers of operators that were read from PDDL, which knows none."""

from __future__ import annotations

from collections.abc import Sequence

from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type, Variable
from needful.core.operators import Operator
from needful.core.s_expressions import Word
from needful.planning.pddl_reader.operators import ActionBody
from needful.planning.pddl_reader.symbols import Symbols


def with_controllers(
    bodies: Sequence[ActionBody], vocabulary: Vocabulary | None, symbols: Symbols
) -> tuple[tuple[Operator, ...], tuple[Controller, ...]]:
    """Return operators with controllers, and those of the controllers that had to be made up.

    The controller of an action is what its comment tells; without one, it is named after the action and
    takes its parameters. Those that the vocabulary does not have are made up, without continuous
    parameters, and with types that all actions can pass.
    """
    known = {} if vocabulary is None else {one.name: one for one in vocabulary.controllers}
    made: dict[str, Controller] = {}
    calls = [_call(body, symbols) for body in bodies]
    for body, (name, arguments) in zip(bodies, calls, strict=True):
        commented = body.action.name.lower() in symbols.comments.controllers
        if vocabulary is not None and commented and name not in known:
            raise symbols.syntax.unknown("controller", Word(name, body.action.at.line), known)
        if name not in known:
            types = [variable.type for variable in arguments]
            common = _common(made[name].types if name in made else types, types)
            if common is None:
                raise symbols.syntax.fault(
                    body.action.at, f"another action runs {name!r} with arguments of other types."
                )
            made[name] = Controller(name, common)
    operators = []
    for body, (name, arguments) in zip(bodies, calls, strict=True):
        with symbols.syntax.located(body.action.at):
            operators.append(_operator(body, (known | made)[name], arguments))
    return tuple(operators), tuple(made.values())


def _call(body: ActionBody, symbols: Symbols) -> tuple[str, tuple[Variable, ...]]:
    """Return the name of the controller that an action runs, and its arguments."""
    told = symbols.comments.controllers.get(body.action.name.lower())
    if told is None:
        return symbols.comments.original("action", body.action.name), body.arguments
    name, arguments = told
    for argument in arguments:
        if argument not in body.terms:
            raise symbols.syntax.unknown(
                f"argument of the controller {name!r}", Word(argument, body.action.at.line), body.terms
            )
    return name, tuple(body.terms[argument] for argument in arguments)


def _common(before: Sequence[Type], types: Sequence[Type]) -> tuple[Type, ...] | None:
    """Return the narrowest types that include both of each, if there are such."""
    if len(before) != len(types):
        return None
    found = []
    for one, other in zip(before, types, strict=True):
        shared = [kind for kind in one.ancestry() if other.is_subtype_of(kind)]
        if not shared:
            return None
        found.append(shared[0])
    return tuple(found)


def _operator(body: ActionBody, controller: Controller, arguments: tuple[Variable, ...]) -> Operator:
    return Operator(
        body.name,
        body.parameters,
        body.preconditions,
        body.add_effects,
        body.delete_effects,
        body.delete_patterns,
        controller,
        arguments,
    )
