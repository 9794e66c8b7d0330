"""Costs of ground operators: in the heuristics, in both engines, and after misses."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy_world
from engine_answers import Both
from needful.abstraction.atom_table import bits
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.objects import Variable
from needful.core.operators import GroundOperator
from needful.core.plans import SearchStatistics, Suspect
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.costs import MAX_SURCHARGE, SURCHARGE, OperatorCosts, Suspicions
from needful.planning.engines.python_planner import PythonPlanner, PythonProblem
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.grounding import GroundProblem
from needful.planning.heuristics import LmCut
from needful.planning.portfolio import Portfolio, Stage, anytime_portfolio, normal_form, paper_portfolio
from planning_problems import (
    Problem,
    every_grounding,
    problems,
    random_problem,
    random_problem_with_twins,
    random_propositional_problem,
    relaxed_reachable,
    toy_problem,
    with_negation,
)

PORTFOLIOS = {
    "paper": paper_portfolio(),
    "weight 2": Portfolio((Stage(AStar(weight=2)),)),
    "symmetries": Portfolio((Stage(AStar(symmetries=True)),)),
    "greedy": Portfolio((Stage(Greedy()),)),
    "distinct stages": Portfolio(
        (
            Stage(AStar(symmetries=True), max_work=300),
            Stage(AStar(weight=3), max_work=200),
            Stage(Greedy(symmetries=True)),
        ),
        distinct=True,
    ),
}
EVERY_PORTFOLIO = pytest.mark.parametrize("portfolio", PORTFOLIOS.values(), ids=PORTFOLIOS.keys())


def random_costs(problem: PythonProblem, random: Random) -> OperatorCosts:
    """Surcharges of a few ground operators, and of one lifted operator."""
    count = len(problem.compact.ground_operators)
    chosen = sorted(random.sample(range(count), min(count, random.randint(1, 4))))
    name = random.choice(problem.compact.operators).name
    return OperatorCosts(
        tuple((step, random.choice((0, 1, 2, 4, 30))) for step in chosen),
        ((name, random.choice((0, 1, 3))),),
    )


def random_problems(count: int) -> list[Problem]:
    kinds = (random_problem_with_twins, lambda seed: random_problem(seed, 4), random_propositional_problem)
    found = [kinds[seed % 3](seed) for seed in range(count)]
    return [problem if seed % 2 else with_negation(problem, seed) for seed, problem in enumerate(found)]


@pytest.mark.slow
@EVERY_PORTFOLIO
def test_the_engines_agree(portfolio: Portfolio) -> None:
    """With costs, failures and plans that were tried before."""
    compared = 0
    for number, problem in enumerate(random_problems(150)):
        random, both, tried = Random(number), Both.of(problem, portfolio), []
        for seed in range(3):
            found = both.answers(seed, max_nodes=150, count=6)
            taken = sorted({step for steps in found.steps for step in steps})
            assert not set(found.steps) & set(tried)
            compared += len(found.steps)
            if not taken:
                break
            tried += found.steps[:2]
            assert isinstance(both.python, PythonProblem)
            costs = random_costs(both.python, random)
            if problem.objects and random.random() < 0.5:
                both = both.with_failure(random.choice(taken), [random.choice(sorted(problem.objects))])
            both = Both(both.python.with_costs(costs, tried), both.native.with_costs(costs, tried))
    assert compared > 500


@EVERY_PORTFOLIO
def test_without_surcharges_nothing_changes(portfolio: Portfolio) -> None:
    """A surcharge of 0 makes the engines compute with costs, but all costs are 1."""
    for problem in random_problems(60):
        both = Both.of(problem, portfolio)
        expected = both.answers(3, max_nodes=150, count=6)
        costs = OperatorCosts(lifted=((problem.operators[0].name, 0),))
        assert costs
        for same in (costs, OperatorCosts()):
            changed = Both(both.python.with_costs(same), both.native.with_costs(same))
            assert changed.answers(3, max_nodes=150, count=6) == expected


def grounded_with_costs(
    problem: Problem, seed: int
) -> tuple[GroundProblem, list[GroundOperator], list[int]]:
    """The problem with random costs, its ground operators, and their costs by definition."""
    planned = problem.given_to(PythonPlanner(paper_portfolio()))
    assert isinstance(planned, PythonProblem)
    if not planned.compact.ground_operators:
        return planned.compact, [], []
    costs = random_costs(planned, Random(seed))
    compact = planned.with_costs(costs).compact
    steps = list(compact.plan(range(len(compact.ground_operators))))
    ground, lifted = dict(costs.ground), dict(costs.lifted)
    return (
        compact,
        steps,
        [1 + ground.get(i, 0) + lifted.get(s.operator.name, 0) for i, s in enumerate(steps)],
    )


def cheapest_plan_cost(
    initial: AbstractState,
    goal: AbstractState,
    steps: Sequence[GroundOperator],
    costs: Sequence[int],
    relaxed: bool,
    at_most: int = 400,
) -> float | None:
    """Dijkstra's algorithm over states; infinity without a plan, None if there are too many states."""
    queue, done, numbers = [(0, 0, initial)], set(), itertools.count(1)
    while queue:
        cost, _, state = heapq.heappop(queue)
        if goal <= state:
            return cost
        if state in done:
            continue
        done.add(state)
        if len(done) > at_most:
            return None
        for step, price in zip(steps, costs, strict=True):
            if step.applicable(state):
                after = state | step.add_effects if relaxed else step.apply(state)
                heapq.heappush(queue, (cost + price, next(numbers), after))
    return math.inf


@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(0, 2**32), st.booleans())
def test_a_star_finds_a_cheapest_plan(problem: Problem, seed: int, symmetries: bool) -> None:
    compact, steps, costs = grounded_with_costs(problem, seed)
    expected = cheapest_plan_cost(problem.initial, problem.goal, steps, costs, relaxed=False)
    if expected is None or not compact.goal_reachable:
        return
    search = AStar(symmetries=symmetries)(compact, seed, Budget.unlimited(), SearchStatistics())
    found = [sum(costs[step] for step in plan) for plan in itertools.islice(search, 5)]
    assert found == sorted(found)
    assert (found[0] if found else math.inf) == expected


@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_lm_cut_is_admissible_and_partitions_the_costs(problem: Problem, seed: int) -> None:
    compact, steps, costs = grounded_with_costs(problem, seed)
    found = LmCut(compact, Budget.unlimited())(compact.initial, Budget.unlimited())
    optimum = cheapest_plan_cost(problem.initial, problem.goal, steps, costs, relaxed=True)
    if found.value is None:
        assert not problem.goal <= relaxed_reachable(problem.initial, every_grounding(problem))
        return
    assert optimum is None or found.value <= optimum
    assert found.value == (sum(found.landmark_costs) if compact.costs else len(found.landmarks))
    assert all(cost > 0 for cost in found.landmark_costs)
    for index, price in enumerate(costs):
        parts = zip(found.landmarks, found.landmark_costs, strict=True)
        assert sum(cost for landmark, cost in parts if landmark >> index & 1) <= price
    for landmark in found.landmarks:
        others = [step for index, step in enumerate(steps) if not landmark >> index & 1]
        assert not problem.goal <= relaxed_reachable(problem.initial, others)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_lm_cut_is_that_of_the_definition(seed: int) -> None:
    compact, _, costs = grounded_with_costs(random_propositional_problem(seed), seed)
    found = LmCut(compact, Budget.unlimited())(compact.initial, Budget.unlimited())
    expected = lm_cut_by_definition(compact, costs)
    landmarks = [frozenset(bits(landmark)) for landmark in found.landmarks]
    assert list(zip(landmarks, found.landmark_costs, strict=True)) == expected


def lm_cut_by_definition(problem: GroundProblem, costs: Sequence[int]) -> list[tuple[frozenset[int], int]]:
    """All values are recomputed for each cut, by fixpoint iteration."""
    atoms, left = range(len(problem.atoms)), list(costs)
    needs = [sorted(bits(o.preconditions)) for o in problem.ground_operators]
    adds = [set(bits(o.adds & ~o.preconditions)) for o in problem.ground_operators]
    found = []
    while True:
        values = {atom: 0.0 if problem.initial >> atom & 1 else math.inf for atom in atoms}
        for _ in atoms:
            for need, add, cost in zip(needs, adds, left, strict=True):
                for atom in add:
                    values[atom] = min(values[atom], cost + max(values[n] for n in need))
        supporters = [max(need, key=lambda n: (values[n], -n)) for need in needs]
        target = max(bits(problem.goal), key=lambda n: (values[n], -n))
        if values[target] == 0:
            return found
        zone, before = {target}, set(bits(problem.initial))
        for _ in atoms:
            zone |= {supporters[i] for i, add in enumerate(adds) if add & zone and left[i] == 0}
        for _ in atoms:
            for i, add in enumerate(adds):
                if supporters[i] in before and not add & zone:
                    before |= add
        cut = frozenset(i for i, add in enumerate(adds) if add & zone and supporters[i] in before)
        cost = min(left[i] for i in cut)
        found.append((cut, cost))
        left = [price - cost if i in cut else price for i, price in enumerate(left)]


@pytest.mark.parametrize("portfolio", [paper_portfolio(), anytime_portfolio()], ids=["paper", "anytime"])
def test_tried_plans_are_not_returned_again(portfolio: Portfolio) -> None:
    problem = toy_problem(balls=2, jars=2).given_to(PythonPlanner(portfolio))
    assert isinstance(problem, PythonProblem)

    def plans(one: PythonProblem) -> list[tuple[int, ...]]:
        return list(itertools.islice(one.plans(0, Budget.unlimited(), SearchStatistics()), 6))

    before = plans(problem)
    after = plans(problem.with_costs(OperatorCosts(), before[:3]))
    assert not set(before[:3]) & set(after)
    if portfolio.distinct:
        forms = {normal_form(steps, problem.compact) for steps in before[:3]}
        assert normal_form(after[0], problem.compact) not in forms


def test_a_surcharge_breaks_symmetries() -> None:
    """The balls are interchangeable until grasping one of them becomes dear."""
    symmetric = Portfolio((Stage(AStar(symmetries=True)),))
    problem = toy_problem(balls=2, jars=1)
    robot = toy_world.ROBOT("robot")
    near = [toy_world.NEAR(robot, toy_world.BALL(f"ball{i}")) for i in range(2)]
    calm = Predicate("Calm", (toy_world.ROBOT,))
    _r, _b = Variable("?r", toy_world.ROBOT), Variable("?b", toy_world.BALL)
    hold = toy_world.operator(
        Controller("Hug", (toy_world.ROBOT, toy_world.BALL)),
        (_r, _b),
        needs=[toy_world.NEAR.lifted(_r, _b)],
        adds=[calm.lifted(_r)],
    )
    either = Problem((hold,), problem.objects, frozenset(near), frozenset([calm(robot)]))
    both = Both.of(either, symmetric)
    (first,) = both.answers(count=1).steps[0]
    dear = OperatorCosts(((first, 1),))
    changed = Both(both.python.with_costs(dear), both.native.with_costs(dear))
    assert changed.answers(count=1).steps[0] == (1 - first,)


def test_wrong_costs_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="between 0 and"):
        OperatorCosts(((3, MAX_SURCHARGE + 1),))
    both = Both.of(toy_problem(), paper_portfolio())
    for problem in (both.python, both.native):
        with pytest.raises(InvalidInputError, match="index of a ground operator"):
            problem.with_costs(OperatorCosts(((1000, 1),)))
    with pytest.raises(UnknownNameError, match="Grasp"):
        OperatorCosts(lifted=(("Grapsp", 1),)).by_operator(["Grasp"])


def suspect(name: str, tries: int = 10, missing: str = "Holding") -> tuple[int, Suspect]:
    """The index of a ground operator of the toy world, and a suspicion that it misses an atom."""
    compact = toy_problem(balls=3).grounded()
    steps = compact.plan(range(len(compact.ground_operators)))
    index = [str(step) for step in steps].index(name)
    atoms = sorted(a for a in steps[index].add_effects if a.predicate.name == missing)
    return index, Suspect(steps[index], tuple(atoms), tries)


def test_a_suspect_becomes_dearer_each_time() -> None:
    index, found = suspect("Grasp(robot, ball0)")
    suspicions, surcharges = Suspicions(), []
    for _ in range(12):
        suspicions = suspicions.with_suspect(index, found)
        surcharges.append(dict(suspicions.costs().ground)[index])
    assert surcharges[:4] == [SURCHARGE, 2 * SURCHARGE, 4 * SURCHARGE, 8 * SURCHARGE]
    assert surcharges[-1] == MAX_SURCHARGE
    assert suspicions.suspects[index].tries == 120
    assert suspicions.costs().lifted == ()


def test_without_a_common_atom_a_suspect_is_a_little_dearer() -> None:
    index, found = suspect("Grasp(robot, ball0)", missing="nothing")
    assert found.missing == ()
    assert Suspicions().with_suspect(index, found).costs().ground == ((index, 1),)


def test_groundings_that_miss_the_same_effect_make_the_operator_dearer() -> None:
    suspicions = Suspicions()
    for number in range(3):
        suspicions = suspicions.with_suspect(*suspect(f"Grasp(robot, ball{number})"))
        assert dict(suspicions.costs().lifted).get("Grasp", 0) == number
    _, grasped = suspect("Grasp(robot, ball0)")
    assert suspicions.with_success([grasped.operator]).costs().lifted == ()


def test_groundings_that_cannot_start_make_themselves_and_the_operator_dearer() -> None:
    suspicions = Suspicions()
    for number in range(3):
        index, found = suspect(f"Grasp(robot, ball{number})")
        suspicions = suspicions.with_unstarted(index, found.operator)
        assert dict(suspicions.costs().ground)[index] == 1
        assert dict(suspicions.costs().lifted).get("Grasp", 0) == number
    again = suspicions.with_unstarted(index, found.operator)
    assert dict(again.costs().ground)[index] == 2
    assert again.costs().lifted == suspicions.costs().lifted
    assert suspicions.with_success([found.operator]).costs().lifted == ()
    assert suspicions.suspects == {}, "only operators whose controllers ran are reported"


def test_groundings_that_miss_different_effects_do_not() -> None:
    suspicions = Suspicions().with_suspect(*suspect("Drop(robot, ball0, jar0)", missing="Inside"))
    suspicions = suspicions.with_suspect(*suspect("Drop(robot, ball1, jar0)", missing="HandFree"))
    assert suspicions.costs().lifted == ()
