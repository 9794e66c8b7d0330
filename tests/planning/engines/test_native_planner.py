from __future__ import annotations

import itertools
import math
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType

import pytest

import needful.planning.engines.native_planner as native_planner
from needful.core.atoms import Predicate
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.costs import UNIT_COSTS
from needful.planning.engines.native_planner import NativePlanner, supports_portfolio
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import Heuristic, HeuristicEstimate, Planner
from needful.planning.interfaces import Problem as PlannerProblem
from needful.planning.portfolio import (
    Portfolio,
    Stage,
    anytime_portfolio,
    greedy_portfolio,
    paper_portfolio,
)
from planning_problems import Problem, family_problem, row_problem, toy_problem
from toy_world import JAR

NEEDS_ENGINE = pytest.mark.skipif(not native_planner.ENGINE_BUILT, reason="needs the C++ search engine")

ENGINES = pytest.mark.parametrize("engine", [PythonPlanner, NativePlanner])
TOY = toy_problem(balls=2)


def blind(problem: GroundProblem, budget: Budget) -> Heuristic:
    return lambda state, budget: HeuristicEstimate(0)


@dataclass(frozen=True)
class Hasty(Greedy):
    """A subclass, which may search in another way."""


def grounded(planner: Planner, problem: Problem = TOY) -> PlannerProblem:
    found = problem.given_to(planner)
    assert found is not None
    return found


def counters(statistics: SearchStatistics) -> tuple[int, int, int]:
    return statistics.nodes_created, statistics.nodes_expanded, statistics.nodes_evaluated


def test_an_engine_that_is_not_built_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_planner, "ENGINE_BUILT", False)
    with pytest.raises(InvalidInputError, match=r"not built.*C\+\+17 compiler.*PythonPlanner"):
        NativePlanner()


@NEEDS_ENGINE
def test_unsupported_portfolios_are_refused() -> None:
    for search in (AStar(heuristic=blind), Hasty(), Portfolio((Stage(AStar()),)), AStar(weight=2**31)):
        portfolio = Portfolio((Stage(Greedy(), max_work=100), Stage(search)))
        assert not supports_portfolio(portfolio)
        with pytest.raises(InvalidInputError, match="Use PythonPlanner"):
            NativePlanner(portfolio)
    for portfolio in (paper_portfolio(), greedy_portfolio(), anytime_portfolio()):
        assert supports_portfolio(portfolio)


@ENGINES
def test_counters_start_at_given_values_in_both_engines(engine: type[Planner]) -> None:
    statistics = SearchStatistics(nodes_created=1000, nodes_expanded=100, nodes_evaluated=10)
    problem = grounded(engine(paper_portfolio()), toy_problem(balls=1, jars=1))
    stream = problem.plans(0, Budget.unlimited(), statistics)
    assert counters(statistics) == (1001, 100, 10)
    next(stream)
    assert counters(statistics) == (1009, 103, 13)


def test_searches_side_by_side_share_their_nodes() -> None:
    """The node limits of budget and stages count the nodes of all searches, in both engines alike."""
    portfolio = Portfolio((Stage(AStar(), max_work=200), Stage(Greedy())))
    transcripts = []
    for engine in (PythonPlanner, NativePlanner):
        problem, statistics = grounded(engine(portfolio)), SearchStatistics()
        streams = [problem.plans(seed, Budget(math.inf, max_nodes=150), statistics) for seed in range(3)]
        taken = [next(stream, None) for _ in range(8) for stream in streams]
        transcripts.append((taken, [stream.end_reason for stream in streams], statistics))
    python, native = transcripts
    assert python[0][0] is not None
    assert python[1] == [Outcome.OUT_OF_NODES] * 3
    assert native == python


@ENGINES
def test_numbers_beyond_64_bits(engine: type[PythonPlanner | NativePlanner]) -> None:
    portfolio = Portfolio((Stage(AStar(weight=2**31 - 1), max_work=10**30), Stage(Greedy())))
    for seed in (10**30, -1):
        problem = grounded(engine(portfolio))
        stream = problem.plans(seed, Budget(math.inf, max_nodes=10**30), SearchStatistics())
        assert len(next(stream)) == 3


@ENGINES
def test_failures_at_unknown_steps_and_objects(engine: type[PythonPlanner | NativePlanner]) -> None:
    problem = grounded(engine(paper_portfolio()))
    jar = JAR("jar0")
    with pytest.raises(UnknownNameError, match=r"'jar7'.*Did you mean 'jar[01]'"):
        problem.with_failure(0, [JAR("jar7")])
    for step in (-1, 10, 2**40):
        with pytest.raises(InvalidInputError, match=f"got {step}[.] There are 10 ground operators"):
            problem.with_failure(step, [jar])
    known = problem.with_failure(3, [jar])
    assert known.with_failure(3, [jar, jar]) is known
    assert known.with_failure(3, []) is known
    assert problem.failures == ()
    with pytest.raises(IndexError):
        problem.plan([10])


def test_a_search_that_starts_too_late_prepares_nothing() -> None:
    """The preparation of a search grows with the problem, so it checks the clock too."""
    problem = grounded(NativePlanner(), family_problem("books", 200, 4))
    statistics = SearchStatistics()
    stream = problem.with_failure(0, [problem.objects[0]]).plans(0, Budget.seconds(0.0), statistics)
    assert (stream.end_reason, statistics) == (Outcome.TIMEOUT, SearchStatistics())
    assert list(stream) == []


@NEEDS_ENGINE
def test_one_name_for_predicates_of_different_arity_is_refused() -> None:
    other = Predicate("Near", ())
    with pytest.raises(InvalidInputError, match=r"'Near' have \d and \d arguments.*Rename"):
        replace(TOY, objects=(), initial=frozenset([other()]), goal=frozenset()).given_to(NativePlanner())


class Interrupted(Exception):
    """Stands for KeyboardInterrupt."""


@pytest.fixture
def interruption() -> Iterator[None]:
    """Raise `Interrupted` in the main thread at the third signal."""
    count = itertools.count(1)

    def handle(number: int, frame: FrameType | None) -> None:
        if next(count) == 3:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def test_a_search_can_be_interrupted(interruption: None) -> None:
    problem = grounded(NativePlanner(paper_portfolio()), family_problem("paint", 30, 30))
    stream = problem.plans(0, Budget.seconds(5.0), SearchStatistics())
    with pytest.raises(Interrupted):
        next(stream, None)


def test_grounding_can_be_interrupted(interruption: None) -> None:
    with pytest.raises(Interrupted):
        row_problem(length=6, objects=60).given_to(NativePlanner(), Budget.seconds(5.0))


def test_a_search_cannot_be_started_again_while_it_is_running() -> None:
    """The handler of a signal asks for the next plan while the search for this plan is running."""
    problem = grounded(NativePlanner(paper_portfolio()), family_problem("paint", 30, 30))
    stream = problem.plans(0, Budget.seconds(5.0), SearchStatistics())
    before = signal.signal(signal.SIGALRM, lambda number, frame: next(stream))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(RuntimeError, match="running already"):
            next(stream, None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@ENGINES
def test_plans_that_were_tried_must_have_steps_of_the_problem(
    engine: type[PythonPlanner | NativePlanner],
) -> None:
    problem = grounded(engine(), family_problem("paint", 3, 1))
    with pytest.raises(InvalidInputError, match="got 100000000"):
        problem.with_costs(UNIT_COSTS, [(0,), (0, 10**8)])
