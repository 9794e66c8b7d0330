"""The digest of the sources: what counts, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from needful.evaluation.pipeline import RunConfig
from needful.evaluation.sources import OPTIONAL_PARTS, PACKAGE, WITHOUT_EFFECT, sources_digest
from needful.evaluation.sources import unused_parts as unused
from needful.invention.invent import InventionConfig

CODE = {"planning/bilevel.py": "def plan():\n    return 1\n", "core/state.py": "x = 1\n"}


def digest(folder: Path, changes: dict[str, str]) -> str:
    for name, content in {**CODE, **changes}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return sources_digest(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"planning/bilevel.py": '"""New text."""\n# why\ndef plan():\n    """More."""\n\n    return 1\n'},
        {"cli/run.py": "x = 1\n"},
        {"reports/page/page.py": "x = 1\n"},
        {"paper/experiments.py": "x = 1\n"},
        {"envs/drawing/film.py": "x = 1\n"},
        {"notes.txt": "x"},
    ],
)
def test_text_and_reports_do_not_count(tmp_path: Path, changes: dict[str, str]) -> None:
    assert digest(tmp_path / "a", changes) == digest(tmp_path / "b", {})


@pytest.mark.parametrize(
    "changes",
    [
        {"planning/bilevel.py": "def plan():\n    return 2\n"},
        {"planning/bilevel.py": 'def plan():\n    x = """text"""\n    return 1\n'},
        {"planning/other.py": "def plan():\n    return 1\n"},
        {"invention/search.py": "x = 1\n"},
    ],
)
def test_code_counts(tmp_path: Path, changes: dict[str, str]) -> None:
    assert digest(tmp_path / "a", changes) != digest(tmp_path / "b", {})


def test_parts_that_a_run_does_not_use_do_not_count() -> None:
    plain, inventing = RunConfig(), RunConfig(invention=InventionConfig())
    digests = {one.identity("screws").versions["sources"] for one in (plain, inventing)}
    assert len(digests) == 2
    assert unused("screws", invention=False, execution=False) == set(OPTIONAL_PARTS)
    assert unused("my-robot", invention=True, execution=True) == set()


def test_every_listed_file_exists() -> None:
    for name in (*WITHOUT_EFFECT, *(path for paths in OPTIONAL_PARTS.values() for path in paths)):
        assert (PACKAGE / name).exists(), name
