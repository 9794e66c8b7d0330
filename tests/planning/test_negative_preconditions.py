"""Planning with negative preconditions, compared with breadth-first search and with a compiled problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from needful.abstraction.atom_table import bits
from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type, Variable
from needful.core.operators import GroundOperator, Operator
from needful.core.plans import SearchStatistics
from needful.planning.budget import Budget
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
        assert our_plan.length == their_plan.length
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
