"""Questions without anything in them, with very much in them, and with strange names: both engines cope."""

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
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.plans import Outcome, SearchStatistics
from needful.planning.budget import Budget
from needful.planning.engines.a_star import AStar
from needful.planning.engines.greedy import Greedy
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.interfaces import Question
from needful.planning.portfolio import Portfolio, Stage, anytime_portfolio, greedy_portfolio, paper_portfolio
from planning_problems import row_problem, toy_problem
from toy_world import operator

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
EVERY_PORTFOLIO = pytest.mark.parametrize("policy", PORTFOLIOS, ids=["paper", "greedy", "anytime", "distinct"])
ENGINES = pytest.mark.parametrize("engine", [PythonPlanner, NativePlanner])


def things(count: int) -> list[Object]:
    return [THING(f"o{i:04}") for i in range(count)]


def propositions(count: int) -> list[Predicate]:
    return [Predicate(f"P{i:04}", ()) for i in range(count)]


def walk(*, roads: bool) -> Operator:
    """Go from a place to another, along roads or anywhere, and remember the place."""
    needs = [AT.lifted(X), *([ROAD.lifted(X, Y)] if roads else [])]
    adds = [AT.lifted(Y), SEEN.lifted(X)]
    return operator(Controller("Walk", ()), (X, Y), needs, adds, deletes=[AT.lifted(X)])


@EVERY_PORTFOLIO
def test_no_objects(portfolio: Portfolio) -> None:
    first, last = propositions(2)
    step = operator(Controller("Go", ()), (), needs=[first.lifted()], adds=[last.lifted()])
    found = Both.of(Question([step], [], frozenset([first()]), frozenset([last()])), portfolio).answers()
    assert [str(step) for step in found.plans[0]] == ["Go()"]


@EVERY_PORTFOLIO
def test_no_objects_but_operators_that_need_some(portfolio: Portfolio) -> None:
    problem = Both.of(Question([walk(roads=True)], [], frozenset(), frozenset()), portfolio)
    assert problem.answers().steps == [()]


@EVERY_PORTFOLIO
def test_no_operators(portfolio: Portfolio) -> None:
    a, b = things(2)
    asked = Both.of(Question([], [a, b], frozenset([AT(a)]), frozenset([AT(b)])), portfolio)
    assert not asked.goal_reachable
    assert (asked.answers().steps, asked.answers().end_reason) == ([], Outcome.NO_ABSTRACT_PLAN)


@EVERY_PORTFOLIO
def test_nothing_at_all(portfolio: Portfolio) -> None:
    found = Both.of(Question([], [], frozenset(), frozenset()), portfolio).answers()
    assert (found.steps, found.end_reason) == ([()], Outcome.NO_ABSTRACT_PLAN)


@EVERY_PORTFOLIO
def test_what_is_true_already_takes_an_empty_plan(portfolio: Portfolio) -> None:
    places = things(3)
    goal = frozenset([AT(places[0])])
    found = Both.of(Question([walk(roads=False)], places, goal, goal), portfolio).answers(count=1)
    assert found.steps == [()]
    assert (found.statistics.nodes_created, found.statistics.nodes_expanded) == (1, 0)


@EVERY_PORTFOLIO
def test_a_goal_that_nothing_can_reach(portfolio: Portfolio) -> None:
    """Known before any search; and a search would find that out at the first look."""
    places = things(3)
    goal = frozenset([AT(places[1]), MARKED(places[0], places[1])])
    asked = Both.of(Question([walk(roads=False)], places, frozenset([AT(places[0])]), goal), portfolio)
    assert not asked.goal_reachable
    found = asked.answers()
    assert (found.steps, found.end_reason) == ([], Outcome.NO_ABSTRACT_PLAN)
    assert (
        found.statistics.nodes_created,
        found.statistics.nodes_expanded,
        found.statistics.nodes_evaluated,
    ) == (
        1,
        0,
        1,
    )


@EVERY_PORTFOLIO
def test_a_goal_that_nothing_but_the_beginning_mentions(portfolio: Portfolio) -> None:
    places = things(3)
    given_ = frozenset([AT(places[0]), MARKED(places[0], places[1])])
    goal = frozenset([SEEN(places[0]), MARKED(places[0], places[1])])
    asked = Both.of(Question([walk(roads=False)], places, given_, goal), portfolio)
    assert asked.goal_reachable
    assert len(asked.answers().steps[0]) == 1


@EVERY_PORTFOLIO
def test_six_parameters(portfolio: Portfolio) -> None:
    problem = row_problem(length=6, objects=6)
    found = Both.of(problem.question(), portfolio).answers(max_nodes=2000, count=2)
    assert found.plans[0][0].objects == problem.objects


@EVERY_PORTFOLIO
def test_hundreds_of_preconditions(portfolio: Portfolio) -> None:
    parts = propositions(200)
    done = Predicate("Done", ())
    make = [operator(Controller(f"make {p.name}", ()), (), adds=[p.lifted()]) for p in parts[:4]]
    finish = operator(Controller("finish", ()), (), needs=[p.lifted() for p in parts], adds=[done.lifted()])
    given_ = frozenset(p() for p in parts[4:])
    found = Both.of(Question([*make, finish], [], given_, frozenset([done()])), portfolio).answers(count=2)
    assert len(found.steps[0]) == 5


@settings(max_examples=60)
@given(st.lists(st.text(min_size=1), min_size=5, max_size=5, unique=True))
def test_any_names(names: list[str]) -> None:
    first, second, near, far, go = names
    kind = Type(first)
    here, there = kind(near), kind(far)
    at, x, y = Predicate(second, (kind,)), Variable("?" + near, kind), Variable("?" + far, kind)
    step = operator(Controller(go, ()), (x, y), [at.lifted(x)], [at.lifted(y)], [at.lifted(x)])
    question = Question([step], [here, there], frozenset([at(here)]), frozenset([at(there)]))
    found = Both.of(question, paper_portfolio()).answers()
    assert [[(one.operator.name, one.objects) for one in plan] for plan in found.plans] == [
        [(go, (here, there))]
    ]


@ENGINES
@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_at_all(engine: type[PythonPlanner | NativePlanner], seconds: float) -> None:
    question = toy_problem().question()
    planner = engine(anytime_portfolio())
    assert planner(question, Budget.seconds(seconds)) is None
    problem = planner(question, Budget.unlimited())
    assert problem is not None
    stream = problem.plans(0, Budget.seconds(seconds), SearchStatistics())
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT


def test_a_landmark_of_hundreds_of_operators() -> None:
    """To be at a place one comes from one of many others, and no landmark but that is this large."""
    places = things(220)
    goal = frozenset([AT(places[1]), SEEN(places[2])])
    question = Question([walk(roads=False)], places, frozenset([AT(places[0])]), goal)
    found = Both.of(question, paper_portfolio()).answers()
    assert len(found.plans[0]) == 2


@ENGINES
def test_more_ground_operators_than_may_be(engine: type[PythonPlanner | NativePlanner]) -> None:
    places = things(6)  # 6 places to go from, 5 others to go to
    question = Question([walk(roads=False)], places, frozenset([AT(places[0])]), frozenset([AT(places[1])]))
    planner = engine(anytime_portfolio())
    assert planner(question, Budget.seconds(60.0, max_ground_operators=30)) is not None
    assert planner(question, Budget.seconds(60.0, max_ground_operators=29)) is None


def test_there_may_be_trillions_of_ground_operators() -> None:
    many = [Variable(f"?v{number}", THING) for number in range(8)]
    spread = operator(Controller("Spread", ()), many, needs=[], adds=[SEEN.lifted(one) for one in many])
    question = Question([spread], things(40), frozenset(), frozenset([AT(things(1)[0])]))
    assert NativePlanner()(question, Budget(math.inf, max_ground_operators=1_000_000)) is None


@EVERY_PORTFOLIO
def test_one_node(portfolio: Portfolio) -> None:
    found = Both.of(toy_problem().question(), portfolio).answers(max_nodes=1)
    assert (found.steps, found.end_reason, found.statistics.nodes_created) == ([], Outcome.OUT_OF_NODES, 1)


@EVERY_PORTFOLIO
def test_thousands_of_objects(portfolio: Portfolio) -> None:
    """A row of places: each is unlike any other, for each has neighbours of its own."""
    places = things(5000)
    roads = frozenset(ROAD(one, other) for one, other in itertools.pairwise(places))
    question = Question([walk(roads=True)], places, roads | {AT(places[0])}, frozenset([AT(places[3])]))
    assert len(Both.of(question, portfolio).answers(count=1).steps[0]) == 3


@EVERY_PORTFOLIO
def test_thousands_of_objects_that_are_alike(portfolio: Portfolio) -> None:
    """From one place anywhere and back to another: all others are the same to it."""
    places = things(2000)
    start, *others = places
    back = frozenset(ROAD(start, other) for other in others)
    question = Question([walk(roads=True)], places, back | {AT(start)}, frozenset([SEEN(start)]))
    assert len(Both.of(question, portfolio).answers(count=2).steps[0]) == 1


def test_states_of_very_many_atoms() -> None:
    """More atoms than fit into a thousand words of 64 bits, and no less so after each step."""
    places = things(260)
    marks = frozenset(GroundAtom(MARKED, pair) for pair in itertools.permutations(places, 2))
    assert len(marks) > 64 * 1000
    start, *_, last = places
    roads = frozenset([ROAD(start, places[7]), ROAD(places[7], last), ROAD(start, places[9])])
    goal = frozenset([AT(last), *(MARKED(start, place) for place in places[1:6])])
    question = Question([walk(roads=True)], places, marks | roads | {AT(start)}, goal)
    found = Both.of(question, Portfolio(anytime_portfolio().stages, distinct=True)).answers()
    assert [step.objects for step in found.plans[0]] == [(start, places[7]), (places[7], last)]


def far_apart(count: int) -> Question:
    """Half of very many places are to be seen, each of which is next to any other."""
    places = things(count)
    goal = frozenset(SEEN(place) for place in places[: count // 2])
    return Question([walk(roads=False)], places, frozenset([AT(places[0])]), goal)


SEARCHES = {
    "A*": AStar(),
    "A* with symmetries": AStar(symmetries=True),
    "greedy": Greedy(),
    "greedy with symmetries": Greedy(symmetries=True),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_the_deadline_holds_with_300_000_ground_operators(search: AStar | Greedy) -> None:
    problem = NativePlanner(Portfolio((Stage(search),)))(far_apart(550), Budget.unlimited())
    assert problem is not None
    assert problem.grounded.operator_count == 550 * 549
    stream = problem.plans(0, Budget.seconds(0.1), SearchStatistics())
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_the_deadline_holds_in_python(search: AStar | Greedy) -> None:
    """A search looks at the clock with every operator while it gets ready, and never long after that."""
    compact = PythonPlanner(search)(far_apart(60), Budget.unlimited())
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
    """There are 36 billion rows of six of sixty, which nobody could wait for."""
    planner = engine(anytime_portfolio())
    assert planner(row_problem(length=6, objects=60).question(), Budget.seconds(0.1)) is None


@ENGINES
def test_the_deadline_holds_in_grounding_that_finds_nothing(
    engine: type[PythonPlanner | NativePlanner],
) -> None:
    """Half a billion pairs of a road and a mark, none of which fit together."""
    places = things(150)
    pairs = list(itertools.permutations(places, 2))
    everything = frozenset(GroundAtom(predicate, pair) for predicate in (ROAD, MARKED) for pair in pairs)
    z = Variable("?z", THING)
    never = operator(
        Controller("Never", ()), (X, Y, z), [ROAD.lifted(X, Y), MARKED.lifted(z, z)], [AT.lifted(z)]
    )
    question = Question([never], places, everything, frozenset([AT(places[0])]))
    assert engine(anytime_portfolio())(question, Budget.seconds(0.1)) is None
