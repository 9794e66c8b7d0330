"""Records: one line of JSON per task."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import toy_world
from needful.core.plans import IgnoredPrecondition, Outcome, PlanningResult, SearchStatistics, Suspect
from needful.errors import ResultsError
from needful.evaluation.records import RunRecord, make_record, run_identity, sources_digest, versions
from needful.storage.json_fields import Source, parse_json

IDENTITY = run_identity("screws", "necessary", 3)
STATISTICS = SearchStatistics(7, 6, 5, 4, 3, 0.25, 0.5, 1.0)


def test_search_statistics_are_recorded() -> None:
    found = make_record(
        IDENTITY, 9, PlanningResult(Outcome.TIMEOUT, statistics=STATISTICS), Outcome.TIMEOUT, 2.0
    )
    assert found.seconds == {"grounding": 0.25, "search": 0.5, "refinement": 1.0, "total": 2.0}
    assert (found.nodes_created, found.nodes_expanded, found.nodes_evaluated) == (7, 6, 5)
    assert (found.abstract_plans, found.samples, found.task) == (4, 3, 9)


def test_record_is_one_line_with_all_fields() -> None:
    found = make_record(IDENTITY, 0, PlanningResult(Outcome.OUT_OF_NODES), Outcome.OUT_OF_NODES, 0.0)
    line = found.to_json()
    assert "\n" not in line
    parsed = json.loads(line)
    assert list(parsed) == sorted(parsed)
    assert RunRecord(**{**parsed, "missing": tuple(parsed["missing"])}) == found
    assert set(parsed) == set(asdict(found)) - {
        "suspects",
        "ignored",
        "execution",
        "preset",
        "task_digest",
    }  # left out if they are empty


def test_suspects_and_ignored_preconditions_are_recorded_and_read() -> None:
    step = toy_world.OPERATORS[1].ground([toy_world.ROBOT("robot"), toy_world.BALL("ball0")])
    suspect = Suspect(step, tuple(sorted(step.add_effects)), 3)
    ignored = IgnoredPrecondition("Grasp", min(step.operator.preconditions))
    result = PlanningResult(Outcome.TIMEOUT, suspects=(suspect,), ignored=(ignored,))
    for one in (result, PlanningResult(Outcome.TIMEOUT)):
        found = make_record(IDENTITY, 0, one, Outcome.TIMEOUT, 0.0)
        assert found.suspects == tuple(map(str, one.suspects))
        assert found.ignored == tuple(map(str, one.ignored))
        line = parse_json(found.to_json().encode(), Source("records.jsonl", ResultsError, 1))
        assert RunRecord.from_json(line) == found
    assert str(suspect) == "Grasp(robot, ball0) missed Holding(robot, ball0) in 3 tries"
    assert str(ignored) == "HandFree(?r) of Grasp"


def test_versions_are_those_of_the_installed_packages() -> None:
    expected = {
        "python": platform.python_version(),
        "needful": version("needful"),
        "numpy": version("numpy"),
        "sources": sources_digest(),
    }
    if find_spec("torch"):
        expected["torch"] = version("torch")
    assert versions() == expected
    assert IDENTITY.versions == versions()


def test_the_digest_changes_with_names_and_content_of_sources_alone(tmp_path: Path) -> None:
    digests = []
    for number, files in enumerate(
        [
            {"a.py": "1", "deep/b.py": "2"},
            {"deep/b.py": "2", "a.py": "1", "notes.txt": "3"},
            {"a.py": "1", "deep/b.py": "3"},
            {"a.py": "1", "b.py": "2"},
            {"a.py": "12", "deep/b.py": ""},
        ]
    ):
        for name, content in files.items():
            file = tmp_path / str(number) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        digests.append(sources_digest(tmp_path / str(number)))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


def test_the_preset_is_recorded_and_read() -> None:
    identity = run_identity("screws", "necessary-paper", 3, preset="paper, except timeout")
    found = make_record(identity, 0, PlanningResult(Outcome.TIMEOUT), Outcome.TIMEOUT, 1.0)
    assert found.preset == "paper, except timeout"
    line = parse_json(found.to_json().encode(), Source("records.jsonl", ResultsError, 1))
    assert RunRecord.from_json(line) == found
    assert identity.config_hash != run_identity("screws", "necessary-paper", 3).config_hash
