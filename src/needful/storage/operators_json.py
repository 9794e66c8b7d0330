"""Operators as JSON: atoms are arrays such as `["NextTo", "?x0", "?x1"]`.

In a delete pattern `{"any": "dot"}` stands for every object of a type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from needful.core.atoms import LiftedAtom
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, PatternArgument, Wildcard
from needful.storage.json_fields import Field, JsonValue
from needful.storage.vocabulary_json import Names

OPERATOR_FIELDS = (
    "name",
    "parameters",
    "preconditions",
    "add_effects",
    "delete_effects",
    "delete_patterns",
    "controller",
    "controller_arguments",
)


def operator_to_json(operator: Operator) -> dict[str, JsonValue]:
    """Return an operator as JSON, its atoms sorted."""

    def atoms(given: Iterable[LiftedAtom]) -> list[JsonValue]:
        return [lifted_to_json(atom) for atom in sorted(given)]

    return {
        "name": operator.name,
        "parameters": [{"name": v.name, "type": v.type.name} for v in operator.parameters],
        "preconditions": atoms(operator.preconditions),
        "add_effects": atoms(operator.add_effects),
        "delete_effects": atoms(operator.delete_effects),
        "delete_patterns": [lifted_to_json(pattern) for pattern in sorted(operator.delete_patterns)],
        "controller": operator.controller.name,
        "controller_arguments": [variable.name for variable in operator.controller_arguments],
    }


def lifted_to_json(part: LiftedAtom | DeletePattern) -> list[JsonValue]:
    """Return an atom over parameters, or a delete pattern, as an array."""
    arguments = part.variables if isinstance(part, LiftedAtom) else part.arguments
    return [part.predicate.name, *map(_argument_to_json, arguments)]


def operator_from_json(field: Field, record: Mapping[str, Field], names: Names) -> Operator:
    """Read an operator; `record` holds the members of `field`, `OPERATOR_FIELDS` among them."""
    variables: dict[str, Variable] = {}
    for item in record["parameters"].items():
        variable = _read_variable(item, names.types)
        if variable.name in variables:
            raise item.fault(f"the parameter {variable.name!r} is listed twice.", "Rename one of them.")
        variables[variable.name] = variable

    def atoms(name: str) -> frozenset[LiftedAtom]:
        return frozenset(_read_atom(item, names, variables) for item in record[name].items())

    patterns = (_read_pattern(item, names, variables) for item in record["delete_patterns"].items())
    arguments = (item.one_of("parameter", variables) for item in record["controller_arguments"].items())
    with field.located():
        return Operator(
            record["name"].name(),
            tuple(variables.values()),
            atoms("preconditions"),
            atoms("add_effects"),
            atoms("delete_effects"),
            frozenset(patterns),
            record["controller"].one_of("controller", names.controllers),
            tuple(arguments),
        )


def _argument_to_json(argument: PatternArgument) -> JsonValue:
    return argument.name if isinstance(argument, Variable) else {"any": argument.type.name}


def _read_variable(field: Field, types: Mapping[str, Type]) -> Variable:
    record = field.record("name", "type")
    with field.located():
        return Variable(record["name"].name(), record["type"].one_of("type", types))


def _read_atom(field: Field, names: Names, variables: Mapping[str, Variable]) -> LiftedAtom:
    predicate, *arguments = _predicate_first(field)
    with field.located():
        return LiftedAtom(
            predicate.one_of("predicate", names.predicates),
            tuple(item.one_of("parameter", variables) for item in arguments),
        )


def _read_pattern(field: Field, names: Names, variables: Mapping[str, Variable]) -> DeletePattern:
    first, *items = _predicate_first(field)
    predicate = first.one_of("predicate", names.predicates)
    arguments: list[PatternArgument] = []
    for item in items:
        if isinstance(item.value, dict):
            arguments.append(Wildcard(item.record("any")["any"].one_of("type", names.types)))
        else:
            arguments.append(item.one_of("parameter", variables))
    with field.located():
        # A pattern itself does not check its arguments; an argument has a type, as a variable has.
        predicate.check_arguments([Variable("?any", argument.type) for argument in arguments])
    return DeletePattern(predicate, tuple(arguments))


def _predicate_first(field: Field) -> list[Field]:
    items = field.items()
    if not items:
        raise field.fault("an atom needs a predicate.", 'Write it as ["Predicate", "?x0", ...].')
    return items
