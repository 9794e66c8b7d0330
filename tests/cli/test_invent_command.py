"""`--invent` in `run` and `learn`, and the other verbs on models with invented predicates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import needful, succeed
from json_damage import positions
from needful import ModelError, make_environment, open_model
from needful.core.definitions import Definition
from needful.reports.page.invented import invented_cards
from needful.storage.model_directory import load_model

DOMAINS = ("cluttered-1d", "screws")


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run folders of two domains whose predicates were invented."""
    folder = tmp_path_factory.mktemp("invented")
    for domain in DOMAINS:
        succeed("run", domain, "--invent", "--demos", 30, "--tasks", 10, "--out", folder / domain)
    return {domain: folder / domain for domain in DOMAINS}


def definitions(folder: Path) -> dict[str, Definition]:
    predicates = open_model(folder).model.vocabulary.predicates
    return {one.name: one.definition for one in predicates if one.definition is not None}


@pytest.mark.parametrize("domain", DOMAINS)
def test_tasks_are_solved_with_predicates_that_the_domain_lacks(
    domain: str, invented: dict[str, Path]
) -> None:
    summary = json.loads((invented[domain] / "summary.json").read_text())
    assert summary["success_rate"] >= 0.9
    found = definitions(invented[domain])
    assert set(summary["invention"]["predicates"]) == set(found) != set()
    environment = make_environment(domain)
    known = {one.name for one in environment.vocabulary.predicates}
    assert known.isdisjoint(found)
    goals = {atom.predicate.name for atom in environment.task("test", 0, 0).goal}
    assert {one.name for one in open_model(invented[domain]).model.vocabulary.predicates} == goals | set(
        found
    )


@pytest.mark.parametrize("domain", DOMAINS)
def test_other_verbs_accept_the_model(domain: str, invented: dict[str, Path], tmp_path: Path) -> None:
    folder = invented[domain]
    found = definitions(folder)
    evaluated = succeed("eval", folder, domain, "--tasks", 10, "--out", tmp_path / "eval", "--json").json
    summary = json.loads((folder / "summary.json").read_text())
    assert evaluated["success_rate"] == summary["success_rate"]
    assert needful("plan", folder, domain).code == 0
    succeed("export", folder, "--pddl", tmp_path / "pddl", "--problem", f"{domain}:0")
    text = (tmp_path / "pddl/domain.pddl").read_text()
    explained = succeed("explain", folder).out
    for name, definition in found.items():
        assert f'; predicate {name} holds if "{definition.sentence}"' in text
        assert definition.sentence in explained
    assert "invented because it excludes" in explained
    succeed("report", folder, "--out", tmp_path / "report.html")


def test_each_invented_predicate_has_a_card_with_examples(invented: dict[str, Path]) -> None:
    stored = load_model(invented["screws"] / "model")
    cards = {card["name"]: card for card in invented_cards(stored)}
    assert cards.keys() == definitions(invented["screws"]).keys()
    for card in cards.values():
        needing = {one["operator"] for one in card["uses"] if "needs" in one["how"]}
        assert needing == {
            one.name
            for one in stored.model.operators
            if card["name"] in {atom.predicate.name for atom in one.preconditions - one.keep_effects}
        }
        for part in card["examples"]:
            holds = [value <= part["bound"] for value in part["true"]]
            assert holds == [part["holdsBelow"]] * len(holds) != []
            assert part["holdsBelow"] not in [value <= part["bound"] for value in part["false"]] != []


def test_the_same_run_writes_the_same_model(invented: dict[str, Path], tmp_path: Path) -> None:
    succeed("run", "screws", "--invent", "--demos", 30, "--tasks", 0, "--out", tmp_path / "again")
    for name in ("model.json", "domain.pddl", "evidence.json"):
        again = (tmp_path / "again/model" / name).read_bytes()
        assert again == (invented["screws"] / "model" / name).read_bytes()


def test_learning_from_a_file_needs_no_simulator(invented: dict[str, Path], tmp_path: Path) -> None:
    file = invented["screws"] / "demos.jsonl.gz"
    result = succeed("learn", file, "--invent", "--out", tmp_path / "model", "--json").json
    assert result["invention"]["solved"] == []
    assert result["invention"]["costs"][-1] < result["invention"]["costs"][0]
    offline = succeed("run", "screws", "--invent", "--no-simulator", "--demos", 30, "--tasks", 0, "--json")
    assert offline.json["invention"] == result["invention"]
    evaluated = succeed("eval", tmp_path / "model", "screws", "--tasks", 5, "--json").json
    assert evaluated["success_rate"] >= 0.8


def test_kept_predicates_stay(tmp_path: Path) -> None:
    keep = "GripperCanPickScrew,HoldingScrew"
    succeed(
        "run", "screws", "--invent", "--keep", keep, "--demos", 20, "--tasks", 0, "--out", tmp_path / "a"
    )
    names = {one.name for one in open_model(tmp_path / "a").model.vocabulary.predicates}
    assert set(keep.split(",")) <= names


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--keep", "HoldingScrew"], "Add --invent"),
        (["--no-simulator"], "Add --invent"),
        (["--invent", "--keep", "HoldngScrew"], "Did you mean 'HoldingScrew'?"),
        (["--invent", "--experiments"], "without other experiments"),
        (["--invent", "--learner", "gnn-model-free"], "operator learner"),
    ],
)
def test_wrong_usage(arguments: list[str], expected: str, tmp_path: Path) -> None:
    result = needful("run", "screws", "--demos", 4, "--tasks", 0, "--out", tmp_path / "run", *arguments)
    assert result.code != 0
    assert expected in result.error_text


def test_a_time_limit_ends_the_invention(tmp_path: Path) -> None:
    command = ("run", "screws", "--invent", "--demos", 10, "--tasks", 1, "--learning-timeout", 0.001)
    result = needful(*command, "--out", tmp_path / "run")
    assert result.code == 1
    assert "Increase --learning-timeout" in result.err


def damaged(folder: Path, target: Path, change) -> Path:
    """Copy a model directory, with a change of the first definition in its model.json."""
    target.mkdir()
    for file in (folder / "model").iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    document = json.loads((target / "model.json").read_text())
    change(next(one for one in document["predicates"] if "definition" in one))
    (target / "model.json").write_text(json.dumps(document))
    return target


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("kind", "__import__('os').system('true')", "Unknown kind of expression"),
        ("kind", 3, "expected a string"),
        ("types", ["dot", "nothing"], "Unknown type 'nothing'"),
        ("types", [], "takes"),
        ("features", [["held; import os"]], "takes"),
        ("features", "x", "expected an array"),
        ("features", [[], []], "takes"),
        ("quantifier", "sum", "Unknown quantifier 'sum'"),
        ("compare", "!=", "Unknown comparison '!='"),
        ("bound", "1", "expected a number"),
        ("bound", 10**400, "too large"),
        ("bound", True, "expected a number"),
        ("code", "print()", "unknown field 'code'"),
    ],
)
def test_broken_definitions_are_errors(
    key: str, value: object, expected: str, invented: dict[str, Path], tmp_path: Path
) -> None:
    def change(predicate: dict) -> None:
        predicate["definition"][key] = value

    path = damaged(invented["cluttered-1d"], tmp_path / "model", change)
    with pytest.raises(ModelError) as raised:
        load_model(path)
    assert expected in str(raised.value)
    assert "model.json, predicates[" in str(raised.value)
    result = needful("explain", path)
    assert result.code != 0
    assert expected in result.error_text


def test_infinite_bounds_and_other_types_are_errors(invented: dict[str, Path], tmp_path: Path) -> None:
    path = damaged(
        invented["screws"], tmp_path / "a", lambda one: one["definition"].update(bound=float("inf"))
    )
    with pytest.raises(ModelError, match="Infinity is not a JSON number"):
        load_model(path)
    path = damaged(invented["screws"], tmp_path / "b", lambda one: one.update(types=[]))
    with pytest.raises(ModelError, match="the types differ from those of the definition"):
        load_model(path)


def test_removed_parts_of_a_definition_are_errors(invented: dict[str, Path], tmp_path: Path) -> None:
    sample = json.loads((invented["screws"] / "model/model.json").read_text())
    definition = next(one["definition"] for one in sample["predicates"] if "definition" in one)
    keys = [key for container, key in positions(definition) if container is definition]
    for key in keys:
        path = damaged(invented["screws"], tmp_path / key, lambda one, key=key: one["definition"].pop(key))
        with pytest.raises(ModelError, match=f"the field '{key}' is missing"):
            load_model(path)


def test_a_predicate_of_the_domain_is_not_replaced(invented: dict[str, Path], tmp_path: Path) -> None:
    text = (invented["screws"] / "model/model.json").read_text()
    name = next(iter(definitions(invented["screws"])))
    path = damaged(invented["screws"], tmp_path / "model", lambda one: None)
    (path / "model.json").write_text(text.replace(f'"{name}"', '"HoldingScrew"'))
    result = needful("eval", path, "screws", "--tasks", 1)
    assert result.code != 0
    assert "the domain has another predicate with this name" in result.error_text
