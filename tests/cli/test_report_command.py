"""`needful report`: pages about run folders, and invalid arguments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import files_below, finish, needful, start, succeed
from lamp_world import LampNames
from recorded_runs import run_lamps

TESTS = Path(__file__).parent.parent


def data_of(page: Path) -> Any:
    found = re.search(
        r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


def test_run_and_report_write_the_same_page(screws: Path, tmp_path: Path) -> None:
    result = succeed("report", screws, "--out", tmp_path / "again.html")
    assert result.out == f"Wrote {tmp_path / 'again.html'}.\n"
    assert (tmp_path / "again.html").read_bytes() == (screws / "report.html").read_bytes()


def test_the_page_does_not_depend_on_the_hash_seed(cluttered: Path, tmp_path: Path) -> None:
    processes = [
        start("report", cluttered, "--out", f"{seed}.html", folder=tmp_path, PYTHONHASHSEED=seed)
        for seed in ("1", "2")
    ]
    assert [finish(process).code for process in processes] == [0, 0]
    one, other = files_below(tmp_path).values()
    assert one == other == (cluttered / "report.html").read_bytes()


def test_one_page_for_several_runs(runs: dict[str, Path], tmp_path: Path) -> None:
    result = succeed("report", *runs.values(), runs["screws"], "--out", tmp_path / "all.html", "--json")
    assert result.json == {"page": str(tmp_path / "all.html"), "runs": 3}
    data = data_of(tmp_path / "all.html")
    assert [run["domain"] for run in data["runs"]] == ["screws", "cluttered-1d", "screws"]
    assert sorted(data["scenes"]) == ["cluttered-1d", "screws"]


def test_folder_of_runs_includes_all_of_them(runs: dict[str, Path], screws: Path, tmp_path: Path) -> None:
    folder = screws.parent
    assert succeed("report", folder, screws, "--out", tmp_path / "all.html", "--json").json["runs"] == 3
    data = data_of(tmp_path / "all.html")
    assert [run["domain"] for run in data["runs"]] == ["cluttered-1d", "screws", "screws"]
    result = needful("report", tmp_path, "--out", tmp_path / "none.html")
    assert result.code == 1
    assert "records.jsonl cannot be read" in result.error_text


def test_page_is_replaced_only_with_force(screws: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    succeed("report", screws, "--out", page)
    result = needful("report", screws, "--out", page)
    assert result.code == 2
    assert result.err.startswith(f"error: {page} exists")
    assert "--force" in result.err
    succeed("report", screws, "--out", page, "--force")
    assert page.read_text().startswith("<!doctype html>")
    page.write_text("<!doctype html>\n<title>My page</title>")
    result = needful("report", screws, "--out", page, "--force")
    assert result.code == 2
    assert result.err.startswith(f"error: {page} is not a page that needful wrote")
    assert "My page" in page.read_text()


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("records.jsonl", "must end in .html or .htm"),
        ("folder.html", "is a folder"),
    ],
)
def test_output_must_be_an_html_file(screws: Path, tmp_path: Path, out: str, expected: str) -> None:
    (tmp_path / "folder.html").mkdir()
    result = needful("report", screws, "--out", tmp_path / out, "--force")
    assert result.code == 2
    assert expected in result.error_text
    assert files_below(tmp_path) == {}


def test_folders_that_are_not_runs(tmp_path: Path, screws: Path) -> None:
    for folder, expected in (
        (tmp_path / "nowhere", "nowhere does not exist"),
        (tmp_path, "records.jsonl cannot be read"),
        (screws / "model", "records.jsonl cannot be read"),
    ):
        result = needful("report", screws, folder, "--out", tmp_path / "page.html")
        assert result.code == 1
        assert result.err.startswith("error: ")
        assert expected in result.err
        assert "'needful run'" in result.err
    assert needful("report", "--out", tmp_path / "page.html").code == 2
    assert files_below(tmp_path) == {}


def test_custom_domain_is_drawn_with_environment_option(tmp_path: Path) -> None:
    run = run_lamps(tmp_path / "run", LampNames())
    result = needful("report", run, "--out", tmp_path / "plain.html")
    remedy = (
        "The package has no domain 'lamps'. "
        "If it is yours, add --environment MODULE:CLASS to `needful report`."
    )
    printed = remedy.replace("`", "'")
    assert (result.code, result.err) == (0, f"warning: the page has no pictures of lamps. {printed}\n")
    plain = data_of(tmp_path / "plain.html")
    assert plain["scenes"] == {}
    assert remedy in plain["runs"][0]["notes"][0]
    reference = f"{TESTS / 'lamp_world.py'}:Lamps"
    succeed("report", run, "--out", tmp_path / "custom.html", "--environment", reference)
    custom = data_of(tmp_path / "custom.html")
    assert list(custom["scenes"]) == ["lamps"]
    assert custom["runs"][0]["notes"] == []


@pytest.mark.parametrize(
    ("reference", "code", "expected"),
    [
        ("nonsense", 2, "Unknown domain 'nonsense'"),
        ("lamp_wrold:Lamps", 2, "Unknown module 'lamp_wrold'"),
        (f"{TESTS / 'lamp_world.py'}:Lumps", 2, "Did you mean 'Lamps'?"),
        ("needful.envs.painting:Painting", 1, "has the name 'painting', but the runs are of screws"),
        ("needful.envs.household.environment:Household", 1, "has no attribute 'name'"),
    ],
)
def test_invalid_environment_options(
    screws: Path, tmp_path: Path, reference: str, code: int, expected: str
) -> None:
    result = needful("report", screws, "--out", tmp_path / "page.html", "--environment", reference)
    assert result.code == code
    assert expected in result.error_text
    assert files_below(tmp_path) == {}


def test_class_whose_constructor_raises(screws: Path, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("from lamp_world import Lamps\nclass Broken(Lamps):\n    def __init__(self): 1 / 0\n")
    result = needful("report", screws, "--out", tmp_path / "page.html", "--environment", f"{file}:Broken")
    assert result.code == 1
    assert f"{file}:Broken cannot be used." in result.error_text
    assert "ZeroDivisionError" in result.error_text


def test_report_of_an_evaluation(screws: Path, tmp_path: Path) -> None:
    succeed("eval", screws, "screws", "--tasks", 2, "--out", tmp_path / "eval")
    succeed("report", tmp_path / "eval", "--out", tmp_path / "page.html")
    (run,) = data_of(tmp_path / "page.html")["runs"]
    assert run["model"] is None
    assert run["facts"]["operators"] == 4
    assert [task["film"] is not None for task in run["tasks"]] == [True, True]
