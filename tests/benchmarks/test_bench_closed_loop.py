"""The benchmark of closed-loop execution: its conditions, its results file, and its outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

import closed_loop
from closed_loop import draw, main, read

ARGUMENTS = [
    "--domains",
    "cluttered-1d",
    "--first-seed",
    "0",
    "--seeds",
    "1",
    "--tasks",
    "3",
    "--demos",
    "6",
    "--noise",
    "0",
    "0.01",
]


def test_results_are_written_once_and_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "results.jsonl"
    main([*ARGUMENTS, "--out", str(out)])
    printed = capsys.readouterr().out
    found = read(out)
    assert len(found) == 6  # three worlds, open loop and closed loop
    exact = [one for one in found if not one.condition.skill_failures]
    assert [one.solved for one in exact] == [3, 3]
    assert all(one.solved == 3 for one in found if one.condition.closed_loop)
    assert "closed loop, p 0.1, noise 1 %" in printed

    def fail(*arguments: object) -> None:
        raise AssertionError("a measurement is repeated")

    monkeypatch.setattr(closed_loop, "measure", fail)
    main([*ARGUMENTS, "--out", str(out)])
    assert capsys.readouterr().out == printed
    draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
