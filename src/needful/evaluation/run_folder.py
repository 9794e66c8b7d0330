"""The folder of a run: everything lands there as soon as it is finished, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.evaluation.learned_files import save_learned
from needful.evaluation.learning import LearnedModel
from needful.evaluation.policy_learning import LearnedPolicy
from needful.evaluation.records import RunRecord
from needful.storage.atomic import prepare_output_directory, staged_directory, write_bytes, write_text
from needful.storage.demonstrations import write_demonstrations
from needful.storage.output_kinds import RUN
from needful.storage.plans import PLANS_FILE, RecordedPlan, header_line, plan_line


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run puts its results; make one with `RunFolder.create`."""

    path: Path
    _lines: list[str] = field(default_factory=list)
    _plans: list[bytes] = field(default_factory=list)

    @classmethod
    def create(cls, path: str | Path, force: bool = False) -> RunFolder:
        """Make a folder without records; one that is there already is replaced at once, with `force`."""
        folder = cls(Path(path))
        prepare_output_directory(folder.path, RUN, force)
        folder._write_records()
        return folder

    @classmethod
    @contextmanager
    def replacing(cls, path: str | Path, force: bool = False) -> Iterator[RunFolder]:
        """Yield a folder for one run; with `force`, it replaces one that is there when the block ends well.

        Until then, the results are in a temporary folder and the earlier ones stay. Where nothing is
        there, they are at the path from the start. There they stay if the block ends with an error after
        the first record; whoever interrupts a run keeps its demonstrations and its model as well.
        """
        path = Path(path)
        if os.path.lexists(path):
            with staged_directory(path, RUN, force, keep_on_error=True) as staging:
                folder = cls(staging)
                folder._write_records()
                try:
                    yield folder
                except KeyboardInterrupt as interrupt:
                    interrupt.add_note(f"{path} is as it was.")
                    raise
            return
        folder = cls.create(path)
        try:
            yield folder
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt) and len(os.listdir(path)) > 1
            if folder._lines or interrupted:
                error.add_note(f"What was finished is in {path}.")
            else:
                shutil.rmtree(path, ignore_errors=True)
            raise

    @property
    def model(self) -> Path:
        """The model directory."""
        return self.path / "model"

    @property
    def pictures(self) -> Path:
        """Where pictures go."""
        return self.path / "pictures"

    def save_demonstrations(self, vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> None:
        """Write demos.jsonl.gz."""
        write_demonstrations(self.path / "demos.jsonl.gz", vocabulary, demonstrations)

    def save_model(self, learned: LearnedModel | LearnedPolicy, provenance: Mapping[str, Any]) -> None:
        """Write the model directory."""
        save_learned(self.model, learned, provenance)

    def add_record(self, record: RunRecord) -> None:
        """Write records.jsonl anew with one more line, so that it is valid at any moment."""
        self._lines.append(record.to_json() + "\n")
        self._write_records()

    def add_plan(self, vocabulary: Vocabulary, plan: RecordedPlan) -> None:
        """Write plans.jsonl.gz anew with one more line, so that it is valid at any moment."""
        if not self._plans:
            self._plans.append(header_line(vocabulary))
        self._plans.append(plan_line(plan))
        write_bytes(self.path / PLANS_FILE, b"".join(self._plans))

    def save_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json."""
        write_text(self.path / "summary.json", json.dumps(summary, indent=1) + "\n")

    def _write_records(self) -> None:
        write_text(self.path / "records.jsonl", "".join(self._lines))
