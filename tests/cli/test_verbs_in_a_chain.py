"""collect → learn → eval → plan → export → explain, each from what the one before it wrote."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from command_line import Said, files_below, needful, read_lines, succeed
from needful.envs.catalogue import make_environment
from needful.storage.demonstrations import read_demonstrations
from needful.storage.model_directory import load_model

DOMAINS = ["screws", "cluttered-1d"]


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with demonstrations and a model of each domain, made one step after the other."""
    folder = tmp_path_factory.mktemp("chain")
    for domain in DOMAINS:
        demos = folder / f"{domain}.jsonl.gz"
        said = succeed("collect", domain, "--demos", 6, "--out", demos)
        assert said.out.startswith("Wrote 6 demonstrations (")
        said = succeed("learn", demos, "--out", folder / domain)
        assert said.out.startswith("Learned ")
        assert said.out.endswith(f"Wrote {folder / domain}.\n")
    return folder


@pytest.mark.parametrize("domain", DOMAINS)
def test_collecting_again_gives_the_same_file(chain: Path, domain: str, tmp_path: Path) -> None:
    for name in ("again.jsonl.gz", "again.jsonl"):
        said = succeed("collect", domain, "--demos", 6, "--out", tmp_path / name, "--json")
        assert said.json == {
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
def test_learning_from_the_file_is_what_a_run_does(
    chain: Path, runs: dict[str, Path], domain: str, tmp_path: Path
) -> None:
    said = succeed("learn", chain / f"{domain}.jsonl.gz", "--out", tmp_path / "model", "--json")
    assert set(said.json) == {
        "learner",
        "seed",
        "demos",
        "transitions",
        "operators",
        "coverage",
        "seconds",
    }
    assert set(said.json["seconds"]) == {"operators", "samplers"}
    assert (said.json["coverage"], said.json["demos"]) == (1.0, 6)
    learned, alike = files_below(tmp_path / "model"), files_below(runs[domain] / "model")
    assert learned == files_below(chain / domain)
    for name in ("samplers.safetensors", "evidence.json", "domain.pddl"):
        assert learned[name] == alike[name]
    described, with_domain = json.loads(learned["model.json"]), json.loads(alike["model.json"])
    assert with_domain["provenance"].pop("domain") == domain
    assert described == with_domain


@pytest.mark.parametrize("domain", DOMAINS)
def test_evaluation_agrees_with_the_run(
    chain: Path, runs: dict[str, Path], domain: str, tmp_path: Path
) -> None:
    out = tmp_path / "evaluation"
    said = succeed("eval", chain / domain, domain, "--tasks", 3, "--out", out, "--json")
    records = read_lines(out / "records.jsonl")
    assert said.json == {**json.loads((out / "summary.json").read_text()), "records": records}
    assert (said.json["tasks"], said.json["solved"], said.json["learner"]) == (3, 3, "necessary")
    assert sorted(files_below(out)) == ["plans.jsonl.gz", "records.jsonl", "summary.json"]

    def essence(record: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in record.items() if name not in ("seconds", "config_hash")}

    ours, theirs = read_lines(out / "records.jsonl"), read_lines(runs[domain] / "records.jsonl")
    assert list(map(essence, ours)) == list(map(essence, theirs))
    spoken = succeed("eval", runs[domain], domain, "--tasks", 3, "--out", tmp_path / "other").out
    assert "Solved 3/3 unseen tasks (100.0%)" in spoken
    assert str(tmp_path / "other") in spoken
    assert "Results" not in succeed("eval", runs[domain], domain, "--tasks", 1).out


def test_evaluations_of_different_models_can_be_told_apart(chain: Path, tmp_path: Path) -> None:
    succeed("learn", chain / "screws.jsonl.gz", "--out", tmp_path / "other", "--seed", 1)
    hashes = []
    for number, model in enumerate([chain / "screws", tmp_path / "other", chain / "screws"]):
        out = tmp_path / str(number)
        succeed("eval", model, "screws", "--tasks", 1, "--out", out)
        hashes.append(read_lines(out / "records.jsonl")[0]["config_hash"])
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_plan_is_shown_step_by_step(chain: Path, domain: str, tmp_path: Path) -> None:
    picture, gif = tmp_path / "plan.png", tmp_path / "plan.gif"
    plan = ("plan", chain / domain, domain, "--task", 1)
    said = succeed(*plan, "--picture", picture, "--gif", gif)
    assert said.out.startswith("Goal: ")
    assert said.out.endswith(f"Solved.\nDrew {picture} and {gif}.\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert gif.read_bytes().startswith(b"GIF89a")
    told = succeed(*plan, "--picture", picture, "--force", "--json").json
    assert set(told) == {"outcome", "plan", "actions", "subgoals", "failure", "missing"}
    assert (told["outcome"], told["failure"], told["missing"]) == ("solved", None, [])
    assert len(told["plan"]) == len(told["actions"]) == len(told["subgoals"]) - 1
    for number, step in enumerate(told["plan"], start=1):
        assert f"{number}. {step}\n" in said.out
    for action in told["actions"]:
        assert set(action) == {"controller", "objects", "params"}
    again = needful(*plan, "--picture", picture)
    assert (again.code, again.out) == (2, "")
    assert "exists already" in again.err


def test_a_folder_in_the_place_of_a_file_is_seen_before_the_work(chain: Path, tmp_path: Path) -> None:
    plan = ("plan", chain / "screws", "screws", "--timeout", 1e-4)
    for command in (
        (*plan, "--picture", tmp_path / "folder.png"),
        (*plan, "--gif", tmp_path / "folder.gif"),
        ("collect", "screws", "--out", tmp_path / "folder.jsonl"),
    ):
        command[-1].mkdir()
        said = needful(*command, "--force")
        assert (said.code, said.out) == (2, "")
        reason = f"{command[-1]} is a folder, but a file is to be written."
        assert said.err == f"error: {reason} Choose another path.\n"


@pytest.mark.parametrize(
    ("option", "name", "suffixes"),
    [
        ("--picture", "plan.jpg", ".png"),
        ("--gif", "plan", ".gif"),
        ("--mp4", "plan.avi", ".mp4"),
        ("--page", "plan.pdf", ".html or .htm"),
    ],
)
def test_drawings_are_named_after_what_they_are(
    chain: Path, tmp_path: Path, option: str, name: str, suffixes: str
) -> None:
    said = needful("plan", chain / "screws", "screws", option, tmp_path / name)
    assert (said.code, said.out) == (2, "")
    assert f"{option}: the name must end in {suffixes}, got" in said.complaint.replace("'", "")
    assert files_below(tmp_path) == {}


def test_a_late_task_comes_at_once(chain: Path, tmp_path: Path) -> None:
    number = 10**9
    said = succeed("plan", chain / "screws", "screws", "--task", number)
    task = make_environment("screws").task("test", number, seed=0)
    assert said.out.startswith(f"Goal: {', '.join(map(str, sorted(task.goal)))}\n")
    succeed("export", chain / "screws", "--pddl", tmp_path / "pddl", "--problem", f"screws:{number}")
    assert all(obj.name in (tmp_path / "pddl" / "problem.pddl").read_text() for obj in task.objects)


def test_a_plan_that_takes_too_long(chain: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    plan = ("plan", chain / "screws", "screws", "--timeout", 1e-4)
    said = needful(*plan, "--picture", picture)
    assert said.code == 1
    assert "Not solved: time ran out before an abstract plan was found" in said.out
    assert said.err == "warning: nothing was drawn: planning ended before the first step.\n"
    assert not picture.exists()
    said = needful(*plan, "--json")
    assert said.code == 1
    assert said.json["outcome"] == "timeout"
    assert said.json["failure"].startswith("time ran out")
    assert said.json["plan"] == said.json["actions"] == []


def without(demos: Path, out: Path, places: list[int]) -> Path:
    """Write the demonstrations again, some of them without states."""
    lines = [json.loads(line) for line in gzip.decompress(demos.read_bytes()).splitlines()]
    for place in places:
        del lines[place]["states"]
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return out


def fails(said: Said, *parts: str) -> None:
    assert said.code == 1
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    for part in parts:
        assert part in said.err


@pytest.mark.parametrize("json_output", [True, False])
def test_without_states_there_are_operators_but_no_samplers(
    chain: Path, tmp_path: Path, json_output: bool
) -> None:
    demos = without(chain / "cluttered-1d.jsonl.gz", tmp_path / "demos.jsonl", [1, 2, 3, 4, 5, 6])
    model, out = tmp_path / "model", tmp_path / "out"
    said = needful("learn", demos, "--out", model, *(["--json"] if json_output else []))
    assert said.code == 0
    assert said.err == (
        "warning: no sampler for MoveGrasp-1: its demonstrations have no states\n"
        "warning: no sampler for MoveGrasp-2: its demonstrations have no states\n"
    )
    assert load_model(model).model.operators == load_model(chain / "cluttered-1d").model.operators
    out.mkdir()
    (out / "old").write_text("")
    reason = "cannot solve tasks: there are no samplers for MoveGrasp-1, MoveGrasp-2."
    fails(needful("eval", model, "cluttered-1d", "--out", out, "--force"), reason, "with states")
    fails(needful("plan", model, "cluttered-1d"), reason)
    assert files_below(out) == {"old": b""}
    succeed("explain", model)
    succeed("export", model, "--pddl", tmp_path / "pddl", "--problem", "cluttered-1d:0")


def test_some_states_are_enough_for_samplers(chain: Path, tmp_path: Path) -> None:
    demos = without(chain / "cluttered-1d.jsonl.gz", tmp_path / "demos.jsonl", [2, 5])
    succeed("learn", demos, "--out", tmp_path / "model")
    assert succeed("eval", tmp_path / "model", "cluttered-1d", "--tasks", 2, "--json").json["solved"] == 2


def test_models_of_other_domains_are_refused(chain: Path, tmp_path: Path) -> None:
    reason = "This is no model of the domain 'screws'. Unknown controller"
    model = chain / "cluttered-1d"
    fails(needful("eval", model, "screws", "--out", tmp_path / "out"), reason)
    fails(needful("plan", model, "screws"), reason)
    fails(needful("export", model, "--pddl", tmp_path / "out", "--problem", "screws:0"), reason)
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
    said = needful(*(str(one).format(chain=chain, new=new) for one in arguments))
    assert (said.code, said.out) == (2, "")
    assert said.err
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
    said = needful(*(part.format(run=run) for part in arguments), "--force")
    assert (said.code, said.out) == (2, "")
    assert "which would be lost" in said.complaint
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
    said = needful(*(part.format(run=run) for part in arguments), "--force")
    assert (said.code, said.out) == (2, "")
    assert "is inside" in said.complaint
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
def test_no_verb_replaces_anything_unasked(
    arguments: list[object], out: str, chain: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    command = [*(str(one).format(chain=chain) for one in arguments), out, old]
    succeed(*command)
    before = _content(old)
    said = needful(*command)
    assert said.code == 2
    assert said.err == f"error: {old} exists already. Choose another path, or use --force to replace it.\n"
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
def test_no_verb_replaces_a_folder_of_other_things(
    arguments: list[str], files: list[str], offending: str, chain: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for file in files:
        (out / file).write_text("precious")
    said = needful(*(part.format(chain=chain, out=out) for part in arguments), "--force")
    assert (said.code, said.out) == (2, "")
    assert f"{out} holds {offending!r}, which is not part of " in said.complaint
    assert files_below(out) == dict.fromkeys(files, b"precious")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "screws", "--out"], "is a file, but a folder is to be written."),
        (["learn", "{chain}/screws.jsonl.gz", "--out"], "is a file, but a folder is to be written."),
        (["export", "{chain}/screws", "--out"], "is a file, but a folder is to be written."),
        (["collect", "screws", "--out"], "is not a file of demonstrations, so it is not replaced."),
        (["plan", "{chain}/screws", "screws", "--picture"], "is not a PNG picture"),
        (["plan", "{chain}/screws", "screws", "--gif"], "is not a GIF"),
    ],
)
def test_no_verb_replaces_a_file_of_another_kind(
    arguments: list[str], reason: str, chain: Path, tmp_path: Path
) -> None:
    suffix = {"--picture": ".png", "--gif": ".gif"}.get(arguments[-1], ".tex")
    old = tmp_path / f"thesis{suffix}"
    old.write_text("precious")
    said = needful(*(part.format(chain=chain) for part in arguments), old, "--force")
    assert (said.code, said.out) == (2, "")
    assert f"{old} {reason}" in said.complaint
    assert old.read_text() == "precious"
