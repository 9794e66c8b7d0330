"""The data of a page, worked out by hand for the lamp world."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamp_world import MARKUP, LampNames, Lamps
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.errors import InvalidInputError
from needful.operator_learning.doubts import Doubt, DoubtKind, Doubts
from needful.reports.comparison import run_labels
from needful.reports.page.page import make_report, operator_cards, page_data
from needful.reports.page.recorded_run import RecordedRun, read_run
from needful.reports.page.task_films import FilmLimits, FilmSelection, choose_films
from recorded_runs import run_lamps

ENV = Lamps()


def find(domain: str) -> Environment:
    return ENV if domain == ENV.name else make_environment(domain)


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    return read_run(run_lamps(tmp_path_factory.mktemp("run") / "lamps", LampNames()))


def test_an_operator_and_why_it_is_this_way(lamps: RecordedRun) -> None:
    (run,) = page_data([lamps], find)["runs"]
    (card,) = run["model"]["operators"]
    assert (card["name"], card["runs"], card["parameters"]) == ("Switch", "Switch(?x0)", [["?x0", "lamp"]])
    assert card["pddl"].startswith("(:action Switch\n  :parameters (?x0 - lamp)")
    assert (card["transitions"], card["demonstrations"]) == (8, 2)
    assert card["reasons"] == [
        {
            "kind": "adds",
            "part": "Lit(?x0)",
            "count": 8,
            "first": {
                "demonstration": 0,
                "step": 0,
                "atom": f"Lit({run['model']['demonstrations'][0][0]['objects'][0]})",
                "neededBy": "goal",
            },
        }
    ]
    # In the first step of each demonstration all four lamps become warm.
    assert card["notPredicted"] == {"Warm": 8}
    assert card["seen"] == [[demonstration, step] for demonstration in (0, 1) for step in range(4)]


def test_negative_preconditions_of_an_operator(lamps: RecordedRun) -> None:
    assert lamps.model is not None
    stored = lamps.model.stored
    (switch,) = stored.model.operators
    careful = replace(switch, negative_preconditions=switch.add_effects)
    changed = replace(
        lamps.model, stored=replace(stored, model=replace(stored.model, operators=(careful,)))
    )
    (card,) = operator_cards(changed)
    assert "(not (Lit ?x0))" in card["pddl"].partition(":effect")[0]
    assert card["reasons"][0] == {"kind": "forbids", "part": "Lit(?x0)", "count": 8, "first": None}


def test_a_demonstration_step_by_step(lamps: RecordedRun) -> None:
    (run,) = page_data([lamps], find)["runs"]

    def named(numbers: Sequence[int]) -> list[str]:
        return [run["atoms"][number] for number in numbers]

    steps = run["model"]["demonstrations"][0]
    assert [step["step"] for step in steps] == [0, 1, 2, 3]
    lit: list[str] = []
    for step in steps:
        (lamp,) = step["objects"]
        lit.append(f"Lit({lamp})")
        assert named(step["necessary"]) == sorted(lit)
        assert named(step["added"]) == [f"Lit({lamp})"]
        assert [(run["atoms"][atom], who) for atom, who in step["needed"]] == [(f"Lit({lamp})", "goal")]
        warmed = [f"Warm(lamp{number})" for number in range(4)] if step["step"] == 0 else []
        assert named(step["addedUnpredicted"]) == warmed
        assert step["deleted"] == step["forgotten"] == step["deletedUnpredicted"] == []


def test_tasks_solved_and_failed(lamps: RecordedRun) -> None:
    (run,) = page_data([lamps], find)["runs"]
    solved, failed = run["tasks"][:2]
    assert (solved["outcome"], solved["length"], solved["failure"]) == ("solved", 4, None)
    assert [len(true) for true in solved["plan"]["holding"]] == [0, 1, 2, 3, 4]
    assert solved["film"]["places"] == [0, 1, 2, 3, 4]
    assert failed["outcome"] == "subgoal_missed"
    end = failed["plan"]["end"]
    assert [run["atoms"][atom] for atom in end["missing"]] == ["Lit(lamp3)"]
    assert failed["plan"]["steps"][end["step"]] == ["Switch", ["lamp3"]]
    assert len(failed["plan"]["actions"]) == end["step"]


def test_the_climb(lamps: RecordedRun) -> None:
    (run,) = page_data([lamps], find)["runs"]
    (step,) = run["model"]["climb"]["steps"]
    assert (run["model"]["climb"]["transitions"], step["uncovered"], step["operators"]) == (8, 0, 1)
    assert step["added"][0].startswith("Switch(?x0:lamp)\n")


def test_doubts_of_the_model_and_of_cross_validation(lamps: RecordedRun) -> None:
    assert lamps.model is not None
    (run,) = page_data([lamps], find)["runs"]
    assert run["model"]["doubts"] == {
        "transitions": 8,
        "falseClaims": 0,
        "falseTransitions": 0,
        "purposeless": 0,
        "idle": 0,
        "repaired": 0,
        "items": [],
    }
    doubt = Doubt(DoubtKind.IDLE, None, "Switch", 2, "Switch added no atom", "", "Look.")
    model = replace(lamps.model, doubts=Doubts(8, 0, 5, 4, 3, 2, 1, (doubt,)))
    worse = {"operator": None, "kind": "validation", "text": "In cross-validation, ..."}
    summary = {
        **lamps.summary,
        "doubts": [worse, {"kind": "idle", "text": "not again"}, "odd", {"kind": "validation"}],
    }
    (run,) = page_data([replace(lamps, model=model, summary=summary)], find)["runs"]
    shown = run["model"]["doubts"]
    assert [
        shown[name] for name in ("falseClaims", "falseTransitions", "purposeless", "idle", "repaired")
    ] == [*(5, 4, 3, 2, 1)]
    assert shown["items"] == [
        worse,
        {"operator": None, "kind": "idle", "text": "Switch added no atom. Look."},
    ]
    (run,) = page_data([replace(lamps, model=replace(model, doubts=None))], find)["runs"]
    assert run["model"]["doubts"] is None


def test_text_of_doubts_cannot_end_the_data(lamps: RecordedRun) -> None:
    assert lamps.model is not None
    doubt = Doubt(DoubtKind.IDLE, None, "Switch", 2, f"Switch {MARKUP}", "", "Look.")
    model = replace(lamps.model, doubts=Doubts(items=(doubt,)))
    assert MARKUP not in make_report([replace(lamps, model=model)], find)


def test_films_share_what_stands_still(lamps: RecordedRun) -> None:
    data = page_data([lamps], find)
    scene = data["scenes"]["lamps"]
    # Four names, and four lamps that are either lit or not.
    assert len(scene["marks"]) == 4 + 4 * 2
    frames = [frame for task in data["runs"][0]["tasks"] for frame in task["film"]["frames"]]
    assert all(sum(frame[1::2]) == 8 for frame in frames)


def test_a_domain_that_cannot_be_drawn_has_no_pictures(lamps: RecordedRun) -> None:
    data = page_data([lamps], make_environment)
    (run,) = data["runs"]
    assert data["scenes"] == {}
    assert all(task["film"] is None and task["plan"] for task in run["tasks"])
    (note,) = run["notes"]
    assert "without pictures" in note
    assert "'lamps'" in note


class Failing(Lamps):
    """Raise an error when drawing."""

    def draw(self, state: object, axes: object, goal: object) -> None:
        raise ZeroDivisionError("no colours left")


class Renamed(Lamps):
    """Use another name for a predicate than the run."""

    def __init__(self) -> None:
        super().__init__(LampNames(lit="Shining"))


@pytest.mark.parametrize(
    ("environment", "reason"),
    [(Failing(), "ZeroDivisionError: no colours left"), (Renamed(), "predicate 'Lit'")],
)
def test_an_error_in_drawing_becomes_a_note(
    lamps: RecordedRun, environment: Environment, reason: str
) -> None:
    data = page_data([lamps, lamps], lambda _: environment)
    assert data["scenes"] == {}
    for run in data["runs"]:
        assert reason in run["notes"][0]
        assert all(task["film"] is None for task in run["tasks"])


def test_runs_without_plans_operators_or_evidence(lamps: RecordedRun) -> None:
    assert lamps.model is not None
    bare = replace(lamps.model, evidence=None, climb=None)
    (run,) = page_data([replace(lamps, plans={}, model=bare)], find)["runs"]
    (note,) = run["notes"]
    assert "not recorded" in note
    assert (run["model"]["explained"], run["model"]["climb"]) == (False, None)
    assert run["model"]["operators"][0]["seen"] == []
    (run,) = page_data([replace(lamps, model=None)], find)["runs"]
    assert run["model"] is None
    (run,) = page_data([replace(lamps, records=(), plans={}, description=None)], find)["runs"]
    assert (run["tasks"], run["notes"], run["versions"]) == ([], [], {})


def test_only_numbers_of_a_summary_are_shown(lamps: RecordedRun) -> None:
    summary = {"demos": 2, "coverage": "all", "operators": True, "seconds": {"operators": 0.5, "x": None}}
    (run,) = page_data([replace(lamps, summary=summary)], find)["runs"]
    assert (run["facts"], run["seconds"]) == ({"demos": 2}, {"operators": 0.5})
    (run,) = page_data([replace(lamps, summary={"seconds": 3})], find)["runs"]
    assert (run["facts"], run["seconds"]) == ({}, {})


def test_of_many_demonstrations_the_first_are_shown(
    lamps: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("needful.reports.page.page.MAX_DEMONSTRATIONS", 1)
    (run,) = page_data([lamps], find)["runs"]
    assert list(run["model"]["demonstrations"]) == [0]
    assert run["model"]["operators"][0]["transitions"] == 8
    assert len(run["model"]["operators"][0]["seen"]) == 4
    (note,) = run["notes"]
    assert note.startswith("Of 2 demonstrations, the first 1 ")


LIMITS = FilmLimits(pictures=1_500, films=50)


def many(run: RecordedRun, outcomes: Sequence[bool], states: int) -> RecordedRun:
    """Return a run with one task per outcome, each with the given number of states."""
    solved, failed = run.records[:2]
    records = tuple(replace(solved if good else failed, task=task) for task, good in enumerate(outcomes))
    plan = replace(run.plans[0], states=run.plans[0].states[:1] * states)
    return replace(run, records=records, plans=dict.fromkeys(range(len(outcomes)), plan))


def test_all_tasks_are_filmed_unless_they_are_too_many(lamps: RecordedRun) -> None:
    assert choose_films(many(lamps, [True] * 50, 20), LIMITS) == FilmSelection(frozenset(range(50)), 1)
    films = choose_films(many(lamps, [True] * 1000, 10), LIMITS)
    assert (len(films.tasks), films.stride) == (150, 1)
    assert sorted(films.tasks) == [number * 1000 // 150 for number in range(150)]
    assert choose_films(many(lamps, [True] * 20, 101), LIMITS) == FilmSelection(frozenset(range(20)), 2)


def test_failures_get_half_of_the_films(lamps: RecordedRun) -> None:
    outcomes = [task % 10 > 0 for task in range(1000)]
    films = choose_films(many(lamps, outcomes, 10), LIMITS).tasks
    assert sum(not outcomes[task] for task in films) == 75
    few_solved = [task < 10 for task in range(1000)]
    films = choose_films(many(lamps, few_solved, 10), LIMITS).tasks
    assert sum(not few_solved[task] for task in films) == 140


@given(outcomes=st.lists(st.booleans(), min_size=1, max_size=300), states=st.integers(1, 101))
def test_films_stay_within_their_limits(lamps: RecordedRun, outcomes: list[bool], states: int) -> None:
    run = many(lamps, outcomes, states)
    films = choose_films(run, LIMITS)
    pictures = sum(len([*range(0, states - 1, films.stride), states - 1]) for _ in films.tasks)
    assert films.tasks <= run.plans.keys()
    assert len(films.tasks) >= min(len(outcomes), LIMITS.films)
    # The last state of a plan is always drawn, which can add one picture per film.
    assert pictures <= LIMITS.pictures + len(films.tasks)


def test_omitted_pictures_become_notes(lamps: RecordedRun) -> None:
    (run,) = page_data([lamps], find, FilmLimits(pictures=6, films=2))["runs"]
    assert [task["film"] is not None for task in run["tasks"]] == [True, True, False, False]
    assert run["tasks"][0]["film"]["places"] == [0, 2, 4]
    tasks, states = run["notes"]
    assert "2 of 4 tasks" in tasks
    assert "`needful report RUN` draws more films; for your own environment, add `--environment" in tasks
    assert "one in 2 states" in states


def test_labels_are_as_short_as_they_can_be(lamps: RecordedRun) -> None:
    def labels(*changes: dict[str, object]) -> list[str]:
        return run_labels([replace(lamps, **change) for change in changes])  # type: ignore[arg-type]

    assert labels({}, {"learner": "ci"}) == ["necessary", "ci"]
    assert labels({}, {"domain": "other"}) == ["necessary", "necessary"]
    assert labels({}, {"seed": 1}) == ["necessary, seed 0", "necessary, seed 1"]
    assert labels({}, {"name": "b"}) == ["necessary, seed 0 (lamps)", "necessary, seed 0 (b)"]
    assert labels({}, {}) == [
        "necessary, seed 0 (lamps), number 1",
        "necessary, seed 0 (lamps), number 2",
    ]


def test_the_page_is_always_the_same_and_cannot_load_anything(lamps: RecordedRun) -> None:
    page = make_report([lamps], find)
    assert make_report([lamps], find) == page
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_page_needs_a_run() -> None:
    with pytest.raises(InvalidInputError, match="run"):
        make_report([], find)


class RecordedProgress:
    """Records the stages and the numbers of finished parts."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None]] = []
        self.done: list[int] = []

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        self.stages.append((name, total))
        return self.done.append


def test_progress_counts_the_tasks_of_all_runs(lamps: RecordedRun) -> None:
    progress, tasks = RecordedProgress(), len(lamps.records)
    page_data([lamps, lamps], find, progress=progress)
    assert progress.stages == [("Writing the report", 2 * tasks)]
    assert progress.done == list(range(1, 2 * tasks + 1))
    page_data([replace(lamps, records=(), plans={})], find, progress=progress)
    assert progress.stages[1:] == [("Writing the report", None)]
