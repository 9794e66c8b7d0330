"""`needful export`: PDDL that other tools read and solve."""

from __future__ import annotations

from pathlib import Path

import pytest
from pddl.parser.domain import DomainParser
from pddl.parser.problem import ProblemParser

from command_line import needful, succeed
from fast_downward import optimal_plan
from needful.abstraction.abstract import abstract
from needful.core.plans import Effort
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.evaluation.model_files import open_model_for
from needful.planning.a_star import AStar
from needful.planning.budget import Budget
from needful.planning.grounding import ground
from needful.planning.pddl import Style

DOMAINS = ["screws", "cluttered-1d"]
STYLES = [style.value for style in Style]
# The second of the test tasks, which asks for two things where the first asks for one.
TASK, SEED = 1, 0


def our_cost(run: Path, domain: str) -> int:
    """Return the length of the first plan of our own A*."""
    environment = make_environment(domain)
    task = environment.tasks(Split.TEST, TASK + 1, SEED)[TASK]
    initial = abstract(task.initial_state, environment.vocabulary.predicates)
    operators = open_model_for(run, environment).model.operators
    problem = ground(operators, task.objects, initial, task.goal, Budget.unlimited())
    assert problem is not None
    return len(next(iter(AStar()(problem, 0, Budget.unlimited(), Effort()))))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_other_tools_read_and_solve_it(
    domain: str, style: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "pddl"
    succeed(
        "export",
        runs[domain],
        "--pddl",
        out,
        "--style",
        style,
        "--problem",
        f"{domain}:{TASK}",
        "--seed",
        SEED,
    )
    texts = [(out / name).read_text() for name in ("domain.pddl", "problem.pddl")]
    read, task = DomainParser()(texts[0]), ProblemParser()(texts[1])
    assert read.name == task.domain_name
    predicates = make_environment(domain).vocabulary.predicates
    assert {str(one.name) for one in read.predicates} == {one.name for one in predicates}
    cost = our_cost(runs[domain], domain)
    assert cost == 4
    if style == "strips":
        assert "forall" not in texts[0]
    else:
        assert len(read.actions) == {"screws": 4, "cluttered-1d": 2}[domain]
        assert "forall" in texts[0]
    plan = optimal_plan(*texts, tmp_path)
    assert plan is not None
    assert f"; cost = {cost} (unit cost)" in plan


def test_the_domain_is_that_of_the_model_directory(screws: Path, tmp_path: Path) -> None:
    said = succeed("export", screws, "--pddl", tmp_path / "pddl")
    assert said.out == f"Wrote {tmp_path / 'pddl' / 'domain.pddl'}.\n"
    assert (tmp_path / "pddl" / "domain.pddl").read_bytes() == (screws / "model/domain.pddl").read_bytes()
    assert [path.name for path in (tmp_path / "pddl").iterdir()] == ["domain.pddl"]


def test_json_names_the_files(screws: Path, tmp_path: Path) -> None:
    out = tmp_path / "pddl"
    said = succeed("export", screws / "model", "--pddl", out, "--problem", "screws:0", "--json")
    assert said.json == {"files": [str(out / "domain.pddl"), str(out / "problem.pddl")]}
    assert all(Path(file).exists() for file in said.json["files"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--style", "strips"], "strips is expanded over the objects of a task, so give --problem too."),
        (["--style", "strps"], "'strps' is not one of 'forall', 'paper', 'strips'"),
        (["--problem", "screws"], "--problem: expected DOMAIN:K, for example screws:0, got 'screws'."),
        (["--problem", "screws:x"], "expected DOMAIN:K, for example screws:0, got 'screws:x'."),
        (["--problem", "screws:-1"], "expected DOMAIN:K, for example screws:0, got 'screws:-1'."),
        (["--problem", ":1"], "expected DOMAIN:K, for example screws:0, got ':1'."),
        (["--problem", ""], "expected DOMAIN:K, for example screws:0, got ''."),
        (["--problem", "nope:1"], "Unknown domain 'nope'."),
        (["--problem", "scerws:1"], "Did you mean 'screws'?"),
    ],
)
def test_wrong_usage_of_export(arguments: list[str], complaint: str, screws: Path, tmp_path: Path) -> None:
    said = needful("export", screws, "--pddl", tmp_path / "pddl", *arguments)
    assert (said.code, said.out) == (2, "")
    assert complaint in said.complaint
    assert list(tmp_path.iterdir()) == []
