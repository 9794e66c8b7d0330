"""Planning with negative preconditions.

Search is compared with breadth-first search, and heuristics with those of a compiled problem.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import toy_world
from needful.abstraction.atom_table import bits
from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.limits import Budget
from needful.core.model import PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator, Wildcard
from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.core.state import State
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.engines.native_planner import NativePlanner
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.grounding import GroundProblem
from needful.planning.heuristics import Ff, LmCut
from needful.planning.pddl.writer import PddlStyle, write_pddl
from needful.planning.portfolio import Portfolio, anytime_portfolio, greedy_portfolio, paper_portfolio
from pddl_tools import UnifiedPlanning, fast_downward_plan, k_star_plan
from planning_problems import (
    Problem,
    check_plan,
    problems,
    problems_with_twins,
    random_propositional_problem,
    state_space,
    with_negation,
)
from toy_world import NEAR

UNLIMITED = Budget.unlimited()
A_PROBLEM = st.builds(
    with_negation,
    st.one_of(
        problems(), problems_with_twins(), st.builds(random_propositional_problem, st.integers(0, 2**32))
    ),
    st.integers(0, 2**32),
)
ENGINES = pytest.mark.parametrize("engine", [PythonPlanner, NativePlanner])


def distances(problem: Problem, at_most: int = 300) -> dict[AbstractState, int] | None:
    """The cost of the cheapest plan from each reachable state; states without a plan are missing."""
    space = state_space(problem, at_most)
    if space is None:
        return None
    costs = dict.fromkeys(space.goal_states, 0)
    layer, cost = set(space.goal_states), 0
    while layer:
        cost += 1
        layer = {s for s, after in space.successors.items() if s not in costs and layer & set(after)}
        costs.update(dict.fromkeys(layer, cost))
    return costs


def first_plan(problem: Problem, engine: type, portfolio: Portfolio) -> list[GroundOperator] | None:
    grounded = problem.given_to(engine(portfolio))
    assert grounded is not None
    steps = next(grounded.plans(0, UNLIMITED, SearchStatistics()), None)
    return None if steps is None else list(grounded.plan(steps))


@ENGINES
@settings(max_examples=200)
@given(problem=A_PROBLEM)
def test_both_engines_find_a_shortest_plan_if_there_is_one(engine: type, problem: Problem) -> None:
    costs = distances(problem)
    assume(costs is not None)
    assert costs is not None
    for portfolio in (paper_portfolio(), anytime_portfolio(), greedy_portfolio()):
        plan = first_plan(problem, engine, portfolio)
        assert (plan is None) == (problem.initial not in costs)
        if plan is not None:
            check_plan(problem, plan)
            if portfolio != greedy_portfolio():
                assert len(plan) == costs[problem.initial]


@settings(max_examples=200)
@given(A_PROBLEM)
def test_heuristics_never_exclude_a_plan_and_lm_cut_is_admissible(problem: Problem) -> None:
    costs = distances(problem, at_most=100)
    assume(costs is not None)
    assert costs is not None
    compact = problem.grounded()
    numbers = {atom: number for number, atom in enumerate(compact.atoms)}
    lm_cut, ff = LmCut(compact, UNLIMITED), Ff(compact, UNLIMITED)
    for state, cost in costs.items():
        encoded = sum(1 << numbers[atom] for atom in state)
        estimate, relaxed_plan = lm_cut(encoded, UNLIMITED).value, ff(encoded)
        assert estimate is not None
        assert estimate <= cost
        assert relaxed_plan is not None
        for step in relaxed_plan.preferred:
            assert compact.ground_operator(step).applicable(state)


def compiled(compact: GroundProblem) -> GroundProblem:
    """The problem without negative preconditions: B3 stands for "atom 3 does not hold".

    Each ground operator becomes an operator without parameters. Those that can never be applied are left
    out by grounding.
    """
    negated = 0
    for encoded in compact.ground_operators:
        negated |= encoded.negative_preconditions
    holds = [Predicate(f"A{number:04}", ()) for number in range(compact.atom_count)]
    lacks = [Predicate(f"B{number:04}", ()) for number in range(compact.atom_count)]

    def operator(index: int) -> Operator:
        encoded, step = compact.ground_operators[index], compact.ground_operator(index)
        gone = {
            number
            for number, atom in enumerate(compact.atoms)
            if atom not in step.add_effects and (atom in step.delete_effects or matches(step, atom))
        }
        adds = set(bits(encoded.adds))
        needs = [holds[n] for n in bits(encoded.preconditions)]
        needs += [lacks[n] for n in bits(encoded.negative_preconditions)]
        added = [holds[n] for n in adds] + [lacks[n] for n in gone if negated >> n & 1]
        deleted = [holds[n] for n in gone] + [lacks[n] for n in adds if negated >> n & 1]
        return Operator(
            f"{index:04}",
            (),
            frozenset(p.lifted() for p in needs),
            frozenset(p.lifted() for p in added),
            frozenset(p.lifted() for p in deleted),
            frozenset(),
            Controller("c", ()),
            (),
        )

    initial = [holds[n] for n in bits(compact.initial)]
    initial += [lacks[n] for n in bits(negated & ~compact.initial)]
    return Problem(
        tuple(operator(index) for index in range(len(compact.ground_operators))),
        (),
        frozenset(p() for p in initial),
        frozenset(holds[n]() for n in bits(compact.goal)),
    ).grounded()


def matches(step: GroundOperator, atom: GroundAtom) -> bool:
    return any(pattern.matches(atom) for pattern in step.delete_patterns)


@settings(max_examples=200)
@given(A_PROBLEM)
def test_heuristics_have_the_values_of_the_compiled_problem(problem: Problem) -> None:
    compact = problem.grounded()
    assume(compact.ground_operators)
    other = compiled(compact)
    original = [int(other.ground_operator(i).operator.name) for i in range(len(other.ground_operators))]
    ours, theirs = (LmCut(p, UNLIMITED)(p.initial, UNLIMITED) for p in (compact, other))
    assert ours.value == theirs.value
    assert [set(bits(landmark)) for landmark in ours.landmarks] == [
        {original[step] for step in bits(landmark)} for landmark in theirs.landmarks
    ]
    our_plan, their_plan = (Ff(p, UNLIMITED)(p.initial) for p in (compact, other))
    assert (our_plan is None) == (their_plan is None)
    if our_plan is not None and their_plan is not None:
        assert our_plan.cost == their_plan.cost
        assert our_plan.preferred == {original[step] for step in their_plan.preferred}


ROOM, DOOR = Type("room"), Type("door")
INSIDE, LOCKED, OPEN = (
    Predicate("Inside", (ROOM,)),
    Predicate("Locked", (DOOR,)),
    Predicate("Open", (DOOR,)),
)
R, S, D = Variable("?r", ROOM), Variable("?s", ROOM), Variable("?d", DOOR)


def house() -> Problem:
    """A robot leaves a room through a locked door; an open door cannot be opened again."""
    nothing: frozenset = frozenset()
    unlock = Operator(
        "Unlock", (D,), nothing, nothing, frozenset([LOCKED.lifted(D)]), nothing, Controller("c", ()), ()
    )
    push = replace(
        unlock,
        name="Push",
        add_effects=frozenset([OPEN.lifted(D)]),
        delete_effects=nothing,
        negative_preconditions=frozenset([LOCKED.lifted(D), OPEN.lifted(D)]),
    )
    leave = replace(
        unlock,
        name="Leave",
        parameters=(R, S, D),
        preconditions=frozenset([INSIDE.lifted(R), OPEN.lifted(D)]),
        add_effects=frozenset([INSIDE.lifted(S)]),
        delete_effects=frozenset([INSIDE.lifted(R)]),
    )
    hall, cellar, door = ROOM("hall"), ROOM("cellar"), DOOR("door")
    return Problem(
        (unlock, push, leave),
        (hall, cellar, door),
        frozenset([INSIDE(cellar), LOCKED(door)]),
        frozenset([INSIDE(hall)]),
    )


@ENGINES
def test_a_plan_makes_negative_preconditions_true_first(engine: type) -> None:
    plan = first_plan(house(), engine, anytime_portfolio())
    assert plan is not None
    assert list(map(str, plan)) == ["Unlock(door)", "Push(door)", "Leave(cellar, hall, door)"]
    compact = house().grounded()
    assert LmCut(compact, UNLIMITED)(compact.initial, UNLIMITED).value == 3


@pytest.mark.parametrize("style", list(PddlStyle))
def test_third_party_planners_find_the_same_plan(style: PddlStyle, tmp_path: Path) -> None:
    problem = house()
    vocabulary = Vocabulary((ROOM, DOOR), (INSIDE, LOCKED, OPEN), ())
    files = write_pddl(vocabulary, problem.operators, problem.task, style)
    assert files.problem is not None
    expected = first_plan(problem, PythonPlanner, paper_portfolio())
    for found in (fast_downward_plan, k_star_plan):
        text = found(files.domain, files.problem, tmp_path)
        assert text is not None
        assert list(files.read_plan(text)) == expected
    tool = UnifiedPlanning()
    parsed = tool.read(files.domain, files.problem)
    assert tool.optimal_length(parsed) == 3
    assert tool.accepts(parsed, files.write_plan(tuple(expected or ())))
    assert not tool.accepts(parsed, files.write_plan(tuple(expected or ())[1:]))


@ENGINES
def test_without_a_way_to_delete_the_atom_there_is_no_plan(engine: type) -> None:
    problem = replace(house(), operators=house().operators[1:])
    assert first_plan(problem, engine, anytime_portfolio()) is None
    unlocked = replace(problem, initial=frozenset(a for a in problem.initial if a.predicate != LOCKED))
    plan = first_plan(unlocked, engine, anytime_portfolio())
    assert plan is not None
    assert list(map(str, plan)) == ["Push(door)", "Leave(cellar, hall, door)"]


def far_away(state: State, objects: Sequence[Object]) -> bool:
    robot, ball = objects
    return abs(state.get(robot, "x") - state.get(ball, "x")) >= toy_world.REACH


# Holds if the ball is out of reach, although it may be near. Moving makes it unknown.
FAR_AWAY = Predicate("FarAway", (toy_world.ROBOT, toy_world.BALL), far_away)
MOVE, GRASP, DROP, LID = toy_world.OPERATORS
CAREFUL_MOVE = replace(
    MOVE,
    delete_patterns=MOVE.delete_patterns
    | {DeletePattern(FAR_AWAY, tuple(Wildcard(kind) for kind in FAR_AWAY.types))},
)
CAREFUL_GRASP = replace(GRASP, negative_preconditions=frozenset([FAR_AWAY.lifted(*GRASP.parameters)]))


class ScriptedSampler:
    """Returns given values in turn."""

    def __init__(self, *values: float) -> None:
        self._values = itertools.cycle(values)

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        return [next(self._values)]


def solve(
    sampler: Sampler, operators: Sequence[Operator], samples: int = 10
) -> tuple[PlanningResult, list[str]]:
    """Plan in the toy world; return the result and the actions that were simulated."""
    tried = []

    def execute(state: State, action: GroundController) -> Execution:
        tried.append(str(action))
        return toy_world.execute(state, action)

    vocabulary = replace(toy_world.VOCABULARY, predicates=(*toy_world.VOCABULARY.predicates, FAR_AWAY))
    model = PlanningModel(vocabulary, tuple(operators), {MOVE.name: sampler})
    config = PlanningConfig(timeout=600.0, samples_per_step=samples, max_abstract_plans=1)
    return plan(toy_world.task(), model, execute, config), tried


def test_refinement_does_not_try_a_step_that_forbids_the_simulated_state() -> None:
    """0.9 and -0.7 are near enough for the subgoal, but not for the hand; 1.5 is too far for both."""
    result, tried = solve(ScriptedSampler(0.9, 1.5, -0.7, 0.1), (CAREFUL_MOVE, CAREFUL_GRASP, DROP))
    assert result.solved
    assert tried == [
        "MoveTo(robot, ball0; 0.9)",
        "MoveTo(robot, ball0; 1.5)",
        "MoveTo(robot, ball0; -0.7)",
        "MoveTo(robot, ball0; 0.1)",
        "Grasp(robot, ball0)",
        "Drop(robot, ball0, jar0)",
    ]


def test_refinement_names_the_forbidden_atom() -> None:
    result, _ = solve(ScriptedSampler(0.9), (CAREFUL_MOVE, CAREFUL_GRASP, DROP), samples=1)
    assert result.failure is not None
    assert (result.failure.step, result.failure.missing) == (0, ())
    assert result.outcome is Outcome.SAMPLER_EXHAUSTED
    assert result.failure.detail == (
        "No sample for MoveTo(robot, ball0) avoided atoms that must not hold before Grasp(robot, ball0): "
        "FarAway(robot, ball0)."
    )


def test_a_step_without_parameters_can_lead_to_a_forbidden_atom() -> None:
    """The model forgets after a grasp whether the ball is near, and must not drop it there."""
    forgetful = replace(GRASP, delete_effects=GRASP.delete_effects | {NEAR.lifted(*GRASP.parameters)})
    careful = replace(DROP, negative_preconditions=frozenset([NEAR.lifted(*DROP.parameters[:2])]))
    result, tried = solve(ScriptedSampler(0.1), (MOVE, forgetful, careful), samples=1)
    assert result.failure is not None
    assert (result.failure.step, result.failure.missing) == (1, ())
    assert result.outcome is Outcome.SUBGOAL_MISSED
    assert result.failure.detail == (
        "Grasp(robot, ball0) led to atoms that must not hold before Drop(robot, ball0, jar0): "
        "Near(robot, ball0)."
    )
    assert tried == ["MoveTo(robot, ball0; 0.1)", "Grasp(robot, ball0)"]
