"""Read domains from text: one line per type and predicate, one paragraph per operator.

    type book < item
    predicate OnTop item surface
    operator PlaceOnTop ?i:item ?s:surface
      needs   Holding ?i, Reachable ?s
      adds    OnTop ?i ?s, HandEmpty
      deletes Holding ?i
      forgets Reachable *:obj

Each operator has its own controller with the same name and arguments and no continuous parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard


@dataclass(frozen=True, slots=True)
class Domain:
    """Types and predicates by name, and the operators over them."""

    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    operators: tuple[Operator, ...]

    @property
    def vocabulary(self) -> Vocabulary:
        controllers = tuple(operator.controller for operator in self.operators)
        return Vocabulary(tuple(self.types.values()), tuple(self.predicates.values()), controllers)

    def object(self, kind: str, name: str) -> Object:
        return self.types[kind](name)

    def atom(self, predicate: str, *objects: Object) -> GroundAtom:
        return self.predicates[predicate](*objects)


def read_domain(text: str) -> Domain:
    """Return the domain that a text describes."""
    types: dict[str, Type] = {}
    predicates: dict[str, Predicate] = {}
    paragraphs: list[list[str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        match line.split():
            case ["type", name]:
                types[name] = Type(name)
            case ["type", name, "<", parent]:
                types[name] = Type(name, parent=types[parent])
            case ["predicate", name, *kinds]:
                predicates[name] = Predicate(name, tuple(types[kind] for kind in kinds))
            case ["operator", *_]:
                paragraphs.append([line])
            case ["needs" | "adds" | "deletes" | "forgets", *_] if paragraphs:
                paragraphs[-1].append(line)
            case _:
                raise ValueError(
                    f"Cannot read the line {line!r} of a domain. Lines start with type, predicate or "
                    "operator, and after an operator with needs, adds, deletes or forgets."
                )
    operators = tuple(_operator(paragraph, types, predicates) for paragraph in paragraphs)
    return Domain(types, predicates, operators)


def _operator(
    paragraph: Sequence[str], types: Mapping[str, Type], predicates: Mapping[str, Predicate]
) -> Operator:
    _, name, *declared = paragraph[0].split()
    pairs = [word.split(":") for word in declared]
    variables = {variable: Variable(variable, types[kind]) for variable, kind in pairs}
    lines = dict(line.split(maxsplit=1) for line in paragraph[1:])

    def atoms(part: str) -> list[list[str]]:
        return [atom.split() for atom in lines[part].split(",")] if part in lines else []

    def lifted(part: str) -> frozenset[LiftedAtom]:
        return frozenset(
            predicates[p].lifted(*map(variables.__getitem__, words)) for p, *words in atoms(part)
        )

    def argument(word: str) -> Variable | Wildcard:
        return Wildcard(types[word.removeprefix("*:")]) if word.startswith("*:") else variables[word]

    parameters = tuple(variables.values())
    return Operator(
        name,
        parameters,
        preconditions=lifted("needs"),
        add_effects=lifted("adds"),
        delete_effects=lifted("deletes"),
        delete_patterns=frozenset(
            DeletePattern(predicates[p], tuple(map(argument, words))) for p, *words in atoms("forgets")
        ),
        controller=Controller(name, tuple(variable.type for variable in parameters)),
        controller_arguments=parameters,
    )
