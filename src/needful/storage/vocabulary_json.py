"""Types, predicates and controllers as JSON: signatures only, for no file holds code.

Objects and ground atoms as JSON: atoms are arrays such as `["NextTo", "robby", "dot0"]`.

Operators as JSON: atoms are arrays such as `["NextTo", "?x0", "?x1"]`.

In a delete pattern `{"any": "dot"}` stands for every object of a type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, PatternArgument, Wildcard
from needful.storage.json_fields import Field, JsonValue

VOCABULARY_FIELDS = ("types", "predicates", "controllers")


@dataclass(frozen=True, slots=True)
class VocabularyIndex:
    """The vocabulary of a file by name."""

    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    controllers: Mapping[str, Controller]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> VocabularyIndex:
        """Return a vocabulary by name."""
        return cls(
            {kind.name: kind for kind in vocabulary.types},
            {predicate.name: predicate for predicate in vocabulary.predicates},
            {controller.name: controller for controller in vocabulary.controllers},
        )

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary, in the order of the file."""
        return Vocabulary(
            tuple(self.types.values()), tuple(self.predicates.values()), tuple(self.controllers.values())
        )


def vocabulary_to_json(vocabulary: Vocabulary) -> dict[str, JsonValue]:
    """Return the three fields of a vocabulary, each an array in the vocabulary's order."""
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
            {"name": predicate.name, "types": [kind.name for kind in predicate.types]}
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
    """Read the three fields of a vocabulary; predicates get no classifiers, controllers no tests."""
    types = _read_types(fields["types"])
    predicates: dict[str, Predicate] = {}
    for item in fields["predicates"].items():
        record = item.record("name", "types")
        name = _new_name(record["name"], predicates, "predicate")
        predicates[name] = Predicate(name, _type_tuple(record["types"], types))
    controllers: dict[str, Controller] = {}
    for item in fields["controllers"].items():
        record = item.record("name", "types", "low", "high")
        name = _new_name(record["name"], controllers, "controller")
        low, high = record["low"].numbers(), record["high"].numbers()
        with item.locate_errors():
            controllers[name] = Controller(name, _type_tuple(record["types"], types), low, high)
    return VocabularyIndex(types, predicates, controllers)


def _read_types(field: Field) -> dict[str, Type]:
    """Read types in any order: a parent may be declared after its children."""
    declared: dict[str, dict[str, Field]] = {}
    for item in field.items():
        record = item.record("name", "parent", "features")
        declared[_new_name(record["name"], declared, "type")] = record
    built: dict[str, Type] = {}
    for name in declared:
        for link in reversed(_unbuilt_ancestry(name, declared, built)):
            record = declared[link]
            parent = None if record["parent"].value is None else built[record["parent"].text()]
            features = tuple(feature.name() for feature in record["features"].items())
            with record["features"].locate_errors():
                built[link] = Type(link, features, parent)
    return {name: built[name] for name in declared}


def _unbuilt_ancestry(
    name: str, declared: Mapping[str, dict[str, Field]], built: Mapping[str, Type]
) -> list[str]:
    """Return a type and its ancestors, youngest first, as far as they are not built yet."""
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
                f"the type {current!r} is its own ancestor.", "Let one of these types have no parent."
            )
    return list(chain)


def _type_tuple(field: Field, types: Mapping[str, Type]) -> tuple[Type, ...]:
    return tuple(item.look_up("type", types) for item in field.items())


def _new_name(field: Field, known: Mapping[str, object], kind: str) -> str:
    name = field.name()
    if name in known:
        raise field.fault(f"the {kind} {name!r} is declared twice.", "Remove or rename one of them.")
    return name


def objects_to_json(objects: Iterable[Object]) -> dict[str, JsonValue]:
    """Return the map from names to names of types."""
    return {obj.name: obj.type.name for obj in objects}


def objects_from_json(field: Field, types: Mapping[str, Type]) -> dict[str, Object]:
    """Read objects by name."""
    found: dict[str, Object] = {}
    for name, kind in field.entries().items():
        Field(name, field.source, field.path).name()
        found[name] = Object(name, kind.look_up("type", types))
    return found


def atom_to_json(atom: GroundAtom) -> list[JsonValue]:
    """Return one atom as an array."""
    return [atom.predicate.name, *(obj.name for obj in atom.objects)]


def atoms_to_json(atoms: Iterable[GroundAtom]) -> list[JsonValue]:
    """Return atoms, sorted."""
    return [atom_to_json(atom) for atom in sorted(atoms)]


class GroundAtomReader:
    """Reads atoms over given objects. They are looked up by their raw JSON, so each is built once."""

    def __init__(self, names: VocabularyIndex, objects: Mapping[str, Object]) -> None:
        self._names = names
        self._objects = objects
        self._known: dict[tuple[object, ...], GroundAtom] = {}

    def atoms(self, field: Field) -> AbstractState:
        """Read a set of atoms."""
        if not isinstance(field.value, list):
            field.items()
        assert isinstance(field.value, list)
        return frozenset(
            self._find(raw) or self.atom(field.item(index)) for index, raw in enumerate(field.value)
        )

    def atom(self, field: Field) -> GroundAtom:
        """Read one atom."""
        items = field.items()
        if not items:
            raise field.fault("an atom needs a predicate.", 'Write it as ["Predicate", "object", ...].')
        predicate = items[0].look_up("predicate", self._names.predicates)
        objects = tuple(item.look_up("object", self._objects) for item in items[1:])
        with field.locate_errors():
            atom = GroundAtom(predicate, objects)
        self._known[tuple(item.text() for item in items)] = atom
        return atom

    def _find(self, raw: object) -> GroundAtom | None:
        try:
            return self._known.get(tuple(raw)) if type(raw) is list else None
        except TypeError:  # something unhashable among the arguments
            return None


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


def operator_from_json(field: Field, record: Mapping[str, Field], names: VocabularyIndex) -> Operator:
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
    arguments = (item.look_up("parameter", variables) for item in record["controller_arguments"].items())
    with field.locate_errors():
        return Operator(
            record["name"].name(),
            tuple(variables.values()),
            atoms("preconditions"),
            atoms("add_effects"),
            atoms("delete_effects"),
            frozenset(patterns),
            record["controller"].look_up("controller", names.controllers),
            tuple(arguments),
        )


def _argument_to_json(argument: PatternArgument) -> JsonValue:
    return argument.name if isinstance(argument, Variable) else {"any": argument.type.name}


def _read_variable(field: Field, types: Mapping[str, Type]) -> Variable:
    record = field.record("name", "type")
    with field.locate_errors():
        return Variable(record["name"].name(), record["type"].look_up("type", types))


def _read_atom(field: Field, names: VocabularyIndex, variables: Mapping[str, Variable]) -> LiftedAtom:
    predicate, *arguments = _atom_items(field)
    with field.locate_errors():
        return LiftedAtom(
            predicate.look_up("predicate", names.predicates),
            tuple(item.look_up("parameter", variables) for item in arguments),
        )


def _read_pattern(field: Field, names: VocabularyIndex, variables: Mapping[str, Variable]) -> DeletePattern:
    first, *items = _atom_items(field)
    predicate = first.look_up("predicate", names.predicates)
    arguments: list[PatternArgument] = []
    for item in items:
        if isinstance(item.value, dict):
            arguments.append(Wildcard(item.record("any")["any"].look_up("type", names.types)))
        else:
            arguments.append(item.look_up("parameter", variables))
    with field.locate_errors():
        # A pattern itself does not check its arguments; an argument has a type, as a variable has.
        predicate.check_arguments([Variable("?any", argument.type) for argument in arguments])
    return DeletePattern(predicate, tuple(arguments))


def _atom_items(field: Field) -> list[Field]:
    items = field.items()
    if not items:
        raise field.fault("an atom needs a predicate.", 'Write it as ["Predicate", "?x0", ...].')
    return items
