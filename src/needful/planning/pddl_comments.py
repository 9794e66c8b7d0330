"""What PDDL cannot say of our operators, as comments that can be read back.

; predicate and_ is "and"                   a name that PDDL does not accept; originals are JSON strings
; action Grasp runs "Grasp" with (?r ?b)    the controller of an action, and its arguments
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NAME = re.compile(r'\s*; (\w+) (\S+) is (".*")\s*')
_CONTROLLER = re.compile(r'\s*; action (\S+) runs (".*") with \(([^()]*)\)\s*')


def name_comment(kind: str, pddl: str, original: str) -> str:
    """Return the comment for a name that had to be changed."""
    return f"; {kind} {pddl} is {json.dumps(original)}"


def controller_comment(action: str, controller: str, arguments: Sequence[str]) -> str:
    """Return the comment on what an action runs; the arguments are parameters of the action."""
    return f"; action {action} runs {json.dumps(controller)} with ({' '.join(arguments)})"


@dataclass(frozen=True, slots=True)
class Comments:
    """What the comments of a PDDL file tell; other people's comments are passed over.

    Attributes:
        names: original names by kind and PDDL name in lower case. Variables are left out.
        variables: those of all actions, as the line, the PDDL name in lower case and the original.
        controllers: the controller and its arguments, by action in lower case.
    """

    names: Mapping[tuple[str, str], str]
    variables: tuple[tuple[int, str, str], ...]
    controllers: Mapping[str, tuple[str, tuple[str, ...]]]

    @classmethod
    def of(cls, text: str) -> Comments:
        """Return what the comments of a text tell."""
        names: dict[tuple[str, str], str] = {}
        variables: list[tuple[int, str, str]] = []
        controllers: dict[str, tuple[str, tuple[str, ...]]] = {}
        for number, line in enumerate(text.split("\n"), start=1):
            if found := _NAME.fullmatch(line):
                kind, pddl, original = found[1], found[2].lower(), _json_string(found[3])
                if original is not None and kind == "variable":
                    variables.append((number, pddl, original))
                elif original is not None:
                    names[kind, pddl] = original
            elif found := _CONTROLLER.fullmatch(line):
                controller = _json_string(found[2])
                if controller is not None:
                    controllers[found[1].lower()] = (controller, tuple(found[3].lower().split()))
        return cls(names, tuple(variables), controllers)

    def original(self, kind: str, pddl: str) -> str:
        """Return the original of a name, which is the name itself if no comment tells another."""
        return self.names.get((kind, pddl.lower()), str(pddl))

    def variables_before(self, line: int, after: int) -> dict[str, str]:
        """Return the originals of the variables that comments between two lines tell."""
        return {pddl: original for number, pddl, original in self.variables if after < number < line}


def _json_string(text: str) -> str | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None
