"""Definitions of predicates as data: comparisons of expressions with bounds, and conjunctions of them.

`defined_predicate` turns a definition into a predicate with a classifier.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from needful.core.atoms import Predicate
from needful.core.expressions import Expression, find_kind
from needful.core.objects import Object, Type
from needful.core.state import State, feature_array
from needful.errors import InvalidInputError, UnknownNameError

COMPARISONS = ("<=", ">")
_ORDINALS = ("first", "second", "third")


@dataclass(frozen=True, slots=True, order=True)
class Definition:
    """A comparison of an expression with a bound.

    Attributes:
        expression: the compared expression.
        compare: "<=" or ">".
        bound: a finite number.
    """

    expression: Expression
    compare: str
    bound: float

    def __post_init__(self) -> None:
        if self.compare not in COMPARISONS:
            raise UnknownNameError("comparison", self.compare, COMPARISONS)
        if not math.isfinite(self.bound):
            raise InvalidInputError(f"The bound of a definition must be finite, got {self.bound}.")

    @property
    def name(self) -> str:
        """A name for the predicate with this definition; different definitions have different names."""
        expression = self.expression
        objects = [
            f"{'+'.join(names)}({kind.name})"
            for kind, names in zip(expression.types, expression.features, strict=True)
        ]
        words = [
            *([expression.quantifier] if expression.quantifier else []),
            expression.kind.replace(" ", "-"),
        ]
        relation = "at-most" if self.compare == "<=" else "above"
        return f"{'-'.join(words)}[{','.join(objects)}]-{relation}-{self.bound!r}"

    @property
    def arguments(self) -> tuple[Type, ...]:
        """The types of the predicate's arguments.

        The predicate "the nearest block is less than 0.1 m away from ?x" has only the argument `?x`.
        """
        return self.expression.arguments

    @property
    def types(self) -> tuple[Type, ...]:
        """The types whose feature arrays must be passed to `truth`: all types in the expression."""
        return self.expression.types

    @property
    def parts(self) -> tuple[tuple[Definition, tuple[int, ...]], ...]:
        """One pair: this definition and the positions 0, 1, ... of its arguments.

        `Conjunction` has the same attribute, so callers can handle both classes in the same way.
        """
        return ((self, tuple(range(len(self.arguments)))),)

    @property
    def sentence(self) -> str:
        """The meaning of the definition in words."""
        return self.sentence_about(_mentions(self.arguments))

    def sentence_about(self, arguments: Sequence[str]) -> str:
        """Return the meaning in words; `arguments` has a phrase for each object, such as "the robot"."""
        expression = self.expression
        objects = list(arguments)
        if expression.quantifier is not None:
            every = (expression.quantifier == "min") == (self.compare == ">")
            other = "other " if expression.types[-1] in expression.arguments else ""
            objects.append(f"{'every' if every else 'some'} {other}{expression.types[-1].name}")
        words = [", ".join(names) for names in expression.features]
        kind = find_kind(expression.kind)
        return (kind.at_most if self.compare == "<=" else kind.more_than).format(
            a=objects[0],
            b=objects[min(1, len(objects) - 1)],
            c=objects[-1],
            f=words[0],
            g=words[-1],
            heading=expression.features[0][-1],
            bound=f"{self.bound:.6g}",
        )

    @property
    def without_bound(self) -> tuple[Expression, str]:
        """The expression and the comparison; definitions that differ only in the bound share them."""
        return self.expression, self.compare

    @property
    def negation(self) -> Definition:
        """The opposite definition: for distinct objects, it holds exactly if this one does not hold.

        For a tuple that repeats an object, neither of the two holds.
        """
        return Definition(self.expression, ">" if self.compare == "<=" else "<=", self.bound)

    def truth(self, states: Sequence[State], features: Mapping[Type, np.ndarray]) -> np.ndarray:
        """Return a boolean array: whether the definition holds, for each state and each tuple of objects.

        The array has one axis for the states and one axis per argument. The states must have the same
        objects. `features` maps each of the `types` to its `feature_array`.
        """
        values = self.expression.values(states, features)
        with np.errstate(invalid="ignore"):  # NaN if a tuple repeats an object
            return values <= self.bound if self.compare == "<=" else values > self.bound

    def holds(self, state: State, objects: Sequence[Object]) -> bool:
        """Return whether the definition holds for a tuple of objects in a state."""
        value = self.expression.value(state, objects)
        return value <= self.bound if self.compare == "<=" else value > self.bound


@dataclass(frozen=True, slots=True, order=True)
class Conjunction:
    """A conjunction of definitions: it holds if all its parts hold.

    Attributes:
        arguments: the types of the objects.
        parts: each definition, with the positions of its arguments among those of the conjunction. In
            "?x is near ?y, and ?y is red", the positions are (0, 1) and (1,).
    """

    arguments: tuple[Type, ...]
    parts: tuple[tuple[Definition, tuple[int, ...]], ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise InvalidInputError(f"A conjunction needs at least two parts, got {len(self.parts)}.")
        for part, positions in self.parts:
            if not all(0 <= position < len(self.arguments) for position in positions):
                raise InvalidInputError(
                    f"The positions {list(positions)} of a part are not those of the arguments "
                    f"{[kind.name for kind in self.arguments]}."
                )
            if tuple(self.arguments[position] for position in positions) != part.arguments:
                raise InvalidInputError(
                    f"A part about {[kind.name for kind in part.arguments]} does not fit the arguments "
                    f"{[self.arguments[position].name for position in positions]} of the conjunction."
                )

    @property
    def types(self) -> tuple[Type, ...]:
        """The types whose feature arrays must be passed to `truth`: all types in the parts."""
        return tuple(dict.fromkeys(kind for part, _ in self.parts for kind in part.types))

    @property
    def name(self) -> str:
        """A name for the predicate with this definition; different definitions have different names."""
        return "-and-".join(f"{part.name}{list(positions)}" for part, positions in self.parts)

    @property
    def sentence(self) -> str:
        """The meaning of the definition in words."""
        mentions = _mentions(self.arguments)
        sentences = [
            part.sentence_about([mentions[position] for position in positions])
            for part, positions in self.parts
        ]
        if len(sentences) == 2:
            return ", and ".join(sentences)
        numbered = [f"({number}) {one}" for number, one in enumerate(sentences, start=1)]
        return f"{', '.join(numbered[:-1])}, and {numbered[-1]}"

    def truth(self, states: Sequence[State], features: Mapping[Type, np.ndarray]) -> np.ndarray:
        """Return whether the definition holds, for each state and each tuple; see `Definition.truth`."""
        counts = [len(states[0].of_type(kind)) for kind in self.arguments]
        found = np.ones((len(states), *counts), dtype=bool)
        for part, positions in self.parts:
            order = sorted(range(len(positions)), key=lambda axis: positions[axis])
            holds = part.truth(states, features).transpose(0, *(1 + axis for axis in order))
            missing = [i + 1 for i in range(len(self.arguments)) if i not in positions]
            found &= np.expand_dims(holds, tuple(missing))
        return found

    def holds(self, state: State, objects: Sequence[Object]) -> bool:
        """Return whether the definition holds for a tuple of objects in a state."""
        return all(
            part.holds(state, [objects[position] for position in positions])
            for part, positions in self.parts
        )


# The definition of a predicate: one comparison, or a conjunction of several.
AnyDefinition: TypeAlias = Definition | Conjunction


def _mentions(types: Sequence[Type]) -> list[str]:
    """Return a phrase for an object of each type, such as "the robot".

    If a type occurs several times, the phrases are numbered: "the first block", "the second block".
    """
    names = [kind.name for kind in types]
    return [
        f"the {name}" if names.count(name) == 1 else f"the {_ORDINALS[names[:i].count(name)]} {name}"
        for i, name in enumerate(names)
    ]


def true_tuples(definition: AnyDefinition, state: State) -> Iterator[tuple[Object, ...]]:
    """Yield the tuples of objects for which a definition holds in a state."""
    features = {kind: feature_array([state], kind) for kind in definition.types}
    holds = definition.truth([state], features)[0]
    domains = [state.of_type(kind) for kind in definition.arguments]
    for index in np.argwhere(holds).tolist():
        yield tuple(domain[i] for domain, i in zip(domains, index, strict=True))


def defined_predicate(definition: AnyDefinition, name: str | None = None) -> Predicate:
    """Return the predicate with the given definition; by default, its name describes the definition."""
    return Predicate(
        definition.name if name is None else name,
        definition.arguments,
        definition.holds,
        partial(true_tuples, definition),
        definition,
    )
