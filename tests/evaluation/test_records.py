"""Records: one line of JSON per task."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import version

from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.evaluation.records import RunRecord, make_record, run_identity, versions

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
    assert set(parsed) == set(asdict(found)) - {"execution"}  # left out if it is None


def test_versions_are_those_of_the_installed_packages() -> None:
    assert versions() == {
        "python": platform.python_version(),
        "needful": version("needful"),
        "numpy": version("numpy"),
        "torch": version("torch"),
    }
    assert IDENTITY.versions == versions()
