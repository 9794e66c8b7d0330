"""The planner in C++.

It returns the same plans, in the same order, and the same counters as the Python planner. Its sources are
in `native/`. The module `_engine` is missing if the package was installed without a compiler.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.limits import Budget
from needful.core.objects import Object, Type, Variable, counted, short_repr
from needful.core.operators import GroundOperator, Operator
from needful.core.plans import AbstractPlan, Outcome, SearchStatistics
from needful.core.tasks import AbstractTask
from needful.errors import InvalidInputError
from needful.planning.costs import UNIT_COSTS, OperatorCosts
from needful.planning.engines.python_planner import INITIAL_ATOMS, check_steps, failures_at
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.heuristics import LmCut
from needful.planning.portfolio import Portfolio, Stage, anytime_portfolio

try:
    from needful.planning.engines import _engine
except ImportError:
    ENGINE_BUILT = False
else:
    ENGINE_BUILT = True

# The engine stores counters as 64-bit integers and the weight of A* as a 32-bit integer.
_MAX_INT64 = (1 << 63) - 1
_MAX_WEIGHT = (1 << 31) - 1

# An atom of an operator, as the engine receives it: the number of the predicate, and for each argument the
# index of the operator's parameter.
EncodedAtom: TypeAlias = tuple[int, list[int]]
# One search of a portfolio, as the engine receives it: (greedy, weight, symmetries, max_work). max_work is
# explained in `Stage`; here, 0 stands for no limit.
StageTuple: TypeAlias = tuple[bool, int, bool, int]


@dataclass(frozen=True, slots=True)
class NativePlanner:
    """Grounds and searches in C++; see `Planner`."""

    portfolio: Portfolio = field(default_factory=anytime_portfolio)

    def __post_init__(self) -> None:
        if not ENGINE_BUILT:
            raise InvalidInputError(
                "The C++ search engine was not built. Install a C++17 compiler and reinstall needful, or "
                "use PythonPlanner."
            )
        if not supports_portfolio(self.portfolio):
            raise InvalidInputError(
                "The C++ search engine supports A* with LM-cut and greedy search only. Use PythonPlanner "
                f"for {self.portfolio}."
            )

    def __call__(
        self, operators: Sequence[Operator], task: AbstractTask, budget: Budget
    ) -> NativeProblem | None:
        """Return the grounded problem, or None if time ran out or the problem is too large."""
        encoding = _Encoding.of(operators, task)
        grounded = encoding.ground(operators, task, budget)
        if grounded is None:
            return None
        return NativeProblem(tuple(operators), tuple(encoding.objects), grounded, self.portfolio)


def supports_portfolio(portfolio: Portfolio) -> bool:
    """Return whether the C++ engine can run all searches of a portfolio."""
    # Subclasses may override the search, so this function and `_stage_tuple` compare exact types.
    return type(portfolio) is Portfolio and all(
        _stage_tuple(stage) is not None for stage in portfolio.stages
    )


def _measures_cpu_time(budget: Budget) -> bool:
    return budget.clock is time.thread_time


def _stage_tuple(stage: Stage) -> StageTuple | None:
    """Return one search of a portfolio as the engine receives it, or None if the engine cannot run it."""
    search, max_work = stage.search, min(stage.max_work or 0, _MAX_INT64)
    if type(search) is AStar and search.heuristic is LmCut and search.weight <= _MAX_WEIGHT:
        return False, search.weight, search.symmetries, max_work
    if type(search) is Greedy:
        return True, 1, search.symmetries, max_work
    return None


@dataclass(frozen=True, slots=True, repr=False)
class NativeProblem:
    """A ground problem that the C++ engine stores; see `Problem`.

    Attributes:
        operators: the lifted operators.
        objects: the objects, sorted; an object's number is its index.
        grounded: the C++ object with the atoms and ground operators.
        portfolio: the searches to run.
        failures: the failures discovered so far in simulation, as pairs: the index of the ground operator
            that failed, and the index of the object that made it fail, or -1 (see `Problem.failures`). The
            engine adds them to the problem at the start of each search, not before, because this can take
            long and a search has a deadline.
        costs: the costs of the ground operators, where they are not 1.
        tried: the plans that were tried already, as indices of ground operators.
    """

    operators: tuple[Operator, ...]
    objects: tuple[Object, ...]
    grounded: _engine.Problem
    portfolio: Portfolio
    failures: tuple[tuple[int, int], ...] = ()
    costs: OperatorCosts = UNIT_COSTS
    tried: tuple[tuple[int, ...], ...] = ()

    def __repr__(self) -> str:
        ground = counted(self.operator_count, "ground operator")
        return short_repr(self, counted(self.objects, "object"), ground, counted(self.failures, "failure"))

    @property
    def operator_count(self) -> int:
        """The number of ground operators."""
        return _engine.operator_count(self.grounded)

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal is reachable if delete effects are ignored; if not, there is no plan."""
        return _engine.goal_reachable(self.grounded)

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps are the ground operators with the given indices."""
        return tuple(self._ground_operator(step) for step in steps)

    def _ground_operator(self, step: int) -> GroundOperator:
        index, objects = _engine.ground_operator(self.grounded, step)
        return self.operators[index].ground([self.objects[i] for i in objects])

    def with_failure(self, step: int, offending: Iterable[Object]) -> NativeProblem:
        """Return a problem in which a plan must deal with each offending object before it uses `step`.

        `step` is the index of a ground operator. Offending objects are the objects that made it fail in
        simulation. See `deals_with`.
        """
        found = failures_at(step, offending, self.operator_count, self.objects)
        new = [failure for failure in found if failure not in self.failures]
        return replace(self, failures=(*self.failures, *new)) if new else self

    def with_distrusted_start(self, step: int) -> NativeProblem:
        """Return a problem in which a plan must make a precondition of `step` true again; see `Problem`."""
        check_steps([step], self.operator_count)
        failure = (step, INITIAL_ATOMS)
        return self if failure in self.failures else replace(self, failures=(*self.failures, failure))

    def with_costs(self, costs: OperatorCosts, tried: Sequence[tuple[int, ...]] = ()) -> NativeProblem:
        """Return a problem with the given costs, whose searches leave out the plans in `tried`."""
        check_steps(chain((step for step, _ in costs.ground), *tried), self.operator_count)
        return replace(self, costs=costs, tried=tuple(tried))

    def plans(self, seed: int, budget: Budget, statistics: SearchStatistics) -> NativePlanStream:
        """Start a search and return its stream of plans; ties are broken by `seed` alone."""
        return NativePlanStream(self, seed, budget, statistics)


class NativePlanStream:
    """The plans of one search in the engine; see `PlanStream`."""

    def __init__(
        self, problem: NativeProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> None:
        self._budget = budget
        self._statistics = statistics
        self._search = _engine.start_search(
            problem.grounded,
            list(problem.failures),
            problem.costs.by_operator([one.name for one in problem.operators]) if problem.costs else [],
            list(problem.costs.ground),
            [list(steps) for steps in problem.tried],
            [one for stage in problem.portfolio.stages if (one := _stage_tuple(stage))],
            problem.portfolio.distinct,
            seed & (1 << 64) - 1,
            self._counters(),
            budget.remaining(),
            _measures_cpu_time(budget),
        )
        self._update_statistics()

    @property
    def end_reason(self) -> Outcome | None:
        """Why there are no more plans; see `PlanStream`."""
        reason = _engine.ended(self._search)
        return None if reason is None else Outcome(reason)

    def __iter__(self) -> NativePlanStream:
        return self

    def __next__(self) -> tuple[int, ...]:
        max_nodes = self._budget.max_nodes
        steps = _engine.next_plan(
            self._search,
            self._counters(),
            self._budget.remaining(),
            -1 if max_nodes is None else min(max_nodes, _MAX_INT64),
        )
        self._update_statistics()
        if steps is None:
            raise StopIteration
        return tuple(steps)

    def _counters(self) -> list[int]:
        return [
            self._statistics.nodes_created,
            self._statistics.nodes_expanded,
            self._statistics.nodes_evaluated,
        ]

    def _update_statistics(self) -> None:
        created, expanded, evaluated = _engine.spent(self._search)
        self._statistics.nodes_created = created
        self._statistics.nodes_expanded = expanded
        self._statistics.nodes_evaluated = evaluated


@dataclass(frozen=True, slots=True)
class _Encoding:
    """The numbers that stand for a task's objects, predicates and types in the engine."""

    objects: Mapping[Object, int]
    predicates: Mapping[str, int]
    arities: list[int]
    types: Mapping[Type, int]

    @classmethod
    def of(cls, operators: Sequence[Operator], task: AbstractTask) -> _Encoding:
        objects = sorted(set(task.objects))
        types: dict[Type, int] = {}
        arities: dict[str, int] = {}

        def register(predicate: Predicate) -> None:
            arity = len(predicate.types)
            if arities.setdefault(predicate.name, arity) != arity:
                raise InvalidInputError(
                    f"Two predicates named {predicate.name!r} have {arities[predicate.name]} and {arity} "
                    "arguments. Rename one of them."
                )

        for predicate in {atom.predicate for atoms in (task.initial, task.goal) for atom in atoms}:
            register(predicate)
        for operator in operators:
            needs = operator.preconditions | operator.negative_preconditions
            for lifted in needs | operator.add_effects | operator.delete_effects:
                register(lifted.predicate)
            for pattern in operator.delete_patterns:
                register(pattern.predicate)
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

    def ground(
        self, operators: Sequence[Operator], task: AbstractTask, budget: Budget
    ) -> _engine.Problem | None:
        limit = budget.max_ground_operators
        return _engine.ground(
            self.arities,
            [self.types[obj.type] for obj in self.objects],
            [self._members(kind) for kind in self.types],
            [self._operator(operator) for operator in operators],
            self._flatten_atoms(budget.until_deadline(task.initial)),
            self._flatten_atoms(task.goal),
            budget.remaining(),
            _MAX_INT64 if limit is None else min(limit, _MAX_INT64),
            _measures_cpu_time(budget),
        )

    def _members(self, kind: Type) -> list[int]:
        subtypes = {other for other in self.types if other.is_subtype_of(kind)}
        return [number for obj, number in self.objects.items() if obj.type in subtypes]

    def _operator(self, operator: Operator) -> _engine.OperatorTuple:
        parameter_index = {variable: index for index, variable in enumerate(operator.parameters)}

        def indexed(atoms: Iterable[LiftedAtom]) -> list[EncodedAtom]:
            return [
                (self.predicates[a.predicate.name], [parameter_index[v] for v in a.variables])
                for a in atoms
            ]

        patterns = [
            (
                self.predicates[pattern.predicate.name],
                [
                    parameter_index[argument]
                    if isinstance(argument, Variable)
                    else -1 - self.types[argument.type]
                    for argument in pattern.arguments
                ],
            )
            for pattern in operator.delete_patterns
        ]
        return (
            [self.types[variable.type] for variable in operator.parameters],
            indexed(sorted(operator.preconditions)),
            indexed(operator.negative_preconditions),
            indexed(operator.add_effects),
            indexed(operator.delete_effects),
            patterns,
        )

    def _flatten_atoms(self, atoms: Iterable[GroundAtom]) -> list[int]:
        numbers: list[int] = []
        for atom in atoms:
            numbers.append(self.predicates[atom.predicate.name])
            numbers.extend(self.objects[obj] for obj in atom.objects)
        return numbers
