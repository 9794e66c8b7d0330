"""Random small planning problems, and brute-force solutions of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

import toy_world
from families import Case
from needful.abstraction import abstract
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator, Wildcard
from needful.core.tasks import AbstractTask
from needful.planning.grounding import GroundProblem, ground
from needful.planning.interfaces import Planner
from needful.planning.interfaces import Problem as PlannerProblem

THING = Type("thing")
TOOL = Type("tool", parent=THING)
TYPES = (THING, TOOL)
PREDICATES = (
    Predicate("Ready", ()),
    Predicate("Clean", (THING,)),
    Predicate("Sharp", (TOOL,)),
    Predicate("Beside", (THING, THING)),
)
VOCABULARY = Vocabulary(TYPES, PREDICATES, ())


@dataclass(frozen=True)
class Problem:
    """Operators and an abstract task."""

    operators: tuple[Operator, ...]
    objects: tuple[Object, ...]
    initial: AbstractState
    goal: AbstractState

    @property
    def task(self) -> AbstractTask:
        return AbstractTask(tuple(self.objects), self.initial, self.goal)

    def grounded(self) -> GroundProblem:
        found = ground(self.operators, self.task, Budget.unlimited())
        assert found is not None
        return found

    def given_to(self, planner: Planner, budget: Budget | None = None) -> PlannerProblem | None:
        return planner(self.operators, self.task, budget or Budget.unlimited())

    def without_noops(self) -> Problem:
        kept = tuple(one for one in self.operators if one.add_effects or one.delete_effects)
        return replace(self, operators=kept)


def family_problem(family: str, objects: int, goals: int) -> Problem:
    """A member of a family of the benchmarks."""
    case = Case(family, objects, goals, cost=0)
    task = case.task()
    return Problem(case.operators(), task.objects, task.initial, task.goal)


def check_plan(problem: Problem, plan: Sequence[GroundOperator]) -> None:
    """Assert that the plan reaches the goal, and not before its last step."""
    state = problem.initial
    for step in plan:
        assert not problem.goal <= state
        state = step.apply(state)
    assert problem.goal <= state


def all_atoms(objects: Sequence[Object]) -> list[GroundAtom]:
    return [
        GroundAtom(predicate, chosen)
        for predicate in PREDICATES
        for chosen in itertools.product(*([o for o in objects if fits(o, t)] for t in predicate.types))
    ]


def fits(one: Object | Variable, kind: Type) -> bool:
    return one.type.is_subtype_of(kind)


def random_operator(random: Random, name: str) -> Operator:
    kinds = random.choices(TYPES, k=random.choice((1, 2, 2, 3)))
    variables = tuple(Variable(f"?v{i}", kind) for i, kind in enumerate(kinds))
    lifted = [
        LiftedAtom(predicate, chosen)
        for predicate in PREDICATES
        for chosen in itertools.product(*([v for v in variables if fits(v, t)] for t in predicate.types))
    ]
    patterns = [
        DeletePattern(predicate, arguments)
        for predicate in PREDICATES
        for arguments in itertools.product(
            *(
                [Wildcard(s) for s in TYPES if s.is_subtype_of(t)] + [v for v in variables if fits(v, t)]
                for t in predicate.types
            )
        )
    ]
    return Operator(
        name,
        variables,
        preconditions=frozenset(random.choices(lifted, k=random.choice((0, 1, 1, 2)))),
        add_effects=frozenset(random.choices(lifted, k=random.choice((0, 1, 1, 1, 2)))),
        delete_effects=frozenset(random.choices(lifted, k=random.choice((0, 1)))),
        delete_patterns=frozenset(random.choices(patterns, k=random.choice((0, 0, 1, 2)))),
        controller=Controller(name, tuple(kinds)),
        controller_arguments=variables,
    )


def random_problem(seed: int, max_objects: int) -> Problem:
    random = Random(seed)
    kinds = random.choices(TYPES, k=random.randint(2, max_objects))
    objects = tuple(kind(f"o{i}") for i, kind in enumerate(kinds))
    operators = tuple(random_operator(random, f"op{i}") for i in range(random.randint(3, 6)))
    atoms = all_atoms(objects)
    initial = frozenset(random.choices(atoms, k=random.randint(1, 5)))
    # Prefer reachable goals: random atoms are mostly unreachable or hold already.
    steps = every_grounding(Problem(operators, objects, initial, frozenset()))
    reachable = sorted(relaxed_reachable(initial, steps) - initial)
    candidates = reachable if reachable and random.random() < 0.9 else atoms
    goal = frozenset(random.choices(candidates, k=random.randint(1, 4)))
    return Problem(operators, objects, initial, goal)


def problems(max_objects: int = 3) -> st.SearchStrategy[Problem]:
    return st.builds(random_problem, st.integers(0, 2**32), st.just(max_objects))


def with_negation(problem: Problem, seed: int) -> Problem:
    """The problem with one or two negative preconditions in about half of its operators."""
    random = Random(seed)
    used = [problem.initial, *(o.preconditions | o.add_effects for o in problem.operators)]
    predicates = sorted({atom.predicate for atoms in used for atom in atoms})

    def changed(operator: Operator) -> Operator:
        candidates = {
            LiftedAtom(predicate, chosen)
            for predicate in predicates
            for chosen in itertools.product(
                *([v for v in operator.parameters if fits(v, t)] for t in predicate.types)
            )
        }
        free = sorted(candidates - operator.preconditions)
        count = min(len(free), random.choice((0, 0, 1, 2)))
        return replace(operator, negative_preconditions=frozenset(random.sample(free, count)))

    return replace(problem, operators=tuple(map(changed, problem.operators)))


def negated(strategy: st.SearchStrategy[Problem]) -> st.SearchStrategy[Problem]:
    """Problems with and without negative preconditions."""
    return st.one_of(strategy, st.builds(with_negation, strategy, st.integers(0, 2**32)))


def random_problem_with_twins(seed: int) -> Problem:
    """A problem with objects that are interchangeable at the start, and mostly in the goal as well."""
    random = Random(seed)
    others = tuple(random.choice(TYPES)(f"o{i}") for i in range(random.randint(0, 2)))
    kind = random.choice(TYPES)
    twins = tuple(kind(f"t{i}") for i in range(random.randint(2, 3)))
    objects = (*others, *twins)
    operators = tuple(random_operator(random, f"op{i}") for i in range(random.randint(2, 5)))

    def symmetric(atoms: Sequence[GroundAtom], count: int) -> AbstractState:
        """Random atoms, closed under permutations of the twins."""
        chosen = random.choices(atoms, k=count) if atoms else []
        return frozenset(renamed(atom, order) for atom in chosen for order in every_order(twins))

    initial = symmetric(all_atoms(objects), random.randint(0, 2))
    steps = every_grounding(Problem(operators, objects, initial, frozenset()))
    reachable = sorted(relaxed_reachable(initial, steps) - initial) or all_atoms(objects)
    if random.random() < 0.5:
        return Problem(operators, objects, initial, symmetric(reachable, random.randint(1, 2)))
    return Problem(
        operators, objects, initial, frozenset(random.choices(reachable, k=random.randint(1, 2)))
    )


def every_order(objects: Sequence[Object]) -> list[dict[Object, Object]]:
    """All permutations of the objects, as renamings."""
    return [dict(zip(objects, order, strict=True)) for order in itertools.permutations(objects)]


def renamed(atom: GroundAtom, renaming: Mapping[Object, Object]) -> GroundAtom:
    """The atom with its objects renamed."""
    return GroundAtom(atom.predicate, tuple(renaming.get(obj, obj) for obj in atom.objects))


def problems_with_twins() -> st.SearchStrategy[Problem]:
    return st.builds(random_problem_with_twins, st.integers(0, 2**32))


def random_propositional_problem(seed: int) -> Problem:
    """A problem without objects, with more atoms and longer plans than the others."""
    random = Random(seed)
    predicates = [Predicate(f"P{i:02}", ()) for i in range(random.randint(6, 12))]

    def some(at_least: int, at_most: int) -> frozenset[LiftedAtom]:
        return frozenset(p.lifted() for p in random.sample(predicates, random.randint(at_least, at_most)))

    operators = tuple(
        Operator(f"op{i:02}", (), some(1, 3), some(1, 2), some(0, 1), frozenset(), Controller("c", ()), ())
        for i in range(random.randint(6, 20))
    )
    initial = frozenset(p() for p in predicates[: random.randint(1, 2)])
    reachable = sorted(relaxed_reachable(initial, [o.ground(()) for o in operators]))
    goal = frozenset(random.choices(reachable, k=3))
    return Problem(operators, (), initial, goal)


def row_problem(length: int, objects: int) -> Problem:
    """The problem to put objects in a row: each row of distinct objects is a ground operator."""
    members = tuple(THING(f"o{i:04}") for i in range(objects))
    variables = tuple(Variable(f"?v{i}", THING) for i in range(length))
    row = Predicate("Row", (THING,) * length)
    put = Operator(
        "Put",
        variables,
        frozenset(),
        frozenset([row.lifted(*variables)]),
        frozenset(),
        frozenset(),
        Controller("Put", ()),
        (),
    )
    return Problem((put,), members, frozenset(), frozenset([row(*members[:length])]))


def toy_problem(balls: int = 2, jars: int = 2) -> Problem:
    """The problem to put the first ball of the toy world into its first jar."""
    task = toy_world.task(balls, jars)
    initial = abstract(task.initial_state, toy_world.VOCABULARY.predicates)
    return Problem(toy_world.OPERATORS, task.objects, initial, task.goal)


def every_grounding(problem: Problem) -> list[GroundOperator]:
    """All injective, type-correct groundings, by enumeration."""
    return [
        operator.ground(chosen)
        for operator in problem.operators
        for chosen in itertools.permutations(sorted(problem.objects), len(operator.parameters))
        if all(fits(obj, v.type) for obj, v in zip(chosen, operator.parameters, strict=True))
    ]


def relaxed_reachable(initial: AbstractState, steps: Iterable[GroundOperator]) -> AbstractState:
    """The atoms that are reachable if deletes and negative preconditions are ignored."""
    reached, before, steps = initial, None, list(steps)
    while reached != before:
        before = reached
        reached = reached.union(*(s.add_effects for s in steps if s.preconditions <= reached))
    return reached


def relaxed_cost(state: AbstractState, goal: AbstractState, steps: Sequence[GroundOperator]) -> int | None:
    """The cost of the cheapest plan if deletes are ignored, by breadth-first search."""
    layer, seen, cost = {state}, {state}, 0
    while layer:
        if any(goal <= s for s in layer):
            return cost
        layer = {s | step.add_effects for s in layer for step in steps if step.applicable(s)} - seen
        seen |= layer
        cost += 1
    return None


def h_max(state: AbstractState, goal: AbstractState, steps: Sequence[GroundOperator]) -> int:
    """The h-max value of the goal by definition; the goal must be relaxed-reachable."""
    values = dict.fromkeys(state, 0)
    while True:
        changed = False
        for step in steps:
            if all(atom in values for atom in step.preconditions):
                value = 1 + max((values[atom] for atom in step.preconditions), default=0)
                for atom in step.add_effects:
                    if value < values.get(atom, value + 1):
                        values[atom] = value
                        changed = True
        if not changed:
            return max(values[atom] for atom in goal)


@dataclass(frozen=True)
class StateSpace:
    """All reachable states, and the successors of those that are not goal states."""

    successors: dict[AbstractState, list[AbstractState]]
    goal_states: frozenset[AbstractState]


def state_space(problem: Problem, at_most: int) -> StateSpace | None:
    """Explore with the ground operators themselves; None if there are too many states."""
    steps = every_grounding(problem)
    successors: dict[AbstractState, list[AbstractState]] = {}
    open_states = [problem.initial]
    while open_states:
        state = open_states.pop()
        if state in successors:
            continue
        if len(successors) >= at_most:
            return None
        is_goal = problem.goal <= state
        successors[state] = [] if is_goal else [s.apply(state) for s in steps if s.applicable(state)]
        open_states += successors[state]
    return StateSpace(successors, frozenset(s for s in successors if problem.goal <= s))


def cheapest_costs(problem: Problem, space: StateSpace, count: int) -> list[int]:
    """The costs of the `count` cheapest plans of a tree search (fewer if there are fewer)."""
    useful = set(space.goal_states)
    while True:
        more = {s for s, after in space.successors.items() if s not in useful and useful & set(after)}
        if not more:
            break
        useful |= more
    paths = {problem.initial: 1} if problem.initial in useful else {}
    costs: list[int] = []
    cost = 0
    while paths and len(costs) < count:
        following: dict[AbstractState, int] = {}
        for state, number in paths.items():
            if state in space.goal_states:
                costs += [cost] * number
            for successor in space.successors[state]:
                if successor in useful:
                    following[successor] = following.get(successor, 0) + number
        paths = following
        cost += 1
    return costs[:count]
