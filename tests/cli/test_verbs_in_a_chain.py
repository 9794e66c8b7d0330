"""collect → learn → eval → plan → export → explain, each with the files of the previous verbs."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from command_line import CommandResult, files_below, needful, read_lines, succeed
from needful.envs.catalogue import make_environment
from needful.storage.demonstrations import read_demonstrations
from needful.storage.model_directory import load_model

DOMAINS = ["screws", "cluttered-1d"]


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with demonstrations and a model of each domain."""
    folder = tmp_path_factory.mktemp("chain")
    for domain in DOMAINS:
        demos = folder / f"{domain}.jsonl.gz"
        result = succeed("collect", domain, "--demos", 6, "--out", demos)
        assert result.out.startswith("Wrote 6 demonstrations (")
        result = succeed("learn", demos, "--out", folder / domain)
        assert result.out.startswith("Learned ")
        assert result.out.endswith(f"Wrote {folder / domain}.\n")
    return folder


@pytest.mark.parametrize("domain", DOMAINS)
def test_collecting_again_gives_the_same_file(chain: Path, domain: str, tmp_path: Path) -> None:
    for name in ("again.jsonl.gz", "again.jsonl"):
        result = succeed("collect", domain, "--demos", 6, "--out", tmp_path / name, "--json")
        assert result.json == {
            "domain": domain,
            "seed": 0,
            "demos": 6,
            "transitions": sum(map(len, read_demonstrations(tmp_path / name).demonstrations)),
            "skipped": 0,
            "file": str(tmp_path / name),
        }
    packed = (tmp_path / "again.jsonl.gz").read_bytes()
    assert packed == (chain / f"{domain}.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "again.jsonl").read_bytes()


@pytest.mark.parametrize("domain", DOMAINS)
def test_learning_from_the_file_equals_learning_in_a_run(
    chain: Path, runs: dict[str, Path], domain: str, tmp_path: Path
) -> None:
    result = succeed("learn", chain / f"{domain}.jsonl.gz", "--out", tmp_path / "model", "--json")
    assert set(result.json) == {
        "learner",
        "seed",
        "demos",
        "transitions",
        "operators",
        "coverage",
        "seconds",
        "false_claims",
        "false_claim_share",
        "false_claims_validated",
        "purposeless_steps",
        "idle_steps",
        "repaired_atoms",
        "validation",
        "doubts",
    }
    assert set(result.json["seconds"]) == {"operators", "samplers", "validation"}
    assert (result.json["coverage"], result.json["demos"]) == (1.0, 6)
    learned, from_run = files_below(tmp_path / "model"), files_below(runs[domain] / "model")
    assert learned == files_below(chain / domain)
    for name in ("samplers.safetensors", "evidence.json", "doubts.json", "domain.pddl"):
        assert learned[name] == from_run[name]
    described, with_domain = json.loads(learned["model.json"]), json.loads(from_run["model.json"])
    assert with_domain["provenance"].pop("domain") == domain
    assert described == with_domain


@pytest.mark.parametrize("domain", DOMAINS)
def test_evaluation_agrees_with_the_run(
    chain: Path, runs: dict[str, Path], domain: str, tmp_path: Path
) -> None:
    out = tmp_path / "evaluation"
    result = succeed("eval", chain / domain, domain, "--tasks", 3, "--out", out, "--json")
    records = read_lines(out / "records.jsonl")
    assert result.json == {**json.loads((out / "summary.json").read_text()), "records": records}
    assert (result.json["tasks"], result.json["solved"], result.json["learner"]) == (3, 3, "necessary")
    assert sorted(files_below(out)) == ["plans.jsonl.gz", "records.jsonl", "run.json", "summary.json"]

    def comparable(record: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in record.items() if name not in ("seconds", "config_hash")}

    here, in_run = read_lines(out / "records.jsonl"), read_lines(runs[domain] / "records.jsonl")
    assert list(map(comparable, here)) == list(map(comparable, in_run))
    printed = succeed("eval", runs[domain], domain, "--tasks", 3, "--out", tmp_path / "other").out
    assert "Solved 3/3 unseen tasks (100.0%)" in printed
    assert str(tmp_path / "other") in printed
    assert "Results" not in succeed("eval", runs[domain], domain, "--tasks", 1).out


def test_config_hash_identifies_the_model(chain: Path, tmp_path: Path) -> None:
    succeed("learn", chain / "screws.jsonl.gz", "--out", tmp_path / "other", "--seed", 1)
    hashes = []
    for number, model in enumerate([chain / "screws", tmp_path / "other", chain / "screws"]):
        out = tmp_path / str(number)
        succeed("eval", model, "screws", "--tasks", 1, "--out", out)
        hashes.append(read_lines(out / "records.jsonl")[0]["config_hash"])
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize("domain", DOMAINS)
def test_plan_is_printed_step_by_step_and_drawn(chain: Path, domain: str, tmp_path: Path) -> None:
    picture, gif = tmp_path / "plan.png", tmp_path / "plan.gif"
    plan = ("plan", chain / domain, domain, "--task", 1)
    result = succeed(*plan, "--picture", picture, "--gif", gif)
    assert result.out.startswith("Goal: ")
    assert result.out.endswith(f"Solved.\nDrew {picture} and {gif}.\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert gif.read_bytes().startswith(b"GIF89a")
    printed = succeed(*plan, "--picture", picture, "--force", "--json").json
    keys = {"outcome", "plan", "actions", "subgoals", "failure", "missing", "suspects", "cause", "advice"}
    assert set(printed) == keys
    assert (printed["outcome"], printed["failure"], printed["missing"]) == ("solved", None, [])
    assert len(printed["plan"]) == len(printed["actions"]) == len(printed["subgoals"]) - 1
    for number, step in enumerate(printed["plan"], start=1):
        assert f"{number}. {step}\n" in result.out
    for action in printed["actions"]:
        assert set(action) == {"controller", "objects", "params"}
    again = needful(*plan, "--picture", picture)
    assert (again.code, again.out) == (2, "")
    assert f"{picture} exists" in again.err


def test_folder_at_the_path_of_an_output_file_is_reported_first(chain: Path, tmp_path: Path) -> None:
    plan = ("plan", chain / "screws", "screws", "--timeout", 1e-4)
    for command in (
        (*plan, "--picture", tmp_path / "folder.png"),
        (*plan, "--gif", tmp_path / "folder.gif"),
        ("collect", "screws", "--out", tmp_path / "folder.jsonl"),
    ):
        command[-1].mkdir()
        result = needful(*command, "--force")
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"error: {command[-1]} is a folder")
        assert "another path" in result.err


@pytest.mark.parametrize(
    ("option", "name", "suffixes"),
    [
        ("--picture", "plan.jpg", ".png"),
        ("--gif", "plan", ".gif"),
        ("--mp4", "plan.avi", ".mp4"),
        ("--page", "plan.pdf", ".html or .htm"),
    ],
)
def test_suffixes_of_drawings_are_checked(
    chain: Path, tmp_path: Path, option: str, name: str, suffixes: str
) -> None:
    result = needful("plan", chain / "screws", "screws", option, tmp_path / name)
    assert (result.code, result.out) == (2, "")
    assert f"{option}:" in result.error_text.replace("'", "")
    assert f"must end in {suffixes}" in result.error_text
    assert files_below(tmp_path) == {}


def test_task_with_a_large_index_is_sampled_directly(chain: Path, tmp_path: Path) -> None:
    number = 10**9
    result = succeed("plan", chain / "screws", "screws", "--task", number)
    task = make_environment("screws").task("test", number, seed=0)
    assert result.out.startswith(f"Goal: {', '.join(map(str, sorted(task.goal)))}\n")
    succeed("export", chain / "screws", "--pddl", tmp_path / "pddl", "--problem", f"screws:{number}")
    assert all(obj.name in (tmp_path / "pddl" / "problem.pddl").read_text() for obj in task.objects)


def test_planning_timeout(chain: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    plan = ("plan", chain / "screws", "screws", "--timeout", 1e-4)
    result = needful(*plan, "--picture", picture)
    assert result.code == 1
    assert "Not solved: " in result.out
    assert "--timeout" in result.out
    assert result.err.startswith("warning: nothing was drawn")
    assert not picture.exists()
    result = needful(*plan, "--json")
    assert result.code == 1
    assert result.json["outcome"] == "timeout"
    assert "time limit" in result.json["failure"]
    assert result.json["plan"] == result.json["actions"] == []


def without_states(demos: Path, out: Path, line_numbers: list[int]) -> Path:
    """Write the demonstrations again, without states in the given lines; line 0 is the header."""
    lines = [json.loads(line) for line in gzip.decompress(demos.read_bytes()).splitlines()]
    for number in line_numbers:
        del lines[number]["states"]
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return out


def check_failure(result: CommandResult, *parts: str) -> None:
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    for part in parts:
        assert part in result.err


@pytest.mark.parametrize("json_output", [True, False])
def test_without_states_there_are_operators_but_no_samplers(
    chain: Path, tmp_path: Path, json_output: bool
) -> None:
    demos = without_states(chain / "cluttered-1d.jsonl.gz", tmp_path / "demos.jsonl", [1, 2, 3, 4, 5, 6])
    model, out = tmp_path / "model", tmp_path / "out"
    result = needful("learn", demos, "--out", model, *(["--json"] if json_output else []))
    assert result.code == 0
    warnings = result.err.splitlines()
    assert len(warnings) == 2
    for operator, warning in zip(("MoveGrasp-1", "MoveGrasp-2"), warnings, strict=True):
        assert warning.startswith(f"warning: no sampler for {operator}")
        assert "no states" in warning
    assert load_model(model).model.operators == load_model(chain / "cluttered-1d").model.operators
    out.mkdir()
    (out / "old").write_text("")
    reason = "no samplers for MoveGrasp-1, MoveGrasp-2"
    check_failure(needful("eval", model, "cluttered-1d", "--out", out, "--force"), reason, "with states")
    check_failure(needful("plan", model, "cluttered-1d"), reason)
    assert files_below(out) == {"old": b""}
    succeed("explain", model)
    succeed("export", model, "--pddl", tmp_path / "pddl", "--problem", "cluttered-1d:0")


def test_some_states_are_enough_for_samplers(chain: Path, tmp_path: Path) -> None:
    demos = without_states(chain / "cluttered-1d.jsonl.gz", tmp_path / "demos.jsonl", [2, 5])
    succeed("learn", demos, "--out", tmp_path / "model")
    assert succeed("eval", tmp_path / "model", "cluttered-1d", "--tasks", 2, "--json").json["solved"] == 2


def test_models_of_other_domains_are_refused(chain: Path, tmp_path: Path) -> None:
    reasons = ("does not fit the domain 'screws'", "Unknown controller", "MoveGrasp")
    model = chain / "cluttered-1d"
    check_failure(needful("eval", model, "screws", "--out", tmp_path / "out"), *reasons)
    check_failure(needful("plan", model, "screws"), *reasons)
    check_failure(needful("export", model, "--pddl", tmp_path / "out", "--problem", "screws:0"), *reasons)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["collect", "scrows", "--out", "{new}"],
        ["collect", "screws", "--demos", 0, "--out", "{new}"],
        ["collect", "screws"],
        ["learn", "{chain}/screws.jsonl.gz", "--learner", "lotf", "--out", "{new}"],
        ["learn", "{chain}/screws.jsonl.gz"],
        ["eval", "{chain}/screws", "scrows", "--out", "{new}"],
        ["eval", "{chain}/screws", "screws", "--timeout", 0, "--out", "{new}"],
        ["plan", "{chain}/screws", "scrows"],
        ["plan", "{chain}/screws", "screws", "--task", -1],
        ["plan", "{chain}/screws", "screws", "--timeout", 0],
        ["explain", "{chain}/screws", "MoveToScrw"],
    ],
)
def test_wrong_usage_of_a_verb(arguments: list[object], chain: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    result = needful(*(str(one).format(chain=chain, new=new) for one in arguments))
    assert (result.code, result.out) == (2, "")
    assert result.err
    assert not new.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["eval", "{run}", "screws", "--out", "{run}"],
        ["eval", "{run}", "screws", "--out", "{run}/model"],
        ["export", "{run}", "--pddl", "{run}/model/../model"],
        ["learn", "{run}/demos.jsonl.gz", "--out", "{run}"],
        ["learn", "{run}/demos.jsonl.gz", "--out", "{run}/demos.jsonl.gz"],
    ],
)
def test_no_verb_deletes_what_it_reads(arguments: list[str], screws: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(screws, run)
    result = needful(*(part.format(run=run) for part in arguments), "--force")
    assert (result.code, result.out) == (2, "")
    assert "which would be lost" in result.error_text
    assert files_below(run) == files_below(screws)


@pytest.mark.parametrize(
    "arguments",
    [
        ["eval", "{run}", "screws", "--out", "{run}/model/sub"],
        ["eval", "{run}/model", "screws", "--out", "{run}/model/sub/folder"],
        ["export", "{run}", "--pddl", "{run}/model/pddl"],
    ],
)
def test_no_verb_writes_into_the_model_it_reads(arguments: list[str], screws: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(screws, run)
    result = needful(*(part.format(run=run) for part in arguments), "--force")
    assert (result.code, result.out) == (2, "")
    assert "is inside" in result.error_text
    assert files_below(run) == files_below(screws)


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["collect", "screws", "--demos", 2], "--out"),
        (["learn", "{chain}/screws.jsonl.gz"], "--out"),
        (["eval", "{chain}/screws", "screws", "--tasks", 1], "--out"),
        (["export", "{chain}/screws"], "--pddl"),
        (["export", "{chain}/screws"], "--out"),
    ],
)
def test_no_verb_replaces_output_without_force(
    arguments: list[object], out: str, chain: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    command = [*(str(one).format(chain=chain) for one in arguments), out, old]
    succeed(*command)
    before = _content(old)
    result = needful(*command)
    assert result.code == 2
    assert result.err.startswith(f"error: {old} exists")
    assert "--force" in result.err
    assert _content(old) == before
    succeed(*command, "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def _content(path: Path) -> dict[str, bytes]:
    return files_below(path) if path.is_dir() else {"": path.read_bytes()}


@pytest.mark.parametrize(
    ("arguments", "files", "offending"),
    [
        (["export", "{chain}/screws", "--pddl", "{out}"], ["domain.pddl", "thesis.tex"], "domain.pddl"),
        (["export", "{chain}/screws", "--pddl", "{out}"], ["domain.pddl"], "domain.pddl"),
        (["learn", "{chain}/screws.jsonl.gz", "--out", "{out}"], ["model.json", "main.py"], "main.py"),
        (["learn", "{chain}/screws.jsonl.gz", "--out", "{out}"], ["model.json"], "model.json"),
        (["run", "screws", "--out", "{out}"], ["report.html"], "report.html"),
        (["eval", "{chain}/screws", "screws", "--out", "{out}"], ["records.jsonl"], "records.jsonl"),
    ],
)
def test_no_verb_replaces_a_folder_with_other_files(
    arguments: list[str], files: list[str], offending: str, chain: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for file in files:
        (out / file).write_text("user data")
    result = needful(*(part.format(chain=chain, out=out) for part in arguments), "--force")
    assert (result.code, result.out) == (2, "")
    assert f"{out} holds {offending!r}" in result.error_text
    assert files_below(out) == dict.fromkeys(files, b"user data")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "screws", "--out"], "is a file"),
        (["learn", "{chain}/screws.jsonl.gz", "--out"], "is a file"),
        (["export", "{chain}/screws", "--out"], "is a file"),
        (["collect", "screws", "--out"], "is not a file of demonstrations"),
        (["plan", "{chain}/screws", "screws", "--picture"], "is not a PNG picture"),
        (["plan", "{chain}/screws", "screws", "--gif"], "is not a GIF"),
    ],
)
def test_no_verb_replaces_a_file_of_another_kind(
    arguments: list[str], reason: str, chain: Path, tmp_path: Path
) -> None:
    suffix = {"--picture": ".png", "--gif": ".gif"}.get(arguments[-1], ".tex")
    old = tmp_path / f"thesis{suffix}"
    old.write_text("user data")
    result = needful(*(part.format(chain=chain) for part in arguments), old, "--force")
    assert (result.code, result.out) == (2, "")
    assert f"{old} {reason}" in result.error_text
    assert old.read_text() == "user data"
