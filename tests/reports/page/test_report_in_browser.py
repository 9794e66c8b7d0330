"""The page in a real browser, opened from disk."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from axe_core import fetch_axe, violations
from headless_browser import CHROMIUM, Browser, open_browser
from lamp_world import HOSTILE, MARKUP, LampNames, Lamps
from needful.core.plans import Draw, Outcome
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.operator_learning.doubts import Doubt, DoubtKind, Doubts
from needful.reports.page.page import make_report
from needful.reports.page.recorded_run import RecordedRun, read_run
from needful.reports.page.task_films import bound_to
from needful.storage.plans import PLANS_FILE, header_line, plan_line, read_plans
from recorded_runs import run_lamps, run_screws

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open pages with")

WIDE, HIGH, PHONE = 1200, 900, 360
MISSES, UNLISTED = 12, 3188
LAMPS, HOSTILE_LAMPS = Lamps(), Lamps(HOSTILE)
# Names of 10,000 characters, and names that change the direction of the text.
ENDLESS = LampNames(
    "endless",
    lit="\u202e" + "L" * 10_000,
    switch="S" * 10_000,
    lamps=("\u202elamp0", "\u2067lamp1", "lamp\u200f2", "l" * 10_000),
)


def find(domain: str) -> Environment:
    lamp_worlds = {one.name: one for one in (LAMPS, HOSTILE_LAMPS, Lamps(ENDLESS))}
    return lamp_worlds.get(domain) or make_environment(domain)


@dataclass(frozen=True)
class Pages:
    """Pages on disk, and the run on Screws."""

    folder: Path
    screws: RecordedRun

    def __getitem__(self, name: str) -> Path:
        return self.folder / f"{name}.html"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    folder = tmp_path_factory.mktemp("pages")
    screws = read_run(run_screws(folder / "screws", tasks=50))
    lamps = run_lamps(folder / "lamps", LampNames())
    about = {
        "screws": [screws],
        "lamps": [read_run(lamps)],
        "hostile": [read_run(run_lamps(folder / "hostile", HOSTILE))],
        "endless": [read_run(run_lamps(folder / "endless", ENDLESS))],
        "compared": [read_run(lamps), read_run(as_policy(lamps)), read_run(unlearned(lamps))],
        "fewer": [read_run(lamps), replace(read_run(lamps), records=read_run(lamps).records[1:3])],
    }
    about["doubted"] = [doubted(read_run(lamps))]
    about["careful"] = [forbidding_lit_lamps(read_run(lamps))]
    about["idle"] = [without_effects(read_run(lamps))]
    about["misses"] = [with_misses(read_run(lamps))]
    missed = read_run(lamps).records[1]
    late = replace(missed, outcome="timeout", abstract_plans=0, failure="timeout", missing=())
    about["late"] = [replace(read_run(lamps), records=(late,), plans={})]
    for name, runs in about.items():
        (folder / f"{name}.html").write_text(make_report(runs, find))
    return Pages(folder, screws)


def doubted(run: RecordedRun) -> RecordedRun:
    """Return the run with a doubt that contains markup."""
    assert run.model is not None
    fact, advice = f"Switch claims {MARKUP}", "Look at it with `needful run --experiments`, or do not."
    doubt = Doubt(DoubtKind.FALSE_CLAIM, "Switch", "Switch", 3, fact, "", advice)
    doubts = Doubts(8, false_claims=3, false_transitions=2, idle_steps=1, items=(doubt,))
    summary = {**run.summary, "false_claims_validated": 4}
    return replace(run, summary=summary, model=replace(run.model, doubts=doubts))


def forbidding_lit_lamps(run: RecordedRun) -> RecordedRun:
    """Return the run with a negative precondition: a lamp that is lit must not be switched."""
    assert run.model is not None
    stored = run.model.stored
    (switch,) = stored.model.operators
    careful = replace(switch, negative_preconditions=switch.add_effects)
    changed = replace(stored, model=replace(stored.model, operators=(careful,)))
    return replace(run, model=replace(run.model, stored=changed))


def without_effects(run: RecordedRun) -> RecordedRun:
    """Return the run with an operator that changes nothing."""
    assert run.model is not None
    stored = run.model.stored
    (switch,) = stored.model.operators
    nothing: frozenset[object] = frozenset()
    idle = replace(switch, preconditions=nothing, add_effects=nothing)
    changed = replace(stored, model=replace(stored.model, operators=(idle,)))
    return replace(run, model=replace(run.model, stored=changed))


def with_misses(run: RecordedRun) -> RecordedRun:
    """Return a run whose only task failed in its first step: some draws did not start, others missed."""
    plan = run.plans[1]
    assert plan.end is not None
    (missing,) = plan.end.missing
    lamp = plan.states[0].objects[0]
    draws = tuple(
        Draw((number / MISSES, 0.5), Outcome.NOT_INITIABLE)
        if number % 3 == 0
        else Draw(
            (number / MISSES, 0.25),
            Outcome.SUBGOAL_MISSED,
            (missing,),
            state=plan.states[0].replace({lamp: {"x": number / 5}}),
        )
        for number in range(MISSES)
    )
    end = replace(plan.end, step=0, draws=draws, unlisted=UNLISTED)
    failed = replace(plan, actions=(), states=plan.states[:1], holding=plan.holding[:1], end=end)
    return replace(run, records=run.records[1:2], plans={1: failed})


def as_policy(folder: Path) -> Path:
    """Return a copy of a run without operators and subgoals, like the run of a policy."""
    copy = Path(shutil.copytree(folder, folder.parent / "policy"))
    shutil.rmtree(copy / "model")
    plans = [
        replace(plan, steps=(), subgoals=(), holding=tuple(true & plan.goal for true in plan.holding))
        for plan in read_plans(copy / PLANS_FILE)
    ]
    (copy / PLANS_FILE).write_bytes(b"".join([header_line(LAMPS.vocabulary), *map(plan_line, plans)]))
    summary = json.loads((copy / "summary.json").read_text())
    (copy / "summary.json").write_text(json.dumps({**summary, "learner": "gnn-shooting", "operators": 0}))
    return copy


def unlearned(folder: Path) -> Path:
    """Return a copy of a run whose learning did not finish in time."""
    copy = Path(shutil.copytree(folder, folder.parent / "unlearned"))
    shutil.rmtree(copy / "model")
    (copy / PLANS_FILE).unlink()
    text = (copy / "records.jsonl").read_text()
    for outcome in ("solved", "subgoal_missed"):
        text = text.replace(f'"outcome": "{outcome}"', '"outcome": "not_learned"')
    (copy / "records.jsonl").write_text(text)
    summary = json.loads((copy / "summary.json").read_text())
    (copy / "summary.json").write_text(json.dumps({**summary, "learner": "loft", "solved": 0}))
    return copy


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def open_page(browser: Browser, page: Path, width: int = WIDE, scheme: str = "light") -> None:
    """Open a page; check that it logs no errors and loads no other files."""
    browser.open(page, width, HIGH, scheme)
    browser.send(
        "Emulation.setEmulatedMedia",
        features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ],
    )
    assert browser.messages == []
    assert browser.requests == [page.as_uri()]


def texts(browser: Browser, selector: str) -> list[str]:
    """Return the texts of the elements that match a selector."""
    found: list[str] = browser.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent)"
    )
    return found


def click(browser: Browser, selector: str, index: int = 0) -> None:
    browser.run(f"document.querySelectorAll({json.dumps(selector)})[{index}].click()")


def point_at(browser: Browser, selector: str) -> None:
    browser.run(f"document.querySelector('{selector}').dispatchEvent(new PointerEvent('pointerenter'))")


def test_a_report_of_fifty_tasks_is_small(pages: Pages) -> None:
    assert len(pages.screws.records) == 50
    assert pages["screws"].stat().st_size < 1_000_000


def test_the_summary(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["screws"])
    assert texts(browser, "h1") == ["Screws"]
    assert texts(browser, "#subtitle") == ["necessary from 6 demonstrations, seed 0"]
    assert texts(browser, ".tile strong")[:2] == ["100 %", "4"]
    assert texts(browser, "#sections a") == [
        *("Summary", "Tasks", "Operators", "Doubts", "Times", "Hill climb"),
        "How this run was made",
    ]
    assert "No task failed." in texts(browser, "#summary p")
    assert browser.run("document.querySelectorAll('#times .chart .dot').length") == 50
    curve = browser.run("document.querySelector('#times .curve').getBBox().height")
    assert curve > 100
    assert "50 of 50 solved" in browser.run(
        "document.querySelector('.chart svg').getAttribute('aria-label')"
    )


def test_operators_are_pddl_with_marked_quantified_deletes(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["screws"])
    assert pages.screws.model is not None
    names = [operator.name for operator in pages.screws.model.stored.model.operators]
    assert texts(browser, ".card h3") == names
    marked = [line.strip() for line in texts(browser, ".card .quantified")]
    assert marked == ["(forall (?any1 - screw) (not (HoldingScrew ?x0 ?any1)))"]
    paint = "getComputedStyle(document.querySelector('{}')).backgroundColor"
    assert browser.run(paint.format(".quantified")) != browser.run(paint.format(".pddl .line"))


def test_enter_opens_the_explanation_of_an_operator(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    browser.run("document.querySelector('.toggle').focus()")
    assert not browser.run("!!document.querySelector('.why').childElementCount")
    browser.press("Enter", "\r")
    assert browser.run("document.querySelector('.toggle').getAttribute('aria-expanded')") == "true"
    (reason,) = texts(browser, ".reasons-table tr")
    assert reason.startswith("adds Lit(?x0)became true and was necessary in 8 of 8")
    assert "needed by goal" in reason
    assert texts(browser, ".why .chips li") == ["Warm became true 8 times"]
    assert len(texts(browser, ".chain > li")) == 4
    assert texts(browser, ".chain .ignored .atoms li") == [f"Warm(lamp{number})" for number in range(4)]
    click(browser, ".chain .link", 2)
    assert len(texts(browser, ".chain .here > div:last-child .atoms li")) == 3
    assert texts(browser, ".chain .ignored") == []
    browser.press("Enter", "\r")
    click(browser, ".toggle")
    assert browser.run("document.querySelector('.why').hidden") is True


def test_negative_preconditions_are_among_the_reasons(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["careful"])
    assert "(not (Lit ?x0))" in texts(browser, ".card pre")[0].partition(":effect")[0]
    click(browser, ".toggle")
    forbids, adds = texts(browser, ".reasons-table tr")
    assert forbids == "forbids Lit(?x0)must not hold before the step"
    assert adds.startswith("adds Lit(?x0)")


def test_doubts_are_listed_as_text(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["doubted"])
    assert texts(browser, "#doubts .chips li") == [
        "3 false claims in 2 of 8 transitions",
        "4 false claims on left-out demonstrations",
        "1 idle step",
    ]
    assert texts(browser, ".doubts li") == [
        f"false claim Switch claims {MARKUP}. Look at it with needful run --experiments, or do not."
    ]
    assert texts(browser, ".doubts code") == ["needful run --experiments"]
    assert browser.run("window.hacked") is None
    open_page(browser, pages["screws"])
    assert texts(browser, "#doubts .quiet") == ["Nothing is doubtful."]


def test_lines_do_not_end_inside_the_words_of_a_command(browser: Browser, pages: Pages) -> None:
    for width in range(300, 420, 10):
        open_page(browser, pages["doubted"], width)
        assert browser.run(
            "[...document.querySelectorAll('#doubts .word, #made .word')].every("
            "one => one.getClientRects().length === 1 && one.offsetHeight < 30)"
        )
    open_page(browser, pages["endless"], PHONE)
    assert browser.run("document.documentElement.scrollWidth") == PHONE


def test_the_hill_climb_shows_the_changes_of_each_step(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["screws"])
    steps = texts(browser, ".climb summary")
    assert len(steps) == browser.run("document.querySelectorAll('#climb .chart .dot').length") > 1
    assert "covers 100 %" in steps[-1]
    click(browser, ".climb summary")
    assert texts(browser, ".climb li:first-child .tag") == ["new"]
    assert "forgets:" in texts(browser, ".climb li:first-child ins")[-1]


def scrub(browser: Browser, time: float) -> None:
    browser.run(
        f"(() => {{ const slider = document.querySelector('.player input'); slider.value = {time}; "
        "slider.dispatchEvent(new Event('input')); })()"
    )


def test_a_plan_is_scrubbed_played_and_stepped_through(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    click(browser, ".grid-of-chips .chip")
    lit = "document.querySelectorAll('.picture [fill=\"#ffd700\"]').length"
    assert (texts(browser, ".status"), browser.run(lit)) == (["The start"], 0)
    scrub(browser, 3)
    assert browser.run(lit) == 3
    assert texts(browser, ".status")[0].startswith("After step 3 of 4: Switch(lamp")
    assert len(texts(browser, ".judged > div:first-child .is-true")) == 3
    assert len(texts(browser, ".judged > div:first-child .is-open")) == 1
    browser.run("document.querySelector('.player input').focus()")
    for key, expected in (("ArrowRight", 4), ("ArrowRight", 4), ("ArrowLeft", 3), ("Home", 0), ("End", 4)):
        browser.press(key)
        assert browser.run(lit) == expected
    current = "document.querySelector('.steps [aria-current] .number').textContent"
    assert browser.run(current) == "4"
    click(browser, ".steps button", 2)
    assert (browser.run(lit), browser.run(current)) == (2, "2")
    browser.press(" ", " ")
    assert browser.run("document.querySelector('.primary').getAttribute('aria-label')") == "Pause"
    click(browser, ".primary")
    assert browser.run("document.querySelector('.primary').getAttribute('aria-label')") == "Play"
    assert browser.messages == []


def test_keys_work_after_a_click_on_the_picture(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    click(browser, ".grid-of-chips .chip")
    browser.run("document.querySelector('.picture').scrollIntoView({block: 'center'})")
    x, y = browser.run(
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])("
        "document.querySelector('.picture').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)
    for key, expected in (("End", "4"), ("ArrowLeft", "3"), ("Home", "·"), ("ArrowRight", "1")):
        browser.press(key)
        assert (
            browser.run("document.querySelector('.steps [aria-current] .number').textContent") == expected
        )
    browser.press(" ", " ")
    assert browser.run("document.querySelector('.primary').getAttribute('aria-label')") == "Pause"
    browser.press(" ", " ")
    assert browser.run("document.querySelector('.primary').getAttribute('aria-label')") == "Play"


def test_moving_marks_are_interpolated(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["screws"])
    gripper = "document.querySelector('.picture path[stroke-width=\"2\"]').getBoundingClientRect().x"
    positions = []
    for time in (0, 0.5, 1):
        scrub(browser, time)
        positions.append(browser.run(gripper))
    assert abs(positions[2] - positions[0]) > 5
    assert positions[1] == pytest.approx((positions[0] + positions[2]) / 2, abs=0.5)


def test_pictures_look_as_matplotlib_draws_them(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["screws"])
    scrub(browser, 2)
    browser.run("document.querySelector('.picture').scrollIntoView({block: 'center'})")
    bounds = browser.run(
        "(({x, y, width, height}) => [x, y, width, height])("
        "document.querySelector('.picture').getBoundingClientRect())"
    )
    x, y, width, height = map(round, bounds)
    shown = browser.picture()[y : y + height, x : x + width].astype(float)
    env, plan = make_environment("screws"), pages.screws.plans[0]
    figure = Figure(figsize=env.picture_size, dpi=width / env.picture_size[0])
    env.draw(plan.states[2], figure.add_axes((0, 0, 1, 1)), bound_to(plan.goal, env.vocabulary))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    drawn = Image.open(buffer).convert("RGB").resize((width, height))
    # Leave out the legend below the scene: its size is in points, so it does not scale with the picture.
    scene = round(0.94 * height)
    difference = np.abs(shown - np.asarray(drawn, dtype=float)).max(axis=2)[:scene]
    assert (np.asarray(drawn)[:scene] < 200).any()
    assert (difference > 100).mean() < 0.002
    assert difference.mean() < 1.5


def test_a_failed_task_shows_the_reason_and_replays_the_attempt(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    assert texts(browser, ".reasons .reason") == ["2 subgoal missed"]
    assert texts(browser, ".task h3") == ["Task 1 subgoal missed"]
    (failure,) = texts(browser, ".failure")
    assert "Not solved: subgoal missed." in failure
    assert "these subgoal atoms did not hold: Lit(lamp3)" in failure
    assert texts(browser, ".failure .is-false") == ["does not hold: Lit(lamp3)"]
    (ended,) = texts(browser, ".steps .failed")
    assert "Switch(lamp3)failed" in ended
    succeeded = int(browser.run("document.querySelector('.player input').max"))
    assert f"{succeeded - 1} steps succeeded" in failure
    assert "The last picture shows the best try of the failed step." in failure
    assert f"Step {succeeded}, Switch(lamp3), ran, but Lit(lamp3) did not hold" in failure
    scrub(browser, succeeded)
    assert "Switch(lamp3)" in texts(browser, ".status")[0]
    assert texts(browser, ".judged .is-false") == ["does not hold: Lit(lamp3)"]
    click(browser, ".failures button", 1)
    assert texts(browser, ".task h3") == ["Task 3 subgoal missed"]
    click(browser, ".filter input")
    visible = "[...document.querySelectorAll('.grid-of-chips .chip')].filter(one => !one.hidden).length"
    assert browser.run(visible) == 2


def test_the_tries_of_a_failed_step_are_drawn_with_their_reasons(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["misses"])
    assert texts(browser, ".draws figcaption") == ["Parameters that were tried for step 1"]
    assert texts(browser, ".draws p") == [
        "12 of 3,200 draws shown. "
        "3,192 draws have no mark in the picture, because the controller did not run."
    ]
    reasons = texts(browser, ".draws .legend li")
    assert sum(int(reason.rpartition(" · ")[2]) for reason in reasons) == MISSES
    assert browser.run("document.querySelectorAll('.draws .try:not(.swatch *)').length") == 2 * MISSES
    ghosts = "[...document.querySelectorAll('.picture .ghost')]"
    shown = f"{ghosts}.filter(one => one.getClientRects().length).length"
    tries = browser.run(shown)
    assert tries > 0
    click(browser, ".stage .filter input")
    assert browser.run(shown) == 0
    click(browser, ".stage .filter input")
    point_at(browser, ".draws .try:not(.swatch *)")
    assert browser.run("document.querySelectorAll('.ghost.faded').length") >= tries - 1
    assert "draw 1: (" in texts(browser, ".tip")[0]
    assert browser.messages == []


def test_links_lead_to_a_task_a_step_and_an_operator(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    assert browser.run("location.hash") == ""
    browser.run("void (location.hash = '#task-2/step-3')")
    assert texts(browser, ".task h3") == ["Task 2 solved"]
    assert texts(browser, ".status")[0].startswith("After step 3 of 4")
    top, bottom = browser.run(
        "(() => { const box = selector => document.querySelector(selector).getBoundingClientRect();"
        " return [box('.task h3').top - box('header .bar').bottom, box('.stage').bottom]; })()"
    )
    assert 0 <= top < 100
    assert bottom <= HIGH  # the whole film is in view
    click(browser, ".steps button", 1)
    assert browser.run("location.hash") == "#task-2/step-1"
    link = browser.run("document.querySelector('.to-operator').getAttribute('href')")
    assert link == "#operator-Switch"
    click(browser, ".to-operator")
    assert browser.run("document.querySelector('.toggle').getAttribute('aria-expanded')") == "true"
    assert browser.run("document.activeElement.className") == "toggle"
    for broken in ("#task-99", "#operator-%", "#step-x", "#run-7/task-1", "#</script>"):
        browser.run(f"void (location.hash = {json.dumps(broken)})")
    assert browser.messages == []
    open_page(browser, pages["compared"])
    browser.run("void (location.hash = '#run-1/task-3')")
    assert browser.run("document.querySelector('.picker[aria-pressed=true]').value") == "1"
    assert texts(browser, ".task h3") == ["Task 3 subgoal missed"]


def test_tasks_can_be_searched_and_sorted(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    chips = "[...document.querySelectorAll('#tasks .chip')]"
    visible = f"{chips}.filter(one => !one.hidden).map(one => one.textContent)"
    type_in = (
        "(() => {{ const field = document.querySelector('#tasks [type=search]'); field.value = '{}'; "
        "field.dispatchEvent(new Event('input')); }})()"
    )
    browser.run(type_in.format("SUBGOAL"))
    assert browser.run(visible) == ["1", "3"]
    assert "2 of 4 tasks" in texts(browser, "#tasks [role=status]")
    browser.run(type_in.format(""))
    browser.run(
        "(() => { const order = document.querySelector('#tasks .filters select'); order.value = 'outcome'; "
        "order.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run(visible) == ["1", "3", "0", "2"]


def test_points_in_charts_open_their_tasks(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    browser.run("document.querySelector('#times .dot.clickable').dispatchEvent(new MouseEvent('click'))")
    assert texts(browser, ".task h3") == ["Task 0 solved"]
    browser.run(
        "document.querySelector('#times .dot.clickable').dispatchEvent(new PointerEvent('pointerenter'))"
    )
    assert texts(browser, ".tip")[0].startswith("Task 0: solved, ")


def test_unchanged_atoms_of_a_subgoal_are_folded(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    browser.run("void (location.hash = '#task-0/step-3')")
    subgoal = ".judged > div:last-child"
    assert len(texts(browser, f"{subgoal} > .atoms li")) == 1
    assert texts(browser, f"{subgoal} summary") == ["2 unchanged"]
    assert len(texts(browser, f"{subgoal} details li")) == 2


def test_an_operator_without_effects_is_explained(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["idle"])
    (note,) = texts(browser, ".card .notice")
    assert note.startswith("This operator changes no atom: no predicate describes what Switch(?x0) does.")
    open_page(browser, pages["lamps"])
    assert texts(browser, ".card .notice") == []


def test_the_theme_is_remembered(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["lamps"])
    click(browser, "#theme")
    open_page(browser, pages["screws"])
    assert browser.run("document.documentElement.dataset.theme") == "dark"
    browser.run("localStorage.clear()")


def test_a_timeout_in_search_is_explained(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["late"])
    click(browser, ".failures button")
    (failure,) = texts(browser, ".failure")
    assert failure.startswith("Not solved: timeout.")
    assert "before the first abstract plan" in failure
    assert "There is nothing to replay." in texts(browser, ".task p")


def test_runs_are_compared_and_each_can_be_looked_at(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["compared"])
    groups = "[aria-label='Groups of runs side by side'] tbody"
    assert texts(browser, f"{groups} th") == ["necessary", "gnn-shooting", "loft"]
    assert [row.split("/")[0][-1] for row in texts(browser, f"{groups} tr")] == ["2", "2", "0"]
    assert browser.run("document.querySelectorAll('#comparison .chart .curve:not(.swatch *)').length") == 3
    assert "learning ran out of time" in texts(browser, ".columns")[0]
    assert texts(browser, "#comparison .matrix .chip") == ["0", "1", "2", "3"] * 3
    click(browser, "#comparison .matrix .chip", 2)
    assert texts(browser, ".task h3") == ["Task 2 solved"]
    click(browser, ".picker", 1)
    assert "acts without operators" in texts(browser, "#operators")[0]
    assert texts(browser, ".steps li")[0] == "·Start"
    assert texts(browser, ".steps li")[1].startswith("1Switch(lamp")
    scrub(browser, 2)
    assert len(texts(browser, ".judged .is-true")) == 2
    click(browser, "#comparison .matrix .chip", 9)
    assert texts(browser, "#sections a") == ["Comparison", "Summary", "Operators", "How this run was made"]
    assert "Learning ran out of time" in texts(browser, ".notice")[0]
    assert browser.messages == []


def test_runs_differ_on_tasks_that_all_of_them_tried(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["compared"])
    claims = texts(browser, "#comparison .claims li")
    expected = "necessary solved 1 and loft solved 0 of 2 tasks that both tried."  # two tasks appear twice
    assert [claim.startswith(expected) for claim in claims] == [False, True, False]
    pairs = "[aria-label='Pairs of groups on the same tasks'] tbody"
    assert texts(browser, f"{pairs} tr:nth-child(2) button") == ["0"]
    click(browser, f"{pairs} tr:nth-child(2) button")
    assert texts(browser, ".task h3") == ["Task 0 solved"]
    # Two runs with the same settings and seed are one group: there is nothing to compare.
    open_page(browser, pages["fewer"])
    assert texts(browser, "#comparison .claims li") == []


def test_names_of_runs_are_not_broken_on_a_phone(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["compared"], PHONE)
    assert browser.run("document.querySelector('#comparison tbody th').getBoundingClientRect().width") > 100


def test_names_are_text_whatever_they_are(browser: Browser, pages: Pages) -> None:
    open_page(browser, pages["hostile"])
    click(browser, ".toggle")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    click(browser, ".grid-of-chips .chip", 1)
    assert browser.run("window.hacked === undefined")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert texts(browser, "h1") == [f"Domain {MARKUP}"]
    assert texts(browser, ".card h3") == [HOSTILE.switch]
    assert f"{HOSTILE.warm} became true 8 times" in texts(browser, ".why .chips li")
    drawn = texts(browser, ".picture text")
    goal = texts(browser, ".judged > div:first-child li")
    for lamp in HOSTILE.lamps:
        assert lamp in drawn
        assert any(one.endswith(f"{HOSTILE.lit}({lamp})") for one in goal)
        assert any(f"{HOSTILE.switch}({lamp})" in step for step in texts(browser, ".steps li"))
    assert browser.run("document.documentElement.scrollWidth") <= WIDE
    assert (browser.messages, browser.requests) == ([], [pages["hostile"].as_uri()])


def test_very_long_names_and_direction_marks_stay_inside(browser: Browser, pages: Pages) -> None:
    for width in (WIDE, PHONE):
        open_page(browser, pages["endless"], width)
        click(browser, ".toggle")
        click(browser, ".steps button")
        point_at(browser, "#tasks .chip")
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert len(texts(browser, ".tip")[0]) <= 301
        assert browser.messages == []
    assert len(browser.run("location.hash")) < 1_000


@pytest.mark.parametrize("name", ["screws", "lamps", "hostile", "compared"])
def test_nothing_is_wider_than_a_phone(browser: Browser, pages: Pages, name: str) -> None:
    open_page(browser, pages[name], PHONE)
    click(browser, ".toggle")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= PHONE


def test_dark_and_light_can_be_chosen(browser: Browser, pages: Pages) -> None:
    paper = "getComputedStyle(document.querySelector('section')).backgroundColor"
    brightness = {}
    for scheme in ("light", "dark"):
        open_page(browser, pages["screws"], scheme=scheme)
        brightness[scheme] = browser.picture().mean()
        before = browser.run(paper)
        click(browser, "#theme")
        assert browser.run(paper) != before
    assert brightness["dark"] < 60 < 200 < brightness["light"]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fetch_axe(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light")])
@pytest.mark.parametrize("name", ["screws", "compared"])
def test_axe_finds_nothing(
    browser: Browser, pages: Pages, axe: str, name: str, width: int, scheme: str
) -> None:
    open_page(browser, pages[name], width, scheme)
    click(browser, ".toggle")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert violations(browser, axe) == []
