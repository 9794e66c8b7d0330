"""The claims of a comparison page, computed again from the records of a sweep.

The sweep has 2 approaches, 5 seeds and 2 settings. Numbers are computed here from the result files alone.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from command_line import needful, succeed
from headless_browser import CHROMIUM, open_browser
from needful.reports.comparison import comparisons, group_by_settings
from needful.reports.page.recorded_run import RecordedRun, run_of_job
from needful.reports.statistics import student_interval
from needful.sweeps.jobs import Job
from synthetic_results import make_result

QUANTILE = 2.7764451052  # Student's t, 97.5 %, 4 degrees of freedom
LEARNERS, DEMOS, SEEDS, TASKS = ("ci", "necessary"), (3, 12), 5, 8


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep made by `needful reproduce`, and a page about it."""
    folder = tmp_path_factory.mktemp("sweep")
    for demos in DEMOS:
        succeed(
            *(
                "reproduce",
                "--table",
                "main",
                "--preset",
                "none",
                "--domains",
                "cluttered-1d",
                "--learners",
                ",".join(LEARNERS),
            ),
            *(
                "--seeds",
                SEEDS,
                "--demos",
                demos,
                "--tasks",
                TASKS,
                "--jobs",
                1,
                "--out",
                folder / "results",
            ),
        )
    succeed("report", folder / "results", "--out", folder / "page.html")
    return folder


def raw_results(sweep: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the job and the records of each result file, without code of the package."""
    found = []
    for file in sorted((sweep / "results" / "jobs").glob("*/*.gz")):
        header, *records = map(json.loads, gzip.decompress(file.read_bytes()).decode().splitlines())
        found.append((header["job"], records))
    return found


def page_data(sweep: Path) -> dict[str, Any]:
    text = (sweep / "page.html").read_text()
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def outcomes(sweep: Path, learner: str, demos: int) -> dict[int, dict[str, bool]]:
    """Return, for each seed, whether each task was solved, by task digest."""
    return {
        job["seed"]: {record["task_digest"]: record["outcome"] == "solved" for record in records}
        for job, records in raw_results(sweep)
        if (job["learner"], job["demos"]) == (learner, demos)
    }


def interval(values: list[float], least: float, most: float) -> tuple[float, float, float]:
    half = QUANTILE * statistics.stdev(values) / len(values) ** 0.5
    centre = statistics.fmean(values)
    return centre, max(least, centre - half), min(most, centre + half)


def numbers(found: dict[str, float]) -> tuple[float, ...]:
    return found["mean"], found["low"], found["high"]


def test_groups_are_those_of_the_records(sweep: Path) -> None:
    (comparison,) = page_data(sweep)["comparisons"]
    labels = [f"{learner}, demos {demos}" for learner in LEARNERS for demos in DEMOS]
    assert [group["label"] for group in comparison["groups"]] == labels
    assert comparison["settings"] == {"demos": ["3", "12", "3", "12"]}
    assert comparison["notes"] == []
    for group, (learner, demos) in zip(
        comparison["groups"], [(one, count) for one in LEARNERS for count in DEMOS], strict=True
    ):
        solved = outcomes(sweep, learner, demos)
        assert group["seeds"] == sorted(solved) == list(range(SEEDS))
        assert group["tasks"] == SEEDS * TASKS
        assert group["solved"] == sum(sum(tasks.values()) for tasks in solved.values())
        shares = [statistics.fmean(solved[seed].values()) for seed in sorted(solved)]
        assert numbers(group["success"]) == pytest.approx(interval(shares, 0.0, 1.0), abs=1e-4)
        times = [
            statistics.fmean(record["seconds"]["total"] for record in records)
            for job, records in raw_results(sweep)
            if (job["learner"], job["demos"]) == (learner, demos)
        ]
        # The quantiles of the t distribution are rounded to 3 decimals, so a bound near 0 is less exact.
        exact = interval(times, 0.0, 1e9)
        assert numbers(group["planning"]) == pytest.approx(exact, rel=1e-3, abs=1e-3 * exact[0])


def test_pairs_are_compared_on_the_tasks_that_both_tried(sweep: Path) -> None:
    (comparison,) = page_data(sweep)["comparisons"]
    settings = [(learner, demos) for learner in LEARNERS for demos in DEMOS]
    pairs = list(combinations(range(4), 2))
    assert [(pair["first"], pair["second"]) for pair in comparison["pairs"]] == pairs
    for pair in comparison["pairs"]:
        one, other = (outcomes(sweep, *settings[pair[name]]) for name in ("first", "second"))
        theirs = {task: solved for tasks in other.values() for task, solved in tasks.items()}
        both = [(solved, theirs[task]) for tasks in one.values() for task, solved in tasks.items()]
        counts = {"both": (True, True), "onlyFirst": (True, False), "onlySecond": (False, True)}
        assert pair["shared"] == len(both) == SEEDS * TASKS
        for name, outcome in counts.items():
            assert pair[name] == both.count(outcome)
        assert len(pair["tasksOnlyFirst"]) == min(30, pair["onlyFirst"])
        differences = [
            statistics.fmean(float(solved) - float(theirs[task]) for task, solved in one[seed].items())
            for seed in sorted(one)
        ]
        assert numbers(pair["difference"]) == pytest.approx(interval(differences, -1.0, 1.0), abs=1e-4)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open pages with")
def test_the_sentences_follow_from_the_numbers(sweep: Path, tmp_path: Path) -> None:
    (comparison,) = page_data(sweep)["comparisons"]
    with open_browser(tmp_path) as browser:
        browser.open(sweep / "page.html", 1200, 900)
        claims = browser.run("[...document.querySelectorAll('.claims li')].map(one => one.textContent)")
        notices = browser.run("[...document.querySelectorAll('.notice')].map(one => one.textContent)")
        assert browser.messages == []
    assert notices[0].startswith("These runs have different settings: demos.")
    assert len(claims) == len(comparison["pairs"])
    for claim, pair in zip(claims, comparison["pairs"], strict=True):
        first, second = (comparison["groups"][pair[name]]["label"] for name in ("first", "second"))
        _, low, high = numbers(pair["difference"])
        if low > 0:
            assert claim.startswith(f"{first} solved more than {second} on the {pair['shared']} tasks")
        elif high < 0:
            assert claim.startswith(f"{second} solved more than {first} on the {pair['shared']} tasks")
        else:
            assert claim.startswith(f"No clear difference between {first} and {second} on the")
        assert f"{abs(round(100 * pair['difference']['mean'], 1)):g} percentage points" in claim
        assert "over 5 seeds" in claim


def run(learner: str, seed: int, outcomes: str, digests: str, **settings: int) -> RecordedRun:
    """Return a run whose tasks have the given outcomes (s: solved) and digests, one letter each."""
    results = ["solved" if letter == "s" else "timeout" for letter in outcomes]
    made = make_result(Job("screws", learner, seed, **settings), results)
    records = [replace(one, task_digest=letter) for one, letter in zip(made.records, digests, strict=True)]
    return run_of_job(replace(made, records=tuple(records)))


def test_tasks_with_equal_numbers_are_not_the_same_task() -> None:
    (comparison,) = comparisons([run("necessary", 0, "ss", "ab"), run("ci", 1, "ff", "cd")])
    assert comparison["pairs"] == []
    (comparison,) = comparisons([run("necessary", 0, "ss", "ab"), run("ci", 1, "fs", "ba")])
    (pair,) = comparison["pairs"]
    assert (pair["shared"], pair["both"], pair["onlyFirst"]) == (2, 1, 1)
    assert pair["tasksOnlyFirst"] == [{"run": 0, "task": 1}]


def test_records_without_digests_are_not_matched() -> None:
    one, other = (run(learner, 0, "ss", "ab") for learner in ("necessary", "ci"))
    old = replace(other, records=tuple(replace(record, task_digest="") for record in other.records))
    (comparison,) = comparisons([one, old])
    assert comparison["pairs"] == []
    assert "do not identify their tasks" in comparison["notes"][0]


def test_groups_have_equal_settings_and_any_seed() -> None:
    runs = [run("ci", seed, "s", "a", timeout=limit) for limit in (5, 10) for seed in (0, 1)]
    assert [[number for number, _ in group.runs] for group in group_by_settings(runs)] == [[0, 1], [2, 3]]
    (comparison,) = comparisons(runs)
    assert [group["label"] for group in comparison["groups"]] == ["ci, timeout 5", "ci, timeout 10"]


def test_one_value_has_no_interval() -> None:
    assert student_interval([0.5]).low is None
    found = student_interval([0.0, 1.0], 0.0, 1.0)
    assert (found.mean, found.low, found.high) == (0.5, 0.0, 1.0)


def test_a_failed_job_of_a_sweep_is_reported(sweep: Path, tmp_path: Path) -> None:
    files = sorted((sweep / "results" / "jobs").glob("*/*.gz"))
    folder = tmp_path / "jobs" / "cluttered-1d"
    folder.mkdir(parents=True)
    (folder / files[0].name).write_bytes(files[0].read_bytes()[:-9])
    (folder / files[1].name).write_bytes(files[1].read_bytes())
    result = needful("report", tmp_path, "--out", tmp_path / "page.html")
    assert result.code == 0
    assert result.err.startswith(f"warning: 1 job of {tmp_path} failed or cannot be read.")
