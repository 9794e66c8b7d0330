"""Results of external planners, simulated by shell scripts."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path

import pytest

from external_planners import NEVER_ENDING, all_gone, noted_group, script
from fake_clock import FakeClock
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError, PlannerError
from needful.evaluation.records import config_hash
from needful.planning.engines.external_plans import ExternalPlans
from needful.planning.engines.external_programs import FastDownward, KStar
from needful.planning.grounding import GroundProblem
from planning_problems import Problem, toy_problem


@pytest.fixture(autouse=True)
def _temporary_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "temporary files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def toy() -> GroundProblem:
    return toy_problem(balls=1, jars=1).grounded()


def steps(*names: str) -> list[int]:
    problem = toy()
    known = [str(problem.ground_operator(i)) for i in range(len(problem.ground_operators))]
    return [known.index(name) for name in names]


MOVE, GRASP, DROP, LID = steps(
    "MoveTo(robot, ball0)", "Grasp(robot, ball0)", "Drop(robot, ball0, jar0)", "TakeLidOff(robot, jar0)"
)


def fast_downward(
    folder: Path, text: str, budget: Budget | None = None, statistics: SearchStatistics | None = None
) -> ExternalPlans:
    search = FastDownward(program=script(folder, text))
    return search(toy(), 0, budget or Budget.unlimited(), statistics or SearchStatistics())


def plan_file(*plan: int) -> str:
    lines = "".join(f"(o{step})\\n" for step in plan)
    return f"printf '{lines}; cost = {len(plan)} (unit cost)\\n' > plan"


def k_star(folder: Path, *plans: list[int], requested: int = 3, status: int = 0) -> ExternalPlans:
    answer = {"plans": [{"cost": len(p), "actions": [f"o{step}" for step in p]} for p in plans]}
    program = script(folder, f"echo '{json.dumps(answer)}' > plans.json; exit {status}")
    return KStar(plans=requested, program=program)(toy(), 0, Budget.unlimited(), SearchStatistics())


def test_after_one_plan_it_is_unknown_whether_there_are_more(tmp_path: Path) -> None:
    stream = fast_downward(tmp_path, plan_file(MOVE, GRASP, DROP))
    assert list(stream) == [(MOVE, GRASP, DROP)]
    assert stream.end_reason is None
    assert next(stream, None) is None


def test_the_program_is_started_when_a_plan_is_requested_and_only_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    stream = fast_downward(tmp_path, f"echo started >> {count}; {plan_file(MOVE, GRASP, DROP)}")
    assert not count.exists()
    assert len([*stream, *stream]) == 1
    assert count.read_text() == "started\n"


@pytest.mark.parametrize(
    ("status", "end_reason"),
    [
        (11, Outcome.NO_ABSTRACT_PLAN),
        (12, None),
        (22, Outcome.OUT_OF_NODES),
        (23, Outcome.TIMEOUT),
        (24, Outcome.TIMEOUT),
    ],
)
def test_without_a_plan_the_exit_status_is_the_end_reason(
    tmp_path: Path, status: int, end_reason: Outcome | None
) -> None:
    stream = fast_downward(tmp_path, f"exit {status}")
    assert list(stream) == []
    assert stream.end_reason is end_reason


def test_the_deadline(tmp_path: Path) -> None:
    note = tmp_path / "note"
    stream = fast_downward(tmp_path, NEVER_ENDING.format(note=note), Budget.seconds(2.0))
    assert list(stream) == []
    assert stream.end_reason is Outcome.TIMEOUT
    assert all_gone(noted_group(note))


def test_the_deadline_may_pass_before_or_while_the_task_is_written(tmp_path: Path) -> None:
    for seconds in (0.0, 1.0, 3.0, 7.0):
        budget = Budget.seconds(seconds, clock=FakeClock(tick=1.0))
        stream = fast_downward(tmp_path, "exit 99", budget)
        assert list(stream) == []
        assert stream.end_reason is Outcome.TIMEOUT


def test_the_deadline_holds_between_plans(tmp_path: Path) -> None:
    clock = FakeClock()
    stream = fast_downward(tmp_path, plan_file(MOVE, GRASP, DROP), Budget.seconds(60.0, clock=clock))
    assert next(stream, None) is not None
    clock.now = 61.0
    assert next(stream, None) is None
    assert stream.end_reason is Outcome.TIMEOUT


def test_spent_nodes_end_the_search_before_it_begins(tmp_path: Path) -> None:
    statistics = SearchStatistics(nodes_created=10)
    stream = fast_downward(tmp_path, "exit 99", Budget.seconds(60.0, max_nodes=10), statistics)
    assert list(stream) == []
    assert stream.end_reason is Outcome.OUT_OF_NODES


def test_a_goal_that_holds_needs_no_program(tmp_path: Path) -> None:
    problem = toy_problem()
    search = FastDownward(program=script(tmp_path, "exit 99"))
    for goal in (frozenset(), frozenset(sorted(problem.initial)[:1])):
        done = Problem(problem.operators, problem.objects, problem.initial, goal)
        stream = search(done.grounded(), 0, Budget.unlimited(), SearchStatistics())
        assert list(stream) == [()]
        assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN


def test_a_goal_out_of_reach_needs_no_program(tmp_path: Path) -> None:
    problem = toy_problem()
    nothing_to_do = Problem((), problem.objects, problem.initial, problem.goal).grounded()
    search = FastDownward(program=script(tmp_path, "exit 99"))
    stream = search(nothing_to_do, 0, Budget.unlimited(), SearchStatistics())
    assert list(stream) == []
    assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN


def test_counters_are_the_last_that_were_printed(tmp_path: Path) -> None:
    text = """
    echo '[t=0.1s, 9 KB] Generated 5 state(s).'
    echo '[t=0.2s, 9 KB] Expanded 11 state(s).'
    echo '[t=0.2s, 9 KB] Evaluated 12 state(s).'
    echo '[t=0.2s, 9 KB] Generated 13 state(s).'
    echo '[t=0.2s, 9 KB] Generated until last jump: 7 state(s).'
    """
    statistics = SearchStatistics(nodes_created=100, nodes_expanded=200, nodes_evaluated=300)
    next(fast_downward(tmp_path, text + plan_file(MOVE, GRASP, DROP), statistics=statistics))
    assert (statistics.nodes_created, statistics.nodes_expanded, statistics.nodes_evaluated) == (
        113,
        211,
        312,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo kaputt >&2; exit 32", "kaputt"),
        ("exit 33", "status 33.*(none)"),
        ("kill -SEGV $$", "status 139"),
        ("echo no plan", "no plan"),
        ("echo '(pick o0 up)' > plan", "pick o0 up"),
        ("echo '(o9999)' > plan", "invalid plan"),
        ("head -c 100 /dev/urandom > plan", "invalid plan"),
        (plan_file(), "not reach the goal"),
        (plan_file(MOVE, GRASP), "not reach the goal"),
        (plan_file(GRASP, DROP), "not applicable"),
    ],
)
def test_a_program_that_fails_is_reported_with_its_last_output(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(PlannerError, match=rf"(?s)Fast Downward.*{message}"):
        next(fast_downward(tmp_path, text))


def test_only_the_last_output_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PlannerError) as caught:
        next(
            fast_downward(tmp_path, "for i in 1 2 3 4 5 6 7 8 9; do echo early; done; seq 101 110; exit 1")
        )
    assert "early" not in str(caught.value)
    assert str(caught.value).endswith("109\n110")


def test_several_plans_in_the_order_of_the_planner(tmp_path: Path) -> None:
    plans = [[MOVE, GRASP, DROP], [MOVE, MOVE, GRASP, DROP], [LID, MOVE, GRASP, DROP]]
    stream = k_star(tmp_path, *plans)
    assert [list(plan) for plan in stream] == plans
    assert stream.end_reason is None


def test_fewer_plans_than_requested_are_all_plans(tmp_path: Path) -> None:
    stream = k_star(tmp_path, [MOVE, GRASP, DROP], requested=2)
    assert list(stream) == [(MOVE, GRASP, DROP)]
    assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN


def test_plans_that_continue_after_the_goal_are_dropped(tmp_path: Path) -> None:
    plans = [[MOVE, GRASP, DROP], [MOVE, GRASP, DROP, LID], [LID, MOVE, GRASP, DROP]]
    stream = k_star(tmp_path, *plans)
    assert list(stream) == [tuple(plans[0]), tuple(plans[2])]
    assert stream.end_reason is None


def test_k_star_proves_that_there_is_no_plan(tmp_path: Path) -> None:
    stream = k_star(tmp_path, status=12)
    assert list(stream) == []
    assert stream.end_reason is Outcome.NO_ABSTRACT_PLAN


@pytest.mark.parametrize(
    "text", ["", "echo '[1, 2]' > plans.json", "echo '{}' > plans.json", "echo { > plans.json"]
)
def test_malformed_plans_of_k_star_are_reported(tmp_path: Path, text: str) -> None:
    stream = KStar(program=script(tmp_path, text))(toy(), 0, Budget.unlimited(), SearchStatistics())
    with pytest.raises(PlannerError, match="invalid plan"):
        next(stream)


@pytest.mark.parametrize("search", [FastDownward, KStar])
def test_a_missing_planner_is_reported_with_the_install_command(
    search: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlannerError, match=r"pip install 'needful\[planners\]'"):
        search()


def test_a_package_without_its_program_counts_as_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("needful.planning.engines.external_programs._K_STAR", "somewhere/else")
    with pytest.raises(PlannerError, match="not installed"):
        KStar()


@pytest.mark.parametrize("name", ["nothing", "text", ""])
def test_a_program_must_be_executable(tmp_path: Path, name: str) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(InvalidInputError, match="not an executable file"):
        FastDownward(program=str(tmp_path / name))


def test_the_path_of_a_program_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, plan_file(MOVE, GRASP, DROP))
    monkeypatch.chdir(tmp_path)
    assert next(FastDownward(program="planner")(toy(), 0, Budget.unlimited(), SearchStatistics()), None)


def test_invalid_settings_of_external_planners(tmp_path: Path) -> None:
    program = script(tmp_path, "")
    with pytest.raises(InvalidInputError, match="plans must be at least 1"):
        KStar(plans=0, program=program)
    with pytest.raises(InvalidInputError, match="needs a search"):
        FastDownward(search=" ", program=program)


def test_a_search_can_be_sent_to_other_processes_and_identified(tmp_path: Path) -> None:
    for search in (FastDownward(program=script(tmp_path, "")), KStar(program=script(tmp_path, ""))):
        assert pickle.loads(pickle.dumps(search)) == search
        assert config_hash(search) != config_hash(type(search)(memory=1, program=search.program))
