"""Names that PDDL accepts, for names that people chose.

PDDL names are ASCII, start with a letter, and do not tell upper from lower case. People's names may be
anything. Names that PDDL accepts stay as they are; for the others a comment tells the original.

PDDL lets a type and an object share a name, but not all tools do: so no two things get the same name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from needful.errors import UnknownNameError
from needful.planning.pddl_comments import name_comment

MAX_LENGTH = 60

_ACCEPTED = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
KEYWORD = re.compile(
    r"action|all|always|and|assign|at|constants|decrease|define|derived|domain|effect|either|end|exists|"
    r"forall|functions|goal|imply|increase|init|maximize|metric|minimize|not|number|object|objects|oneof|or|"
    r"over|parameters|precondition|predicates|problem|requirements|scale-down|scale-up|start|total-cost|"
    r"total-time|types|undefined|when",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NameTable:
    """The PDDL names of one kind of thing, unique even if case is ignored.

    Attributes:
        kind: what is named, for messages and comments.
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
        """Return the table for a set of names; it does not depend on their order.

        `taken` are the PDDL names of things of other kinds.
        """
        elsewhere = {name.lower() for name in taken}

        def proposed(name: str) -> str:
            clean = _sanitised(name)
            return f"{clean}_{kind}" if clean.lower() in elsewhere else clean

        # Names that are fine as they are come first, so that no other name can take theirs.
        ordered = sorted(set(originals), key=lambda name: (proposed(name) != name, name))
        named = dict(zip(ordered, distinct(map(proposed, ordered), elsewhere), strict=True))
        return cls(kind, {name: named[name] for name in sorted(named)})

    def __getitem__(self, original: str) -> str:
        try:
            return self.by_original[original]
        except KeyError:
            raise UnknownNameError(self.kind, original, self.by_original) from None

    def original(self, pddl: str) -> str:
        """Return the original of a PDDL name; planners may have changed its case."""
        try:
            return self._by_pddl[pddl.lower()]
        except KeyError:
            raise UnknownNameError(f"PDDL {self.kind}", pddl, self.by_original.values()) from None

    def changes(self) -> list[str]:
        """Return one comment line for each name that had to be changed."""
        return [
            name_comment(self.kind, pddl, original)
            for original, pddl in self.by_original.items()
            if pddl != original
        ]


def _sanitised(name: str) -> str:
    """Return the PDDL name nearest to a name."""
    if _ACCEPTED.fullmatch(name) and len(name) <= MAX_LENGTH and not KEYWORD.fullmatch(name):
        return name
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    clean = re.sub(r"[^A-Za-z0-9-]+", "_", ascii_only).strip("_-")[:MAX_LENGTH]
    if not clean or not clean[0].isalpha():
        clean = f"n{clean}"
    return f"{clean}_" if KEYWORD.fullmatch(clean) else clean


def distinct(names: Iterable[str], elsewhere: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names with numbers appended where one was there before or elsewhere, case ignored."""
    names = tuple(names)
    seen = {name.lower() for name in elsewhere}
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
