"""Fast Downward and K* agree with the Python engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from external_planners import installed
from needful.core.atoms import AbstractState, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.plans import Outcome, SearchStatistics
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.costs import OperatorCosts
from needful.planning.engines.python_planner import PythonPlanner, with_failure
from needful.planning.engines.searches import AStar
from needful.planning.grounding import GroundProblem
from needful.planning.interfaces import Search
from planning_problems import (
    Problem,
    cheapest_costs,
    negated,
    problems,
    random_propositional_problem,
    state_space,
    toy_problem,
)
from toy_world import JAR

CONTROLLER = Controller("c", ())
NAMES = ["lama", "optimal", "k-star"]
DOMAINS = [
    "cluttered-1d",
    "cluttered-painting",
    "cluttered-satellites",
    "painting",
    "satellites",
    "screws",
]


def plans_of(search: Search, problem: GroundProblem) -> tuple[list[tuple[int, ...]], Outcome | None]:
    stream = search(problem, 0, Budget.seconds(300.0), SearchStatistics())
    return list(stream), stream.end_reason


def final_state(problem: Problem, compact: GroundProblem, steps: tuple[int, ...]) -> AbstractState:
    """Apply the ground operators of a plan; `apply` refuses steps that are not applicable."""
    state = problem.initial
    for step in compact.plan(steps):
        state = step.apply(state)
    return state


def check(problem: Problem, compact: GroundProblem) -> None:
    reference = AStar()(compact, 0, Budget.unlimited(), SearchStatistics())
    best = next(reference, None)
    for name, search in installed().items():
        plans, end_reason = plans_of(search, compact)
        assert (best is None) == (not plans)
        if best is None:
            assert end_reason is Outcome.NO_ABSTRACT_PLAN
            continue
        assert all(problem.goal <= final_state(problem, compact, steps) for steps in plans)
        assert len(plans[0]) == len(best) if name != "lama" else len(plans[0]) >= len(best)


@settings(max_examples=80)
@given(negated(problems()))
def test_costs_are_the_optimal_ones_and_plans_work(problem: Problem) -> None:
    check(problem, problem.grounded())


@settings(max_examples=80)
@given(negated(st.builds(random_propositional_problem, st.integers(0, 2**32))))
def test_the_same_without_objects(problem: Problem) -> None:
    check(problem, problem.grounded())


@settings(max_examples=30)
@given(problems(), st.data())
def test_discovered_failures_are_respected(problem: Problem, data: st.DataObject) -> None:
    compact = problem.grounded()
    best = next(AStar()(compact, 0, Budget.unlimited(), SearchStatistics()), None)
    if best:
        blamed = data.draw(st.sampled_from(compact.objects))
        check(problem, with_failure(compact, data.draw(st.sampled_from(best)), [blamed]))


@settings(max_examples=40)
@given(problems(), st.data())
def test_costs_of_operators_are_respected(problem: Problem, data: st.DataObject) -> None:
    compact = problem.grounded()
    best = next(AStar()(compact, 0, Budget.unlimited(), SearchStatistics()), None)
    if not best:
        return
    dear = sorted(data.draw(st.sets(st.sampled_from(best), min_size=1)))
    compact = replace(compact, costs=OperatorCosts(tuple((step, 5) for step in dear)), tried=(best,))
    costs = compact.step_costs()
    cheapest = next(AStar()(compact, 0, Budget.unlimited(), SearchStatistics()))
    for name in ("optimal", "k-star"):
        plans, _ = plans_of(installed()[name], compact)
        assert best not in plans
        found = [sum(costs[step] for step in steps) for steps in plans]
        assert all(cost >= sum(costs[step] for step in cheapest) for cost in found)
        if cheapest != best and name == "k-star":
            assert found[0] == sum(costs[step] for step in cheapest)


@settings(max_examples=60)
@given(negated(problems()))
def test_k_star_finds_the_cheapest_plans(problem: Problem) -> None:
    space = state_space(problem, at_most=300)
    if space is None or problem.initial in space.goal_states:
        return
    plans, end_reason = plans_of(installed()["k-star"], problem.grounded())
    costs = cheapest_costs(problem, space, len(plans) + 1)
    assert len(set(plans)) == len(plans)
    assert [len(steps) for steps in plans] == costs[: len(plans)]
    if end_reason is Outcome.NO_ABSTRACT_PLAN:
        assert len(costs) == len(plans)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_oracle_model_solves_tasks_with_external_plans(domain: str, name: str) -> None:
    planner = PythonPlanner(installed()[name])
    env = make_environment(domain)
    task = env.tasks(Split.TEST, 1, seed=7)[0]
    config = PlanningConfig(timeout=300.0, planner=planner)
    result = plan(task, env.oracle_model(), env.execute, config, seed=0)
    assert result.solved
    assert task.achieved_in(result.states[-1])
    assert result.statistics.nodes_expanded > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_next_external_plan_acts_on_the_offending_object_first(name: str) -> None:
    toy = toy_problem(balls=1, jars=1)
    problem = toy.given_to(PythonPlanner(installed()[name]))
    assert problem is not None
    steps = next(problem.plans(0, Budget.unlimited(), SearchStatistics()))
    assert [str(step) for step in problem.plan(steps)] == [
        "MoveTo(robot, ball0)",
        "Grasp(robot, ball0)",
        "Drop(robot, ball0, jar0)",
    ]
    changed = problem.with_failure(steps[-1], [JAR("jar0")])
    repaired = next(changed.plans(0, Budget.unlimited(), SearchStatistics()))
    words = [str(step) for step in changed.plan(repaired)]
    assert words.index("TakeLidOff(robot, jar0)") < words.index("Drop(robot, ball0, jar0)")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_plans_every_time(name: str) -> None:
    search = installed()[name]
    compact = toy_problem(balls=3, jars=3).grounded()
    first = plans_of(search, compact)
    assert all(plans_of(search, compact) == first for _ in range(3))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_form(name: str) -> None:
    """Names that no planner could parse: spaces, parentheses, other scripts, equal up to case."""
    kind = Type("Dôme (1)")
    lit = Predicate("is lit?", (kind,))
    warm = Predicate("IS LIT?", (kind,))
    one, other = Variable("?ü", kind), Variable("?Ü", kind)
    operators = (
        Operator(
            "; light (",
            (one,),
            frozenset(),
            frozenset([LiftedAtom(lit, (one,))]),
            frozenset(),
            frozenset([DeletePattern(lit, (Wildcard(kind),))]),
            CONTROLLER,
            (),
        ),
        Operator(
            "",
            (one, other),
            frozenset([LiftedAtom(lit, (one,))]),
            frozenset([LiftedAtom(warm, (other,))]),
            frozenset([LiftedAtom(lit, (one,))]),
            frozenset(),
            CONTROLLER,
            (),
        ),
    )
    objects = tuple(kind(text) for text in ("灯", "a b", "A B", "o0", "\n"))
    problem = Problem(operators, objects, frozenset(), frozenset(map(warm, objects)))
    plans, _ = plans_of(installed()[name], problem.grounded())
    assert len(plans[0]) == 10
    assert problem.goal <= final_state(problem, problem.grounded(), plans[0])


def test_memory_runs_out() -> None:
    """A thousand lamps to light in any order, with the blind heuristic."""
    lamps = [Predicate(f"Lit{i}", ()) for i in range(1000)]
    nothing = frozenset()
    operators = tuple(
        Operator(f"Light{i}", (), nothing, frozenset([lamp.lifted()]), nothing, nothing, CONTROLLER, ())
        for i, lamp in enumerate(lamps)
    )
    problem = Problem(operators, (), nothing, frozenset(lamp() for lamp in lamps)).grounded()
    small = replace(installed()["optimal"], search="astar(blind())", memory=64 * 1024**2)
    assert plans_of(small, problem) == ([], Outcome.OUT_OF_NODES)


def test_asking_k_star_for_more_gives_more_of_the_same() -> None:
    compact = toy_problem(balls=2, jars=2).grounded()
    few, many = (plans_of(replace(installed()["k-star"], plans=n), compact)[0] for n in (4, 40))
    assert 1 <= len(few) <= 4 < len(many) <= 40
    lengths = [len(steps) for steps in many]
    assert lengths == sorted(lengths)
    assert [len(steps) for steps in few] == lengths[: len(few)]
    reference = AStar()(compact, 0, Budget.unlimited(), SearchStatistics())
    assert lengths == [len(steps) for steps in itertools.islice(reference, len(many))]
