"""Vocabularies, objects, atoms and operators as JSON, shared by all file formats.

Types, predicates and controllers are stored as signatures (names and argument types), without code. The
definition of an invented predicate is stored beside its signature. It is data, not code: a comparison of an
expression with a bound, or a conjunction of comparisons. An atom is an array such as
`["NextTo", "robby", "dot0"]`, or `["NextTo", "?x0", "?x1"]` in an operator. In a delete pattern (a
quantified delete effect), `{"any": "dot"}` matches every object of the type `dot`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.definitions import AnyDefinition, Conjunction, Definition, defined_predicate
from needful.core.expressions import Expression
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, PatternArgument, Wildcard
from needful.storage.json_fields import Field, JsonValue

VOCABULARY_FIELDS = ("types", "predicates", "controllers")
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
# The key of a predicate's definition; absent if the predicate has none.
DEFINITION = "definition"
# The value of the field "kind" in a definition that is a conjunction of comparisons.
CONJUNCTION = "conjunction"
NEGATIVE_PRECONDITIONS = "negative_preconditions"


@dataclass(frozen=True, slots=True)
class VocabularyIndex:
    """Maps from names to the types, predicates and controllers of a vocabulary."""

    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    controllers: Mapping[str, Controller]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> VocabularyIndex:
        """Create the index of the given vocabulary."""
        return cls(
            {kind.name: kind for kind in vocabulary.types},
            {predicate.name: predicate for predicate in vocabulary.predicates},
            {controller.name: controller for controller in vocabulary.controllers},
        )

    def to_vocabulary(self) -> Vocabulary:
        """Return the vocabulary with the types, predicates and controllers of this index, in order."""
        return Vocabulary(
            tuple(self.types.values()), tuple(self.predicates.values()), tuple(self.controllers.values())
        )


def vocabulary_to_json(vocabulary: Vocabulary) -> dict[str, JsonValue]:
    """Return a vocabulary as a JSON object with the keys `VOCABULARY_FIELDS`.

    Each field is an array in the order of the vocabulary.
    """
    return {
        "types": [
            {
                "name": kind.name,
                "parent": None if kind.parent is None else kind.parent.name,
                "features": list(kind.features),
            }
            for kind in vocabulary.types
        ],
        "predicates": [
            {
                "name": predicate.name,
                "types": [kind.name for kind in predicate.types],
                **(
                    {}
                    if predicate.definition is None
                    else {DEFINITION: _definition_to_json(predicate.definition)}
                ),
            }
            for predicate in vocabulary.predicates
        ],
        "controllers": [
            {
                "name": controller.name,
                "types": [kind.name for kind in controller.types],
                "low": [float(bound) for bound in controller.low],
                "high": [float(bound) for bound in controller.high],
            }
            for controller in vocabulary.controllers
        ],
    }


def vocabulary_from_json(fields: Mapping[str, Field]) -> VocabularyIndex:
    """Read a vocabulary from JSON fields with the keys `VOCABULARY_FIELDS`.

    Predicates without a definition have no classifiers, and controllers no initiation tests, because JSON
    holds no code.
    """
    types = _read_types(fields["types"])
    predicates: dict[str, Predicate] = {}
    for item in fields["predicates"].items():
        record = item.record("name", "types", optional=[DEFINITION])
        name = _new_name(record["name"], predicates, "predicate")
        predicate = Predicate(name, _type_tuple(record["types"], types))
        if DEFINITION in record:
            definition = _read_definition(record[DEFINITION], types)
            if definition.arguments != predicate.types:
                raise record["types"].fault(
                    "the types differ from those of the definition.", "Write the types of its arguments."
                )
            predicate = defined_predicate(definition, name)
        predicates[name] = predicate
    controllers: dict[str, Controller] = {}
    for item in fields["controllers"].items():
        record = item.record("name", "types", "low", "high")
        name = _new_name(record["name"], controllers, "controller")
        low, high = record["low"].numbers(), record["high"].numbers()
        with item.locate_errors():
            controllers[name] = Controller(name, _type_tuple(record["types"], types), low, high)
    return VocabularyIndex(types, predicates, controllers)


def _definition_to_json(definition: AnyDefinition) -> dict[str, JsonValue]:
    if isinstance(definition, Conjunction):
        return {
            "kind": CONJUNCTION,
            "types": [kind.name for kind in definition.arguments],
            "parts": [
                {"arguments": list(positions), DEFINITION: _definition_to_json(part)}
                for part, positions in definition.parts
            ],
        }
    expression = definition.expression
    return {
        "kind": expression.kind,
        "types": [kind.name for kind in expression.types],
        "features": [list(names) for names in expression.features],
        "quantifier": expression.quantifier,
        "compare": definition.compare,
        "bound": float(definition.bound),
    }


def _read_definition(field: Field, types: Mapping[str, Type]) -> AnyDefinition:
    if isinstance(field.value, dict) and field.value.get("kind") == CONJUNCTION:
        record = field.record("kind", "types", "parts")
        parts = []
        for item in record["parts"].items():
            part = item.record("arguments", DEFINITION)
            positions = tuple(position.integer() for position in part["arguments"].items())
            parts.append((_read_comparison(part[DEFINITION], types), positions))
        with field.locate_errors():
            return Conjunction(_type_tuple(record["types"], types), tuple(parts))
    return _read_comparison(field, types)


def _read_comparison(field: Field, types: Mapping[str, Type]) -> Definition:
    record = field.record("kind", "types", "features", "quantifier", "compare", "bound")
    quantifier = record["quantifier"]
    features = tuple(tuple(name.text() for name in names.items()) for names in record["features"].items())
    with field.locate_errors():
        expression = Expression(
            record["kind"].text(),
            _type_tuple(record["types"], types),
            features,
            None if quantifier.value is None else quantifier.text(),
        )
        return Definition(expression, record["compare"].text(), record["bound"].number())


def objects_to_json(objects: Iterable[Object]) -> dict[str, JsonValue]:
    """Return objects as a JSON object that maps each object's name to the name of its type."""
    return {obj.name: obj.type.name for obj in objects}


def objects_from_json(field: Field, types: Mapping[str, Type]) -> dict[str, Object]:
    """Read objects from a JSON object that maps their names to type names; return the objects by name."""
    found: dict[str, Object] = {}
    for name, kind in field.entries().items():
        Field(name, field.source, field.path).name()
        found[name] = Object(name, kind.look_up("type", types))
    return found


def atom_to_json(atom: GroundAtom) -> list[JsonValue]:
    """Return a ground atom as a JSON array: the name of its predicate, then those of its objects."""
    return [atom.predicate.name, *(obj.name for obj in atom.objects)]


def atoms_to_json(atoms: Iterable[GroundAtom]) -> list[JsonValue]:
    """Return ground atoms as a sorted JSON array, with one array per atom."""
    return [atom_to_json(atom) for atom in sorted(atoms)]


class GroundAtomReader:
    """Reads ground atoms from JSON arrays; equal arrays give the same `GroundAtom` object."""

    def __init__(self, index: VocabularyIndex, objects: Mapping[str, Object]) -> None:
        self._index = index
        self._objects = objects
        self._cache: dict[tuple[object, ...], GroundAtom] = {}

    def atoms(self, field: Field) -> AbstractState:
        """Read a set of ground atoms from a JSON array of arrays."""
        if not isinstance(field.value, list):
            field.items()  # raises an error, because the value is not an array
        assert isinstance(field.value, list)
        return frozenset(
            self._cached(raw) or self.atom(field.item(position)) for position, raw in enumerate(field.value)
        )

    def atom(self, field: Field) -> GroundAtom:
        """Read one ground atom from a JSON array: the name of its predicate, then those of its objects."""
        items = field.items()
        if not items:
            raise field.fault("an atom needs a predicate.", 'Write it as ["Predicate", "object", ...].')
        predicate = items[0].look_up("predicate", self._index.predicates)
        objects = tuple(item.look_up("object", self._objects) for item in items[1:])
        with field.locate_errors():
            atom = GroundAtom(predicate, objects)
        self._cache[tuple(item.text() for item in items)] = atom
        return atom

    def _cached(self, raw: object) -> GroundAtom | None:
        try:
            return self._cache.get(tuple(raw)) if type(raw) is list else None
        except TypeError:  # `raw` is no atom: it contains a list or dict
            return None


def operator_to_json(operator: Operator) -> dict[str, JsonValue]:
    """Return an operator as a JSON object with the keys `OPERATOR_FIELDS`; atoms are sorted.

    The object also has the key `NEGATIVE_PRECONDITIONS` if the operator has negative preconditions.
    """

    def atoms(given: Iterable[LiftedAtom]) -> list[JsonValue]:
        return [lifted_to_json(atom) for atom in sorted(given)]

    described: dict[str, JsonValue] = {
        "name": operator.name,
        "parameters": [{"name": v.name, "type": v.type.name} for v in operator.parameters],
        "preconditions": atoms(operator.preconditions),
        "add_effects": atoms(operator.add_effects),
        "delete_effects": atoms(operator.delete_effects),
        "delete_patterns": [lifted_to_json(pattern) for pattern in sorted(operator.delete_patterns)],
        "controller": operator.controller.name,
        "controller_arguments": [variable.name for variable in operator.controller_arguments],
    }
    if operator.negative_preconditions:
        described[NEGATIVE_PRECONDITIONS] = atoms(operator.negative_preconditions)
    return described


def lifted_to_json(part: LiftedAtom | DeletePattern) -> list[JsonValue]:
    """Return a lifted atom or a delete pattern as a JSON array: its predicate's name and its arguments."""
    arguments = part.variables if isinstance(part, LiftedAtom) else part.arguments
    return [part.predicate.name, *map(_argument_to_json, arguments)]


def operator_from_json(field: Field, record: Mapping[str, Field], index: VocabularyIndex) -> Operator:
    """Read an operator from a JSON object.

    `record` contains the fields of the object by key, including all `OPERATOR_FIELDS`. The field
    `NEGATIVE_PRECONDITIONS` is optional. `field` is the object itself; it is only used for error messages.
    """
    variables: dict[str, Variable] = {}
    for item in record["parameters"].items():
        variable = _read_variable(item, index.types)
        if variable.name in variables:
            raise item.fault(f"the parameter {variable.name!r} is listed twice.", "Rename one of them.")
        variables[variable.name] = variable

    def atoms(name: str) -> frozenset[LiftedAtom]:
        return frozenset(_read_atom(item, index, variables) for item in record[name].items())

    patterns = (_read_pattern(item, index, variables) for item in record["delete_patterns"].items())
    arguments = (item.look_up("parameter", variables) for item in record["controller_arguments"].items())
    with field.locate_errors():
        return Operator(
            record["name"].name(),
            tuple(variables.values()),
            atoms("preconditions"),
            atoms("add_effects"),
            atoms("delete_effects"),
            frozenset(patterns),
            record["controller"].look_up("controller", index.controllers),
            tuple(arguments),
            atoms(NEGATIVE_PRECONDITIONS) if NEGATIVE_PRECONDITIONS in record else frozenset(),
        )


def _read_types(field: Field) -> dict[str, Type]:
    """Read types from a JSON array, and return them by name.

    The parent of a type may come after the type in the array.
    """
    declared: dict[str, dict[str, Field]] = {}
    for item in field.items():
        record = item.record("name", "parent", "features")
        declared[_new_name(record["name"], declared, "type")] = record
    built: dict[str, Type] = {}
    for name in declared:
        for pending in reversed(_unbuilt_ancestry(name, declared, built)):
            record = declared[pending]
            parent = None if record["parent"].value is None else built[record["parent"].text()]
            features = tuple(feature.name() for feature in record["features"].items())
            with record["features"].locate_errors():
                built[pending] = Type(pending, features, parent)
    return {name: built[name] for name in declared}


def _unbuilt_ancestry(
    name: str, declared: Mapping[str, dict[str, Field]], built: Mapping[str, Type]
) -> list[str]:
    """Return the name of a type and the names of its ancestors that are not yet in `built`.

    The names go from the type itself upwards, and end before the first ancestor in `built`. Raises if a
    parent is not declared, or if a type is its own ancestor.
    """
    chain: dict[str, None] = {}
    current: str | None = name
    while current is not None and current not in built:
        chain[current] = None
        parent = declared[current]["parent"]
        if parent.value is None:
            break
        parent.look_up("type", declared)
        current = parent.text()
        if current in chain:
            raise parent.fault(
                f"the type {current!r} is its own ancestor.", "Remove the parent of one of these types."
            )
    return list(chain)


def _type_tuple(field: Field, types: Mapping[str, Type]) -> tuple[Type, ...]:
    return tuple(item.look_up("type", types) for item in field.items())


def _new_name(field: Field, known: Mapping[str, object], kind: str) -> str:
    name = field.name()
    if name in known:
        raise field.fault(f"the {kind} {name!r} is declared twice.", "Remove or rename one of them.")
    return name


def _argument_to_json(argument: PatternArgument) -> JsonValue:
    return argument.name if isinstance(argument, Variable) else {"any": argument.type.name}


def _read_variable(field: Field, types: Mapping[str, Type]) -> Variable:
    record = field.record("name", "type")
    with field.locate_errors():
        return Variable(record["name"].name(), record["type"].look_up("type", types))


def _read_atom(field: Field, index: VocabularyIndex, variables: Mapping[str, Variable]) -> LiftedAtom:
    predicate, *arguments = _atom_items(field)
    with field.locate_errors():
        return LiftedAtom(
            predicate.look_up("predicate", index.predicates),
            tuple(item.look_up("parameter", variables) for item in arguments),
        )


def _read_pattern(field: Field, index: VocabularyIndex, variables: Mapping[str, Variable]) -> DeletePattern:
    first, *items = _atom_items(field)
    predicate = first.look_up("predicate", index.predicates)
    arguments: list[PatternArgument] = []
    for item in items:
        if isinstance(item.value, dict):
            arguments.append(Wildcard(item.record("any")["any"].look_up("type", index.types)))
        else:
            arguments.append(item.look_up("parameter", variables))
    with field.locate_errors():
        return DeletePattern(predicate, tuple(arguments))


def _atom_items(field: Field) -> list[Field]:
    items = field.items()
    if not items:
        raise field.fault("an atom needs a predicate.", 'Write it as ["Predicate", "?x0", ...].')
    return items
