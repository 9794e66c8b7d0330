"""Propose predicates that exclude the false steps of plans.

A step of a plan is false if its action does not have the predicted effects, because the operator lacks a
precondition. Experiments in the simulator find false steps. Without a simulator, the first step of a plan
is assumed to be false if it differs from the demonstrated action and the plan is not longer than the rest
of the demonstration. The missing precondition holds in the demonstrated uses of the operator (positive
examples), but not in false steps (negative examples). A proposal is the definition of a predicate over the
operator's parameters that holds in all positive examples, and excludes (does not hold in) some of the
negative ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from needful.core.definitions import Definition
from needful.core.expressions import Expression, find_kind
from needful.core.objects import Object, Type
from needful.core.operators import Operator
from needful.core.state import State, feature_array

# The complexity of a predicate is the complexity of its expression plus this number. An expression that
# another predicate already uses, with another bound, adds no complexity: a second bound is a simpler
# explanation than a second expression.
PREDICATE_COMPLEXITY = 2
# A use of an operator is true if its effects came true, otherwise false. The values of an expression in
# true uses are called true values, and those in false uses false values. True values are spread out if
# their range is at least `MIN_SPREAD` times the gap between them and the nearest false value. The distance
# of the bound from spread-out values is about `SLACK` times their range.
SLACK, MIN_SPREAD = 0.1, 0.01
# "Most" means at least this share. For example, a bound includes most uses of an operator if
# the values of at least this share of the uses satisfy the comparison.
MOST = 0.9


@dataclass(frozen=True, slots=True)
class Use:
    """An operator applied in a state, with the objects bound to its parameters.

    A use is true if the action has the predicted effects, otherwise false. `weight` measures how important
    it is to exclude a false use: it is the cost of the plan that contains the use, or 1.
    """

    state: State
    objects: tuple[Object, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A definition that separates the true uses of an operator from false ones.

    A use is true if its effects came true, otherwise false.

    Attributes:
        definition: holds in all true uses.
        controller: the name of the operator's controller.
        operator: the name of the operator.
        variables: the positions of the definition's arguments among the operator's parameters.
        excluded: the total weight of the false uses in which the definition does not hold.
        which: the indices of these false uses.
        margin: the gap between the values of the expression in true uses and its nearest value in an
            excluded use, divided by the range of all values.
        evidence: how surprising it is, in bits, that the definition separates the uses.
        alternatives: other definitions that hold in the same demonstrated states.
        reuses: whether the definition differs only in its bound from a predicate that is already used.
        values: the values of the expression in the true uses, and in the false ones.
    """

    definition: Definition
    controller: str
    operator: str
    variables: tuple[int, ...]
    excluded: float
    which: tuple[int, ...]
    margin: float
    evidence: float = 0.0
    alternatives: tuple[Definition, ...] = ()
    reuses: bool = False
    values: tuple[np.ndarray, np.ndarray] = field(
        default=(np.zeros(0), np.zeros(0)), compare=False, repr=False
    )

    @property
    def complexity(self) -> int:
        """A constant; plus the complexity of the predicate's expression, if no other predicate uses it."""
        return PREDICATE_COMPLEXITY + (0 if self.reuses else self.definition.expression.complexity)

    @property
    def value(self) -> float:
        """The excluded weight divided by the complexity."""
        return self.excluded / self.complexity


def propose(
    expressions: Sequence[Expression],
    operator: Operator,
    true: UseFeatures,
    false: UseFeatures,
    others: Sequence[tuple[Operator, UseFeatures]] = (),
    min_evidence: float = float("-inf"),
) -> Iterator[Proposal]:
    """Yield the definitions that hold in all true uses of an operator and exclude some false ones.

    `others` contains operators with their true uses. A bound may be loosened a little if the definition
    then also holds in all true uses of one of them (see `shared_limit`). Only proposals with more evidence
    than `min_evidence` are yielded.
    """
    if not true.uses or not false.uses:
        return
    weights = np.array([use.weight for use in false.uses])
    for expression in expressions:
        for arguments in bindings(expression, operator):
            positive, negative = (uses.values(expression, arguments) for uses in (true, false))
            if np.isnan(positive).any() or np.isnan(negative).any():
                continue
            for compare, sign in (("<=", 1.0), (">", -1.0)):
                limit = float(np.max(sign * positive))
                outside = sign * negative > limit
                # An upper limit of the evidence: with the greatest possible margin, and with the strictest
                # bound.
                most = evidence_of(len(positive), len(negative), outside.sum(), 1.0, expression.complexity)
                if not outside.any() or most <= min_evidence:
                    continue
                ceiling = float(np.quantile((sign * negative)[outside], 1 - MOST, method="lower"))
                limit = shared_limit(expression, sign, limit, ceiling, others)
                outside = sign * negative > limit
                nearest = np.min((sign * negative)[outside])
                if not np.isfinite(limit) or not np.isfinite(nearest):
                    continue
                margin = float((nearest - limit) / spread_of(np.concatenate([positive, negative])))
                which = tuple(np.flatnonzero(outside).tolist())
                evidence = evidence_of(
                    len(positive), len(negative), len(which), margin, expression.complexity
                )
                if evidence <= min_evidence:
                    continue
                signed = np.append(sign * positive, limit)
                bound = sign * fit_bound(signed, float(nearest)) + 0.0  # no negative zero
                yield Proposal(
                    Definition(expression, compare, float(bound)),
                    operator.controller.name,
                    operator.name,
                    arguments,
                    float(weights[outside].sum()),
                    which,
                    margin,
                    evidence,
                    values=(positive, negative),
                )


def shared_limit(
    expression: Expression,
    sign: float,
    limit: float,
    ceiling: float,
    others: Sequence[tuple[Operator, UseFeatures]],
) -> float:
    """Return `limit`, or a greater limit below `ceiling` that includes the true uses of other operators.

    A use is true if its effects came true. Operators often share a condition, but a learned operator
    requires only conditions that hold in all of its true uses. So if `limit` includes most of another
    operator's true uses, but not all, the new limit includes all of them. All values are multiplied by
    `sign`, which is 1 for upper and -1 for lower bounds.
    """
    found = limit
    for operator, uses in others:
        for arguments in bindings(expression, operator) if uses.uses else ():
            greatest = uses.greatest(expression, arguments, sign)
            if not found < greatest < ceiling:
                continue
            if np.mean(sign * uses.values(expression, arguments) <= limit) >= MOST:
                found = greatest
    return found


def spread_of(values: np.ndarray) -> float:
    """Return the difference between the greatest and the least finite value."""
    return float(np.ptp(values[np.isfinite(values)]))


def evidence_of(true: int, false: int, excluded: int, margin: float, complexity: int) -> float:
    """Return how surprising a separation is, in bits.

    There are `true` uses whose effects came true and `false` other uses. A bound excludes the `excluded`
    most extreme values, and all of them belong to false uses. If values were unrelated to truth, this would
    happen with the probability C(false, excluded) / C(true + false, excluded). The evidence is -log2 of
    this probability, minus two amounts. The first is -log2(margin), because a separation by a narrow gap is
    less convincing. The second is one bit per unit of complexity.
    """
    chance = math.comb(true + false, excluded) / math.comb(false, excluded)
    return math.log2(chance) + math.log2(margin) - complexity


def enough_evidence(expressions: Sequence[Expression]) -> float:
    """Return the evidence that a proposal needs, in bits.

    Each expression gives two definitions, with `<=` and with `>`. With this evidence, fewer than one
    definition is expected to separate the uses by chance.
    """
    return math.log2(max(1, 2 * len(expressions)))


def fit_bound(true: np.ndarray, nearest: float) -> float:
    """Return a bound above all true values and below the nearest false one.

    If the true values are spread out, the bound is close to the greatest of them: a bound that is too
    strict only rejects some samples, but a bound that is too loose makes plans fail. If the true values are
    all about equal, they do not show how much they can vary. The bound is then halfway to the nearest false
    value.
    """
    limit, spread = float(np.max(true)), spread_of(true)
    gap = nearest - limit
    if spread >= MIN_SPREAD * gap:
        gap = min(gap, 2 * SLACK * spread)
    return between(limit, limit + gap)


def between(low: float, high: float) -> float:
    """Round the middle of an interval to as few digits as possible.

    The result stays in the middle third of the interval.
    """
    width = high - low
    middle = (low + high) / 2
    for digits in range(17):
        rounded = float(round(middle, digits - int(np.floor(np.log10(width))) - 1)) if width > 0 else middle
        if low + width / 3 <= rounded <= high - width / 3:
            return rounded
    return middle


class UseFeatures:
    """The features of the objects of several uses, one row per use."""

    def __init__(self, uses: Sequence[Use]) -> None:
        self.uses = uses
        self._columns: dict[tuple[int, Type], np.ndarray] = {}
        self._values: dict[tuple[Expression, tuple[int, ...]], np.ndarray] = {}
        self._greatest: dict[tuple[Expression, tuple[int, ...], float], float] = {}
        self._all: dict[Type, list[tuple[list[int], np.ndarray, np.ndarray]]] = {}
        objects = dict.fromkeys(obj for use in uses for obj in use.state)
        self._numbers = {obj: number for number, obj in enumerate(objects)}
        self._bound = np.array([[self._numbers[obj] for obj in use.objects] for use in uses])

    def values(self, expression: Expression, arguments: tuple[int, ...]) -> np.ndarray:
        """Return the value of an expression in each use.

        `arguments` contains the indices of the operator's parameters to which the expression is applied.
        """
        key = expression, arguments
        if key not in self._values:
            self._values[key] = self._compute(expression, arguments)
        return self._values[key]

    def greatest(self, expression: Expression, arguments: tuple[int, ...], sign: float) -> float:
        """Return the maximum, over all uses, of `sign` times the value of an expression."""
        key = expression, arguments, sign
        if key not in self._greatest:
            self._greatest[key] = float(np.max(sign * self.values(expression, arguments)))
        return self._greatest[key]

    def _compute(self, expression: Expression, arguments: tuple[int, ...]) -> np.ndarray:
        kind = find_kind(expression.kind)
        if expression.quantifier is None:
            columns = [
                self._parameter(parameter, t)[:, [t.features.index(name) for name in names]]
                for parameter, t, names in zip(
                    arguments, expression.types, expression.features, strict=True
                )
            ]
            return kind.formula(*columns)
        last = expression.types[-1]
        chosen = [last.features.index(name) for name in expression.features[-1]]
        reduce, empty = (np.min, np.inf) if expression.quantifier == "min" else (np.max, -np.inf)
        given = [
            self._parameter(parameter, t)[:, None, [t.features.index(name) for name in names]]
            for parameter, t, names in zip(
                arguments, expression.arguments, expression.features, strict=False
            )
        ]
        values = np.empty(len(self.uses))
        for rows, objects, features in self._groups(last):
            found = kind.formula(*(column[rows] for column in given), features[:, :, chosen])
            own = np.zeros(objects.shape, dtype=bool)
            for argument in arguments:
                own |= objects == self._bound[rows, argument, None]
            values[rows] = reduce(np.where(own, empty, found), axis=1, initial=empty)
        return values

    def _parameter(self, index: int, kind: Type) -> np.ndarray:
        if (index, kind) not in self._columns:
            rows = []
            for use in self.uses:
                obj = use.objects[index]
                vector = use.state[obj]
                rows.append([vector[obj.type.features.index(name)] for name in kind.features])
            self._columns[index, kind] = np.array(rows)
        return self._columns[index, kind]

    def _groups(self, kind: Type) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
        """Return the objects of a type in each use, and their features, in groups of uses.

        All uses of a group have equally many such objects, so arrays can hold them. A group consists of
        the indices of its uses, and of two arrays with one row per use: the objects, each as its number in
        `_numbers`, and their features.
        """
        if kind not in self._all:
            rows: dict[int, list[int]] = {}
            for row, use in enumerate(self.uses):
                rows.setdefault(len(use.state.of_type(kind)), []).append(row)
            self._all[kind] = [
                (
                    group,
                    np.array([[self._numbers[o] for o in self.uses[r].state.of_type(kind)] for r in group]),
                    np.array([feature_array([self.uses[row].state], kind)[0] for row in group]),
                )
                for group in rows.values()
            ]
        return self._all[kind]


def bindings(expression: Expression, operator: Operator) -> Iterator[tuple[int, ...]]:
    """Yield the ways to choose distinct parameters of an operator as the arguments of an expression."""
    fitting = [
        [i for i, p in enumerate(operator.parameters) if p.type.is_subtype_of(kind)]
        for kind in expression.arguments
    ]
    for chosen in itertools.product(*fitting):
        if len(set(chosen)) == len(chosen):
            yield chosen
