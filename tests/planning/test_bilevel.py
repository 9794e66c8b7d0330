from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import toy_world
from fake_clock import FakeClock
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import ConstantSampler, PlanningModel
from needful.core.objects import Object
from needful.core.plans import AbstractPlan, Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.bilevel import PlanningConfig, necessary_subgoals, plan, predicted_subgoals
from needful.planning.planners import make_planner
from toy_world import UniformSampler

EXACT = toy_world.model(ConstantSampler((0.0,)))
UNIFORM = toy_world.model(UniformSampler(-2.0, 2.0))
# The clock stands still, so that results do not depend on the speed of the machine.
STILL = FakeClock()


def solve(
    task: Task, model: PlanningModel = EXACT, config: PlanningConfig | None = None, seed: int = 0
) -> PlanningResult:
    return plan(task, model, toy_world.execute, config, seed, clock=STILL)


def check_solution(result: PlanningResult, task: Task) -> None:
    """Assert that the actions lead through the states to the goal and that every subgoal holds."""
    assert result.outcome is Outcome.SOLVED
    assert result.solved
    assert result.failure is None
    state = task.initial_state
    for action, after in zip(result.actions, result.states[1:], strict=True):
        state = toy_world.execute(state, action).state
        assert state == after
    assert task.achieved_in(state)
    for subgoal, reached in zip(result.subgoals, result.states, strict=True):
        assert all(atom.holds(reached) for atom in subgoal)


def test_solves_with_resampling_and_several_objects() -> None:
    task = toy_world.task(balls=4, jars=2, goal_balls=3)
    result = solve(task, UNIFORM)
    check_solution(result, task)
    assert len(result.abstract_plan) == len(result.actions) == 9
    assert result.statistics.abstract_plans == 1
    assert result.statistics.samples >= 3


def test_a_lid_is_taken_off_after_one_failure() -> None:
    task = toy_world.task(lids_on=True)
    result = solve(task)
    check_solution(result, task)
    assert result.statistics.abstract_plans == 2
    assert sorted(step.operator.name for step in result.abstract_plan) == [
        "Drop",
        "Grasp",
        "MoveTo",
        "TakeLidOff",
    ]
    # The atoms of discovered failures exist in the search only.
    predicates = {atom.predicate for subgoal in result.subgoals for atom in subgoal}
    assert predicates <= set(toy_world.VOCABULARY.predicates)


def test_plans_of_a_task_share_their_ground_operators() -> None:
    plans: list[AbstractPlan] = []

    def recorded(
        found: AbstractPlan, initial: AbstractState, goal: AbstractState
    ) -> tuple[AbstractState, ...]:
        plans.append(found)
        return necessary_subgoals(found, initial, goal)

    task = toy_world.task(lids_on=True)
    check_solution(solve(task, config=PlanningConfig(subgoals=recorded)), task)
    first, second = plans
    common = set(first) & set(second)
    assert common
    assert {id(step) for step in first if step in common} == {id(step) for step in second if step in common}


def test_with_one_abstract_plan_a_lid_ends_planning() -> None:
    task = toy_world.task(lids_on=True)
    result = solve(task, config=PlanningConfig(max_abstract_plans=1))
    assert result.outcome is Outcome.ENVIRONMENT_FAILURE
    assert result.statistics.abstract_plans == 1
    assert result.failure is not None
    assert str(result.failure.operator) == "Drop(robot, ball0, jar0)"
    assert result.failure.detail.endswith("No further plans are tried: max_abstract_plans is 1.")
    assert len(result.actions) == result.failure.step == 2


def test_plans_that_reveal_lids_do_not_count() -> None:
    start = toy_world.task(balls=3, jars=3, lids_on=True).initial_state
    pairs = zip(start.of_type(toy_world.BALL), start.of_type(toy_world.JAR), strict=True)
    task = Task(start, frozenset(toy_world.INSIDE(ball, jar) for ball, jar in pairs))
    config = PlanningConfig(max_abstract_plans=2)
    result = solve(task, config=config)
    check_solution(result, task)
    assert result.statistics.abstract_plans == 4  # one per lid, and the last one
    as_in_the_paper = solve(task, config=replace(config, adaptive=False))
    assert as_in_the_paper.outcome is Outcome.ENVIRONMENT_FAILURE
    assert as_in_the_paper.statistics.abstract_plans == 2


def test_if_no_plan_deals_with_the_revealed_objects_planning_starts_again() -> None:
    """The ball is in its own way in the first 15 tries. No plan acts on it before the first move."""
    task, moves = toy_world.task(), 0

    def execute(state: State, action: GroundController) -> Execution:
        nonlocal moves
        if action.controller.name == "MoveTo":
            moves += 1
            if moves <= 15:
                return Execution(state, 0, "no space", state.of_type(toy_world.BALL)[:1])
        return toy_world.execute(state, action)

    result = plan(task, EXACT, execute, PlanningConfig(samples_per_step=10), clock=STILL)
    check_solution(result, task)
    # The first plan ends after 3 equal reports, the second after all its 10 tries.
    assert result.statistics.abstract_plans == 3
    moves = 0
    limited = PlanningConfig(samples_per_step=10, max_abstract_plans=1)
    assert plan(task, EXACT, execute, limited, clock=STILL).outcome is Outcome.ENVIRONMENT_FAILURE


def in_reach(state: State, objects: Sequence[Object], parameters: Sequence[float]) -> bool:
    robot, ball = objects
    return abs(state.get(robot, "x") - state.get(ball, "x")) < toy_world.REACH


@pytest.mark.parametrize(
    "grasp",
    [
        replace(toy_world.GRASP, initiable=in_reach),
        toy_world.GRASP,
        replace(toy_world.GRASP, low=(0.0,), high=(1.0,)),
    ],
    ids=["cannot start", "has no effect", "has no effect with any parameters"],
)
def test_an_initial_atom_that_does_not_suffice_is_made_true_again(grasp: Controller) -> None:
    """The robot is near both balls but reaches none, so the shortest plans begin with a wrong grasp."""
    operators = tuple(
        replace(one, controller=grasp) if one.controller.name == grasp.name else one
        for one in EXACT.operators
    )
    samplers = {**EXACT.samplers, **({"Grasp": UniformSampler(0.0, 1.0)} if grasp.dimension else {})}
    model = replace(EXACT, operators=operators, samplers=samplers)
    start = toy_world.task(balls=2, goal_balls=2)
    ball = toy_world.BALL("ball1")
    near = start.initial_state.replace({toy_world.ROBOT("robot"): {"x": 0.7}, ball: {"x": 1.4}})
    task = Task(near, start.goal)
    result = solve(task, model)
    check_solution(result, task)
    assert result.abstract_plan[0].operator.name == "MoveTo"
    # The second and the fourth plan rely on fewer initial atoms than the first and the third. They do not
    # count for the maximum.
    assert result.statistics.abstract_plans == 4
    assert solve(task, model, PlanningConfig(max_abstract_plans=3)).solved
    assert not solve(task, model, PlanningConfig(max_abstract_plans=1)).solved
    assert not solve(task, model, PlanningConfig(adaptive=False)).solved


def test_without_another_plan_initial_atoms_are_trusted_again() -> None:
    """A grasp succeeds only after a lid was taken off, which no operator describes."""
    lid_off = replace(
        toy_world.GRASP,
        initiable=lambda state, objects, _: (
            not any(state.get(jar, "lid_on") for jar in state.of_type(toy_world.JAR))
        ),
    )
    operators = tuple(
        replace(one, controller=lid_off) if one.controller == lid_off else one
        for one in EXACT.operators
        if one.controller.name != "MoveTo"
    )
    start = toy_world.task(lids_on=True)
    at_ball = start.initial_state.replace({toy_world.ROBOT("robot"): {"x": 0.0}})
    task = Task(at_ball, start.goal)
    result = solve(task, replace(EXACT, operators=operators, samplers={}))
    check_solution(result, task)
    assert [step.operator.name for step in result.abstract_plan] == ["TakeLidOff", "Grasp", "Drop"]


def test_counters_of_all_searches_add_up() -> None:
    closed = solve(toy_world.task(lids_on=True)).statistics
    open_ = solve(toy_world.task(lids_on=False)).statistics
    assert closed.nodes_created > open_.nodes_created > 0
    assert closed.nodes_expanded > open_.nodes_expanded > 0


def test_a_known_failure_leads_to_the_next_plan() -> None:
    """Lids cannot be taken off. Eight different plans are tried after the one that reveals this."""
    tried: list[tuple[str, ...]] = []
    actions: list[str] = []

    def stuck_lids(state: State, action: GroundController) -> Execution:
        actions.append(str(action))
        if action.controller.name == "TakeLidOff":
            return Execution(state)
        execution = toy_world.execute(state, action)
        if execution.offending:
            tried.append(tuple(actions))
            actions.clear()
        return execution

    task = toy_world.task(lids_on=True)
    result = plan(task, EXACT, stuck_lids, clock=STILL)
    assert result.outcome is Outcome.ENVIRONMENT_FAILURE
    assert result.statistics.abstract_plans == 9  # the first one does not count: it revealed the lid
    assert len(set(tried)) == len(tried) == 9


def test_a_failure_that_was_planned_around_is_not_reported() -> None:
    """After the failure at the lid, the robot cannot move any more: that is the reported reason."""
    blamed = False

    def tired(state: State, action: GroundController) -> Execution:
        nonlocal blamed
        if blamed and action.controller.name == "MoveTo":
            return Execution(state)
        execution = toy_world.execute(state, action)
        blamed = blamed or bool(execution.offending)
        return execution

    result = plan(toy_world.task(lids_on=True), EXACT, tired, clock=STILL)
    assert result.outcome is Outcome.SAMPLER_EXHAUSTED
    assert result.failure is not None
    assert [str(atom) for atom in result.failure.missing] == ["Near(robot, ball0)"]


def test_nothing_to_do() -> None:
    task = toy_world.task()
    done = solve(task).states[-1]
    result = solve(Task(done, task.goal))
    assert result.outcome is Outcome.SOLVED
    assert (result.abstract_plan, result.actions, result.states) == ((), (), (done,))


def test_no_abstract_plan_is_proved_without_search() -> None:
    without_drop = PlanningModel(toy_world.VOCABULARY, toy_world.OPERATORS[:2], EXACT.samplers)
    result = solve(toy_world.task(), without_drop)
    assert result.outcome is Outcome.NO_ABSTRACT_PLAN
    assert result.failure is None
    assert result.statistics.nodes_created == 0


def test_no_abstract_plan_is_proved_by_search() -> None:
    """Without deletes the hand could hold two balls; with them it cannot."""
    robot, balls = toy_world.ROBOT("robot"), [toy_world.BALL("ball0"), toy_world.BALL("ball1")]
    task = Task(
        toy_world.task(balls=2).initial_state, frozenset(toy_world.HOLDING(robot, ball) for ball in balls)
    )
    result = plan(task, EXACT, toy_world.execute, clock=STILL, strict=True)
    assert result.outcome is Outcome.NO_ABSTRACT_PLAN
    assert result.statistics.nodes_expanded > 0
    assert result.statistics.abstract_plans == 0
    # Plans that ignore HandFree fail in the simulator, so the outcome is the same.
    relaxed = solve(task)
    assert relaxed.outcome is Outcome.NO_ABSTRACT_PLAN
    assert relaxed.statistics.abstract_plans > 0


@pytest.mark.parametrize("names", [("Grasp",), ("Grasp", "Drop")])
def test_an_accidental_precondition_is_ignored(names: tuple[str, ...]) -> None:
    """One or two operators need that the ball is lucky, which never holds."""
    ball = toy_world.OPERATORS[1].parameters[1]
    lucky = Predicate("Lucky", (toy_world.BALL,), lambda state, objects: False)
    operators = tuple(
        replace(one, preconditions=one.preconditions | {lucky.lifted(ball)}) if one.name in names else one
        for one in EXACT.operators
    )
    vocabulary = replace(EXACT.vocabulary, predicates=(*EXACT.vocabulary.predicates, lucky))
    model = replace(EXACT, vocabulary=vocabulary, operators=operators)
    task = toy_world.task()
    result = solve(task, model)
    check_solution(result, task)
    assert [str(one) for one in result.ignored] == [f"Lucky(?b) of {name}" for name in names]
    for config in (PlanningConfig(max_abstract_plans=1), PlanningConfig(adaptive=False)):
        assert solve(task, model, config).outcome is Outcome.NO_ABSTRACT_PLAN


def test_when_all_plans_fail_the_deepest_failure_is_reported() -> None:
    """The robot stops near each ball but never within reach of one."""
    result = solve(toy_world.task(), toy_world.model(UniformSampler(0.6, 0.9)))
    assert result.outcome is Outcome.SUBGOAL_MISSED
    assert result.failure is not None
    assert str(result.failure.operator) == "Grasp(robot, ball0)"
    assert [str(atom) for atom in result.failure.missing] == ["Holding(robot, ball0)"]
    assert result.statistics.abstract_plans == 8
    assert len(result.subgoals) == len(result.abstract_plan) + 1


def test_every_plan_is_refined_with_samples_of_its_own() -> None:
    drawn: list[float] = []

    def remember(state: State, action: GroundController) -> Execution:
        drawn.extend(action.parameters)
        return toy_world.execute(state, action)

    plan(toy_world.task(), toy_world.model(UniformSampler(0.6, 0.9)), remember, clock=STILL)
    assert len(set(drawn)) == len(drawn) >= 8 * 10


def test_sampler_exhausted() -> None:
    config = PlanningConfig(max_abstract_plans=1, samples_per_step=7)
    result = solve(toy_world.task(), toy_world.model(ConstantSampler((1.9,))), config)
    assert result.outcome is Outcome.SAMPLER_EXHAUSTED
    assert result.statistics.samples == 7


def test_horizon() -> None:
    assert solve(toy_world.task(), config=PlanningConfig(horizon=3)).solved
    result = solve(toy_world.task(), config=PlanningConfig(horizon=2))
    assert result.outcome is Outcome.HORIZON_EXCEEDED


def test_node_cap() -> None:
    result = solve(toy_world.task(balls=3, goal_balls=3), config=PlanningConfig(max_nodes=5))
    assert result.outcome is Outcome.OUT_OF_NODES
    assert result.statistics.abstract_plans == 0


def test_cap_on_ground_operators() -> None:
    config = PlanningConfig(max_ground_operators=2)
    result = solve(toy_world.task(balls=3, goal_balls=3), config=config)
    assert result.outcome is Outcome.OUT_OF_NODES
    assert result.statistics.nodes_created == 0


def test_without_noops_lids_cannot_be_taken_off() -> None:
    """TakeLidOff has no effects, so it is not given to the planner."""
    result = solve(toy_world.task(lids_on=True), config=PlanningConfig(allow_noops=False))
    assert result.outcome is Outcome.ENVIRONMENT_FAILURE
    assert result.statistics.abstract_plans == 1


def test_predicted_subgoals_can_be_too_strict() -> None:
    """Dropping moves the ball away: `Near` is predicted to persist, but no step needs it."""
    config = PlanningConfig(subgoals=predicted_subgoals)
    result = solve(toy_world.task(), config=config)
    assert result.outcome is Outcome.SUBGOAL_MISSED
    assert result.failure is not None
    assert [str(atom) for atom in result.failure.missing] == ["Near(robot, ball0)"]


def test_the_deadline_holds_in_every_stage() -> None:
    """Each reading of the clock takes time, and only the deadline ends the unsolvable task."""
    task = toy_world.task(balls=3, jars=3, goal_balls=3)
    hopeless = toy_world.model(UniformSampler(0.6, 0.9))
    # The C++ engine uses its own clock, so a fake clock cannot stop it.
    planner = make_planner("python-anytime")
    config = PlanningConfig(timeout=10.0, max_abstract_plans=10**6, planner=planner)
    ended_in = set()
    for readings in range(1, 400, 7):
        clock = FakeClock(tick=10.0 / readings)
        result = plan(task, hopeless, toy_world.execute, config, clock=clock)
        assert result.outcome is Outcome.TIMEOUT
        # Each loop checks the clock, so few readings come after the deadline.
        assert clock.now <= 10.0 + 20 * clock.tick
        ended_in.add(stage(result))
    assert ended_in == {"grounding", "search", "refinement"}


def stage(result: PlanningResult) -> str:
    if result.statistics.seconds_search == 0.0:
        return "grounding"
    return "refinement" if result.statistics.abstract_plans else "search"


def test_timeout_in_refinement_keeps_the_deepest_attempt() -> None:
    clock = FakeClock()

    def slow(state: State, action: GroundController) -> Execution:
        clock.now += 1.0
        return toy_world.execute(state, action)

    result = plan(toy_world.task(), toy_world.model(ConstantSampler((0.9,))), slow, clock=clock)
    assert result.outcome is Outcome.TIMEOUT
    assert result.failure is not None
    assert str(result.failure.operator) == "Grasp(robot, ball0)"


def test_missing_samplers_are_named_before_planning() -> None:
    with pytest.raises(InvalidInputError, match=r"\['MoveTo'\].*no samplers"):
        solve(toy_world.task(), replace(EXACT, samplers={}))


def test_unknown_goal_predicates_are_named_before_planning() -> None:
    def anything(state: State, objects: Sequence[Object]) -> bool:
        return False

    task = toy_world.task()
    strange = Predicate("Insyde", (toy_world.BALL, toy_world.JAR), anything)
    goal = frozenset([strange(toy_world.BALL("ball0"), toy_world.JAR("jar0"))])
    with pytest.raises(UnknownNameError, match="Did you mean 'Inside'"):
        solve(Task(task.initial_state, goal))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("timeout", 0.0),
        ("timeout", float("nan")),
        ("timeout", "5"),
        ("timeout", None),
        ("max_abstract_plans", 0),
        ("samples_per_step", -1),
        ("horizon", 0),
        ("max_nodes", 0),
    ],
)
def test_invalid_settings_of_planning_are_refused(setting: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=setting):
        PlanningConfig(**{setting: value})  # type: ignore[arg-type]


def test_a_seed_repeats_everything() -> None:
    task = toy_world.task(balls=3, jars=2, goal_balls=2, lids_on=True)

    def run(seed: int) -> PlanningResult:
        return solve(task, UNIFORM, seed=seed)

    assert run(5) == run(5)
    assert run(5).actions != run(6).actions


SCRIPT = """
import toy_world
from needful.planning.bilevel import plan
task = toy_world.task(balls=4, jars=3, goal_balls=3, lids_on=True)
result = plan(task, toy_world.model(toy_world.UniformSampler(-2.0, 2.0)), toy_world.execute, seed=3)
print([str(step) for step in result.abstract_plan])
print([(action.controller.name, action.parameters) for action in result.actions])
print([sorted(map(str, subgoal)) for subgoal in result.subgoals])
statistics = result.statistics
print(statistics.nodes_created, statistics.nodes_expanded, statistics.nodes_evaluated, statistics.samples)
print(result.outcome)
"""


def test_processes_with_different_hash_seeds_agree() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": str(Path(toy_world.__file__).parent),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    ]
    assert "Outcome.SOLVED" in outputs[0]
    assert outputs[0] == outputs[1]
