"""Empty tasks, very large tasks and unusual names, in both engines."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_answers import Both
from fake_clock import FakeClock
from needful.core.atoms import GroundAtom, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.portfolio import (
    Portfolio,
    Stage,
    anytime_portfolio,
    greedy_portfolio,
    paper_portfolio,
)
from planning_problems import Problem, row_problem, toy_problem
from toy_world import operator

pytestmark = pytest.mark.slow  # as a whole

THING = Type("thing")
AT = Predicate("At", (THING,))
ROAD = Predicate("Road", (THING, THING))
SEEN = Predicate("Seen", (THING,))
MARKED = Predicate("Marked", (THING, THING))
X, Y = Variable("?x", THING), Variable("?y", THING)

PORTFOLIOS = [
    paper_portfolio(),
    greedy_portfolio(),
    anytime_portfolio(),
    Portfolio((Stage(AStar()),), distinct=True),
]
EVERY_PORTFOLIO = pytest.mark.parametrize(
    "portfolio", PORTFOLIOS, ids=["paper", "greedy", "anytime", "distinct"]
)

ENGINES = pytest.mark.parametrize("engine", [PythonPlanner, NativePlanner])


def things(count: int) -> list[Object]:
    return [THING(f"o{i:04}") for i in range(count)]


def propositions(count: int) -> list[Predicate]:
    return [Predicate(f"P{i:04}", ()) for i in range(count)]


def walk(*, roads: bool) -> Operator:
    """Go from a place to another, along roads or anywhere, and record the place as seen."""
    needs = [AT.lifted(X), *([ROAD.lifted(X, Y)] if roads else [])]
    adds = [AT.lifted(Y), SEEN.lifted(X)]
    return operator(Controller("Walk", ()), (X, Y), needs, adds, deletes=[AT.lifted(X)])


@EVERY_PORTFOLIO
def test_no_objects(portfolio: Portfolio) -> None:
    first, last = propositions(2)
    step = operator(Controller("Go", ()), (), needs=[first.lifted()], adds=[last.lifted()])
    found = Both.of(Problem([step], [], frozenset([first()]), frozenset([last()])), portfolio).answers()
    assert [str(step) for step in found.plans[0]] == ["Go()"]


@EVERY_PORTFOLIO
def test_no_objects_but_operators_that_need_some(portfolio: Portfolio) -> None:
    problem = Both.of(Problem([walk(roads=True)], [], frozenset(), frozenset()), portfolio)
    assert problem.answers().steps == [()]


@EVERY_PORTFOLIO
def test_no_operators(portfolio: Portfolio) -> None:
    a, b = things(2)
    both = Both.of(Problem([], [a, b], frozenset([AT(a)]), frozenset([AT(b)])), portfolio)
    assert not both.goal_reachable
    assert (both.answers().steps, both.answers().end_reason) == ([], Outcome.NO_ABSTRACT_PLAN)


@EVERY_PORTFOLIO
def test_an_empty_task_without_operators(portfolio: Portfolio) -> None:
    found = Both.of(Problem([], [], frozenset(), frozenset()), portfolio).answers()
    assert (found.steps, found.end_reason) == ([()], Outcome.NO_ABSTRACT_PLAN)


@EVERY_PORTFOLIO
def test_a_goal_that_holds_already_has_an_empty_plan(portfolio: Portfolio) -> None:
    places = things(3)
    goal = frozenset([AT(places[0])])
    found = Both.of(Problem([walk(roads=False)], places, goal, goal), portfolio).answers(count=1)
    assert found.steps == [()]
    assert (found.statistics.nodes_created, found.statistics.nodes_expanded) == (1, 0)


@EVERY_PORTFOLIO
def test_a_goal_that_nothing_can_reach(portfolio: Portfolio) -> None:
    """Grounding detects it, and a search would at its first node."""
    places = things(3)
    goal = frozenset([AT(places[1]), MARKED(places[0], places[1])])
    both = Both.of(Problem([walk(roads=False)], places, frozenset([AT(places[0])]), goal), portfolio)
    assert not both.goal_reachable
    found = both.answers()
    assert (found.steps, found.end_reason) == ([], Outcome.NO_ABSTRACT_PLAN)
    assert (
        found.statistics.nodes_created,
        found.statistics.nodes_expanded,
        found.statistics.nodes_evaluated,
    ) == (1, 0, 1)


@EVERY_PORTFOLIO
def test_a_goal_atom_that_only_the_initial_state_has(portfolio: Portfolio) -> None:
    places = things(3)
    given_ = frozenset([AT(places[0]), MARKED(places[0], places[1])])
    goal = frozenset([SEEN(places[0]), MARKED(places[0], places[1])])
    both = Both.of(Problem([walk(roads=False)], places, given_, goal), portfolio)
    assert both.goal_reachable
    assert len(both.answers().steps[0]) == 1


@EVERY_PORTFOLIO
def test_six_parameters(portfolio: Portfolio) -> None:
    problem = row_problem(length=6, objects=6)
    found = Both.of(problem, portfolio).answers(max_nodes=2000, count=2)
    assert found.plans[0][0].objects == problem.objects


@EVERY_PORTFOLIO
def test_hundreds_of_preconditions(portfolio: Portfolio) -> None:
    parts = propositions(200)
    done = Predicate("Done", ())
    make = [operator(Controller(f"make {p.name}", ()), (), adds=[p.lifted()]) for p in parts[:4]]
    finish = operator(Controller("finish", ()), (), needs=[p.lifted() for p in parts], adds=[done.lifted()])
    given_ = frozenset(p() for p in parts[4:])
    found = Both.of(Problem([*make, finish], [], given_, frozenset([done()])), portfolio).answers(count=2)
    assert len(found.steps[0]) == 5


@settings(max_examples=60)
@given(st.lists(st.text(min_size=1), min_size=5, max_size=5, unique=True))
def test_any_names(names: list[str]) -> None:
    first, second, near, far, go = names
    kind = Type(first)
    here, there = kind(near), kind(far)
    at, x, y = Predicate(second, (kind,)), Variable("?" + near, kind), Variable("?" + far, kind)
    step = operator(Controller(go, ()), (x, y), [at.lifted(x)], [at.lifted(y)], [at.lifted(x)])
    problem = Problem([step], [here, there], frozenset([at(here)]), frozenset([at(there)]))
    found = Both.of(problem, paper_portfolio()).answers()
    assert [[(one.operator.name, one.objects) for one in plan] for plan in found.plans] == [
        [(go, (here, there))]
    ]


@ENGINES
@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_at_all(engine: type[PythonPlanner | NativePlanner], seconds: float) -> None:
    problem = toy_problem()
    planner = engine(anytime_portfolio())
    assert problem.given_to(planner, Budget.seconds(seconds)) is None
    grounded = problem.given_to(planner)
    assert grounded is not None
    stream = grounded.plans(0, Budget.seconds(seconds), SearchStatistics())
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT


def test_a_landmark_of_hundreds_of_operators() -> None:
    """To arrive at a place means to come from one of many others: a landmark above the bulk limit."""
    places = things(220)
    goal = frozenset([AT(places[1]), SEEN(places[2])])
    problem = Problem([walk(roads=False)], places, frozenset([AT(places[0])]), goal)
    found = Both.of(problem, paper_portfolio()).answers()
    assert len(found.plans[0]) == 2


@ENGINES
def test_the_limit_on_ground_operators(engine: type[PythonPlanner | NativePlanner]) -> None:
    places = things(6)  # 6 * 5 ground operators
    problem = Problem([walk(roads=False)], places, frozenset([AT(places[0])]), frozenset([AT(places[1])]))
    planner = engine(anytime_portfolio())
    assert problem.given_to(planner, Budget.seconds(60.0, max_ground_operators=30)) is not None
    assert problem.given_to(planner, Budget.seconds(60.0, max_ground_operators=29)) is None


def test_the_limit_ends_grounding_of_trillions_of_operators() -> None:
    many = [Variable(f"?v{number}", THING) for number in range(8)]
    spread = operator(Controller("Spread", ()), many, needs=[], adds=[SEEN.lifted(one) for one in many])
    problem = Problem([spread], things(40), frozenset(), frozenset([AT(things(1)[0])]))
    assert problem.given_to(NativePlanner(), Budget(math.inf, max_ground_operators=1_000_000)) is None


@EVERY_PORTFOLIO
def test_one_node(portfolio: Portfolio) -> None:
    found = Both.of(toy_problem(), portfolio).answers(max_nodes=1)
    assert (found.steps, found.end_reason, found.statistics.nodes_created) == ([], Outcome.OUT_OF_NODES, 1)


@EVERY_PORTFOLIO
def test_thousands_of_objects(portfolio: Portfolio) -> None:
    """A row of places, no two of which are interchangeable."""
    places = things(5000)
    roads = frozenset(ROAD(one, other) for one, other in itertools.pairwise(places))
    problem = Problem([walk(roads=True)], places, roads | {AT(places[0])}, frozenset([AT(places[3])]))
    assert len(Both.of(problem, portfolio).answers(count=1).steps[0]) == 3


@EVERY_PORTFOLIO
def test_thousands_of_objects_that_are_alike(portfolio: Portfolio) -> None:
    """Roads lead from one place to all others, which are interchangeable."""
    places = things(2000)
    start, *others = places
    back = frozenset(ROAD(start, other) for other in others)
    problem = Problem([walk(roads=True)], places, back | {AT(start)}, frozenset([SEEN(start)]))
    assert len(Both.of(problem, portfolio).answers(count=2).steps[0]) == 1


def test_states_of_very_many_atoms() -> None:
    """More atoms than a thousand words of 64 bits hold, in every state."""
    places = things(260)
    marks = frozenset(GroundAtom(MARKED, pair) for pair in itertools.permutations(places, 2))
    assert len(marks) > 64 * 1000
    start, *_, last = places
    roads = frozenset([ROAD(start, places[7]), ROAD(places[7], last), ROAD(start, places[9])])
    goal = frozenset([AT(last), *(MARKED(start, place) for place in places[1:6])])
    problem = Problem([walk(roads=True)], places, marks | roads | {AT(start)}, goal)
    found = Both.of(problem, Portfolio(anytime_portfolio().stages, distinct=True)).answers()
    assert [step.objects for step in found.plans[0]] == [(start, places[7]), (places[7], last)]


def far_apart(count: int) -> Problem:
    """Half of the places must be seen, and each is next to any other."""
    places = things(count)
    goal = frozenset(SEEN(place) for place in places[: count // 2])
    return Problem([walk(roads=False)], places, frozenset([AT(places[0])]), goal)


SEARCHES = {
    "A*": AStar(),
    "A* with symmetries": AStar(symmetries=True),
    "greedy": Greedy(),
    "greedy with symmetries": Greedy(symmetries=True),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_the_deadline_holds_with_300_000_ground_operators(search: AStar | Greedy) -> None:
    problem = far_apart(550).given_to(NativePlanner(Portfolio((Stage(search),))))
    assert problem is not None
    assert problem.operator_count == 550 * 549
    stream = problem.plans(0, Budget.seconds(0.1), SearchStatistics())
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_the_deadline_holds_in_python(search: AStar | Greedy) -> None:
    """A search checks the clock per operator during preparation, and often afterwards."""
    compact = far_apart(60).given_to(PythonPlanner(search))
    assert compact is not None
    for looks in range(1, 60 * 59, 400):
        clock = FakeClock()
        budget = Budget.seconds(looks, clock=clock)
        clock.tick = 1.0
        stream = compact.plans(0, budget, SearchStatistics())
        assert next(stream, None) is None
        assert stream.end_reason is Outcome.TIMEOUT
        assert clock.now <= looks + 20


@ENGINES
def test_the_deadline_holds_in_grounding(engine: type[PythonPlanner | NativePlanner]) -> None:
    """Six of sixty objects form 36 billion rows: grounding cannot finish."""
    planner = engine(anytime_portfolio())
    assert row_problem(length=6, objects=60).given_to(planner, Budget.seconds(0.1)) is None


@ENGINES
def test_the_deadline_holds_in_grounding_that_finds_nothing(
    engine: type[PythonPlanner | NativePlanner],
) -> None:
    """Half a billion pairs of a road and a mark, none of which join."""
    places = things(150)
    pairs = list(itertools.permutations(places, 2))
    everything = frozenset(GroundAtom(predicate, pair) for predicate in (ROAD, MARKED) for pair in pairs)
    z = Variable("?z", THING)
    never = operator(
        Controller("Never", ()), (X, Y, z), [ROAD.lifted(X, Y), MARKED.lifted(z, z)], [AT.lifted(z)]
    )
    problem = Problem([never], places, everything, frozenset([AT(places[0])]))
    assert problem.given_to(engine(anytime_portfolio()), Budget.seconds(0.1)) is None
