"""The drawings of `needful plan`: all of them are written, or none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command_line import files_below, needful, succeed
from needful.envs.household.view import film
from opengl import break_opengl, skip_without_opengl

SUFFIXES = {"gif": "gif", "mp4": "mp4", "page": "html"}


@pytest.fixture(scope="module")
def presents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of Opening Presents."""
    folder = tmp_path_factory.mktemp("presents")
    succeed("collect", "opening-presents", "--demos", 3, "--out", folder / "demos.jsonl")
    succeed("learn", folder / "demos.jsonl", "--out", folder / "model")
    return folder / "model"


def plan(model: Path, folder: Path, *options: str, domain: str = "opening-presents") -> tuple[object, ...]:
    """Return the command that draws one plan into files of a folder."""
    files = [part for option in options for part in (f"--{option}", folder / f"plan.{SUFFIXES[option]}")]
    return ("plan", model, domain, "--timeout", 60, *files)


def test_household_plan_as_gif_mp4_and_page(
    presents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_opengl()
    monkeypatch.setattr(film, "MAX_PICTURES", 5)
    result = needful(*plan(presents, tmp_path, "gif", "mp4", "page"))
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(
        f"Drew {' and '.join(str(tmp_path / f'plan.{x}') for x in ('gif', 'mp4', 'html'))}.\n"
    )
    written = files_below(tmp_path)
    assert written["plan.gif"].startswith(b"GIF89a")
    assert written["plan.mp4"][4:8] == b"ftyp"
    page = written["plan.html"].decode()
    assert page.startswith("<!doctype html>")
    assert "<h1>Opening presents</h1>" in page
    assert "Solved in " in page


def test_only_films_need_opengl_and_failure_writes_nothing(
    presents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_opengl(monkeypatch, RuntimeError("no display"))
    result = needful(*plan(presents, tmp_path, "page", "gif"))
    assert result.code == 1
    assert "Solved." in result.out
    assert "MUJOCO_GL=egl" in result.err
    assert files_below(tmp_path) == {}
    succeed(*plan(presents, tmp_path, "page"))
    assert set(files_below(tmp_path)) == {"plan.html"}
    succeed(*plan(presents, tmp_path, "page"), "--force")


def test_2d_domains_have_videos_and_pages(cluttered: Path, tmp_path: Path) -> None:
    succeed(*plan(cluttered / "model", tmp_path, "mp4", "page", domain="cluttered-1d"))
    written = files_below(tmp_path)
    assert written["plan.mp4"][4:8] == b"ftyp"
    assert "<h1>Cluttered 1d</h1>" in written["plan.html"].decode()


def test_missing_ffmpeg_is_reported_before_planning(
    cluttered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    result = needful(*plan(cluttered / "model", tmp_path, "gif", "mp4", domain="cluttered-1d"))
    assert (result.code, result.out) == (1, "")
    assert "pip install 'needful[household]'" in result.err
    assert files_below(tmp_path) == {}
