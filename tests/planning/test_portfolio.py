from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fake_clock import FakeClock
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError
from needful.planning.engines.searches import AStar, Greedy
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import PlanStream
from needful.planning.portfolio import (
    Portfolio,
    Stage,
    anytime_portfolio,
    greedy_portfolio,
    paper_portfolio,
)
from planning_problems import Problem, negated, problems, problems_with_twins, toy_problem

Steps = tuple[int, ...]


class ScriptedStream:
    """Returns a given plan per `nodes_per_plan` created nodes; see `PlanStream`."""

    def __init__(self, script: Scripted, budget: Budget, statistics: SearchStatistics) -> None:
        self.end_reason: Outcome | None = None
        self._script = script
        self._plans = iter(script.plans)
        self._budget = budget
        self._statistics = statistics

    def __iter__(self) -> ScriptedStream:
        return self

    def __next__(self) -> Steps:
        for _ in range(self._script.nodes_per_plan):
            if self.end_reason is None and self._budget.expired():
                self.end_reason = Outcome.TIMEOUT
            if self.end_reason is None and not self._budget.allows(self._statistics.nodes_created):
                self.end_reason = Outcome.OUT_OF_NODES
            if self.end_reason is not None:
                raise StopIteration
            self._statistics.nodes_created += 1
        plan = next(self._plans, None)
        if plan is None:
            self.end_reason = self._script.end_reason
            raise StopIteration
        return plan


@dataclass(frozen=True)
class Scripted:
    """A search with given plans that records when it was started."""

    plans: list[Steps]
    end_reason: Outcome = Outcome.NO_ABSTRACT_PLAN
    nodes_per_plan: int = 1
    started_at: list[int] = field(default_factory=list)

    def __call__(
        self, problem: GroundProblem, seed: int, budget: Budget, statistics: SearchStatistics
    ) -> PlanStream:
        self.started_at.append(statistics.nodes_created)
        return ScriptedStream(self, budget, statistics)


def repeated_steps(steps: int) -> list[Steps]:
    return [(0,) * length for length in range(steps)]


# MoveTo, Grasp and Drop for each of two balls, and TakeLidOff.
SEVEN_OPERATORS = toy_problem(balls=2, jars=1).grounded()


def test_a_stage_ends_exactly_at_its_limit() -> None:
    """A node counts as one unit of work per ground operator."""
    assert len(SEVEN_OPERATORS.ground_operators) == 7
    first, second, third = (
        Scripted(repeated_steps(100)),
        Scripted(repeated_steps(200)),
        Scripted(repeated_steps(300)),
    )
    stages = (Stage(first, max_work=7 * 10 + 6), Stage(second, max_work=7 * 4), Stage(third))
    portfolio = Portfolio(stages)
    statistics = SearchStatistics(nodes_created=1000)
    plans = list(itertools.islice(portfolio(SEVEN_OPERATORS, 0, Budget.unlimited(), statistics), 20))
    assert (first.started_at, second.started_at, third.started_at) == ([1000], [1010], [1014])
    assert plans == repeated_steps(20)


def test_a_stage_has_at_least_one_node() -> None:
    first, second = Scripted(repeated_steps(9)), Scripted(repeated_steps(9))
    portfolio = Portfolio((Stage(first, max_work=1), Stage(second)))
    assert list(portfolio(SEVEN_OPERATORS, 0, Budget.unlimited(), SearchStatistics())) == repeated_steps(9)
    assert (first.started_at, second.started_at) == ([0], [1])


def test_no_plan_comes_twice() -> None:
    stages = [Stage(Scripted([(1,), (2,), (3,)], nodes_per_plan=5), max_work=7 * 10) for _ in range(2)]
    portfolio = Portfolio((*stages, Stage(Scripted([(3,), (2,), (4,)]))))
    assert list(portfolio(SEVEN_OPERATORS, 0, Budget.unlimited(), SearchStatistics())) == [
        (1,),
        (2,),
        (3,),
        (4,),
    ]


@pytest.mark.parametrize("why", [Outcome.NO_ABSTRACT_PLAN, Outcome.TIMEOUT])
def test_only_the_limit_of_a_stage_starts_the_next(why: Outcome) -> None:
    never = Scripted([(9,)])
    portfolio = Portfolio((Stage(Scripted([(1,)], end_reason=why), max_work=7000), Stage(never)))
    stream = portfolio(SEVEN_OPERATORS, 0, Budget.unlimited(), SearchStatistics())
    assert stream.end_reason is None
    assert list(stream) == [(1,)]
    assert stream.end_reason is why
    assert never.started_at == []


def test_no_further_stage_starts_without_nodes() -> None:
    never = Scripted([(9,)])
    portfolio = Portfolio((Stage(Scripted(repeated_steps(50)), max_work=70_000), Stage(never)))
    stream = portfolio(SEVEN_OPERATORS, 0, Budget.seconds(60.0, max_nodes=4), SearchStatistics())
    assert list(stream) == repeated_steps(4)
    assert stream.end_reason is Outcome.OUT_OF_NODES
    assert never.started_at == []


def test_the_last_stage_gets_the_remaining_budget() -> None:
    portfolio = Portfolio(
        (Stage(Scripted(repeated_steps(50)), max_work=7 * 3), Stage(Scripted(repeated_steps(50))))
    )
    statistics = SearchStatistics()
    stream = portfolio(SEVEN_OPERATORS, 0, Budget.seconds(60.0, max_nodes=20), statistics)
    # Three nodes for three plans, then seventeen nodes that start with the same three plans.
    assert list(stream) == repeated_steps(17)
    assert (stream.end_reason, statistics.nodes_created) == (Outcome.OUT_OF_NODES, 20)


def test_time_runs_out_in_a_later_stage() -> None:
    clock = FakeClock()
    portfolio = Portfolio(
        (Stage(Scripted(repeated_steps(50)), max_work=7 * 3), Stage(Scripted(repeated_steps(50))))
    )
    stream = portfolio(SEVEN_OPERATORS, 0, Budget.seconds(1.0, clock=clock), SearchStatistics())
    assert list(itertools.islice(stream, 5)) == repeated_steps(5)
    clock.now = 1.0
    assert next(stream, None) is None
    assert stream.end_reason is Outcome.TIMEOUT


@settings(max_examples=60)
@given(st.one_of(problems(), problems_with_twins()), st.sampled_from([0.0, 1e-6, 1e-3]))
def test_the_speed_of_the_clock_makes_no_difference(problem: Problem, tick: float) -> None:
    portfolio = Portfolio(
        (Stage(AStar(), max_work=200), Stage(AStar(weight=2), max_work=200), Stage(Greedy()))
    )
    compact = problem.grounded()

    def run(clock: FakeClock) -> tuple[list[Steps], Outcome | None, SearchStatistics]:
        statistics = SearchStatistics()
        stream = portfolio(compact, 0, Budget.seconds(1e9, max_nodes=400, clock=clock), statistics)
        return list(itertools.islice(stream, 5)), stream.end_reason, statistics

    assert run(FakeClock(tick)) == run(FakeClock())


@settings(max_examples=100)
@given(negated(st.one_of(problems(), problems_with_twins())))
def test_all_stages_find_as_many_plans_as_the_last_alone(problem: Problem) -> None:
    """The last stage finds all plans, regardless of the stages before it."""
    compact, enough = problem.grounded(), Budget(1e9, max_nodes=2000)
    stages = (
        Stage(AStar(symmetries=True), max_work=50),
        Stage(AStar(weight=2), max_work=50),
        Stage(Greedy()),
    )
    outcomes = []
    for portfolio in (Portfolio(stages), Portfolio(stages[-1:])):
        stream = portfolio(compact, 0, enough, SearchStatistics())
        outcomes.append((len(list(itertools.islice(stream, 20))), stream.end_reason))
    assume(all(end_reason is not Outcome.OUT_OF_NODES for _, end_reason in outcomes))
    assert outcomes[0] == outcomes[1]


def test_the_portfolios_of_the_package() -> None:
    problem = toy_problem(balls=2).grounded()
    for portfolio in (paper_portfolio(), greedy_portfolio(), anytime_portfolio()):
        plan = next(portfolio(problem, 0, Budget.unlimited(), SearchStatistics()))
        assert [step.operator.name for step in problem.plan(plan)] == ["MoveTo", "Grasp", "Drop"]
    assert paper_portfolio() == Portfolio((Stage(AStar()),))
    assert [stage.max_work is None for stage in anytime_portfolio().stages] == [False, False, True]


def test_a_portfolio_can_be_a_stage() -> None:
    inner = Portfolio((Stage(Scripted([(1,), (2,)]), max_work=7), Stage(Scripted([(2,), (3,)]))))
    assert list(Portfolio((Stage(inner),))(SEVEN_OPERATORS, 0, Budget.unlimited(), SearchStatistics())) == [
        (1,),
        (2,),
        (3,),
    ]


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one stage"):
        Portfolio(())
    with pytest.raises(InvalidInputError, match=r"at least 1, got 0.*None"):
        Stage(AStar(), max_work=0)
    with pytest.raises(InvalidInputError, match="at least 1, got 0"):
        AStar(weight=0)
