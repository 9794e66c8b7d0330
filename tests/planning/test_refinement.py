from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import toy_world
from fake_clock import FakeClock
from needful.core.controllers import Execute, Execution, GroundController, Parameters
from needful.core.limits import Budget
from needful.core.model import ConstantSampler, Sampler
from needful.core.objects import Object
from needful.core.operators import GroundOperator
from needful.core.plans import AbstractPlan, Failure, Outcome, necessary_atoms
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import InvalidInputError
from needful.planning.failed_tries import MAX_REJECTIONS
from needful.planning.refinement import (
    MAX_DRAWS_PER_TRY,
    Refinement,
    RefinementLimits,
    ResumableRefinement,
)

MOVE, GRASP, DROP, LID = toy_world.OPERATORS


@dataclass
class ScriptedSampler:
    """Returns given values in order and counts the draws."""

    values: list[float]
    drawn: int = 0

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        self.drawn += 1
        return [self.values[(self.drawn - 1) % len(self.values)]]


@dataclass
class Recorder:
    """Simulates and records the actions."""

    simulate: Execute = toy_world.execute
    tried: list[str] = field(default_factory=list)

    def __call__(self, state: State, action: GroundController) -> Execution:
        self.tried.append(str(action))
        return self.simulate(state, action)


def plan_for(task: Task) -> AbstractPlan:
    objects = {obj.name: obj for obj in task.objects}
    robot, ball, jar = objects["robot"], objects["ball0"], objects["jar0"]
    return (MOVE.ground([robot, ball]), GRASP.ground([robot, ball]), DROP.ground([robot, ball, jar]))


def refine(*parts: Any) -> Refinement:
    return ResumableRefinement(*parts).resume()


def run(
    sampler: Sampler,
    task: Task | None = None,
    execute: Execute = toy_world.execute,
    limits: RefinementLimits | None = None,
    plan: AbstractPlan | None = None,
) -> Refinement:
    task = task or toy_world.task()
    plan = plan or plan_for(task)
    return refine(
        plan,
        necessary_atoms(plan, task.goal),
        task.initial_state,
        {"MoveTo": sampler},
        execute,
        limits or RefinementLimits(10, 100, Budget.unlimited()),
        np.random.default_rng(0),
    )


def failure_of(refinement: Refinement) -> Failure:
    assert refinement.failure is not None
    return refinement.failure


def test_refines_a_plan() -> None:
    task = toy_world.task()
    found = run(ConstantSampler((0.25,)), task)
    assert found.failure is None
    assert [str(action) for action in found.actions] == [
        "MoveTo(robot, ball0; 0.25)",
        "Grasp(robot, ball0)",
        "Drop(robot, ball0, jar0)",
    ]
    assert found.states[0] == task.initial_state
    assert task.achieved_in(found.states[-1])
    assert found.samples == 1
    for before, action, after in zip(found.states, found.actions, found.states[1:], strict=False):
        assert toy_world.execute(before, action).state == after


def test_the_first_step_is_resampled_when_the_second_fails() -> None:
    """0.9 is near enough for the subgoal but not for the hand; 1.5 is too far for both."""
    recorder = Recorder()
    found = run(ScriptedSampler([0.9, 1.5, -0.7, 0.1]), execute=recorder)
    assert found.failure is None
    assert found.samples == 4
    assert recorder.tried == [
        "MoveTo(robot, ball0; 0.9)",
        "Grasp(robot, ball0)",
        "MoveTo(robot, ball0; 1.5)",
        "MoveTo(robot, ball0; -0.7)",
        "Grasp(robot, ball0)",
        "MoveTo(robot, ball0; 0.1)",
        "Grasp(robot, ball0)",
        "Drop(robot, ball0, jar0)",
    ]


def two_balls_plan(task: Task) -> AbstractPlan:
    objects = {obj.name: obj for obj in task.objects}
    robot = objects["robot"]
    return tuple(
        step
        for ball in (objects["ball0"], objects["ball1"])
        for step in (
            MOVE.ground([robot, ball]),
            GRASP.ground([robot, ball]),
            DROP.ground([robot, ball, objects["jar0"]]),
        )
    )


def test_tries_reset_only_when_used_up() -> None:
    """The second move never works, so the search tree has 3 x 3 leaves."""
    task = toy_world.task(balls=2, goal_balls=2)

    def second_ball_is_glued(state: State, action: GroundController) -> Execution:
        glued = action.controller.name == "Grasp" and action.objects[1].name == "ball1"
        return Execution(state) if glued else toy_world.execute(state, action)

    recorder = Recorder(second_ball_is_glued)
    sampler = ScriptedSampler([0.0])
    limits = RefinementLimits(3, 100, Budget.unlimited())
    found = run(sampler, task, recorder, limits, two_balls_plan(task))
    assert sampler.drawn == found.samples == 3 + 3 * 3
    assert recorder.tried.count("Grasp(robot, ball1)") == 3 * 3
    failure = failure_of(found)
    assert (failure.step, str(failure.operator)) == (4, "Grasp(robot, ball1)")
    assert len(found.actions) == 4
    assert len(found.states) == 5


def test_steps_without_parameters_have_one_try() -> None:
    recorder = Recorder(lambda state, action: Execution(state))
    task = toy_world.task()
    moved = toy_world.execute(
        task.initial_state, toy_world.MOVE_TO(*plan_for(task)[0].objects, parameters=[0])
    )
    start = replace(task, initial_state=moved.state)
    found = run(ConstantSampler((0.0,)), start, recorder, plan=plan_for(task)[1:])
    assert recorder.tried == ["Grasp(robot, ball0)"]
    assert failure_of(found).outcome is Outcome.SUBGOAL_MISSED


def test_reports_the_atoms_that_the_best_sample_missed() -> None:
    found = run(ScriptedSampler([2.0, 1.5]))
    failure = failure_of(found)
    assert (failure.step, failure.outcome) == (0, Outcome.SAMPLER_EXHAUSTED)
    assert [str(atom) for atom in failure.missing] == ["Near(robot, ball0)"]
    assert "MoveTo(robot, ball0)" in failure.detail
    assert "Near(robot, ball0)" in failure.detail
    assert (found.actions, len(found.states), found.samples) == ((), 1, 10)


def test_the_deepest_failure_is_reported() -> None:
    """A failed grasp, near but out of reach, is deeper than any failed move."""
    failure = failure_of(run(ScriptedSampler([2.0, 0.9, 2.0])))
    assert (failure.step, failure.outcome) == (1, Outcome.SUBGOAL_MISSED)
    assert [str(atom) for atom in failure.missing] == ["Holding(robot, ball0)"]


def test_fewest_missing_atoms_among_equals() -> None:
    task = toy_world.task()
    plan = plan_for(task)[:1]
    near, free = toy_world.NEAR, toy_world.HAND_FREE
    robot, ball = plan[0].objects
    goal = frozenset([near(robot, ball), free(robot)])

    def grabs_when_close(state: State, action: GroundController) -> Execution:
        after = toy_world.execute(state, action).state
        far = abs(action.parameters[0]) >= 1.0
        return Execution(after if far else after.replace({ball: {"held": 1.0}}))

    def run_with(values: list[float]) -> Failure:
        moves = refine(
            plan,
            [frozenset(), goal | {toy_world.HOLDING(robot, ball)}],
            task.initial_state,
            {"MoveTo": ScriptedSampler(values)},
            grabs_when_close,
            RefinementLimits(10, 100, Budget.unlimited()),
            np.random.default_rng(0),
        )
        return failure_of(moves)

    assert [str(atom) for atom in run_with([2.0, 0.5]).missing] == ["HandFree(robot)"]
    assert [str(atom) for atom in run_with([2.0]).missing] == [
        "Holding(robot, ball0)",
        "Near(robot, ball0)",
    ]


def test_offending_objects_end_the_refinement_if_the_step_has_no_parameters() -> None:
    recorder = Recorder()
    task = toy_world.task(lids_on=True)
    found = run(ConstantSampler((0.0,)), task, recorder)
    failure = failure_of(found)
    assert (failure.step, failure.outcome) == (2, Outcome.ENVIRONMENT_FAILURE)
    assert [obj.name for obj in found.offending] == ["jar0"]
    assert "jar0" in failure.detail
    assert "the lid is on" in failure.detail
    assert len(recorder.tried) == 3
    assert len(found.actions) == 2


def only(condition: Callable[[GroundController], bool], otherwise: Execution | None = None) -> Execute:
    def execute(state: State, action: GroundController) -> Execution:
        if condition(action):
            return toy_world.execute(state, action)
        return otherwise or Execution(state, steps=0, failure="the arm is stuck")

    return execute


def test_a_controller_that_takes_no_step_has_failed() -> None:
    execute = only(lambda action: action.controller.name != "Grasp")
    failure = failure_of(run(ConstantSampler((0.0,)), execute=execute))
    assert (failure.step, failure.outcome) == (1, Outcome.CONTROLLER_FAILED)
    assert failure.detail == "the arm is stuck"


def test_horizon_counts_low_level_actions() -> None:
    def slow(state: State, action: GroundController) -> Execution:
        return replace(toy_world.execute(state, action), steps=30)

    def outcome(horizon: int) -> Failure | None:
        limits = RefinementLimits(2, horizon, Budget.unlimited())
        return run(ConstantSampler((0.0,)), execute=slow, limits=limits).failure

    assert outcome(90) is None
    failure = outcome(89)
    assert failure is not None
    assert (failure.step, failure.outcome) == (2, Outcome.HORIZON_EXCEEDED)
    assert "89" in failure.detail


def test_a_plan_with_more_steps_than_the_horizon_is_not_tried() -> None:
    recorder = Recorder()
    found = run(
        ConstantSampler((0.0,)), execute=recorder, limits=RefinementLimits(2, 2, Budget.unlimited())
    )
    assert recorder.tried == []
    assert (failure_of(found).step, failure_of(found).outcome) == (2, Outcome.HORIZON_EXCEEDED)


def picky_move(accepts: Callable[[float], bool]) -> GroundOperator:
    """MoveTo with an initiation test on its parameter."""
    controller = replace(toy_world.MOVE_TO, initiable=lambda state, objects, p: accepts(p[0]))
    step = plan_for(toy_world.task())[0]
    return replace(MOVE, controller=controller).ground(step.objects)


def test_draws_that_cannot_start_do_not_count_as_tries() -> None:
    plan = (picky_move(lambda p: p < 0.3), *plan_for(toy_world.task())[1:])
    sampler = ScriptedSampler([*[1.0] * 49, 0.2])
    found = run(sampler, plan=plan, limits=RefinementLimits(1, 100, Budget.unlimited()))
    assert found.failure is None
    assert found.samples == 50


def test_after_50_rejected_draws_parameters_are_drawn_around_them() -> None:
    """The controller starts only outside the range of the sampler."""
    plan = (picky_move(lambda p: p < 0.3), *plan_for(toy_world.task())[1:])
    sampler = ScriptedSampler([0.7, 0.9] * 25)
    found = run(sampler, plan=plan, limits=RefinementLimits(1, 100, Budget.unlimited()))
    assert found.failure is None
    assert 50 < found.samples <= MAX_DRAWS_PER_TRY


def test_draws_around_a_constant_sampler_are_constant() -> None:
    plan = (picky_move(lambda p: p < 0.3), *plan_for(toy_world.task())[1:])
    found = run(ConstantSampler((0.4,)), plan=plan)
    assert failure_of(found).outcome is Outcome.NOT_INITIABLE


def test_a_try_ends_after_a_hundred_rejected_draws() -> None:
    plan = (picky_move(lambda p: False), *plan_for(toy_world.task())[1:])
    recorder = Recorder()
    found = run(ConstantSampler((0.0,)), plan=plan, execute=recorder)
    assert failure_of(found).outcome is Outcome.NOT_INITIABLE
    assert found.samples == 10 * MAX_DRAWS_PER_TRY
    assert recorder.tried == []


def test_steps_without_parameters_can_be_not_initiable() -> None:
    move, grasp, drop = plan_for(toy_world.task())
    controller = replace(toy_world.GRASP, initiable=lambda state, objects, p: False)
    plan = (move, replace(GRASP, controller=controller).ground(grasp.objects), drop)
    failure = failure_of(run(ConstantSampler((0.0,)), plan=plan))
    assert (failure.step, failure.outcome) == (1, Outcome.NOT_INITIABLE)


@dataclass(frozen=True)
class Never:
    """An initiation test that rejects everything, with two reasons."""

    def __call__(self, state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
        return False

    def rejection_reason(
        self, state: State, objects: Sequence[Object], parameters: Parameters
    ) -> str | None:
        return "too far" if parameters and parameters[0] < 0.1 else "too dark"


def test_the_reasons_of_an_initiation_test_are_reported() -> None:
    move, grasp, drop = plan_for(toy_world.task())
    never_move = replace(MOVE, controller=replace(MOVE.controller, initiable=Never())).ground(move.objects)
    sampler = ScriptedSampler([0.5, 0.0, 0.05])
    failure = failure_of(run(sampler, plan=(never_move, grasp, drop)))
    assert all(fact in failure.detail for fact in ("cannot start", "100", "too far, too dark"))
    never_grasp = replace(GRASP, controller=replace(GRASP.controller, initiable=Never()))
    failure = failure_of(run(ConstantSampler((0.0,)), plan=(move, never_grasp.ground(grasp.objects), drop)))
    assert all(fact in failure.detail for fact in ("cannot start", "too dark"))


def test_parameters_are_clipped_to_the_bounds() -> None:
    recorder = Recorder()
    run(ConstantSampler((50.0,)), execute=recorder)
    assert recorder.tried[0] == "MoveTo(robot, ball0; 2)"
    assert all(float(tried.split(";")[1].rstrip(")")) <= 2 for tried in recorder.tried)


def test_tried_parameters_are_not_retried() -> None:
    """A constant sampler stops the robot out of reach of the ball; noise brings it within reach."""
    recorder = Recorder()
    refined = run(ConstantSampler((0.6,)), execute=recorder)
    assert refined.failure is None
    moves = [tried for tried in recorder.tried if tried.startswith("MoveTo")]
    assert moves[0] == "MoveTo(robot, ball0; 0.6)"
    assert len(set(moves)) == len(moves) > 1


def test_without_perturbation_only_parameters_of_the_sampler_are_tried() -> None:
    recorder = Recorder()
    limits = RefinementLimits(4, 100, Budget.unlimited(), perturb=False)
    found = run(ConstantSampler((0.6,)), execute=recorder, limits=limits)
    assert failure_of(found).step == 1
    assert [one for one in recorder.tried if one.startswith("MoveTo")] == ["MoveTo(robot, ball0; 0.6)"] * 4


def test_samplers_of_the_wrong_size_are_named() -> None:
    with pytest.raises(InvalidInputError, match=r"'MoveTo' returned 2 parameters.*takes 1"):
        run(ConstantSampler((0.0, 0.0)))


def test_a_missing_sampler_is_named() -> None:
    task = toy_world.task()
    plan = plan_for(task)
    limits = RefinementLimits(1, 100, Budget.unlimited())
    subgoals = necessary_atoms(plan, task.goal)
    with pytest.raises(InvalidInputError, match="'MoveTo' needs a sampler"):
        refine(plan, subgoals, task.initial_state, {}, toy_world.execute, limits, np.random.default_rng(0))


def test_an_empty_plan_needs_no_refinement() -> None:
    task = toy_world.task()
    limits = RefinementLimits(1, 100, Budget.unlimited())
    found = refine(
        (), [frozenset()], task.initial_state, {}, toy_world.execute, limits, np.random.default_rng(0)
    )
    assert (found.failure, found.actions, found.states) == (None, (), (task.initial_state,))


def test_time_runs_out_before_the_first_try() -> None:
    recorder = Recorder()
    limits = RefinementLimits(10, 100, Budget.seconds(0.0, clock=FakeClock()))
    found = run(ConstantSampler((0.0,)), execute=recorder, limits=limits)
    assert (failure_of(found).step, failure_of(found).outcome) == (0, Outcome.TIMEOUT)
    assert recorder.tried == []


def test_time_runs_out_between_steps() -> None:
    clock = FakeClock()

    def takes_a_second(state: State, action: GroundController) -> Execution:
        clock.now += 1.0
        return toy_world.execute(state, action)

    limits = RefinementLimits(10, 100, Budget.seconds(2.0, clock=clock))
    found = run(ConstantSampler((0.0,)), execute=takes_a_second, limits=limits)
    failure = failure_of(found)
    assert (failure.step, failure.outcome, len(found.actions)) == (2, Outcome.TIMEOUT, 2)


def test_a_timeout_reports_the_deepest_attempt() -> None:
    clock = FakeClock()

    def takes_a_second(state: State, action: GroundController) -> Execution:
        clock.now += 1.0
        return toy_world.execute(state, action)

    limits = RefinementLimits(10, 100, Budget.seconds(4.5, clock=clock))
    found = run(ScriptedSampler([0.9]), execute=takes_a_second, limits=limits)
    failure = failure_of(found)
    assert (failure.step, failure.outcome) == (1, Outcome.TIMEOUT)
    assert [str(atom) for atom in failure.missing] == ["Holding(robot, ball0)"]
    assert "Time ran out" in failure.detail


def test_time_runs_out_among_draws_that_cannot_start() -> None:
    clock = FakeClock()

    def cannot_start(parameter: float) -> bool:
        clock.now += 1.0
        return False

    plan = (picky_move(cannot_start), *plan_for(toy_world.task())[1:])
    sampler = ScriptedSampler([0.0])
    limits = RefinementLimits(10, 100, Budget.seconds(7.0, clock=clock))
    found = run(sampler, plan=plan, limits=limits)
    assert failure_of(found).outcome is Outcome.TIMEOUT
    assert sampler.drawn == found.samples == 7


def test_a_failure_lists_the_draws_of_its_step() -> None:
    sampler = ScriptedSampler([1.5, 1.7, 1.9])
    failure = failure_of(run(sampler, limits=RefinementLimits(3, 100, Budget.unlimited())))
    assert failure.step == 0
    assert [draw.parameters for draw in failure.draws] == [(1.5,), (1.7,), (1.9,)]
    for draw in failure.draws:
        assert (draw.outcome, draw.missing) == (Outcome.SUBGOAL_MISSED, failure.missing)
        assert draw.state is not None
    assert failure.best_draw is failure.draws[0]


def test_rejected_draws_are_listed_up_to_a_limit() -> None:
    far = replace(toy_world.MOVE_TO, initiable=lambda state, objects, parameters: False)
    task = toy_world.task()
    move, *rest = plan_for(task)
    plan = (replace(move.operator, controller=far).ground(move.objects), *rest)
    failure = failure_of(run(toy_world.UniformSampler(1.0, 2.0), task, plan=plan))
    assert failure.outcome is Outcome.NOT_INITIABLE
    assert len(failure.draws) == MAX_REJECTIONS
    assert failure.unlisted == 9 * MAX_REJECTIONS  # 10 tries of 100 draws each
    assert {draw.outcome for draw in failure.draws} == {Outcome.NOT_INITIABLE}
    assert failure.best_draw is None


def crowded(free: Callable[[float], bool]) -> Execute:
    """Return a world in which balls are in the way of moves, unless `free` holds for the parameter."""

    def execute(state: State, action: GroundController) -> Execution:
        if action.controller.name != "MoveTo" or free(action.parameters[0]):
            return toy_world.execute(state, action)
        balls = state.of_type(toy_world.BALL)
        blamed = balls if action.parameters[0] < 0.5 else balls[:1]
        return Execution(state, steps=0, failure="no space", offending=blamed)

    return execute


def test_other_parameters_may_avoid_the_offending_objects() -> None:
    sampler = ScriptedSampler([0.1, 0.6, 0.0])
    found = run(sampler, toy_world.task(balls=2), crowded(lambda offset: offset == 0.0))
    assert found.failure is None
    assert found.offending == ()


def test_if_no_parameters_avoid_objects_the_fewest_objects_are_reported() -> None:
    sampler = ScriptedSampler([0.1, 0.6, 0.2])
    limits = RefinementLimits(3, 100, Budget.unlimited())
    found = run(sampler, toy_world.task(balls=2), crowded(lambda offset: False), limits=limits)
    assert failure_of(found).outcome is Outcome.ENVIRONMENT_FAILURE
    assert [obj.name for obj in found.offending] == ["ball0"]
    assert found.complete


def test_equal_reports_of_the_first_tries_end_the_refinement() -> None:
    limits = RefinementLimits(10, 100, Budget.unlimited())

    def samples_until_the_end(draws: list[float]) -> int:
        execute = crowded(lambda offset: False)
        found = run(ScriptedSampler(draws), toy_world.task(balls=2), execute, limits=limits)
        assert failure_of(found).outcome is Outcome.ENVIRONMENT_FAILURE
        return found.samples

    assert samples_until_the_end([0.1 + index / 100 for index in range(10)]) == limits.same_reports
    # The second try reports other objects, so other parameters may make a difference.
    assert samples_until_the_end([0.1, 0.6, *(0.2 + index / 100 for index in range(8))]) == 10


def moves(task: Task) -> AbstractPlan:
    """Return a plan that moves to the first ball and then to the second one."""
    robot, *others = sorted(task.objects, key=lambda obj: obj.name != "robot")
    balls = [obj for obj in others if obj.type == toy_world.BALL]
    return tuple(MOVE.ground([robot, ball]) for ball in balls)


def refine_moves(values: list[float], execute: Execute, perturb: bool = True) -> Refinement:
    task = toy_world.task(balls=2)
    plan = moves(task)
    limits = RefinementLimits(10, 100, Budget.unlimited(), perturb)
    sampler = ScriptedSampler(values)
    subgoals = necessary_atoms(plan, frozenset())
    rng = np.random.default_rng(0)
    return refine(plan, subgoals, task.initial_state, {"MoveTo": sampler}, execute, limits, rng)


def test_a_step_that_put_an_object_in_the_way_is_done_differently() -> None:
    """The first ball is in the way of the second one, unless the move to the first had the offset 0.2."""
    recorder = Recorder()
    offsets: list[float] = []

    def execute(state: State, action: GroundController) -> Execution:
        first, ball = state.of_type(toy_world.BALL)[0], action.objects[1]
        if ball == first:
            offsets.append(action.parameters[0])
        elif offsets[-1] != 0.2:
            return Execution(state, steps=0, failure="no space", offending=(first,))
        return toy_world.execute(state, action)

    recorder.simulate = execute
    found = refine_moves([0.0, 0.1, 0.11, 0.12, 0.2, 0.3], recorder)
    assert found.failure is None
    assert recorder.tried == [
        "MoveTo(robot, ball0; 0)",
        "MoveTo(robot, ball1; 0.1)",
        "MoveTo(robot, ball1; 0.11)",
        "MoveTo(robot, ball1; 0.12)",
        "MoveTo(robot, ball0; 0.2)",
        "MoveTo(robot, ball1; 0.3)",
    ]


def test_objects_of_later_steps_are_reported_only_if_there_are_no_others() -> None:
    """The second ball and the jar are in the way of the first move, and the second move is to this ball."""

    def execute(state: State, action: GroundController) -> Execution:
        ball, jar = state.of_type(toy_world.BALL)[1], state.of_type(toy_world.JAR)[0]
        blamed = jar if action.parameters[0] == 0.9 else ball
        return Execution(state, steps=0, failure="no space", offending=(blamed,))

    offsets = [index / 10 for index in range(10)]
    assert [obj.name for obj in refine_moves(offsets, execute).offending] == ["jar0"]
    offsets[-1] = 0.95
    assert [obj.name for obj in refine_moves(offsets, execute).offending] == ["ball1"]


def test_of_equally_small_reports_the_most_frequent_is_chosen() -> None:
    def execute(state: State, action: GroundController) -> Execution:
        rare, frequent = state.of_type(toy_world.JAR)[1:]
        blamed = rare if action.parameters[0] < 0.15 else frequent
        return Execution(state, steps=0, failure="no space", offending=(blamed,))

    task = toy_world.task(jars=3)
    found = run(ScriptedSampler([index / 10 for index in range(10)]), task, execute)
    assert [obj.name for obj in found.offending] == ["jar2"]


@pytest.mark.parametrize(("perturb", "rejected_tries"), [(True, 1), (False, 10)])
def test_if_a_step_cannot_start_the_step_before_it_is_tried_again(
    perturb: bool, rejected_tries: int
) -> None:
    """The second move can start only after the first one had the offset 0.2."""
    recorder = Recorder()
    task = toy_world.task(balls=2)
    first, second = moves(task)
    started: list[float] = []

    def initiable(state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
        if objects[1] == first.objects[1]:
            started.append(parameters[0])
            return True
        return started[-1] == 0.2

    operator = replace(MOVE, controller=replace(MOVE.controller, initiable=initiable))
    plan = (operator.ground(first.objects), operator.ground(second.objects))
    limits = RefinementLimits(10, 100, Budget.unlimited(), perturb)
    rejected = 50 * rejected_tries if perturb else MAX_DRAWS_PER_TRY * rejected_tries
    sampler = ScriptedSampler([0.0, *[0.1] * rejected, 0.2, 0.3])
    subgoals = necessary_atoms(plan, frozenset())
    rng = np.random.default_rng(0)
    found = refine(plan, subgoals, task.initial_state, {"MoveTo": sampler}, recorder, limits, rng)
    assert found.failure is None
    assert recorder.tried == [
        "MoveTo(robot, ball0; 0)",
        "MoveTo(robot, ball0; 0.2)",
        "MoveTo(robot, ball1; 0.3)",
    ]
    assert found.samples == 1 + MAX_DRAWS_PER_TRY * rejected_tries + 2


def test_without_perturbation_the_first_report_ends_the_refinement() -> None:
    sampler = ScriptedSampler([0.1, 0.0])
    limits = RefinementLimits(3, 100, Budget.unlimited(), perturb=False)
    found = run(sampler, toy_world.task(balls=2), crowded(lambda offset: offset == 0.0), limits=limits)
    assert [obj.name for obj in found.offending] == ["ball0", "ball1"]


def test_if_the_only_draw_of_a_sampler_is_rejected_others_near_it_are_tried() -> None:
    picky = replace(toy_world.MOVE_TO, initiable=lambda state, objects, parameters: parameters[0] > 0.05)
    task = toy_world.task()
    move, *rest = plan_for(task)
    plan = (replace(move.operator, controller=picky).ground(move.objects), *rest)
    found = run(ConstantSampler((0.0,)), task, plan=plan)
    assert found.failure is None
    assert found.actions[0].parameters[0] > 0.05
