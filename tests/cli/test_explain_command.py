"""`needful explain`: the reasons, in words and as JSON."""

from __future__ import annotations

from pathlib import Path

from command_line import needful, succeed


def test_every_operator_is_explained(screws: Path) -> None:
    said = succeed("explain", screws)
    assert "MagnetizeGripper(?x0:gripper, ?x1:screw)\n" in said.out
    assert "made from 6 transitions in 6 demonstrations" in said.out
    assert "needs HoldingScrew(?x0, ?x2): it held before all 6" in said.out
    assert "adds AboveReceptacle(?x0, ?x1): became true and was necessary in 6 of 6\n" in said.out
    assert "needed by goal" in said.out
    assert "deliberately not predicted: HoldingScrew (" in said.out
    assert set(succeed("explain", screws, "--json").json) == {
        "DemagnetizeGripper",
        "MagnetizeGripper",
        "MoveToReceptacle",
        "MoveToScrew",
    }


def test_one_operator_as_json(cluttered: Path) -> None:
    told = succeed("explain", cluttered / "model", "MoveGrasp-2", "--json").json
    assert set(told) == {"MoveGrasp-2"}
    explained = told["MoveGrasp-2"]
    assert set(explained) == {
        "operator",
        "transitions",
        "demonstrations",
        "adds",
        "keeps",
        "deletes",
        "forgets",
        "not_predicted",
        "dropped_by_experiment",
    }
    assert explained["dropped_by_experiment"] == {}
    assert explained["demonstrations"] == 6
    assert explained["adds"]["NextTo(?x0, ?x1)"]["transitions"] == explained["transitions"]
    assert explained["adds"]["NextTo(?x0, ?x1)"]["first"].endswith(
        "needed by MoveGrasp-1(robby, dot0) at step 2"
    )
    assert explained["keeps"] == {}
    assert set(explained["forgets"]) == {"NextTo(?x0, *:dot)"}


def test_an_unknown_operator_is_met_with_the_nearest(screws: Path) -> None:
    said = needful("explain", screws, "MoveToScrw")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: Unknown operator 'MoveToScrw'. Did you mean 'MoveToScrew'? Known: ")
