"""Types, predicates and controllers as JSON: signatures only, for no file holds code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.storage.json_fields import Field, JsonValue

VOCABULARY_FIELDS = ("types", "predicates", "controllers")


@dataclass(frozen=True, slots=True)
class Names:
    """The vocabulary of a file by name."""

    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    controllers: Mapping[str, Controller]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Names:
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


def vocabulary_from_json(fields: Mapping[str, Field]) -> Names:
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
        with item.located():
            controllers[name] = Controller(name, _type_tuple(record["types"], types), low, high)
    return Names(types, predicates, controllers)


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
            with record["features"].located():
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
        parent.one_of("type", declared)
        current = parent.text()
        if current in chain:
            raise parent.fault(
                f"the type {current!r} is its own ancestor.", "Let one of these types have no parent."
            )
    return list(chain)


def _type_tuple(field: Field, types: Mapping[str, Type]) -> tuple[Type, ...]:
    return tuple(item.one_of("type", types) for item in field.items())


def _new_name(field: Field, known: Mapping[str, object], kind: str) -> str:
    name = field.name()
    if name in known:
        raise field.fault(f"the {kind} {name!r} is declared twice.", "Remove or rename one of them.")
    return name
