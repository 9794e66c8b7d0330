"""Files of plans: round trips, and errors that locate damage."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toy_world
from needful.core.model import ConstantSampler
from needful.core.plans import Draw, Outcome, PlanningResult
from needful.errors import ResultsError
from needful.planning.bilevel import PlanningConfig, plan
from needful.storage.plans import (
    PlanStep,
    RecordedFailure,
    RecordedPlan,
    RecordedSuspect,
    header_line,
    plan_line,
    read_plans,
    record_plan,
)

TASK = toy_world.task(balls=3, goal_balls=1)
ROBOT, BALL, JAR = (TASK.initial_state.objects[index] for index in (4, 0, 3))


def solve(offset: float) -> PlanningResult:
    """Plan with a robot that stops at an offset from the ball; its reach is 0.5."""
    model = toy_world.model(ConstantSampler((offset,)))
    config = PlanningConfig(timeout=60.0, max_abstract_plans=1, samples_per_step=1)
    return plan(TASK, model, toy_world.execute, config)


SOLVED = record_plan(0, TASK, solve(0.2), "solved")
FAILED = record_plan(1, TASK, solve(0.8), "subgoal_missed")
UNPLANNED = record_plan(2, TASK, PlanningResult(Outcome.NO_ABSTRACT_PLAN), "no_abstract_plan")


def write(path: Path, *plans: RecordedPlan) -> Path:
    path.write_bytes(b"".join([header_line(toy_world.VOCABULARY), *map(plan_line, plans)]))
    return path


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_the_record_of_a_solved_task() -> None:
    assert (ROBOT.name, BALL.name, JAR.name) == ("robot", "ball0", "jar0")
    assert SOLVED.steps == (
        PlanStep("MoveTo", (ROBOT, BALL)),
        PlanStep("Grasp", (ROBOT, BALL)),
        PlanStep("Drop", (ROBOT, BALL, JAR)),
    )
    assert list(map(str, SOLVED.steps)) == [
        "MoveTo(robot, ball0)",
        "Grasp(robot, ball0)",
        "Drop(robot, ball0, jar0)",
    ]
    assert SOLVED.end is None
    held = [sorted(map(str, true)) for true in SOLVED.holding]
    assert held == [
        ["HandFree(robot)"],
        ["HandFree(robot)", "Near(robot, ball0)"],
        ["Holding(robot, ball0)", "Near(robot, ball0)"],
        ["HandFree(robot)", "Inside(ball0, jar0)"],
    ]


def test_the_record_of_a_failed_task() -> None:
    assert FAILED.end == RecordedFailure(
        1,
        "subgoal_missed",
        (toy_world.HOLDING(ROBOT, BALL),),
        "After Grasp(robot, ball0) these subgoal atoms did not hold: Holding(robot, ball0).",
        (Draw((), Outcome.SUBGOAL_MISSED, (toy_world.HOLDING(ROBOT, BALL),), state=FAILED.states[1]),),
        FAILED.holding[1],
    )
    assert FAILED.cause is not None
    assert FAILED.cause.cause.startswith("Step 2, Grasp(robot, ball0), ran, but Holding(robot")
    grasp = PlanStep("Grasp", (ROBOT, BALL))
    assert FAILED.suspects == (RecordedSuspect(grasp, (toy_world.HOLDING(ROBOT, BALL),), 1),)
    assert SOLVED.suspects == ()
    assert len(FAILED.states) == 2
    assert len(FAILED.steps) == 3


def test_without_an_attempt_the_initial_state_is_recorded() -> None:
    assert UNPLANNED.states == (TASK.initial_state,)
    assert (UNPLANNED.steps, UNPLANNED.actions, UNPLANNED.subgoals, UNPLANNED.end) == ((), (), (), None)
    assert UNPLANNED.holding == (frozenset(),)


def test_plans_can_be_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "plans.jsonl.gz", SOLVED, FAILED, UNPLANNED)
    assert read_plans(path) == (SOLVED, FAILED, UNPLANNED)
    assert read_plans(write(path)) == ()


def test_later_states_hold_only_changed_objects(tmp_path: Path) -> None:
    states = lines_of(write(tmp_path / "plans", SOLVED))[1]["states"]
    assert [sorted(state) for state in states] == [
        ["ball0", "ball1", "ball2", "jar0", "robot"],
        ["robot"],
        ["ball0"],
        ["ball0"],
    ]


def test_draws_can_be_read_again(tmp_path: Path) -> None:
    moved = FAILED.states[1].replace({BALL: {"x": 3.5}})
    draws = (
        Draw((0.5,), Outcome.NOT_INITIABLE),
        Draw((0.25,), Outcome.CONTROLLER_FAILED, reason="It </script> slipped."),
        Draw((0.75,), Outcome.SUBGOAL_MISSED, (toy_world.HOLDING(ROBOT, BALL),), state=moved),
    )
    assert FAILED.end is not None
    failed = replace(FAILED, end=replace(FAILED.end, draws=draws, unlisted=900))
    path = write(tmp_path / "plans", failed)
    assert read_plans(path) == (failed,)
    assert lines_of(path)[1]["end"]["draws"][2]["state"] == {"ball0": [3.5, 0.0, 0.0]}
    older = lines_of(path)
    for name in ("draws", "holding", "unlisted"):
        del older[1]["end"][name]
    del older[1]["cause"]
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in older).encode()))
    (read,) = read_plans(path)
    assert read.end is not None
    assert (read.end.draws, read.end.best_draw, read.cause) == ((), None, None)


def test_the_same_plans_give_the_same_bytes(tmp_path: Path) -> None:
    one = write(tmp_path / "one", SOLVED, FAILED).read_bytes()
    assert write(tmp_path / "other", SOLVED, FAILED).read_bytes() == one
    assert write(tmp_path / "third", FAILED, SOLVED).read_bytes() != one


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda line: line.pop("goal"), "line 2: the field 'goal' is missing."),
        (lambda line: line.update(more=1), "line 2: unknown field 'more'."),
        (lambda line: line.update(task="first"), "line 2, task: expected a whole number"),
        (lambda line: line.update(outcome="sovled"), "Unknown outcome 'sovled'. Did you mean 'solved'?"),
        (lambda line: line.update(goal=[99]), "line 2, goal[0]: there is no atom 99."),
        (lambda line: line["atoms"][0].append("ghost"), "Unknown object 'ghost'"),
        (lambda line: line["plan"].append([]), "line 2, plan[3]: expected a string"),
        (lambda line: line["plan"][0].append("ball9"), "line 2, plan[0][3]: Unknown object 'ball9'"),
        (
            lambda line: line["actions"][0].pop(),
            "an action is a controller, its objects and its parameters",
        ),
        (lambda line: line["actions"][0].__setitem__(2, []), "takes 1 parameters, got 0"),
        (lambda line: line["actions"].pop(), "2 actions need 3 entries, got 4."),
        (lambda line: line["holding"].pop(), "line 2, holding: 3 actions need 4 entries, got 3."),
        (
            lambda line: line["states"][0].pop("robot"),
            "the object 'robot' has no values in the first state",
        ),
        (lambda line: line["states"][1].update(robot=[1, 2]), "line 2, states[1]: Object 'robot'"),
        (lambda line: line["states"][1].update(robbot=[1]), "Did you mean 'robot'?"),
        (lambda line: line.update(end={"step": 0}), "line 2, end: the field 'outcome' is missing."),
    ],
)
def test_damage_of_a_plan_is_located(damage: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "plans.jsonl.gz", SOLVED)
    header, line = lines_of(path)
    damage(line)
    path.write_bytes(gzip.compress(f"{json.dumps(header)}\n{json.dumps(line)}\n".encode()))
    with pytest.raises(ResultsError) as error:
        read_plans(path)
    assert str(error.value).startswith(f"{path}, line 2")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty or its last line is cut off"),
        (gzip.compress(b"{}", mtime=0), "the file is empty or its last line is cut off"),
        (b"nonsense", "the gzip data is broken or cut off"),
        (gzip.compress(b"{}\n", mtime=0)[:-4], "the gzip data is broken or cut off"),
        (gzip.compress(b'{"format": "other"}\n', mtime=0), 'the field "format" is not "needful-plans"'),
        (
            gzip.compress(b'{"format": "needful-plans", "version": 2}\n', mtime=0),
            "version 2 of 'needful-plans'",
        ),
    ],
)
def test_other_files_are_rejected(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(ResultsError, match=r"plans\.jsonl\.gz") as error:
        read_plans(path)
    assert message in str(error.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be read: No such file"):
        read_plans(tmp_path / "plans.jsonl.gz")
