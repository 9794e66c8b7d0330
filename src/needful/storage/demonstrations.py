"""Files of demonstrations: `needful-demos` version 1, JSON lines, plain or gzip.

Line 1 is the header with the vocabulary, each further line is one demonstration, and blank lines are
ignored. A file holds no code: its predicates have no classifiers and its controllers no initiation tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import counted, short_repr
from needful.core.state import State
from needful.errors import DemonstrationError, UnknownNameError
from needful.storage.json_fields import Field, JsonValue, Source, dump_json, parse_json
from needful.storage.outputs import DEMONSTRATIONS, check_output_file, compressed, decompressed, write_bytes
from needful.storage.vocabulary_json import (
    VOCABULARY_FIELDS,
    GroundAtomReader,
    VocabularyIndex,
    atoms_to_json,
    objects_from_json,
    objects_to_json,
    vocabulary_from_json,
    vocabulary_to_json,
)

FORMAT = "needful-demos"
VERSION = 1
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class DemonstrationSet:
    """The content of a demonstrations file.

    The predicates have no classifiers and the controllers no initiation tests, because a file holds
    data, not code.
    """

    vocabulary: Vocabulary
    demonstrations: tuple[Demonstration, ...]

    def __repr__(self) -> str:
        return short_repr(self, counted(self.demonstrations, "demonstration"), repr(self.vocabulary))

    def bound_to(self, vocabulary: Vocabulary) -> DemonstrationSet:
        """Return these demonstrations with the predicates and controllers of a domain's vocabulary.

        Planning needs their classifiers and initiation tests, which a file does not hold. Raises
        `DemonstrationError` if the file and the domain disagree: they must have the same predicates, and
        the domain must have all types and controllers of the file.
        """
        own, domain = VocabularyIndex.of(self.vocabulary), VocabularyIndex.of(vocabulary)
        _check_declared("type", own.types, domain.types)
        _check_declared("predicate", own.predicates, domain.predicates)
        for name in domain.predicates:
            if name not in own.predicates:
                raise DemonstrationError(
                    f"The demonstrations do not declare the predicate {name!r} of the domain, so its atoms "
                    "are unknown. Record its atoms too, or remove the predicate from the domain."
                )
        signatures = {name: (one.types, one.dimension) for name, one in own.controllers.items()}
        known = {name: (one.types, one.dimension) for name, one in domain.controllers.items()}
        _check_declared("controller", signatures, known)
        bound = (_bind(number, one, domain) for number, one in enumerate(self.demonstrations))
        return DemonstrationSet(vocabulary, tuple(bound))


def _check_declared(kind: str, declared: Mapping[str, object], known: Mapping[str, object]) -> None:
    for name, value in declared.items():
        if name not in known:
            raise DemonstrationError(str(UnknownNameError(f"{kind} in the demonstrations", name, known)))
        if known[name] != value:
            raise DemonstrationError(
                f"The demonstrations and the domain declare the {kind} {name!r} differently. "
                "Use the domain in which the demonstrations were recorded."
            )


def _bind(number: int, demonstration: Demonstration, domain: VocabularyIndex) -> Demonstration:
    atoms = frozenset[GroundAtom]().union(*demonstration.abstract_states)
    bound = {atom: GroundAtom(domain.predicates[atom.predicate.name], atom.objects) for atom in atoms}

    def rebind(state: AbstractState) -> AbstractState:
        return frozenset(bound[atom] for atom in state)

    for action in demonstration.actions:
        index = domain.controllers[action.controller.name].first_out_of_bounds(action.parameters)
        if index is not None:
            raise DemonstrationError(
                f"Demonstration {number}: parameter {index} of {action} is outside of the bounds of the "
                "controller in the domain. Widen the bounds, or omit the demonstration."
            )
    return replace(
        demonstration,
        goal=rebind(demonstration.goal),
        abstract_states=tuple(map(rebind, demonstration.abstract_states)),
        actions=tuple(
            replace(action, controller=domain.controllers[action.controller.name])
            for action in demonstration.actions
        ),
    )


def demonstrations_digest(demonstrations: Iterable[Demonstration]) -> str:
    """Return the SHA-256 digest of demonstrations."""
    lines = (dump_json(_to_json(one)) for one in demonstrations)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_demonstrations(path: str | Path) -> DemonstrationSet:
    """Read a demonstrations file, which may be compressed with gzip.

    Raises `DemonstrationError`, which names the file, the line, the field and the remedy.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: invalid character in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise DemonstrationError(f"{path}: cannot be read: {reason}. Give a demonstrations file.") from None
    if data.startswith(GZIP_MAGIC):
        data = decompressed(data, path, DemonstrationError, "Fetch or write the file again.")
    return _parse(data, str(path))


def write_demonstrations(
    path: str | Path, vocabulary: Vocabulary, demonstrations: Sequence[Demonstration], force: bool = False
) -> None:
    """Write a demonstrations file, compressed with gzip if the name ends in `.gz`.

    The same demonstrations give the same bytes. The data is parsed before it is written: if a demonstration
    is invalid, `DemonstrationError` is raised and no file is written.
    """
    path = Path(path)
    check_output_file(path, DEMONSTRATIONS, force)
    header: dict[str, JsonValue] = {"format": FORMAT, "version": VERSION, **vocabulary_to_json(vocabulary)}
    lines = [dump_json(header), *(dump_json(_to_json(demo)) for demo in demonstrations)]
    data = "".join(line + "\n" for line in lines).encode()
    _parse(data, str(path))
    write_bytes(path, compressed(data) if path.suffix == ".gz" else data)


def _to_json(demo: Demonstration) -> dict[str, JsonValue]:
    record: dict[str, JsonValue] = {
        "objects": objects_to_json(demo.objects),
        "goal": atoms_to_json(demo.goal),
        "atoms": [atoms_to_json(state) for state in demo.abstract_states],
        "actions": [
            {
                "controller": action.controller.name,
                "objects": [obj.name for obj in action.objects],
                "params": [float(value) for value in action.parameters],
            }
            for action in demo.actions
        ],
    }
    if demo.states is not None:
        record["states"] = [{obj.name: list(state[obj]) for obj in state} for state in demo.states]
    return record


def _parse(data: bytes, file: str) -> DemonstrationSet:
    # Split only at newlines: JSON strings may contain other Unicode line breaks, such as U+2028.
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    if not lines:
        raise DemonstrationError(f"{file}: the file is empty. It needs a header and demonstrations.")
    fields = (parse_json(line, Source(file, DemonstrationError, number)) for number, line in lines)
    header = next(fields)
    header.check_format(FORMAT, VERSION)
    index = vocabulary_from_json(header.record("format", "version", *VOCABULARY_FIELDS))
    demonstrations = tuple(_DemonstrationReader(index, field).read() for field in fields)
    if not demonstrations:
        raise DemonstrationError(f"{file}: there is only a header. Add one line per demonstration.")
    return DemonstrationSet(index.to_vocabulary(), demonstrations)


class _DemonstrationReader:
    """Reads one demonstration from its line of a demonstrations file."""

    def __init__(self, index: VocabularyIndex, field: Field) -> None:
        self.index = index
        self.field = field
        self.record = field.record("objects", "goal", "atoms", "actions", optional=("states",))
        self.objects = objects_from_json(self.record["objects"], index.types)
        self.atoms = GroundAtomReader(index, self.objects)

    def read(self) -> Demonstration:
        goal = self.atoms.atoms(self.record["goal"])
        if not goal:
            raise self.record["goal"].fault("the goal is empty.", "Name at least one atom to achieve.")
        actions = tuple(self._read_action(item) for item in self.record["actions"].items())
        abstract_states = tuple(map(self.atoms.atoms, self._entries_per_state(len(actions), "atoms")))
        states = None
        if "states" in self.record:
            states = tuple(map(self._read_state, self._entries_per_state(len(actions), "states")))
        missing = sorted(goal - abstract_states[-1])
        if missing:
            raise self.record["goal"].fault(
                f"{missing[0]} does not hold in the last list of atoms.",
                "Omit demonstrations that miss their goal.",
            )
        objects = tuple(sorted(self.objects.values()))
        return Demonstration(objects, goal, abstract_states, actions, states)

    def _read_action(self, field: Field) -> GroundController:
        record = field.record("controller", "objects", "params")
        controller = record["controller"].look_up("controller", self.index.controllers)
        objects = tuple(item.look_up("object", self.objects) for item in record["objects"].items())
        parameters = record["params"].numbers()
        with field.locate_errors():
            action = GroundController(controller, objects, parameters)
        _check_bounds(controller, record["params"], parameters)
        return action

    def _entries_per_state(self, actions: int, name: str) -> list[Field]:
        items = self.record[name].items()
        if len(items) != actions + 1:
            raise self.record[name].fault(
                f"{actions} actions need {actions + 1} entries, got {len(items)}.",
                "Give one entry for the start and one after each action.",
            )
        return items

    def _read_state(self, field: Field) -> State:
        vectors = field.entries()
        for name in vectors:
            Field(name, field.source, field.path).look_up("object", self.objects)
        absent = sorted(self.objects.keys() - vectors.keys())
        if absent:
            raise field.fault(f"the object {absent[0]!r} is missing.", "Give one vector per object.")
        with field.locate_errors():
            return State({self.objects[name]: vector.numbers() for name, vector in vectors.items()})


def _check_bounds(controller: Controller, field: Field, parameters: tuple[float, ...]) -> None:
    position = controller.first_out_of_bounds(parameters)
    if position is not None:
        raise field.item(position).fault(
            f"{parameters[position]} is outside of [{controller.low[position]}, "
            f"{controller.high[position]}], the bounds of {controller.name!r}.",
            "Clip the parameters to the bounds when recording, or widen the bounds in the header.",
        )
