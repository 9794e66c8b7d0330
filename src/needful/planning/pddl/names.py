"""Convert names to PDDL names and back, write atoms with them, and write and read comments in PDDL files.

PDDL names are ASCII, start with a letter and are not case-sensitive. In this package, a name can be any
text. Names that PDDL accepts stay unchanged; for the others, a comment gives the original name. PDDL allows
a type and an object with the same name, but some tools do not. The names written here are therefore unique.

The comments record information that PDDL cannot express, and can be read back:

; predicate and_ is "and"                   a name that PDDL does not accept; originals are JSON strings
; action Grasp runs "Grasp" with (?r ?b)    the controller of an action, and its arguments

A further comment describes the definition of an invented predicate; it is not read back.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from needful.core.atoms import GroundAtom, LiftedAtom
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.errors import UnknownNameError

_NAME_COMMENT = re.compile(r'\s*; (\w+) (\S+) is (".*")\s*')
_CONTROLLER_COMMENT = re.compile(r'\s*; action (\S+) runs (".*") with \(([^()]*)\)\s*')

MAX_LENGTH = 60

_ACCEPTED_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
KEYWORD = re.compile(
    r"action|all|always|and|assign|at|constants|decrease|define|derived|domain|effect|either|end|exists|"
    r"forall|functions|goal|imply|increase|init|maximize|metric|minimize|not|number|object|objects|oneof|or|"
    r"over|parameters|precondition|predicates|problem|requirements|scale-down|scale-up|start|total-cost|"
    r"total-time|types|undefined|when",
    re.IGNORECASE,
)


def name_comment(kind: str, pddl: str, original: str) -> str:
    """Return the comment that records the original of a changed name, such as `; type and_ is "and"`."""
    return f"; {kind} {pddl} is {json.dumps(original)}"


def controller_comment(action: str, controller: str, arguments: Sequence[str]) -> str:
    """Return the comment that records the controller of a PDDL action and the controller's arguments.

    The arguments are names of parameters of the action.
    """
    return f"; action {action} runs {json.dumps(controller)} with ({' '.join(arguments)})"


def definition_comment(predicate: str, sentence: str) -> str:
    """Return the comment that describes the definition of a predicate; it is not read back."""
    return f"; predicate {predicate} holds if {json.dumps(sentence)}"


@dataclass(frozen=True, slots=True)
class Comments:
    """The information in the comments that `write_pddl` wrote; other comments are ignored.

    Attributes:
        names: original names, except those of variables, by kind (such as "type") and lower-case PDDL name.
        variables: the renamed variables of all actions. Each entry is the line number of the comment, the
            lower-case PDDL name and the original name.
        controllers: the controller of each action and its arguments, by lower-case action name.
    """

    names: Mapping[tuple[str, str], str]
    variables: tuple[tuple[int, str, str], ...]
    controllers: Mapping[str, tuple[str, tuple[str, ...]]]

    @classmethod
    def of(cls, text: str) -> Comments:
        """Parse the comments in the text of a PDDL file; return the original names and controllers."""
        names: dict[tuple[str, str], str] = {}
        variables: list[tuple[int, str, str]] = []
        controllers: dict[str, tuple[str, tuple[str, ...]]] = {}
        for number, line in enumerate(text.split("\n"), start=1):
            if found := _NAME_COMMENT.fullmatch(line):
                kind, pddl, original = found[1], found[2].lower(), _json_string(found[3])
                if original is not None and kind == "variable":
                    variables.append((number, pddl, original))
                elif original is not None:
                    names[kind, pddl] = original
            elif found := _CONTROLLER_COMMENT.fullmatch(line):
                controller = _json_string(found[2])
                if controller is not None:
                    controllers[found[1].lower()] = (controller, tuple(found[3].lower().split()))
        return cls(names, tuple(variables), controllers)

    def original(self, kind: str, pddl: str) -> str:
        """Return the original of the name `pddl`; if no comment gives an original, return `pddl` itself."""
        return self.names.get((kind, pddl.lower()), str(pddl))

    def variables_before(self, line: int, after: int) -> dict[str, str]:
        """Return the original names of the renamed variables of one action, by lower-case PDDL name.

        The original names are stored in comments before the action, such as `; variable x is "ä"`. The
        action starts at line number `line`, and the previous action at line number `after` (0 if there is
        none). Comments between the two lines belong to this action.
        """
        return {pddl: original for number, pddl, original in self.variables if after < number < line}


def _json_string(text: str) -> str | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class NameTable:
    """The PDDL names of one kind of thing, such as types; no two names differ only in case.

    Attributes:
        kind: the kind of thing, such as "type"; used in messages and comments.
        by_original: the PDDL name of each original name, sorted by original name.
    """

    kind: str
    by_original: Mapping[str, str]
    _by_pddl: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        reverse = {pddl.lower(): original for original, pddl in self.by_original.items()}
        object.__setattr__(self, "_by_pddl", reverse)

    @classmethod
    def of(cls, kind: str, originals: Iterable[str], taken: Iterable[str] = ()) -> NameTable:
        """Return the table of PDDL names for a set of original names; their order does not matter.

        `taken` are the PDDL names of other kinds of things, which the table must not use.
        """
        reserved = {name.lower() for name in taken}

        def proposed(name: str) -> str:
            clean = _sanitised(name)
            return f"{clean}_{kind}" if clean.lower() in reserved else clean

        # Names that need no change come first, so that no other name is changed to one of them.
        ordered = sorted(set(originals), key=lambda name: (proposed(name) != name, name))
        named = dict(zip(ordered, make_unique(map(proposed, ordered), reserved), strict=True))
        return cls(kind, {name: named[name] for name in sorted(named)})

    def __getitem__(self, original: str) -> str:
        try:
            return self.by_original[original]
        except KeyError:
            raise UnknownNameError(self.kind, original, self.by_original) from None

    def original(self, pddl: str) -> str:
        """Return the original name for a PDDL name; case is ignored, because planners may change it."""
        try:
            return self._by_pddl[pddl.lower()]
        except KeyError:
            raise UnknownNameError(f"PDDL {self.kind}", pddl, self.by_original.values()) from None

    def rename_comments(self) -> list[str]:
        """Return one comment line for each name that was changed for PDDL."""
        return [
            name_comment(self.kind, pddl, original)
            for original, pddl in self.by_original.items()
            if pddl != original
        ]


def _sanitised(name: str) -> str:
    """Return `name` if PDDL accepts it, otherwise a similar name that PDDL accepts."""
    if _ACCEPTED_NAME.fullmatch(name) and len(name) <= MAX_LENGTH and not KEYWORD.fullmatch(name):
        return name
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    clean = re.sub(r"[^A-Za-z0-9-]+", "_", ascii_only).strip("_-")[:MAX_LENGTH]
    if not clean or not clean[0].isalpha():
        clean = f"n{clean}"
    return f"{clean}_" if KEYWORD.fullmatch(clean) else clean


def make_unique(names: Iterable[str], reserved: Iterable[str] = ()) -> tuple[str, ...]:
    """Return `names`, with numbers appended to those that are repeated or in `reserved`, ignoring case."""
    names = tuple(names)
    seen = {name.lower() for name in reserved}
    taken = seen | {name.lower() for name in names}
    result = []
    for name in names:
        unique, number = name, 2
        if name.lower() in seen:
            while f"{name}-{number}".lower() in taken:
                number += 1
            unique = f"{name}-{number}"
        seen.add(unique.lower())
        taken.add(unique.lower())
        result.append(unique)
    return tuple(result)


@dataclass(frozen=True, slots=True)
class DomainNames:
    """The PDDL names of everything that actions refer to."""

    types: NameTable
    predicates: NameTable
    operators: NameTable
    objects: NameTable

    @classmethod
    def of(
        cls,
        types: Iterable[str],
        predicates: Iterable[str],
        operators: Iterable[str],
        objects: Iterable[str],
    ) -> DomainNames:
        """Return unique PDDL names for the given original names.

        Objects get their names last, so the other names are the same for every task.
        """
        tables: list[NameTable] = []
        for kind, originals in zip(
            ("type", "predicate", "action", "object"), (types, predicates, operators, objects), strict=True
        ):
            taken = [name for table in tables for name in table.by_original.values()]
            tables.append(NameTable.of(kind, originals, taken))
        return cls(*tables)

    def non_action_names(self) -> list[str]:
        """Return the PDDL names of all types, predicates and objects."""
        tables = (self.types, self.predicates, self.objects)
        return [name for table in tables for name in table.by_original.values()]

    def atom(self, atom: GroundAtom) -> str:
        """Return a ground atom as PDDL."""
        return _list([self.predicates[atom.predicate.name], *(self.objects[o.name] for o in atom.objects)])


@dataclass(frozen=True, slots=True)
class Scope:
    """The PDDL names of a domain, and those of the variables of one operator."""

    names: DomainNames
    variables: NameTable

    @classmethod
    def of(cls, operator: Operator, names: DomainNames) -> Scope:
        """Return the PDDL names for one operator."""
        return cls(names, NameTable.of("variable", (v.name[1:] for v in operator.parameters)))

    def variable(self, variable: Variable) -> str:
        """Return a variable of the operator as PDDL."""
        return f"?{self.variables[variable.name[1:]]}"

    def atom(self, atom: LiftedAtom) -> str:
        """Return an atom over variables of the operator as PDDL."""
        return _list([self.names.predicates[atom.predicate.name], *map(self.variable, atom.variables)])

    def typed_list(self, variables: Iterable[tuple[str, Type]]) -> str:
        """Return a typed list of variables as PDDL."""
        return " ".join(f"{name} - {self.names.types[kind.name]}" for name, kind in variables)

    def pattern_terms(self, pattern: DeletePattern) -> list[str]:
        """Return the arguments of a delete pattern as PDDL; wildcards become new variables."""
        fresh = "any"
        while any(name.lower().startswith(fresh) for name in self.variables.by_original.values()):
            fresh += "_"
        return [
            f"?{fresh}{index}" if isinstance(argument, Wildcard) else self.variable(argument)
            for index, argument in enumerate(pattern.arguments)
        ]


def _list(words: Iterable[str]) -> str:
    return f"({' '.join(words)})"
