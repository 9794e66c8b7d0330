"""`needful export`: the files that it writes, and wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import needful, succeed


def test_exported_domain_equals_that_of_the_model_directory(screws: Path, tmp_path: Path) -> None:
    result = succeed("export", screws, "--pddl", tmp_path / "pddl")
    assert result.out == f"Wrote {tmp_path / 'pddl' / 'domain.pddl'}.\n"
    assert (tmp_path / "pddl" / "domain.pddl").read_bytes() == (screws / "model/domain.pddl").read_bytes()
    assert [path.name for path in (tmp_path / "pddl").iterdir()] == ["domain.pddl"]


def test_json_names_the_files(screws: Path, tmp_path: Path) -> None:
    out = tmp_path / "pddl"
    result = succeed("export", screws / "model", "--pddl", out, "--problem", "screws:0", "--json")
    assert result.json == {"files": [str(out / "domain.pddl"), str(out / "problem.pddl")]}
    assert all(Path(file).exists() for file in result.json["files"])


def test_export_can_replace_an_earlier_export(screws: Path, tmp_path: Path) -> None:
    command = ("export", screws, "--pddl", tmp_path, "--style", "strips", "--problem", "screws:0")
    succeed(*command, "--force")
    assert (tmp_path / "domain.pddl").read_text().startswith(";")
    succeed(*command, "--force")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--style", "strips"], "--style: strips needs the objects of a task. Add --problem"),
        (
            ["--style", "strps"],
            "Unknown style 'strps'. Did you mean 'strips'? Known: forall, paper, strips.",
        ),
        (["--problem", "screws"], "--problem: expected DOMAIN:K, for example screws:0, got 'screws'"),
        (["--problem", "screws:x"], "got 'screws:x'"),
        (["--problem", "screws:-1"], "got 'screws:-1'"),
        (["--problem", ":1"], "got ':1'"),
        (["--problem", ""], "got ''"),
        (["--problem", "nope:1"], "Unknown domain 'nope'."),
        (["--problem", "scerws:1"], "Did you mean 'screws'?"),
    ],
)
def test_wrong_usage_of_export(arguments: list[str], expected: str, screws: Path, tmp_path: Path) -> None:
    result = needful("export", screws, "--pddl", tmp_path / "pddl", *arguments)
    assert (result.code, result.out) == (2, "")
    assert expected in result.error_text
    assert list(tmp_path.iterdir()) == []
