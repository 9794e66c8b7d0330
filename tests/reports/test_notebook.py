"""The notebook layer: cards, players and figures, and the example notebook."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import needful
from headless_browser import CHROMIUM, open_browser
from lamp_world import HOSTILE, MARKUP, LampNames, Lamps
from needful.core.cards import MAX_LETTERS, MAX_ROWS, operator_cards
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.evaluation.run_folder import RunFolder
from needful.reports.notebook import InlinePage, show_run

NOTEBOOK = Path(__file__).parents[2] / "examples" / "08_notebook.ipynb"


def solve(environment: Environment, task: Task) -> PlanningResult:
    return needful.plan(task, environment.oracle_model(), environment.execute)


def outputs(notebook: Path) -> Iterator[Any]:
    """Execute the code cells of a notebook; yield the value of each cell that ends with an expression."""
    names: dict[str, Any] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            *statements, last = ast.parse("".join(cell["source"])).body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(statements, []), str(notebook), "exec"), names)
            yield eval(compile(ast.Expression(last.value), str(notebook), "eval"), names)


def test_the_example_notebook_runs_and_each_cell_shows_something() -> None:
    values = list(outputs(NOTEBOOK))
    shown = [
        "figure" if isinstance(value, Figure) else "html" if hasattr(value, "_repr_html_") else "text"
        for value in values
    ]
    assert shown == ["text", *["html"] * 4, "figure", "figure", "html", "figure", "figure"]
    for value in values:
        if not isinstance(value, (Figure, int)):
            assert value._repr_html_().startswith("<")
    assert all(cell.get("outputs", []) == [] for cell in json.loads(NOTEBOOK.read_text())["cells"])


def test_cards_escape_names() -> None:
    environment = Lamps(HOSTILE)
    model = environment.oracle_model()
    solved = solve(environment, environment.task(Split.TEST, 0, seed=0))
    failed = solve(environment, environment.task(Split.TEST, 1, seed=0))
    for shown in (model.operators[0], model, solved, failed):
        text = shown._repr_html_()
        assert MARKUP not in text
        assert html.escape(MARKUP) in text
        assert "<script" not in text
        assert "<img" not in text
    assert "<b>Cause:</b>" in failed._repr_html_()
    assert "<code>needful explain</code>" in failed._repr_html_()
    assert "Cause" not in solved._repr_html_()


def test_cards_mark_the_step_that_failed() -> None:
    environment = Lamps()
    result = solve(environment, environment.task(Split.TEST, 1, seed=0))
    assert result.failure is not None
    early = replace(result, actions=(), states=result.states[:1], failure=replace(result.failure, step=0))
    steps = re.findall(r"Switch\(lamp\d\)[^<]*", early._repr_html_().partition("Cause")[0])
    failed, *later = (step.partition("  ")[2] for step in steps)
    assert failed == "(failed)"
    assert set(later) == {"(not reached)"}


def test_cards_stay_short() -> None:
    environment = Lamps(LampNames(switch="s" * 10_000))
    (operator,) = environment.oracle_model().operators
    assert len(operator._repr_html_()) < 4 * MAX_LETTERS
    text = operator_cards("Many", [operator] * (MAX_ROWS + 3))
    assert "and 3 more operators" in text


def test_operators_without_effects_say_so() -> None:
    operators = needful.make_environment("painting").oracle_model().operators
    without = [one.name for one in operators if "changes no atom" in one._repr_html_()]
    assert without == [
        one.name for one in operators if not (one.add_effects or one.delete_effects or one.delete_patterns)
    ]
    assert without


def test_figures_are_matplotlib_figures(tmp_path: Path) -> None:
    environment = Lamps()
    task = environment.task(Split.TEST, 1, seed=0)
    result = solve(environment, task)
    assert isinstance(needful.plot_plan(result, environment, task), Figure)
    assert isinstance(needful.plot_state(environment, task.initial_state), Figure)
    run = needful.run(environment, needful.RunConfig(demos=2, tasks=2), RunFolder.create(tmp_path / "run"))
    records = run.evaluation.records
    (solved,) = needful.plot_solved_tasks({"a": records, "b": ()}).axes
    assert [line.get_ydata()[-1] for line in solved.lines] == [0.5, 0.0]
    (times,) = needful.plot_planning_times(records).axes
    assert [len(line.get_xdata()) for line in times.lines] == [1, 1]
    assert "2 tasks" not in run._repr_html_()
    assert "1 of 2 unseen tasks" in run._repr_html_()
    page = show_run(tmp_path / "run", lambda domain: environment)
    assert page.title == "Run run"
    assert "<h1" in page.page


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open pages with")
def test_the_player_works_in_a_sandboxed_frame(tmp_path: Path) -> None:
    environment = Lamps(HOSTILE)
    task = environment.task(Split.TEST, 1, seed=0)
    shown = solve(environment, task).show(environment, task)
    assert isinstance(shown, InlinePage)
    (inner,) = re.findall(r'srcdoc="([^"]*)"', shown._repr_html_())
    assert html.unescape(inner) == shown.page
    with open_browser(tmp_path / "profile") as browser:
        for name, text in (("frame", f"<!doctype html>{shown._repr_html_()}"), ("page", shown.page)):
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
            browser.open(tmp_path / f"{name}.html", 800, 600)
            assert browser.messages == []
        assert browser.run("document.querySelector('.failure strong').textContent").startswith("Not solved")
        assert browser.run("document.querySelectorAll('.picture text').length") == 4
        browser.run("document.querySelector('.steps button').focus()")
        browser.press("End")
        assert browser.run("document.querySelector('.status').textContent").startswith("After step ")
        assert browser.run("window.hacked") is None
