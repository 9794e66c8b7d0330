"""The report as a folder of files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from needful.errors import OutputError, UnknownNameError
from needful.reports.paper_tables import TABLES
from needful.reports.write_report import FIGURES, write_report
from needful.sweeps.jobs import Job, JobResult, Results, read_results, write_result
from synthetic_results import make_result, make_sweep

TESTS = Path(__file__).parents[1]
SMALL = make_sweep(["screws", "painting"], ["necessary", "ci"], 2, 4)

DIGESTS = """
import hashlib, sys, tempfile
from pathlib import Path
from needful.sweeps.jobs import Results
from needful.reports.write_report import write_report
from synthetic_results import make_sweep
results = make_sweep(["screws", "painting"], ["necessary", "ci"], 2, 12)
results += make_sweep(["screws", "painting"], ["necessary"], 2, 12, demos=5)
with tempfile.TemporaryDirectory() as folder:
    for path in write_report(Results(results[:: int(sys.argv[1])]), folder):
        print(path.relative_to(folder), hashlib.sha256(path.read_bytes()).hexdigest())
"""


def test_a_report_has_tables_and_figures_in_all_formats(tmp_path: Path) -> None:
    results = SMALL + make_sweep(["screws"], ["necessary"], 2, 4, demos=5)
    paths = write_report(Results(results), tmp_path / "out")
    expected = [f"tables/{name}.{ending}" for name in TABLES for ending in ("md", "tex", "csv")]
    expected += [f"figures/{name}.{ending}" for name in FIGURES for ending in ("png", "svg")]
    assert [str(path.relative_to(tmp_path / "out")) for path in paths] == ["report.md", *expected]
    there = sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert there == sorted(paths)
    text = paths[0].read_text()
    for name in expected:
        assert (f"({name})" in text) == (not name.endswith(".md"))
    for path in paths[1:]:
        if path.suffix == ".md":
            table = path.read_text().split("\n\n", 2)[2]
            assert table in text


def test_every_link_of_a_report_leads_somewhere(tmp_path: Path) -> None:
    report, *_ = write_report(Results(SMALL), tmp_path, tables=["main"], figures=["survival"])
    links = re.findall(r"\]\(([^)]*)\)", report.read_text())
    assert links
    for link in links:
        assert (tmp_path / link).is_file()


def test_some_tables_and_figures_can_be_selected(tmp_path: Path) -> None:
    paths = write_report(Results(SMALL), tmp_path, tables=["times"], figures=["nodes"])
    assert [path.name for path in paths] == [
        "report.md",
        "times.md",
        "times.tex",
        "times.csv",
        "nodes.png",
        "nodes.svg",
    ]


@pytest.mark.parametrize(
    ("selection", "facts"),
    [
        ({"tables": ["mian"]}, r"table 'mian'.*'main'"),
        ({"figures": ["node"]}, r"figure 'node'.*'nodes'"),
    ],
)
def test_unknown_names_are_errors_before_anything_is_written(
    tmp_path: Path, selection: dict[str, list[str]], facts: str
) -> None:
    with pytest.raises(UnknownNameError, match=facts):
        write_report(Results(SMALL), tmp_path / "out", **selection)
    assert not (tmp_path / "out").exists()


def test_a_report_without_results(tmp_path: Path) -> None:
    paths = write_report(Results(), tmp_path)
    assert "no results" in paths[0].read_text()
    assert not (tmp_path / "figures").exists()


def test_issues_come_first(tmp_path: Path) -> None:
    job = Job("painting", "loft", tasks=1)
    failed = JobResult(job, {}, (), "Traceback (most recent call last):\n  *stars*\nValueError: <b>no</b>")
    missed = make_result(Job("screws", "necessary"), ["goal_missed"])
    for result in (failed, missed, *SMALL):
        write_result(tmp_path, result)
    damaged = tmp_path / "jobs" / "screws" / "ci-seed9-demos50-0000000000000000.jsonl.gz"
    damaged.write_bytes(b"no gzip")
    report, *_ = write_report(read_results(tmp_path), tmp_path, figures=())
    text = report.read_text()
    positions = [
        text.index(part)
        for part in (
            "## Check these first (3)",
            "damaged file",
            "      ValueError: <b>no</b>",
            "goal\\_missed",
            "| Domain |",
        )
    ]
    assert positions == sorted(positions)
    assert text.startswith("# Results\n\n## Check these first (3)\n")
    assert r"ValueError: \<b\>no\</b\>" in text
    assert "**painting, loft, seed 0, 50 demos" in text


def test_good_results_begin_with_the_numbers(tmp_path: Path) -> None:
    report, *_ = write_report(Results(SMALL), tmp_path, figures=())
    text = report.read_text()
    assert "Check these first" not in text
    assert text.startswith("# Results\n\n8 runs, 32 tasks.")
    assert "other settings" not in text


def test_settings_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    other = tuple(replace(run, job=replace(run.job, timeout=1.0)) for run in SMALL[:2])
    report, *_ = write_report(Results(SMALL + other), tmp_path, figures=())
    assert "Each entry shows one setting. 1 other settings" in report.read_text()


def test_a_report_replaces_an_earlier_one_and_touches_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "kept").write_text("kept")
    write_report(Results(SMALL[:2]), tmp_path, figures=())
    before = (tmp_path / "report.md").read_text()
    write_report(Results(SMALL), tmp_path, figures=())
    assert (tmp_path / "report.md").read_text() != before
    assert (tmp_path / "jobs" / "kept").read_text() == "kept"
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        write_report(Results(SMALL), tmp_path / "file", figures=())


@pytest.mark.slow
def test_the_same_results_are_the_same_bytes_in_every_process_and_order() -> None:
    outputs = []
    for seed, order in (("1", "1"), ("2", "-1")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
        run = subprocess.run(
            [sys.executable, "-c", DIGESTS, order],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 1 + 3 * len(TABLES) + 2 * len(FIGURES)


def test_tables_need_neither_matplotlib_nor_scipy() -> None:
    program = (
        "import sys\n"
        "from needful.sweeps.jobs import Results\n"
        "from needful.reports.write_report import write_report\n"
        "import tempfile\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    write_report(Results(), folder, figures=())\n"
        "print(*sorted({'matplotlib', 'scipy', 'torch', 'mujoco'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"
