"""Objects and ground atoms as JSON: atoms are arrays such as `["NextTo", "robby", "dot0"]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.objects import Object, Type
from needful.storage.json_fields import Field, JsonValue
from needful.storage.vocabulary_json import Names


def objects_to_json(objects: Iterable[Object]) -> dict[str, JsonValue]:
    """Return the map from names to names of types."""
    return {obj.name: obj.type.name for obj in objects}


def objects_from_json(field: Field, types: Mapping[str, Type]) -> dict[str, Object]:
    """Read objects by name."""
    found: dict[str, Object] = {}
    for name, kind in field.entries().items():
        Field(name, field.source, field.path).name()
        found[name] = Object(name, kind.one_of("type", types))
    return found


def atom_to_json(atom: GroundAtom) -> list[JsonValue]:
    """Return one atom as an array."""
    return [atom.predicate.name, *(obj.name for obj in atom.objects)]


def atoms_to_json(atoms: Iterable[GroundAtom]) -> list[JsonValue]:
    """Return atoms, sorted."""
    return [atom_to_json(atom) for atom in sorted(atoms)]


class GroundAtomReader:
    """Reads atoms over given objects. They are looked up by their raw JSON, so each is built once."""

    def __init__(self, names: Names, objects: Mapping[str, Object]) -> None:
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
        predicate = items[0].one_of("predicate", self._names.predicates)
        objects = tuple(item.one_of("object", self._objects) for item in items[1:])
        with field.located():
            atom = GroundAtom(predicate, objects)
        self._known[tuple(item.text() for item in items)] = atom
        return atom

    def _find(self, raw: object) -> GroundAtom | None:
        try:
            return self._known.get(tuple(raw)) if type(raw) is list else None
        except TypeError:  # something unhashable among the arguments
            return None
