"""The benchmark of imperfect demonstrations: conditions, the time limit of learning, and its outputs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

import imperfect_demonstrations
import needful
from imperfect_demonstrations import CONDITIONS, Job, learn, main, run_job
from imperfect_demonstrations_report import (
    CLEAN,
    TITLES,
    Measurement,
    draw_success,
    print_table,
    with_ratios,
    write_files,
)

JOB = Job("screws", 0, tuple(CONDITIONS), "necessary", demos=6, tasks=2, timeout=60.0)


def measurement(condition: str, **values: object) -> Measurement:
    one = Measurement(
        domain="screws",
        condition=condition,
        seed=0,
        learner="necessary",
        demos=50,
        tasks=20,
        steps=220,
        inserted_steps=20,
        wrong_atoms=0,
        learned=True,
        operators=4,
        coverage=1.0,
        operator_seconds=0.5,
        learning_seconds=1.0,
        limit_seconds=10.0,
        success_rate=0.8,
        planning_seconds=0.1,
        failures="",
    )
    return replace(one, **values)  # type: ignore[arg-type]


def test_every_condition_has_a_title():
    assert list(CONDITIONS) == list(TITLES)


def test_a_job_measures_every_condition_relative_to_the_clean_one():
    found = run_job(JOB)
    assert [one.condition for one in found] == list(CONDITIONS)
    clean = found[0]
    assert (clean.inserted_steps, clean.wrong_atoms, clean.learned) == (0, 0, True)
    assert (clean.learning_ratio, clean.success_ratio) == (1.0, 1.0)
    assert all((one.demos, one.tasks) == (6, 2) for one in found)
    assert all(one.limit_seconds <= 60.0 for one in found)
    assert all(one.steps == clean.steps + one.inserted_steps for one in found)
    by_condition = {one.condition: one for one in found}
    assert by_condition["all-steps"].inserted_steps > 0


def test_learning_is_stopped_at_its_limit_and_then_solves_nothing():
    env = needful.make_environment("screws")
    oracle = needful.OracleDemonstrator(env)
    demos = needful.collect_demonstrations(env, oracle, JOB.demos, JOB.seed).demonstrations
    assert learn(env, demos, JOB, limit=60.0).model is not None
    assert learn(env, demos, JOB, limit=1e-9).model is None
    stopped = imperfect_demonstrations.measure(env, demos, CLEAN, JOB, limit=1e-9)
    assert (stopped.learned, stopped.operators, stopped.success_rate) == (False, 0, 0.0)
    assert stopped.failures == "not_learned 2"


def test_ratios_need_a_clean_condition_that_works():
    clean, slow = with_ratios([measurement(CLEAN), measurement("failed", learning_seconds=3.0)])
    assert (clean.learning_ratio, slow.learning_ratio, slow.success_ratio) == (1.0, 3.0, 1.0)
    unsolved = [measurement(CLEAN, learned=False, success_rate=0.0), measurement("failed")]
    assert {(one.learning_ratio, one.success_ratio) for one in with_ratios(unsolved)} == {(None, None)}


def test_the_outputs(tmp_path, capsys):
    found = [
        measurement(CLEAN, inserted_steps=0, steps=200),
        measurement("failed", operators=5, seed=0),
        measurement("failed", operators=6, seed=1, success_rate=0.4),
        measurement("noise-0.5", learned=False, operators=0, success_rate=0.0),
    ]
    print_table(found)
    _, _, _, failed, noise = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in failed.split("|")][1:6] == [
        "Screws",
        "failed steps 10 %",
        "10.0",
        "0",
        "5.5",
    ]
    assert [cell.strip() for cell in failed.split("|")][10] == "60.0"
    assert [cell.strip() for cell in noise.split("|")][5] == "–"
    assert noise.split("|")[-2].strip() == "1 of 1"
    write_files(tmp_path / "out.1", found)
    assert {path.name for path in tmp_path.iterdir()} == {"out.1.csv", "out.1.json", "out.1.png"}
    with (tmp_path / "out.1.csv").open() as file:
        assert [row["operators"] for row in csv.DictReader(file)] == ["4", "5", "6", "0"]
    stored = json.loads((tmp_path / "out.1.json").read_text())["measurements"]
    assert [Measurement(**row) for row in stored] == found
    assert (tmp_path / "out.1.png").read_bytes().startswith(b"\x89PNG")


def test_the_figure_has_one_panel_per_domain_and_one_bar_per_condition():
    found = [
        measurement(condition, domain=domain) for domain in ("screws", "painting") for condition in TITLES
    ]
    figure = draw_success(found)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["Painting", "Screws"]
    assert all(len(axes.patches) == len(TITLES) for axes in panels)
    assert [label.get_text() for label in panels[0].get_yticklabels()] == list(TITLES.values())


def test_the_command(tmp_path, capsys):
    """Conditions are measured in a fixed order, and the clean one is always among them."""
    out = ["--out", str(tmp_path / "result")]
    main(["--domains", "screws", "--conditions", "repeated", "--demos", "4", "--tasks", "1", *out])
    printed = capsys.readouterr().out
    assert "| clean" in printed
    assert "| repeated steps 15 %" in printed
    assert len(printed.splitlines()) == 4
    assert len((tmp_path / "result.csv").read_text().splitlines()) == 3
    with pytest.raises(SystemExit):
        main(["--domains", "unknown"])
