"""The page of a plan: its data, and its behaviour in a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from headless_browser import CHROMIUM, Browser, open_browser
from needful.core.objects import Object
from needful.core.plans import Draw, PlanningResult
from needful.envs.drawing.inline_page import as_safe_json
from needful.envs.household.simulation.snapshot import apply_snapshot, as_snapshot
from needful.envs.household.view.film import plan_keyframes
from needful.envs.household.view.page import MAX_KEYFRAMES, make_page
from needful.envs.household.view.rendering import WALL_CUT_HEIGHT
from tiny_errand import cut_short, run_errand

WORLD, RESULT = run_errand()
GOAL = RESULT.subgoals[-1]
PAGE = make_page(WORLD, RESULT, GOAL, "collecting-cans")
KEYFRAMES = plan_keyframes(WORLD, RESULT, MAX_KEYFRAMES)
WIDE, HIGH = 900, 600


def data_of(page: str):
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


DATA = data_of(PAGE)


def test_the_page_is_small_and_always_the_same():
    assert len(PAGE) < 200_000
    assert make_page(WORLD, RESULT, GOAL, "collecting-cans") == PAGE


def test_the_page_loads_and_runs_nothing_else():
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', PAGE)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert not re.search(r"https?:|//[a-z]+\.|@import|\bsrc=", PAGE)


def test_every_body_has_mujocos_pose_in_every_keyframe():
    model = WORLD.model
    data = mujoco.MjData(model.query_model)
    assert len(DATA["moves"]) == len(DATA["stepOf"]) == len(DATA["flips"]) == len(KEYFRAMES)
    bodies: dict[int, list[float]] = {}
    for keyframe, moves in zip(KEYFRAMES, DATA["moves"], strict=True):
        bodies |= {body: numbers for body, *numbers in moves}
        apply_snapshot(model, data, as_snapshot(model, keyframe.state))
        mujoco.mj_forward(model.query_model, data)
        shown = np.array([bodies[body] for body in range(model.query_model.nbody)])
        assert np.abs(shown[:, :3] - data.xpos).max() <= 0.0005001
        assert np.abs(shown[:, 3:] - data.xquat).max() <= 0.0000501
    assert sum(map(len, DATA["moves"][1:])) < 4 * len(KEYFRAMES)


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
    shown = sorted((shape["kind"], *shape["half"]) for shape in DATA["shapes"] if shape["body"] > 0)
    robot = [("ball", 0.035, 0.035, 0.035), ("box", 0.035, 0.08, 0.05), ("cylinder", 0.22, 0.22, 0.375)]
    wanted = robot + [
        ("cylinder" if part.round else "box", *(round(length, 3) for length in part.box.half))
        for part in parts
    ]
    assert len(shown) == len(wanted)
    assert np.allclose([row[1:] for row in shown], [row[1:] for row in sorted(wanted)], atol=0.001)
    walls = [shape for shape in DATA["shapes"] if shape["colour"][3] < 1]
    assert len(walls) == len(scene.walls)
    assert all(wall["centre"][2] + wall["half"][2] == pytest.approx(WALL_CUT_HEIGHT) for wall in walls)


def test_atoms_are_lit_exactly_when_they_hold():
    atoms = sorted(GOAL.union(*RESULT.subgoals))
    assert DATA["atoms"] == [str(atom) for atom in atoms]
    true: set[int] = set()
    for keyframe, flips in zip(KEYFRAMES, DATA["flips"], strict=True):
        true ^= set(flips)
        assert true == {number for number, atom in enumerate(atoms) if atom.holds(keyframe.state)}
    assert set(DATA["goal"]) <= true


def test_the_page_lists_the_steps_with_their_subgoals():
    names = [step["name"] for step in DATA["steps"]]
    assert names == ["Start", *map(str, RESULT.abstract_plan)]
    for step, subgoal in zip(DATA["steps"], RESULT.subgoals, strict=True):
        assert {DATA["atoms"][number] for number in step["subgoal"]} == set(map(str, subgoal))
    package = WORLD.model.query_model.body("package").id
    assert package in DATA["steps"][-1]["bodies"]
    assert DATA["stepOf"] == [keyframe.step for keyframe in KEYFRAMES]


def test_a_failure_is_shown_and_no_text_becomes_markup():
    page = make_page(WORLD, cut_short(RESULT, 2), GOAL, "<b>&-cans")
    assert "Not solved: no &lt;path&gt; &amp; no way" in page
    assert "<h1>&lt;b&gt;&amp; cans</h1>" in page
    assert max(data_of(page)["stepOf"]) == 2
    nasty = ["</script><script>alert(1)</script>", "<!--", "]]>", "&amp;", "{{script}}", "\u2028"]
    text = as_safe_json(nasty)
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == nasty


def test_names_of_things_cannot_break_out():
    # Placeholders in names are not replaced, and a name cannot end the script element.
    step = RESULT.abstract_plan[0]
    evil = Object("</script><!--{{policy}}", step.objects[0].type)
    plan = (step.operator.ground((evil,)), *RESULT.abstract_plan[1:])
    result = PlanningResult(RESULT.outcome, plan, RESULT.actions, RESULT.states, RESULT.subgoals)
    page = make_page(WORLD, result, GOAL, "cans")
    assert page.count("</script>") == PAGE.count("</script>") == 2
    assert data_of(page)["steps"][1]["name"] == "NavigateTo(</script><!--{{policy}})"


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


def house_in(browser: Browser) -> np.ndarray:
    """Return the screenshot of the 3D view, without the rest of the page."""
    box = browser.run("(({x, y, width, height}) => [x, y, width, height])(view.getBoundingClientRect())")
    x, y, width, height = map(round, box)
    return browser.picture()[y + 4 : y + height - 40, x + 4 : x + width - 4].astype(int)


def changed(one: np.ndarray, other: np.ndarray) -> float:
    return float((np.abs(one - other).max(axis=2) > 12).mean())


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (390, "light")])
def test_a_browser_shows_the_house_and_the_plan(browser, file, width, scheme):
    browser.open(file, width, HIGH, scheme)
    house = house_in(browser)
    assert house.std() > 15
    sky, paper = house[2, 2].mean(), browser.run("getComputedStyle(steps.parentElement).backgroundColor")
    assert (sky < 100) == (scheme == "dark") == (paper != "rgb(255, 255, 255)")
    assert browser.run("[...steps.children].map(step => step.querySelector('button').innerText)") == [
        "Start",
        *(f"{number}\n{step}" for number, step in enumerate(RESULT.abstract_plan, 1)),
    ]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.messages == []
    assert browser.requests == [file.as_uri()]


def test_the_time_slider_shows_another_moment_and_its_atoms(browser, file):
    browser.open(file, WIDE, HIGH)
    start = house_in(browser)
    assert browser.run("reached.textContent") == "0 of 2"
    browser.run("time.value = time.max, time.dispatchEvent(new Event('input'))")
    end = house_in(browser)
    assert changed(start, end) > 0.005
    assert browser.run("reached.textContent") == "2 of 2"
    assert browser.run("now.textContent") == "Step 6 of 6"
    assert (
        browser.run("document.querySelector('[aria-current=step] button').innerText") == "6\nOpen(package)"
    )
    lit = browser.run(
        "[...document.querySelectorAll('[aria-current] .true')].map(item => item.textContent)"
    )
    assert sorted(lit) == sorted(map(str, GOAL))
    browser.run("steps.children[0].querySelector('button').click()")
    assert changed(start, house_in(browser)) == 0


def test_it_plays_to_the_end_and_pauses(browser, file):
    browser.open(file, WIDE, HIGH)
    browser.run("speed.value = 4, play.click()")
    assert browser.run("play.getAttribute('aria-label')") == "Pause"
    browser.run("new Promise(done => setTimeout(done, 400))")
    browser.run("play.click()")
    moment = browser.run("Number(time.value)")
    assert 0 < moment <= len(KEYFRAMES) - 1
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert browser.run("Number(time.value)") == moment
    browser.run("time.value = time.max - 1, time.dispatchEvent(new Event('input')), play.click()")
    browser.run("new Promise(done => setInterval(() => play.ariaLabel === 'Play' && done(), 20))")
    assert browser.run("[Number(time.value), play.getAttribute('aria-label')]") == [
        len(KEYFRAMES) - 1,
        "Play",
    ]


def test_the_mouse_and_the_keyboard_turn_the_house(browser, file):
    browser.open(file, WIDE, HIGH)
    start = house_in(browser)
    browser.mouse("mousePressed", 200, 200, button="left", buttons=1)
    browser.mouse("mouseMoved", 280, 230, button="left", buttons=1)
    browser.mouse("mouseReleased", 280, 230, button="left")
    assert changed(start, house_in(browser)) > 0.05
    browser.run("view.focus()")
    browser.press("0", "0")
    assert changed(start, house_in(browser)) == 0
    for key in ("ArrowLeft", "ArrowUp"):
        browser.press(key, shift=True)
        assert changed(start, house_in(browser)) > 0.02
    browser.press("0", "0")
    browser.mouse("mouseWheel", 200, 200, deltaX=0, deltaY=-300)
    assert changed(start, house_in(browser)) > 0.05
    browser.press(" ", " ")
    assert browser.run("play.getAttribute('aria-label')") == "Pause"
    browser.press(" ", " ")
    assert browser.run("play.getAttribute('aria-label')") == "Play"
    assert browser.messages == []


def test_steps_and_keys_mean_the_same_as_in_the_report(browser, file):
    browser.open(file, WIDE, HIGH)
    current = "document.querySelector('[aria-current=step] .number').textContent"
    frame = "Number(time.value)"
    ends = [len(KEYFRAMES) - 1 - DATA["stepOf"][::-1].index(step) for step in range(7)]
    browser.run("view.focus()")
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 6), ("Home", 0)):
        browser.press(key)
        assert browser.run(frame) == ends[step]
        assert browser.run(current) == (str(step) if step else "")
    browser.run("steps.children[3].querySelector('button').click()")
    assert browser.run(frame) == ends[3]
    assert browser.run("now.textContent") == "Step 3 of 6"
    browser.run("back.click()")
    assert browser.run(frame) == ends[2]


@pytest.mark.parametrize("width", [WIDE, 390])
def test_the_whole_house_fits_into_the_view(browser, file, width):
    browser.open(file, width, HIGH)
    rooms = house_in(browser)
    browser.run("house.click()")
    whole = house_in(browser)
    assert changed(rooms, whole) > 0.05
    sky = whole[2, 2]
    edges = (whole[2], whole[:, 2], whole[:, -3])
    assert all((np.abs(edge - sky).max(axis=-1) <= 12).all() for edge in edges)
    browser.run("house.click()")
    assert changed(rooms, house_in(browser)) == 0


def test_things_are_named_under_the_pointer_and_unchanged_atoms_are_folded(browser, file):
    browser.open(file, WIDE, HIGH)
    named = set()
    for x in range(20, 600, 50):
        for y in range(100, 460, 60):
            browser.mouse("mouseMoved", x, y)
            if browser.run("!thing.hidden"):
                named.add(browser.run("thing.textContent"))
    assert named <= set(DATA["names"].values())
    assert len(named) > 1
    folded = browser.run("[...document.querySelectorAll('.unchanged summary')].map(one => one.textContent)")
    kept = [len(now & before) for before, now in zip(RESULT.subgoals, RESULT.subgoals[1:], strict=False)]
    assert folded == [f"{count} unchanged" for count in kept if count]


def test_a_failed_plan_ends_with_its_best_try_and_the_cause():
    failed = cut_short(RESULT, 2)
    draw = Draw(RESULT.actions[2].parameters, failed.failure.outcome, state=RESULT.states[3])
    missed = replace(failed, failure=replace(failed.failure, draws=(draw,)))
    page = make_page(WORLD, missed, GOAL, "cans")
    shown = data_of(page)
    assert max(shown["stepOf"]) == 3
    assert "Step 3: " in page
    # The try is a transparent copy of what it moved. It is below the house until its step starts.
    bodies = WORLD.model.query_model.nbody
    copies = {shape["body"] for shape in shown["shapes"] if shape["body"] >= bodies}
    assert copies == set(range(bodies, bodies + len(copies))) != set()
    started = max(index for index, step in enumerate(shown["stepOf"]) if step == 2)
    placed = [{body: pose for body, *pose in shown["moves"][frame]} for frame in (0, started)]
    assert all(placed[0][body][2] < -10 for body in copies)
    assert all(placed[1][body][2] > -1 for body in copies)
    assert len(shown["moves"][0]) == bodies + len(copies)


def test_without_webgl_the_plan_can_still_be_followed(browser, file):
    blind = "HTMLCanvasElement.prototype.getContext = () => null"
    number = browser.send("Page.addScriptToEvaluateOnNewDocument", source=blind)["identifier"]
    try:
        browser.open(file, WIDE, HIGH)
        assert browser.run("unseen.hidden") is False
        browser.run("next.click()")
        assert browser.run("now.textContent") == "Step 1 of 6"
        assert browser.messages == []
    finally:
        browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=number)
