"""Expressions over the features of up to three objects, as data.

The kinds of expressions are a closed set, so an expression can be stored in a file and read back without
executing code. Besides the kinds in `KINDS`, there are the user's formulas, such as
`gap: abs(a.x - b.x) - a.width`. A formula has a name and arithmetic over the features of the objects `a`,
`b` and `c`. Its text is parsed to a syntax tree, which may contain only certain operations. Other Python
code is neither accepted nor executed, so formulas from files are safe to load.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from needful.core.objects import Object, Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

# A function that computes the values of an expression. It takes one array per object. The last axis of the
# array has the selected features of the object; the other axes are broadcast.
ValueFunction: TypeAlias = Callable[..., np.ndarray]

QUANTIFIERS = ("min", "max")
# The complexity of a formula that a user wrote (see `Kind`); it equals the complexity of a distance.
FORMULA_COMPLEXITY = 2
# The restrictions on formulas: the allowed names of objects, the maximum number of characters, and the
# allowed functions, each with its number of arguments.
OBJECTS = ("a", "b", "c")
MAX_LENGTH = 300
FUNCTIONS: Mapping[str, tuple[int, Callable[..., np.ndarray]]] = MappingProxyType(
    {
        "abs": (1, np.abs),
        "sqrt": (1, np.sqrt),
        "sin": (1, np.sin),
        "cos": (1, np.cos),
        "atan2": (2, np.arctan2),
        "hypot": (2, np.hypot),
        "min": (2, np.minimum),
        "max": (2, np.maximum),
    }
)
_OPERATIONS: Mapping[type[ast.operator], Callable[..., np.ndarray]] = MappingProxyType(
    {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
)


def _feature(a: np.ndarray) -> np.ndarray:
    return np.asarray(a[..., 0])


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(a[..., 0] - b[..., 0])


def _absolute_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(_difference(a, b)))


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.sum((a - b) ** 2, axis=-1)))


def _bearing(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the angle between the heading of `a` (x, y, heading) and the direction from `a` to `b`."""
    direction = np.arctan2(b[..., 1] - a[..., 1], b[..., 0] - a[..., 0])
    turn = direction - a[..., 2]
    return np.asarray(np.abs(np.arctan2(np.sin(turn), np.cos(turn))))


def _line_distance(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the distance between `c` and the line through `a` and `b`.

    If `a` and `b` are equal, return the distance between `c` and `a`.
    """
    line, offset = b - a, c - a
    length = np.sqrt(np.sum(line**2, axis=-1))
    area = np.abs(offset[..., 0] * line[..., 1] - offset[..., 1] * line[..., 0])
    return np.asarray(np.where(length > 0, area / np.where(length > 0, length, 1.0), _distance(a, c)))


def _segment_distance(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the distance between `c` and the straight segment between `a` and `b`."""
    line = b - a
    square = np.sum(line**2, axis=-1)
    share = np.sum((c - a) * line, axis=-1) / np.where(square > 0, square, 1.0)
    return _distance(a + np.clip(share, 0.0, 1.0)[..., None] * line, c)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of expression.

    Attributes:
        formula: computes the value from the selected features of each object.
        widths: the allowed numbers of features, one number per object. For example, ((2, 2), (3, 3)) allows
            two features of each of two objects, or three features of each.
        complexity: the cost of using such an expression in a predicate; predicate invention prefers
            predicates of low cost.
        at_most, more_than: templates for two sentences: the value is at most the bound, or more than the
            bound. The placeholders are `{bound}`, the objects `{a}`, `{b}` and `{c}`, the features `{f}`
            of the first object and `{g}` of the second one, and `{heading}`, the last feature of the first
            object.
        short_name: a short name for the value; if it is empty, the name of the kind is used.
    """

    formula: ValueFunction
    widths: tuple[tuple[int, ...], ...]
    complexity: int
    at_most: str
    more_than: str
    short_name: str = ""

    @property
    def objects(self) -> int:
        """The number of objects."""
        return len(self.widths[0])


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "feature": Kind(
            _feature, ((1,),), 1, "{f} of {a} is at most {bound}", "{f} of {a} is more than {bound}"
        ),
        "difference": Kind(
            _difference,
            ((1, 1),),
            2,
            "{f} of {a} minus {g} of {b} is at most {bound}",
            "{f} of {a} minus {g} of {b} is more than {bound}",
        ),
        "absolute difference": Kind(
            _absolute_difference,
            ((1, 1),),
            2,
            "{f} of {a} and {g} of {b} differ by at most {bound}",
            "{f} of {a} and {g} of {b} differ by more than {bound}",
        ),
        "distance": Kind(
            _distance,
            ((2, 2), (3, 3)),
            2,
            "the distance from ({f}) of {a} to ({g}) of {b} is at most {bound}",
            "the distance from ({f}) of {a} to ({g}) of {b} is more than {bound}",
        ),
        "bearing": Kind(
            _bearing,
            ((3, 2),),
            3,
            "{heading} of {a} is within {bound} rad of the direction to {b}",
            "{heading} of {a} is more than {bound} rad off the direction to {b}",
        ),
        "line distance": Kind(
            _line_distance,
            ((2, 2, 2),),
            3,
            "{c} is within {bound} of the infinite line through {a} and {b}",
            "{c} is more than {bound} away from the infinite line through {a} and {b}",
        ),
        "segment distance": Kind(
            _segment_distance,
            ((2, 2, 2),),
            3,
            "{c} is within {bound} of the segment between {a} and {b}",
            "{c} is more than {bound} away from the segment between {a} and {b}",
        ),
    }
)


@functools.lru_cache(maxsize=1024)
def find_kind(text: str) -> Kind:
    """Return the kind with the given name; a text with a colon is a formula that a user wrote."""
    if ":" not in text:
        if text not in KINDS:
            raise UnknownNameError("kind of expression", text, KINDS)
        return KINDS[text]
    formula = parse_formula(text)
    widths = tuple(len(names) for names in formula.features)
    objects = " and ".join(f"{{{obj}}}" for obj in OBJECTS[: len(widths)])
    value = f"{formula.name} of {objects}"
    at_most, more_than = f"{value} is at most {{bound}}", f"{value} is more than {{bound}}"
    return Kind(formula, (widths,), FORMULA_COMPLEXITY, at_most, more_than, formula.name)


@dataclass(frozen=True, slots=True, order=True)
class Expression:
    """A real-valued function of up to three objects of a state.

    Attributes:
        kind: the name of the kind, one of `KINDS`, or a formula (see `parse_formula`).
        types: the type of each object.
        features: for each object, the features that the kind uses, in the kind's order.
        quantifier: None, "min" or "max". With "min", the value is the least one over all objects of the
            last type that are not arguments, such as the distance from the argument to the nearest block.
    """

    kind: str
    types: tuple[Type, ...]
    features: tuple[tuple[str, ...], ...]
    quantifier: str | None = None

    def __post_init__(self) -> None:
        count = find_kind(self.kind).objects
        if len(self.types) != count or len(self.features) != count:
            raise InvalidInputError(
                f"An expression of the kind {self.kind!r} takes {count} objects, got the types "
                f"{[kind.name for kind in self.types]} and the features {self.features}."
            )
        widths = tuple(len(names) for names in self.features)
        allowed = find_kind(self.kind).widths
        if widths not in allowed:
            raise InvalidInputError(
                f"An expression of the kind {self.kind!r} takes {' or '.join(map(str, allowed))} features "
                f"of its objects, got {widths}."
            )
        if self.quantifier is not None and self.quantifier not in QUANTIFIERS:
            raise UnknownNameError("quantifier", self.quantifier, QUANTIFIERS)
        formula = find_kind(self.kind).formula
        if isinstance(formula, Formula) and formula.features != self.features:
            raise InvalidInputError(
                f"The formula {self.kind!r} uses the features {formula.features}, got {self.features}."
            )
        for kind, names in zip(self.types, self.features, strict=True):
            for name in names:
                if name not in kind.features:
                    raise UnknownNameError(f"feature of {kind.name}", name, kind.features)

    @property
    def arguments(self) -> tuple[Type, ...]:
        """The types of the objects to pass to `value`: all types, or all but the last with a quantifier."""
        return self.types if self.quantifier is None else self.types[:-1]

    @property
    def complexity(self) -> int:
        """The cost of using the expression in a predicate."""
        return find_kind(self.kind).complexity + (self.quantifier is not None)

    def value(self, state: State, objects: Sequence[Object]) -> float:
        """Return the value for a tuple of objects in a state; NaN if the tuple repeats an object."""
        if self.quantifier is None or len(set(objects)) < len(objects):
            return self._value(state, objects)
        others = (obj for obj in state.of_type(self.types[-1]) if obj not in objects)
        values = [self._value(state, (*objects, other)) for other in others]
        if self.quantifier == "min":
            return min(values, default=math.inf)
        return max(values, default=-math.inf)

    def _value(self, state: State, objects: Sequence[Object]) -> float:
        if len(set(objects)) < len(objects):
            return math.nan
        columns = (
            np.array([state[obj][obj.type.features.index(name)] for name in names])
            for obj, names in zip(objects, self.features, strict=True)
        )
        return float(find_kind(self.kind).formula(*columns))

    def values(self, states: Sequence[State], features: Mapping[Type, np.ndarray]) -> np.ndarray:
        """Return the values for all tuples of objects in several states that have the same objects.

        `features` maps each type to its `feature_array` in the states. The result has one axis for the
        states and one axis per argument. Values of tuples that repeat an object are NaN.
        """
        kind = find_kind(self.kind)
        columns = [
            features[t][..., [t.features.index(name) for name in names]]
            for t, names in zip(self.types, self.features, strict=True)
        ]
        values = kind.formula(*(_on_axis(column, i, kind.objects) for i, column in enumerate(columns)))
        domains = [states[0].of_type(t) for t in self.types]
        values = _without_repetitions(values, domains)
        if self.quantifier is None:
            return values
        fill, reduce = (math.inf, np.min) if self.quantifier == "min" else (-math.inf, np.max)
        values = np.where(np.isnan(values), fill, values)
        return _without_repetitions(reduce(values, axis=-1, initial=fill), domains[:-1])


def _without_repetitions(values: np.ndarray, domains: Sequence[Sequence[Object]]) -> np.ndarray:
    """Return the values, with NaN for each tuple that repeats an object.

    The last axes of `values` stand for the arguments of the expression. `domains` has the objects of each
    of these axes.
    """
    for (i, a), (j, b) in itertools.combinations(enumerate(domains), 2):
        same = np.array([[x == y for y in b] for x in a], dtype=bool).reshape(len(a), len(b))
        shape = [1] * len(domains)
        shape[i], shape[j] = same.shape
        values = np.where(same.reshape(shape), math.nan, values)
    return np.asarray(values)


def _on_axis(column: np.ndarray, index: int, count: int) -> np.ndarray:
    """Reshape an array (states, objects, features), so that several such arrays broadcast.

    The object axis is replaced by `count` axes of length 1, except that axis `index` has the objects. With
    index 1 of 2, the shape (5, 3, 2) becomes (5, 1, 3, 2).
    """
    shape = [column.shape[0], *([1] * count), column.shape[2]]
    shape[1 + index] = column.shape[1]
    return column.reshape(shape)


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula.

    Attributes:
        name: the name of the value.
        features: for each object, the names of the features that the formula uses, sorted.
        tree: the arithmetic as a syntax tree.
    """

    name: str
    features: tuple[tuple[str, ...], ...]
    tree: ast.expr

    def __call__(self, *columns: np.ndarray) -> np.ndarray:
        """Return the values of the formula, given one array per object.

        The last axis of each array has the object's `features`; the other axes are broadcast.
        """
        with np.errstate(all="ignore"):
            found = _evaluate(self.tree, self.features, columns)
        shape = np.broadcast_shapes(*(column.shape[:-1] for column in columns))
        return np.broadcast_to(found, shape)


def parse_formula(text: str) -> Formula:
    """Parse a formula `name: arithmetic`; raise `InvalidInputError` if the text is invalid."""
    name, colon, arithmetic = (part.strip() for part in text.partition(":"))
    if not colon or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_ -]*", name):
        raise _fault(text, "it does not start with a name and a colon")
    if len(text) > MAX_LENGTH:
        raise _fault(text[:40] + "...", f"it is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(arithmetic, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _fault(text, "its arithmetic cannot be parsed") from None
    used: dict[str, set[str]] = {}
    _check(tree, text, used)
    count = len(used)
    if not used or set(used) != set(OBJECTS[:count]):
        raise _fault(text, f"it must use the objects {', '.join(OBJECTS)} in this order")
    return Formula(name, tuple(tuple(sorted(used[obj])) for obj in OBJECTS[:count]), tree)


def _check(node: ast.expr, text: str, used: dict[str, set[str]]) -> None:
    """Raise if a tree contains anything but arithmetic; add the features of each object to `used`."""
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return
        case ast.Attribute(value=ast.Name(id=obj), attr=feature) if obj in OBJECTS:
            used.setdefault(obj, set()).add(feature)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, text, used)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            _check(left, text, used)
            _check(right, text, used)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            if len(args) != FUNCTIONS[name][0]:
                raise _fault(text, f"{name} takes {FUNCTIONS[name][0]} arguments, got {len(args)}")
            for one in args:
                _check(one, text, used)
        case _:
            raise _fault(text, f"{ast.unparse(node)!r} is not allowed")


def _evaluate(
    node: ast.expr, features: Sequence[Sequence[str]], columns: Sequence[np.ndarray]
) -> np.ndarray:
    match node:
        case ast.Constant(value=value):
            return np.float64(value)  # type: ignore[arg-type, return-value]
        case ast.Attribute(value=ast.Name(id=obj), attr=feature):
            index = OBJECTS.index(obj)
            return np.asarray(columns[index][..., features[index].index(feature)])
        case ast.UnaryOp(operand=operand):
            return -_evaluate(operand, features, columns)
        case ast.BinOp(left=left, op=operation, right=right):
            values = (_evaluate(side, features, columns) for side in (left, right))
            return _OPERATIONS[type(operation)](*values)
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name][1](*(_evaluate(one, features, columns) for one in args))
    raise AssertionError(f"unchecked node {node}")


def _fault(text: str, problem: str) -> InvalidInputError:
    return InvalidInputError(
        f"The formula {text!r} is not valid: {problem}. Write a name, a colon and arithmetic over features "
        f"with +, -, *, / and {', '.join(FUNCTIONS)}, such as 'gap: abs(a.x - b.x) - a.width'."
    )
