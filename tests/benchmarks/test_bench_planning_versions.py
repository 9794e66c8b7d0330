"""The comparison of two versions of the package, here of the package with itself."""

from __future__ import annotations

from pathlib import Path

from planning_versions import compare

SOURCES = str(Path(__file__).parents[2] / "src")


def test_a_version_solves_the_same_tasks_as_itself_with_the_same_samples():
    domain, old, new, ratio, samples, solved = compare(
        [SOURCES, SOURCES], "cluttered-1d", [5], count=2, repeat=1
    )
    assert domain == "cluttered-1d"
    assert float(old) > 0.0
    assert float(new) > 0.0
    assert float(ratio) > 0.0
    before, after = samples.split(" → ")
    assert before == after != "0.0"
    assert solved == "2 → 2 of 2"
