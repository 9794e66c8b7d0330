"""Formulas that users add to the grammar of predicates, such as `gap: abs(a.x - b.x) - a.width`.

A formula has a name and arithmetic over the features of the objects `a`, `b` and `c`. The text of a formula
is parsed to a syntax tree, which may contain only certain operations. Other Python code is neither accepted
nor executed, so formulas from files are safe to load.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from needful.errors import InvalidInputError

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
