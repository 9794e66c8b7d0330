"""3D films of plans: their data, and the player in a browser."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from headless_browser import CHROMIUM, Browser, open_browser
from needful.core.objects import Object
from needful.core.plans import Draw, PlanningResult
from needful.core.tasks import Task
from needful.envs.household.environment import CollectingCans
from needful.envs.household.simulation.snapshot import apply_snapshot, as_snapshot
from needful.envs.household.view.film import MILLISECONDS, plan_keyframes
from needful.envs.household.view.rendering import WALL_CUT_HEIGHT
from needful.reports.notebook import KEYFRAMES as MAX_KEYFRAMES
from needful.reports.notebook import plan_page
from needful.reports.page.page import make_report
from needful.reports.page.recorded_run import RecordedRun
from needful.reports.page.task_films import FilmLimits
from needful.storage.plans import record_plan
from needful.sweeps.jobs import Job
from synthetic_results import make_record
from tiny_errand import cut_short, run_errand

WORLD, RESULT = run_errand()
GOAL = RESULT.subgoals[-1]
TASK = Task(RESULT.states[0], GOAL)
KEYFRAMES = plan_keyframes(WORLD, RESULT.states, RESULT.actions, MAX_KEYFRAMES)
STEPS = len(RESULT.actions)
WIDE, HIGH = 1000, 900


def find(domain: str) -> CollectingCans:
    environment = CollectingCans()
    environment._worlds.add(WORLD)
    return environment


def page_of(result: PlanningResult) -> str:
    return plan_page(result, find("collecting-cans"), TASK)


def run_of(tasks: int) -> RecordedRun:
    """Return a run of which every task has the same plan."""
    job = Job("collecting-cans", "necessary")
    return RecordedRun(
        name="run",
        domain=job.domain,
        learner=job.learner,
        seed=0,
        summary={},
        records=tuple(make_record(job, task) for task in range(tasks)),
        plans={task: record_plan(task, TASK, RESULT, "solved") for task in range(tasks)},
    )


def data_of(page: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def missed(steps: int) -> PlanningResult:
    """Return a plan that failed after some of its steps, with two tries of the next one."""
    failed = cut_short(RESULT, steps)
    assert failed.failure is not None
    states = RESULT.states[steps + 1], RESULT.states[steps + 2]
    draws = [
        Draw(RESULT.actions[steps].parameters, failed.failure.outcome, state=state) for state in states
    ]
    never = Draw(RESULT.actions[steps].parameters, failed.failure.outcome)
    return replace(failed, failure=replace(failed.failure, draws=(never, *draws)))


PAGE = page_of(RESULT)
FILM = data_of(PAGE)["film"]


def test_the_page_is_small_always_the_same_and_loads_nothing():
    assert len(PAGE) < 250_000
    assert page_of(RESULT) == PAGE
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', PAGE)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert not re.search(r"https?:(?!//www.w3.org/2000/svg)|@import|\bsrc=", PAGE)


def test_every_body_has_mujocos_pose_in_every_keyframe():
    model = WORLD.model
    data = mujoco.MjData(model.query_model)
    bodies: dict[int, list[float]] = {}
    for keyframe, moves in zip(KEYFRAMES, FILM["moves"], strict=True):
        bodies |= {body: numbers for body, *numbers in moves}
        apply_snapshot(model, data, as_snapshot(model, keyframe.state))
        mujoco.mj_forward(model.query_model, data)
        shown = np.array([bodies[body] for body in range(model.query_model.nbody)])
        assert np.abs(shown[:, :3] - data.xpos).max() <= 0.0005001
        assert np.abs(shown[:, 3:] - data.xquat).max() <= 0.0000501
    assert sum(map(len, FILM["moves"][1:])) < 4 * len(KEYFRAMES)


def test_every_part_has_its_size_in_the_scene():
    scene = WORLD.model.scene
    categories = {category.name: category for category in scene.categories}
    parts = [part for thing in scene.things for part in categories[thing.category].parts]
    parts += [
        part
        for thing in scene.things
        if (hinge := categories[thing.category].hinge)
        for part in hinge.parts
    ]
    shown = sorted((shape["kind"], *shape["half"]) for shape in FILM["shapes"] if shape["body"] > 0)
    robot = [("ball", 0.035, 0.035, 0.035), ("box", 0.035, 0.08, 0.05), ("cylinder", 0.22, 0.22, 0.375)]
    wanted = robot + [
        ("cylinder" if part.round else "box", *(round(length, 3) for length in part.box.half))
        for part in parts
    ]
    assert len(shown) == len(wanted)
    assert np.allclose([row[1:] for row in shown], [row[1:] for row in sorted(wanted)], atol=0.001)
    walls = [shape for shape in FILM["shapes"] if shape["colour"][3] < 1]
    assert len(walls) == len(scene.walls)
    assert all(wall["centre"][2] + wall["half"][2] == pytest.approx(WALL_CUT_HEIGHT) for wall in walls)


def test_steps_end_where_the_plan_reached_their_states():
    assert [KEYFRAMES[end].state for end in FILM["ends"]] == list(RESULT.states)
    lengths = [after - before for before, after in itertools.pairwise(FILM["ends"])]
    assert FILM["milliseconds"] == [MILLISECONDS * length for length in lengths]
    assert FILM["bodies"]["package"][0] == WORLD.model.query_model.body("package").id


def test_a_failed_plan_ends_with_its_best_try_and_shows_all_tries():
    film = data_of(page_of(missed(2)))["film"]
    assert len(film["ends"]) == 4
    assert [number for _, _, number in film["tries"]] == [1, 2]
    # The first try ended in the state after the third step of the whole plan.
    shown: dict[int, list[float]] = {}
    for moves in FILM["moves"][: FILM["ends"][3] + 1]:
        shown |= {body: pose for body, *pose in moves}
    assert film["tries"][0][1]
    assert all(shown[body] == pose for body, *pose in film["tries"][0][1])


def test_names_cannot_become_markup():
    step = RESULT.abstract_plan[0]
    evil = Object("</script><!--{{policy}}", step.objects[0].type)
    plan = (step.operator.ground((evil,)), *RESULT.abstract_plan[1:])
    page = page_of(replace(RESULT, abstract_plan=plan))
    assert page.count("</script>") == PAGE.count("</script>") == 2
    assert data_of(page)["plan"]["steps"][0][1] == [evil.name]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("There is no Chromium (Debian: apt install chromium).")
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "task.html"
    path.write_text(PAGE)
    return path


def open_still(browser: Browser, file: Path, width: int = WIDE, scheme: str = "light") -> None:
    """Open a page for a user who prefers reduced motion, so that steps are not animated."""
    browser.open(file, width, HIGH, scheme)
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    browser.send(
        "Emulation.setEmulatedMedia",
        features=[{"name": name, "value": value} for name, value in features.items()],
    )


def house_in(browser: Browser) -> np.ndarray:
    """Return the screenshot of the 3D view, without the rest of the page."""
    shown = "document.querySelector('canvas').getBoundingClientRect()"
    x, y, width, height = map(round, browser.run(f"(r => [r.x, r.y, r.width, r.height])({shown})"))
    return browser.picture()[y + 4 : y + height - 4, x + 4 : x + width - 4].astype(int)


def changed(one: np.ndarray, other: np.ndarray) -> float:
    return float((np.abs(one - other).max(axis=2) > 12).mean())


def test_the_report_plays_plans_in_3d(browser, tmp_path):
    page = make_report([run_of(20)], find)
    assert len(page) < 1_000_000
    shown = data_of(page)["runs"][0]
    films = [task["film"] for task in shown["tasks"] if task["film"]]
    assert len(films) == FilmLimits().films_3d
    assert films[0]["shapes"] == FILM["shapes"]
    assert [note for note in shown["notes"] if "tasks have films" in note]
    (tmp_path / "report.html").write_text(page)
    open_still(browser, tmp_path / "report.html")
    # Browsers limit the number of 3D views. Opening many tasks must not exceed it.
    for task in (0, 2, 4, 6) * 5:
        browser.run(f"document.querySelectorAll('.chip')[{task}].click()")
    browser.run("document.querySelector('.player').scrollIntoView()")
    assert house_in(browser).std() > 15
    assert browser.messages == []
    assert browser.requests == [(tmp_path / "report.html").as_uri()]


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (390, "light")])
def test_a_browser_shows_the_house_and_the_plan(browser, file, width, scheme):
    open_still(browser, file, width, scheme)
    house = house_in(browser)
    assert house.std() > 15
    assert (house[2, 2].mean() < 100) == (scheme == "dark")
    names = browser.run(
        "[...document.querySelectorAll('.step-name')].map(one => one.firstChild.textContent)"
    )
    assert names == ["Start", *map(str, RESULT.abstract_plan)]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.messages == []
    assert browser.requests == [file.as_uri()]


def test_keys_and_steps_mean_the_same_as_in_2d(browser, file):
    open_still(browser, file)
    status = "document.querySelector('.status').textContent"
    start = house_in(browser)
    browser.run("document.querySelector('canvas').focus()")
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", STEPS), ("Home", 0)):
        browser.press(key)
        text = f"After step {step} of {STEPS}: {RESULT.abstract_plan[step - 1]}" if step else "The start"
        assert browser.run(status) == text
        assert (changed(start, house_in(browser)) > 0) == (step > 0)
    reached = "document.querySelector('.judged .count').textContent"
    assert browser.run(reached) == " 0 of 2"
    browser.press("End")
    assert browser.run(reached) == " 2 of 2"
    play = "document.querySelector('.controls .primary').getAttribute('aria-label')"
    for label in ("Pause", "Play"):
        browser.press(" ", " ")
        assert browser.run(play) == label


def test_keys_at_the_start_do_not_move_the_film(browser, file):
    browser.open(file, 1200, 900)  # with motion: `open_still` jumps from step to step
    browser.run("document.querySelector('canvas').focus()")
    for key in ("Home", "ArrowLeft"):
        browser.press(key)
        assert browser.run("document.querySelector('input[type=range]').value") == "0"
    assert browser.messages == []


def test_the_mouse_and_the_keyboard_turn_the_house(browser, file):
    open_still(browser, file)
    start = house_in(browser)
    browser.mouse("mousePressed", 200, 300, button="left", buttons=1)
    browser.mouse("mouseMoved", 280, 330, button="left", buttons=1)
    browser.mouse("mouseReleased", 280, 330, button="left")
    assert changed(start, house_in(browser)) > 0.05
    browser.press("0", "0")
    assert changed(start, house_in(browser)) == 0
    for key in ("ArrowLeft", "ArrowUp"):
        browser.press(key, shift=True)
        assert changed(start, house_in(browser)) > 0.02
    browser.press("0", "0")
    browser.mouse("mouseWheel", 200, 300, deltaX=0, deltaY=-300)
    assert changed(start, house_in(browser)) > 0.05
    browser.press("0", "0")
    browser.press("1", "1")
    whole = house_in(browser)
    assert changed(start, whole) > 0.05
    edges = (whole[2], whole[:, 2], whole[:, -3])
    assert all((np.abs(edge - whole[2, 2]).max(axis=-1) <= 12).all() for edge in edges)
    assert browser.messages == []


def test_things_are_named_under_the_pointer(browser, file):
    open_still(browser, file)
    tip = "(tip => tip && !tip.hidden ? tip.textContent : null)(document.querySelector('.tip'))"
    named = set()
    for x in range(40, 560, 60):
        for y in range(150, 500, 60):
            browser.mouse("mouseMoved", x, y)
            named.add(browser.run(tip))
    assert named - {None} <= set(FILM["bodies"])
    assert len(named) > 2


def test_tries_are_shown_and_hidden(browser, tmp_path):
    (tmp_path / "failed.html").write_text(page_of(missed(2)))
    open_still(browser, tmp_path / "failed.html")
    assert "Not solved" in browser.run("document.querySelector('.failure').textContent")
    browser.run("document.querySelector('canvas').focus()")
    browser.press("End")
    browser.press("ArrowLeft")  # to the state in which the failed step starts
    tries = house_in(browser)
    browser.run("document.querySelector('.player .filter input').click()")
    assert changed(tries, house_in(browser)) > 0.0005
    assert browser.messages == []


def test_without_webgl_the_plan_can_still_be_followed(browser, file):
    blind = "HTMLCanvasElement.prototype.getContext = () => null"
    number = browser.send("Page.addScriptToEvaluateOnNewDocument", source=blind)["identifier"]
    try:
        open_still(browser, file)
        assert "WebGL 2" in browser.run("document.querySelector('.scene').textContent")
        browser.run("document.querySelector('[aria-label=\"Next step\"]').click()")
        assert browser.run("document.querySelector('.status').textContent").startswith("After step 1 of")
        assert browser.messages == []
    finally:
        browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=number)
