"""The planner in C++: the same plans in the same order with the same counters as the Python one.

Its sources are in `native/`. It is missing where the package was installed without a compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.objects import Object, Type, Variable
from needful.core.operators import GroundOperator, Operator
from needful.core.plans import AbstractPlan, Outcome, SearchStatistics
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.budget import Budget
from needful.planning.engines.a_star import AStar
from needful.planning.engines.greedy import Greedy
from needful.planning.engines.python_planner import check_step
from needful.planning.heuristics import LmCut
from needful.planning.interfaces import Question
from needful.planning.portfolio import Policy, Stage, anytime_portfolio

try:
    from needful.planning.engines import _engine
except ImportError:
    ENGINE_BUILT = False
else:
    ENGINE_BUILT = True

# The engine counts in 64 bits and weighs in 32.
_MOST = (1 << 63) - 1
_MAX_WEIGHT = (1 << 31) - 1

# What the engine takes for an atom: the predicate's number, and object numbers or places of variables.
EncodedAtom: TypeAlias = tuple[int, list[int]]
# (greedy, weight, symmetries, work); no work means all that is left.
StageTuple: TypeAlias = tuple[bool, int, bool, int]


@dataclass(frozen=True, slots=True)
class NativePlanner:
    """Grounds and searches in C++; see `Planner`."""

    policy: Policy = field(default_factory=anytime_portfolio)

    def __post_init__(self) -> None:
        if not ENGINE_BUILT:
            raise InvalidInputError(
                "The search engine in C++ was not built. Install a C++17 compiler and install needful "
                "again, or use PythonPlanner."
            )
        if not understands(self.policy):
            raise InvalidInputError(
                "The search engine in C++ knows A* with LM-cut and greedy search only. Use PythonPlanner "
                f"for {self.policy}."
            )

    def __call__(self, question: Question, budget: Budget) -> NativeProblem | None:
        """Return the grounded problem, or None if time ran out or it is too large."""
        objects = tuple(sorted(set(question.objects)))
        grounded = _Encoding.of(question, objects).ground(question, budget)
        if grounded is None:
            return None
        return NativeProblem(tuple(question.operators), objects, grounded, self.policy)


def understands(policy: Policy) -> bool:
    """Return whether the engine can follow a policy."""
    # Not subclasses, here and below: they may search in ways of their own.
    return type(policy) is Policy and all(_stage_tuple(stage) is not None for stage in policy.stages)


def _stage_tuple(stage: Stage) -> StageTuple | None:
    search, work = stage.search, min(stage.work or 0, _MOST)
    if type(search) is AStar and search.heuristic is LmCut and search.weight <= _MAX_WEIGHT:
        return False, search.weight, search.symmetries, work
    if type(search) is Greedy:
        return True, 1, search.symmetries, work
    return None


@dataclass(frozen=True, slots=True)
class NativeProblem:
    """A problem inside of the engine; see `Problem`.

    Attributes:
        operators: the lifted operators.
        objects: the objects, sorted; an object's number is its place.
        grounded: the engine's problem.
        policy: how to search.
        failures: the discovered failures so far: (ground operator, object number). What they change is
            worked out when a search starts, because that takes time and a search has a deadline.
    """

    operators: tuple[Operator, ...]
    objects: tuple[Object, ...]
    grounded: _engine.Problem
    policy: Policy
    failures: tuple[tuple[int, int], ...] = ()

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal can be reached if nothing is ever deleted; if not, there is no plan."""
        return bool(self.grounded.goal_reachable)

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps have the given indices."""
        return tuple(self._ground_operator(step) for step in steps)

    def _ground_operator(self, step: int) -> GroundOperator:
        index, bound = self.grounded.ground_operator(step)
        return self.operators[index].ground([self.objects[i] for i in bound])

    def with_failure(self, step: int, offending: Iterable[Object]) -> NativeProblem:
        """Return the problem in which a ground operator needs the offending objects dealt with first."""
        check_step(step, self.grounded.operator_count)
        number = {obj: index for index, obj in enumerate(self.objects)}
        new: list[tuple[int, int]] = []
        for obj in sorted(set(offending)):
            if obj not in number:
                raise UnknownNameError("offending object", obj.name, (o.name for o in self.objects))
            if (step, number[obj]) not in self.failures:
                new.append((step, number[obj]))
        return replace(self, failures=(*self.failures, *new)) if new else self

    def plans(self, seed: int, budget: Budget, statistics: SearchStatistics) -> NativePlanStream:
        """Start a search; `seed` alone breaks ties."""
        return NativePlanStream(self, seed, budget, statistics)


class NativePlanStream:
    """The plans of one search in the engine; see `PlanStream`."""

    def __init__(
        self, problem: NativeProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> None:
        self._budget = budget
        self._statistics = statistics
        self._search = _engine.Search(
            problem.grounded,
            list(problem.failures),
            [described for stage in problem.policy.stages if (described := _stage_tuple(stage))],
            problem.policy.distinct,
            seed & (1 << 64) - 1,
            self._counters(),
            budget.remaining(),
        )
        self._count()

    @property
    def ended(self) -> Outcome | None:
        """Why there are no more plans, if there are none."""
        reason = self._search.ended
        return None if reason is None else Outcome(reason)

    def __iter__(self) -> NativePlanStream:
        return self

    def __next__(self) -> tuple[int, ...]:
        max_nodes = self._budget.max_nodes
        steps = self._search.next(
            self._counters(), self._budget.remaining(), -1 if max_nodes is None else min(max_nodes, _MOST)
        )
        self._count()
        if steps is None:
            raise StopIteration
        return tuple(steps)

    def _counters(self) -> list[int]:
        return [
            self._statistics.nodes_created,
            self._statistics.nodes_expanded,
            self._statistics.nodes_evaluated,
        ]

    def _count(self) -> None:
        created, expanded, evaluated = self._search.spent
        self._statistics.nodes_created = created
        self._statistics.nodes_expanded = expanded
        self._statistics.nodes_evaluated = evaluated


@dataclass(frozen=True, slots=True)
class _Encoding:
    """The numbers of a question's objects, predicates and types."""

    objects: Mapping[Object, int]
    predicates: Mapping[str, int]
    arities: list[int]
    types: Mapping[Type, int]

    @classmethod
    def of(cls, question: Question, objects: Sequence[Object]) -> _Encoding:
        types: dict[Type, int] = {}
        arities: dict[str, int] = {}

        def mention(predicate: Predicate) -> None:
            arity = len(predicate.types)
            if arities.setdefault(predicate.name, arity) != arity:
                raise InvalidInputError(
                    f"There are predicates {predicate.name!r} of {arities[predicate.name]} and of {arity} "
                    "arguments. Rename one of them."
                )

        for predicate in {atom.predicate for atoms in (question.initial, question.goal) for atom in atoms}:
            mention(predicate)
        for operator in question.operators:
            for lifted in operator.preconditions | operator.add_effects | operator.delete_effects:
                mention(lifted.predicate)
            for pattern in operator.delete_patterns:
                mention(pattern.predicate)
                for argument in pattern.arguments:
                    types.setdefault(argument.type, len(types))
            for variable in operator.parameters:
                types.setdefault(variable.type, len(types))
        for obj in objects:
            types.setdefault(obj.type, len(types))
        names = sorted(arities)
        return cls(
            {obj: number for number, obj in enumerate(objects)},
            {name: number for number, name in enumerate(names)},
            [arities[name] for name in names],
            types,
        )

    def ground(self, question: Question, budget: Budget) -> _engine.Problem | None:
        most = budget.max_ground_operators
        return _engine.ground(
            self.arities,
            [self.types[obj.type] for obj in self.objects],
            [self._members(kind) for kind in self.types],
            [self._operator(operator) for operator in question.operators],
            self._flatten_atoms(budget.until_deadline(question.initial)),
            self._flatten_atoms(question.goal),
            question.allow_noops,
            budget.remaining(),
            _MOST if most is None else min(most, _MOST),
        )

    def _members(self, kind: Type) -> list[int]:
        fitting = {other for other in self.types if other.is_subtype_of(kind)}
        return [number for obj, number in self.objects.items() if obj.type in fitting]

    def _operator(self, operator: Operator) -> _engine.OperatorTuple:
        place = {variable: index for index, variable in enumerate(operator.parameters)}

        def placed(atoms: Iterable[LiftedAtom]) -> list[EncodedAtom]:
            return [(self.predicates[a.predicate.name], [place[v] for v in a.variables]) for a in atoms]

        patterns = [
            (
                self.predicates[pattern.predicate.name],
                [
                    place[argument] if isinstance(argument, Variable) else -1 - self.types[argument.type]
                    for argument in pattern.arguments
                ],
            )
            for pattern in operator.delete_patterns
        ]
        return (
            [self.types[variable.type] for variable in operator.parameters],
            placed(sorted(operator.preconditions)),
            placed(operator.add_effects),
            placed(operator.delete_effects),
            patterns,
        )

    def _flatten_atoms(self, atoms: Iterable[GroundAtom]) -> list[int]:
        numbers: list[int] = []
        for atom in atoms:
            numbers.append(self.predicates[atom.predicate.name])
            numbers.extend(self.objects[obj] for obj in atom.objects)
        return numbers
