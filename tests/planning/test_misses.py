"""The planner avoids steps that miss their subgoals, and divides its samples fairly among plans."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from fake_clock import FakeClock
from needful.abstraction import abstract
from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.limits import Budget
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.plans import PlanningResult, necessary_atoms
from needful.core.state import State
from needful.core.tasks import AbstractTask, Task
from needful.planning.agent import Agent
from needful.planning.attempt import MAX_REFUTED
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.planners import AutoPlanner, generate_abstract_plans, make_planner
from needful.planning.portfolio import paper_portfolio
from needful.planning.refinement import RefinementLimits, ResumableRefinement

ROBOT = Type("robot", ("place",))
PLACE = Type("place", ("number", "row"))
AT = Predicate("At", (ROBOT, PLACE), lambda state, args: _number(state, args[0]) == _number(state, args[1]))
NEXT = Predicate(
    "Next", (PLACE, PLACE), lambda state, args: _number(state, args[1]) - _number(state, args[0]) == 1.0
)
R, A, B = Variable("?r", ROBOT), Variable("?a", PLACE), Variable("?b", PLACE)


def _number(state: State, obj: Object) -> float:
    return state[obj][0]


def _operator(name: str, needs: Sequence[Predicate], low: Sequence[float] = ()) -> Operator:
    """An operator that takes the robot from place ?a to place ?b."""
    controller = Controller(name, (ROBOT, PLACE, PLACE), low=tuple(low), high=tuple(x + 1 for x in low))
    return Operator(
        name,
        (R, A, B),
        frozenset([AT.lifted(R, A), *(one.lifted(A, B) for one in needs)]),
        frozenset([AT.lifted(R, B)]),
        frozenset([AT.lifted(R, A)]),
        frozenset(),
        controller,
        (R, A, B),
    )


WALK, JUMP = _operator("Walk", [NEXT]), _operator("Jump", [])
LEAP = _operator("Jump", [], low=(0.0,))
ROBOT0 = ROBOT("robot")


def row(length: int) -> tuple[Task, list[Object]]:
    """The task to reach the last of some places in a row."""
    places = [PLACE(f"place{i:02}") for i in range(length)]
    state = State({ROBOT0: (0.0,), **{place: (float(i), 0.0) for i, place in enumerate(places)}})
    return Task(state, frozenset([AT(ROBOT0, places[-1])])), places


@dataclass
class World:
    """Walking works. Jumping changes nothing, unless its parameter is below `luck`."""

    luck: float = 0.0
    executions: int = 0

    def execute(self, state: State, action: GroundController) -> Execution:
        self.executions += 1
        robot, _, target = action.objects
        works = action.controller.name == "Walk" or (action.parameters and action.parameters[0] < self.luck)
        return Execution(state.replace({robot: {"place": _number(state, target)}}) if works else state)


@dataclass
class SimulatedRow:
    """The world in which an agent walks."""

    world: World
    state: State

    def observe(self) -> State:
        return self.state

    def act(self, action: GroundController) -> Execution:
        execution = self.world.execute(self.state, action)
        self.state = execution.state
        return execution


@dataclass(frozen=True)
class Uniform:
    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        return [float(rng.uniform())]


def model(*operators: Operator) -> PlanningModel:
    vocabulary = Vocabulary((ROBOT, PLACE), (AT, NEXT), tuple(one.controller for one in operators))
    return PlanningModel(vocabulary, operators, {"Jump": Uniform()})


def solve(
    task: Task, operators: Sequence[Operator], world: World, config: PlanningConfig, seed: int = 0
) -> PlanningResult:
    return plan(task, model(*operators), world.execute, config, seed, clock=FakeClock())


PLANNERS = pytest.mark.parametrize("planner", ["anytime", "python-anytime", "paper"])


@PLANNERS
def test_false_plans_are_left_behind_although_they_are_cheaper(planner: str) -> None:
    """Jumping from any place to any other is believed to work. Only the longest plan is true."""
    task, _ = row(9)
    initial = abstract(task.initial_state, (AT, NEXT))
    abstract_task = AbstractTask(task.objects, initial, task.goal)
    cheapest = generate_abstract_plans((WALK, JUMP), abstract_task, AutoPlanner(paper_portfolio()))
    for false in itertools.islice(cheapest, 50):
        assert "Jump" in {step.operator.name for step in false}
    config = PlanningConfig(max_abstract_plans=10, planner=make_planner(planner))
    result = solve(task, (WALK, JUMP), World(), config)
    assert result.solved
    assert {step.operator.name for step in result.abstract_plan} == {"Walk"}
    assert result.statistics.abstract_plans <= 10
    assert str(result.suspects[0]) == ("Jump(robot, place00, place08) missed At(robot, place08) in 1 try")
    assert len({one.operator for one in result.suspects}) == len(result.suspects)


def test_plans_that_one_simulation_refutes_do_not_count() -> None:
    """The true plan is the longest one; the others fail without sampling."""
    task, _ = row(9)
    counts = []
    for limit in (1, 2, 3):
        result = solve(task, (WALK, JUMP), World(), PlanningConfig(max_abstract_plans=limit))
        assert result.solved == (limit > 1)
        counts.append(result.statistics.abstract_plans)
    assert counts[0] == 1
    assert counts[1] == counts[2] > 3
    fixed = PlanningConfig(max_abstract_plans=3, adaptive=False)
    assert solve(task, (WALK, JUMP), World(), fixed).statistics.abstract_plans == 3


def test_not_all_plans_can_be_refuted_without_counting() -> None:
    """Without walking, no plan is true; there are more plans than the limit."""
    task, _ = row(9)
    result = solve(task, (JUMP,), World(), PlanningConfig(max_abstract_plans=8))
    assert not result.solved
    assert MAX_REFUTED + 8 <= result.statistics.abstract_plans < 2 * MAX_REFUTED


@PLANNERS
def test_steps_that_cannot_start_are_left_behind_soon(planner: str) -> None:
    """Jumping from any place to any other is believed to work, but its controller never starts."""
    task, _ = row(6)
    stuck = replace(
        LEAP, controller=replace(LEAP.controller, initiable=lambda state, objects, params: False)
    )
    config = PlanningConfig(max_abstract_plans=10, planner=make_planner(planner))
    result = solve(task, (WALK, stuck), World(), config)
    assert result.solved
    assert {step.operator.name for step in result.abstract_plan} == {"Walk"}
    assert result.suspects == ()


def test_an_agent_reports_the_suspects_of_its_plans() -> None:
    task, _ = row(5)
    world, operators = World(), (WALK, JUMP)
    acted = Agent(model(*operators), world.execute).run(
        task, SimulatedRow(world, task.initial_state), clock=FakeClock()
    )
    assert acted.solved
    assert acted.suspects == solve(task, operators, World(), PlanningConfig()).suspects != ()
    assert acted.to_planning_result().suspects == acted.suspects


def test_both_engines_give_the_same_result() -> None:
    task, _ = row(7)
    results = []
    for name in ("anytime", "python-anytime"):
        found = solve(task, (WALK, LEAP), World(luck=0.02), PlanningConfig(planner=make_planner(name)))
        results.append(found)
    assert results[0] == results[1]


def test_a_hard_plan_does_not_take_all_samples() -> None:
    """Each leap has a chance of 1 in 1000. Walking all the way works at once, but has more steps."""
    task, _ = row(6)
    result = solve(task, (WALK, LEAP), World(luck=0.001), PlanningConfig())
    assert result.solved
    assert result.statistics.samples < 1000


@pytest.mark.parametrize("max_tries", [1, 7, 40])
def test_an_interrupted_refinement_continues_where_it_was(max_tries: int) -> None:
    task, places = row(5)
    near = _operator("Jump", [NEXT], low=(0.0,))
    steps = [near.ground([ROBOT0, a, b]) for a, b in itertools.pairwise(places)]
    subgoals = necessary_atoms(steps, task.goal)
    for seed in range(10):
        limits = RefinementLimits(10, 100, Budget.unlimited())
        parts = (steps, subgoals, task.initial_state, {"Jump": Uniform()}, World(luck=0.3).execute, limits)
        expected = ResumableRefinement(*parts, np.random.default_rng(seed)).resume()
        resumable = ResumableRefinement(*parts, np.random.default_rng(seed))
        found = resumable.resume(max_tries)
        while not found.complete:
            assert found.failure is not None
            found = resumable.resume(max_tries)
        assert replace(found, suspect=None) == replace(expected, suspect=None)


def test_a_refinement_is_interrupted_if_a_step_cannot_start() -> None:
    """The second jump starts nowhere, although the first one always works."""
    task, places = row(3)

    def at_first_place(state: State, objects: Sequence[Object], parameters: Sequence[float]) -> bool:
        return objects[1] == places[0]

    near = _operator("Jump", [NEXT], low=(0.0,))
    near = replace(near, controller=replace(near.controller, initiable=at_first_place))
    steps = [near.ground([ROBOT0, a, b]) for a, b in itertools.pairwise(places)]
    world, limits = World(luck=1.0), RefinementLimits(10, 100, Budget.unlimited())
    subgoals, rng = necessary_atoms(steps, task.goal), np.random.default_rng(0)
    refinement = ResumableRefinement(
        steps, subgoals, task.initial_state, {"Jump": Uniform()}, world.execute, limits, rng
    )
    for calls in (3, 6):
        assert not refinement.resume(max_unstarted=3).complete
        assert world.executions == calls, "the first jump is repeated before each try of the second one"
    assert refinement.resume().complete


def test_failing_tasks_stop_soon() -> None:
    """Four leaps, of which the last never works: backtracking alone would try it 10,000 times."""
    task, places = row(5)
    near = _operator("Jump", [NEXT], low=(0.0,))

    class Blocked(World):
        def execute(self, state: State, action: GroundController) -> Execution:
            self.executions += 1
            if action.objects[2] == places[-1]:
                return Execution(state)
            return Execution(state.replace({ROBOT0: {"place": _number(state, action.objects[2])}}))

    world = Blocked()
    result = solve(task, (near,), world, PlanningConfig())
    assert not result.solved
    assert result.suspects[0].missing == (AT(ROBOT0, places[-1]),)
    assert result.statistics.samples < 5000


def test_planning_as_in_the_paper_refines_each_plan_to_the_end() -> None:
    """Each leap has a chance of 1 in 1000; the cheapest plan, one leap, may use all of its 200 tries."""
    task, _ = row(6)
    config = PlanningConfig(max_abstract_plans=1, samples_per_step=200, adaptive=False)
    world = World(luck=0.001)
    result = solve(task, (LEAP,), world, config)
    assert (result.solved, world.executions) == (False, 200)
    assert result.statistics.abstract_plans == 1


def test_planning_as_in_the_paper_does_not_change_costs() -> None:
    """After the single jump has failed, the next plans have two steps; walking all the way has eight."""
    task, _ = row(9)
    config = PlanningConfig(max_abstract_plans=10, planner=make_planner("paper"), adaptive=False)
    result = solve(task, (WALK, JUMP), World(), config)
    assert not result.solved
    assert result.statistics.abstract_plans == 10
    assert len(result.abstract_plan) <= 3
