"""`needful explain`: reasons for operators, as text and as JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from command_line import needful, succeed


def test_every_operator_is_explained(screws: Path) -> None:
    result = succeed("explain", screws)
    assert "MagnetizeGripper(?x0:gripper, ?x1:screw)\n" in result.out
    assert "learned from 6 transitions in 6 demonstrations" in result.out
    assert "needs HoldingScrew(?x0, ?x2): held before all 6" in result.out
    assert "adds AboveReceptacle(?x0, ?x1): became true and was necessary in 6 of 6\n" in result.out
    assert "needed by goal" in result.out
    assert any("not predicted" in line and "HoldingScrew (" in line for line in result.out.splitlines())
    assert set(succeed("explain", screws, "--json").json) == {
        "DemagnetizeGripper",
        "MagnetizeGripper",
        "MoveToReceptacle",
        "MoveToScrew",
    }


def test_one_operator_as_json(cluttered: Path) -> None:
    printed = succeed("explain", cluttered / "model", "MoveGrasp-2", "--json").json
    assert set(printed) == {"MoveGrasp-2"}
    explained = printed["MoveGrasp-2"]
    assert set(explained) == {
        "operator",
        "parameters",
        "controller",
        "controller_arguments",
        "demonstrations",
        "needs",
        "adds",
        "keeps",
        "deletes",
        "forgets",
        "not_predicted",
        "dropped_by_experiment",
        "doubts",
        "transitions",
    }
    assert explained["parameters"] == [{"name": "?x0", "type": "robot"}, {"name": "?x1", "type": "dot"}]
    assert (explained["controller"], explained["controller_arguments"]) == ("MoveGrasp", ["?x0", "?x1"])
    assert explained["dropped_by_experiment"] == {}
    assert (explained["demonstrations"], explained["needs"]) == (6, [])
    (adds,) = explained["adds"]
    assert adds["atom"] == ["NextTo", "?x0", "?x1"]
    assert adds["transitions"] == len(explained["transitions"])
    assert adds["first"] == {
        "demonstration": 0,
        "step": 1,
        "atom": ["NextTo", "robby", "dot0"],
        "needed_by": "MoveGrasp-1(robby, dot0) at step 2",
    }
    assert explained["keeps"] == []
    (forgets,) = explained["forgets"]
    assert forgets["atom"] == ["NextTo", "?x0", {"any": "dot"}]


def test_json_has_every_transition(cluttered: Path) -> None:
    stored = json.loads((cluttered / "model" / "evidence.json").read_text())["operators"]
    printed = succeed("explain", cluttered, "--json").json
    for name, transitions in stored.items():
        assert len(printed[name]["transitions"]) == len(transitions)
        for one, recorded in zip(printed[name]["transitions"], transitions, strict=True):
            assert one["step"] == recorded["step"] + 1
            assert one["action"] == {"controller": "MoveGrasp", "objects": recorded["objects"]}
            assert [[need["atom"], need["by"]] for need in one["needed_by"]] == recorded["needed_by"]
            for member in ("demonstration", "objects", "necessary", "added", "deleted"):
                assert one[member] == recorded[member]


def test_the_transitions_of_a_named_operator_are_listed(screws: Path) -> None:
    listed = "    demonstration "
    assert listed not in succeed("explain", screws).out
    first = succeed("explain", screws, "MagnetizeGripper").out
    assert "first 5; --all shows all" in first
    assert first.count(listed) == 5
    everything = succeed("explain", screws, "MagnetizeGripper", "--all").out
    assert "--all" not in everything
    assert everything.count(listed) == 6
    explained = succeed("explain", screws, "MagnetizeGripper", "--json").json["MagnetizeGripper"]
    screw = explained["transitions"][0]["objects"][1]
    assert (
        "    demonstration 0, step 2: MagnetizeGripper(robby)\n"
        f"        necessary: GripperCanPickScrew(robby, {screw}), HoldingScrew(robby, {screw})\n"
        f"        HoldingScrew(robby, {screw}) became true, needed by "
        f"MoveToReceptacle(robby, receptacle, {screw}) at step 3\n"
    ) in everything
    assert succeed("explain", screws, "--all").out.count(listed) == 24


def test_transitions_that_backchaining_did_not_reach(screws: Path, tmp_path: Path) -> None:
    shutil.copytree(screws / "model", tmp_path / "model")
    file = tmp_path / "model" / "evidence.json"
    evidence = json.loads(file.read_text())
    evidence["operators"]["MoveToScrew"][0] |= {"necessary": None, "needed_by": []}
    file.write_text(json.dumps(evidence))
    assert "necessary atoms unknown" in succeed("explain", tmp_path / "model", "MoveToScrew").out
    explained = succeed("explain", tmp_path / "model", "MoveToScrew", "--json").json["MoveToScrew"]
    assert explained["transitions"][0]["necessary"] is None
    assert explained["adds"][0]["transitions"] == 5


def test_negative_preconditions_must_not_hold(screws: Path, tmp_path: Path) -> None:
    assert "forbids" not in succeed("explain", screws).out
    shutil.copytree(screws / "model", tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    described = json.loads(file.read_text())
    (move,) = (one for one in described["operators"] if one["name"] == "MoveToScrew")
    gripper, screw = (parameter["name"] for parameter in move["parameters"])
    atom = ["HoldingScrew", gripper, screw]
    move["negative_preconditions"] = [atom]
    file.write_text(json.dumps(described))
    printed = succeed("explain", tmp_path / "model", "MoveToScrew").out
    assert f"  forbids:    HoldingScrew({gripper}, {screw})\n" in printed
    assert f"  forbids HoldingScrew({gripper}, {screw}): must not hold before the step\n" in printed
    explained = succeed("explain", tmp_path / "model", "MoveToScrew", "--json").json["MoveToScrew"]
    assert explained["forbids"] == [atom]


def test_unknown_operator_gets_a_suggestion(screws: Path) -> None:
    result = needful("explain", screws, "MoveToScrw")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(
        "error: Unknown operator 'MoveToScrw'. Did you mean 'MoveToScrew'? Known: "
    )
