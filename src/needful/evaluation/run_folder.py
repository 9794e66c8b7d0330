"""The folder of a run: each result is written atomically as soon as it exists."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from needful.approaches.base import Progress
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.evaluation.records import RunRecord
from needful.evaluation.run_description import RUN_FILE, RunDescription
from needful.storage.demonstrations import write_demonstrations
from needful.storage.json_fields import JsonValue, dump_json
from needful.storage.outputs import RUN, prepare_output_directory, staged_directory, write_bytes, write_text
from needful.storage.plans import PLANS_FILE, RecordedPlan, header_line, plan_line

# The progress of a run that has not finished, for the live view of runs; deleted at the end.
PROGRESS_FILE = "progress.json"
PROGRESS_SECONDS = 1.0
# If a run is repeated, these files and those of the model must be identical. Records must be identical,
# except for the fields in `TIMES_AND_VERSIONS`.
REPRODUCIBLE_FILES = ("demos.jsonl.gz", PLANS_FILE)
TIMES_AND_VERSIONS = ("seconds", "versions")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder for the results of a run; use `RunFolder.create` or `RunFolder.replacing`.

    `command` is the command that makes the run, for run.json; empty for runs made in Python.
    """

    path: Path
    command: str = ""
    _lines: list[str] = field(default_factory=list)
    _plans: list[bytes] = field(default_factory=list)
    # The description of the run and its start on the monotonic clock; empty before `begin` is called. This
    # is a list only because the dataclass is frozen.
    _begun: list[tuple[RunDescription, float]] = field(default_factory=list)

    @classmethod
    def create(cls, path: str | Path, force: bool = False, command: str = "") -> RunFolder:
        """Create a folder for a new run; with `force`, first delete an earlier run at this path."""
        folder = cls(Path(path), command)
        prepare_output_directory(folder.path, RUN, force)
        folder._write_records()
        return folder

    @classmethod
    @contextmanager
    def replacing(cls, path: str | Path, force: bool = False, command: str = "") -> Iterator[RunFolder]:
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
                folder = cls(staging, command)
                folder._write_records()
                try:
                    yield folder
                except KeyboardInterrupt as interrupt:
                    interrupt.add_note(f"{path} is unchanged.")
                    raise
            return
        folder = cls.create(path, command=command)
        try:
            yield folder
        except BaseException as error:
            (path / PROGRESS_FILE).unlink(missing_ok=True)
            results = set(os.listdir(path)) - {"records.jsonl", RUN_FILE}  # results other than records
            if folder._lines or (isinstance(error, KeyboardInterrupt) and results):
                error.add_note(f"Finished results are in {path}.")
            else:
                shutil.rmtree(path, ignore_errors=True)
            raise

    @property
    def model(self) -> Path:
        """The path of the directory for the learned model."""
        return self.path / "model"

    def begin(self, settings: Mapping[str, JsonValue]) -> None:
        """Write run.json with the settings of a run that starts now."""
        description = RunDescription.starting_now(self.command, settings)
        self._begun.append((description, time.monotonic()))
        self._write_description(description)

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
        """Write the summary of the finished run to summary.json, and its duration to run.json."""
        write_text(self.path / "summary.json", json.dumps(summary, indent=1) + "\n")
        (self.path / PROGRESS_FILE).unlink(missing_ok=True)
        for description, start in self._begun:
            self._write_description(replace(description, seconds=time.monotonic() - start))

    def _write_description(self, description: RunDescription) -> None:
        write_text(self.path / RUN_FILE, dump_json(description.to_json(), indent=1) + "\n")

    def _write_records(self) -> None:
        write_text(self.path / "records.jsonl", "".join(self._lines))


@dataclass(frozen=True, slots=True)
class RecordedProgress:
    """Passes progress reports on to `shown`, and writes them to progress.json.

    The number of finished parts is written at most once per second, all other changes at once.
    """

    shown: Progress
    folder: RunFolder
    # The content of progress.json, and the time at which it was written.
    _content: dict[str, Any] = field(default_factory=dict)
    _written: list[float] = field(default_factory=list)

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage of `total` parts; see `Progress.stage`."""
        report = self.shown.stage(name, total)
        self._content.update(stage=name, done=0, total=total)
        self._write()

        def report_and_write(done: int) -> None:
            report(done)
            self._content["done"] = done
            self._write_sometimes()

        return report_and_write

    def observe_hypothesis(self, uncovered: int, operators: int, transitions: int) -> None:
        """Add a hypothesis (a set of operators) to the recorded steps of the hill climbing.

        If the hypothesis leaves more transitions uncovered than the previous one, hill climbing has
        restarted. The earlier steps are then deleted.
        """
        climb = self._content.setdefault("climb", {"steps": []})
        climb["transitions"], steps = transitions, climb["steps"]
        step = {"move": "cover", "uncovered": uncovered, "operators": operators}
        if steps and uncovered > steps[-1]["uncovered"]:
            steps.clear()
        if not steps or steps[-1] != step:
            steps.append(step)
            # Write at once: after the last step, other stages of learning may take long without a report.
            self._write()

    def _write_sometimes(self) -> None:
        if time.monotonic() - self._written[-1] >= PROGRESS_SECONDS:
            self._write()

    def _write(self) -> None:
        self._written[:] = [time.monotonic()]
        write_text(self.folder.path / PROGRESS_FILE, dump_json(self._content) + "\n")


def differing_results(before: Path, after: Path) -> tuple[str, ...]:
    """Compare the results of two runs; return one text per difference, none if they are identical.

    Demonstrations, models and plans are compared byte by byte. Records are compared without their times and
    versions.
    """
    found = [
        f"{name} differs" for name in _reproducible(before) if _bytes(before / name) != _bytes(after / name)
    ]
    found += [f"{name} is new" for name in _reproducible(after) if not os.path.lexists(before / name)]
    old, new = _record_lines(before), _record_lines(after)
    if len(old) != len(new):
        found.append(f"{len(new)} records, before {len(old)}")
    for one, other in zip(old, new, strict=False):
        changed = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
        if changed:
            values = (f"{name} {other.get(name)!r}, before {one.get(name)!r}" for name in changed)
            found.append(f"task {one['task']}: {'; '.join(values)}")
    return tuple(found)


def _reproducible(folder: Path) -> list[str]:
    models = (file.relative_to(folder).as_posix() for file in sorted((folder / "model").glob("*")))
    return [name for name in (*REPRODUCIBLE_FILES, *models) if os.path.lexists(folder / name)]


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def _record_lines(folder: Path) -> list[dict[str, Any]]:
    records = map(json.loads, (folder / "records.jsonl").read_text().splitlines())
    return [
        {name: value for name, value in record.items() if name not in TIMES_AND_VERSIONS}
        for record in records
    ]
