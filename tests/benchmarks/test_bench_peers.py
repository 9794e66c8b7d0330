"""Third-party planners as processes (imitated by small programs), and the rows of their answers."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

import peers
from answers import Answer, best, stopped, valid
from families import Case
from needful.planning.pddl.writer import PddlStyle
from needful.planning.planners import generate_abstract_plans
from ours import solve
from peers import Peer
from processes import Finished
from search import Result, details, result_rows

CASE = Case("screws", 3, 1, cost=4)
PLAN = [
    "(MoveToScrew gripper_object screw0)",
    "(MagnetizeGripper gripper_object screw0)",
    "(MoveToReceptacle gripper_object receptacle_object screw0)",
    "(DemagnetizeGripper gripper_object receptacle_object screw0)",
]


def actor(program: str, **more: object) -> Peer:
    return Peer("actor", [sys.executable, "-c", program], **more)


def writes(plan: list[str]) -> str:
    """Return a program that prints its number of evaluated states and writes a plan."""
    log = "Evaluated 1 state(s).\nEvaluated 12 state(s)."
    return f"print({log!r}); open('plan', 'w').write({chr(10).join(plan)!r})"


def test_the_plan_of_a_peer_is_read_and_checked():
    answer = actor(writes(PLAN)).solve(CASE, 20, repeat=2)
    assert (answer.problem, answer.cost, answer.evaluated) == (None, 4, 12)
    assert answer.cpu_ms > 0
    assert answer.wall_ms > 0
    assert answer.peak_mb > 0


def test_plans_can_come_in_json_and_for_ground_actions():
    program = (
        f"open('plan', 'w').write({json.dumps({'plans': [{'actions': [s.strip('()') for s in PLAN]}]})!r})"
    )
    assert actor(program, read=peers._first_of_json).solve(CASE, 20, repeat=1).cost == 4
    ground = [f"({step.strip('()').replace(' ', '__')})" for step in PLAN]
    assert actor(writes(ground), style=PddlStyle.STRIPS).solve(CASE, 20, repeat=1).cost == 4


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (writes(PLAN[:-1]), "invalid plan"),
        (writes(PLAN[1:]), "invalid plan"),
        (writes(["(Fly gripper_object)"]), "unreadable plan: "),
        ("raise SystemExit('out of luck')", "exit code 1: out of luck"),
        ("import time; time.sleep(60)", "no plan in 0.5 s"),
    ],
)
def test_failures_are_reported(program, problem):
    answer = actor(program).solve(CASE, 0.5 if "sleep" in program else 20, repeat=2)
    assert answer.problem.startswith(problem)


def test_a_missing_peer_gives_an_answer():
    peer = Peer("actor", ["nothing"], missing="not installed: no network")
    assert peer.solve(CASE, 20, repeat=1) == Answer("not installed: no network")
    assert peer.start_ms() == 0.0


def test_failed_installations_are_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "ENVIRONMENT", tmp_path / "venv")
    monkeypatch.setattr(peers, "run", lambda *_: Finished("trying\nno network", 1, 0.0, 0.0, 0.0))
    found = peers.find_peers()
    assert found["pyperplan"].missing == found["k-star"].missing == "not installed: no network"


def test_an_installation_is_not_repeated(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "ENVIRONMENT", tmp_path)
    started = []
    monkeypatch.setattr(
        peers, "run", lambda *given: started.append(given) or Finished("", 0, 0.0, 0.0, 0.0)
    )
    assert peers.find_peers()["pyperplan"].missing is None
    assert len(started) == 2
    assert peers.find_peers()["k-star"].missing is None
    assert len(started) == 2


def test_the_best_of_several_runs():
    one = Answer(cost=4, evaluated=9, cpu_ms=5.0, wall_ms=6.0, peak_mb=10.0)
    other = replace(one, cpu_ms=4.0, wall_ms=7.0, peak_mb=11.0)
    assert best([one, other]) == replace(one, cpu_ms=4.0, wall_ms=6.0, peak_mb=11.0)
    assert best([one, stopped(3)]) == stopped(3)


def test_plans_are_valid_if_they_can_be_followed_to_the_goal():
    task = CASE.task()
    plan = next(generate_abstract_plans(CASE.operators(), task))
    assert valid(task, plan)
    assert not valid(task, plan[:-1])
    assert not valid(task, plan[1:])


@pytest.mark.parametrize("planner", ["paper", "python-paper", "greedy", "weighted"])
def test_our_planners_are_measured_in_a_fresh_process(planner):
    answer = solve(planner, CASE, 20, repeat=2)
    assert (answer.problem, answer.cost) == (None, 4)
    assert answer.cpu_ms > 0


def rows_of(case: Case, ours_ms: float, start_ms: float = 0.0, **others: Answer):
    answers = {"paper": Answer(cost=case.cost, cpu_ms=ours_ms, peak_mb=1.0)}
    answers |= {name.replace("_", "-"): answer for name, answer in others.items()}
    result = Result(case, "paper", answers, start_ms)
    assert details([result]).count("\n") == 1 + len(answers)
    return {row.name.split("/")[2]: row for row in result_rows(result)}


def test_ratios_of_cpu_times():
    theirs = Answer(cost=4, cpu_ms=240.0, peak_mb=1.0)
    rows = rows_of(CASE, 2.0, 40.0, pyperplan=theirs, fast_downward=theirs, k_star=theirs)
    assert rows["fast-downward : paper"].value == 120
    assert rows["fast-downward : paper"].target == 8
    # The start of pyperplan is not counted, and the remaining time determines its target.
    assert rows["pyperplan : paper"].value == 100
    assert rows["pyperplan : paper"].target == 100
    assert rows_of(CASE, 2.0, 150.0, pyperplan=theirs)["pyperplan : paper"].target == 20
    assert rows["k-star : paper"].target is None


def test_the_ratio_of_a_stopped_peer_is_a_lower_bound():
    row = rows_of(CASE, 2.0, 40.0, pyperplan=stopped(40))["pyperplan : paper"]
    assert row.value == 20_000
    assert row.target_met
    assert "no plan in 40 s" in row.note
    assert "lower bound" in row.note


def test_a_peer_that_was_stopped_too_early_has_no_target():
    row = rows_of(CASE, 2000.0, pyperplan=stopped(40))["pyperplan : paper"]
    assert (row.value, row.target, row.target_met) == (20, None, None)
    assert "too early" in row.note
    reference = rows_of(Case("paint", 3, 1, cost=7), 2.0, python_paper=stopped(40))["python-paper : paper"]
    assert reference.target_met is False


def test_a_failed_peer_does_not_meet_its_target():
    row = rows_of(CASE, 2.0, fast_downward=Answer("exit code 1: no"))["fast-downward : paper"]
    assert (row.value, row.target_met, row.note) == (None, False, "exit code 1: no")


def test_the_python_engine_has_a_target_in_paint():
    slower = Answer(cost=7, cpu_ms=62.0, peak_mb=1.0)
    row = rows_of(Case("paint", 3, 1, cost=7), 2.0, python_paper=slower)["python-paper : paper"]
    assert (row.value, row.target, row.better, row.target_met) == (31, 30, "lower", False)
    assert rows_of(CASE, 2.0, python_paper=slower)["python-paper : paper"].target is None


def test_invalid_and_suboptimal_plans_have_no_value():
    result = Result(CASE, "paper", {"paper": Answer(cost=5, cpu_ms=1.0, peak_mb=1.0)})
    (row,) = result_rows(result)
    assert row.value is None
    assert "optimal cost is 4" in row.note
    invalid = Answer("invalid plan", cost=4, cpu_ms=1.0, peak_mb=1.0)
    (row,) = result_rows(Result(CASE, "greedy", {"greedy": invalid}))
    assert (row.value, row.note) == (None, "invalid plan")
