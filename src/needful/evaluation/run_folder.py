"""The folder of a run: each result is written atomically as soon as it exists."""

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
from needful.evaluation.records import RunRecord
from needful.storage.demonstrations import write_demonstrations
from needful.storage.outputs import RUN, prepare_output_directory, staged_directory, write_bytes, write_text
from needful.storage.plans import PLANS_FILE, RecordedPlan, header_line, plan_line


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder for the results of a run; use `RunFolder.create` or `RunFolder.replacing`."""

    path: Path
    _lines: list[str] = field(default_factory=list)
    _plans: list[bytes] = field(default_factory=list)

    @classmethod
    def create(cls, path: str | Path, force: bool = False) -> RunFolder:
        """Create a folder for a new run; with `force`, an earlier run at this path is deleted at once."""
        folder = cls(Path(path))
        prepare_output_directory(folder.path, RUN, force)
        folder._write_records()
        return folder

    @classmethod
    @contextmanager
    def replacing(cls, path: str | Path, force: bool = False) -> Iterator[RunFolder]:
        """Yield a folder for one run, to be used in a `with` block.

        If the path exists, `force` must be set. Results are then written to a temporary folder. If the
        block succeeds, the temporary folder replaces the old folder, which is deleted. If the block fails
        or is interrupted, the temporary folder is deleted and the old folder stays unchanged.

        If the path does not exist, results are written there directly. If the block then raises an
        exception, the folder is deleted, except in these cases:

            after an error                      kept if it has the record of at least one task
            after an interrupt by the user      kept if it has any result, for example demonstrations
        """
        path = Path(path)
        if os.path.lexists(path):
            with staged_directory(path, RUN, force, keep_on_error=True) as staging:
                folder = cls(staging)
                folder._write_records()
                try:
                    yield folder
                except KeyboardInterrupt as interrupt:
                    interrupt.add_note(f"{path} is unchanged.")
                    raise
            return
        folder = cls.create(path)
        try:
            yield folder
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt) and len(os.listdir(path)) > 1
            if folder._lines or interrupted:
                error.add_note(f"Finished results are in {path}.")
            else:
                shutil.rmtree(path, ignore_errors=True)
            raise

    @property
    def model(self) -> Path:
        """The path of the directory for the learned model."""
        return self.path / "model"

    @property
    def pictures(self) -> Path:
        """The path of the folder for pictures."""
        return self.path / "pictures"

    def save_demonstrations(self, vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> None:
        """Write the demonstrations to demos.jsonl.gz; replace those that were written earlier."""
        write_demonstrations(self.path / "demos.jsonl.gz", vocabulary, demonstrations, force=True)

    def add_record(self, record: RunRecord) -> None:
        """Add the record of a task to records.jsonl; rewrite the whole file, so that it is always valid."""
        self._lines.append(record.to_json() + "\n")
        self._write_records()

    def add_plan(self, vocabulary: Vocabulary, plan: RecordedPlan) -> None:
        """Add the plan of a task to plans.jsonl.gz; rewrite the whole file, so that it is always valid."""
        if not self._plans:
            self._plans.append(header_line(vocabulary))
        self._plans.append(plan_line(plan))
        write_bytes(self.path / PLANS_FILE, b"".join(self._plans))

    def save_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the summary of the run to summary.json."""
        write_text(self.path / "summary.json", json.dumps(summary, indent=1) + "\n")

    def _write_records(self) -> None:
        write_text(self.path / "records.jsonl", "".join(self._lines))
