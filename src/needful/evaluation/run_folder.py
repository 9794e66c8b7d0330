"""The folder of a run. Each result is written atomically as soon as it exists.

run.json describes how the run was made; its format is `needful-run`, version 1. Of all files in a run
folder, only run.json contains the date and time of the run. The names of the host and of the user's folders
are not stored.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from needful.approaches.base import Progress
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.errors import ResultsError
from needful.evaluation.records import RunRecord, as_json, versions
from needful.planning.bilevel import PlanningConfig
from needful.planning.engines.native_planner import ENGINE_BUILT
from needful.planning.planners import planner_name
from needful.storage.demonstrations import write_demonstrations
from needful.storage.json_fields import JsonValue, Source, dump_json, parse_json
from needful.storage.outputs import RUN, prepare_output_directory, staged_directory, write_bytes, write_text
from needful.storage.plans import PLANS_FILE, RecordedPlan, header_line, plan_line

# The progress of a run that has not finished, for the live view of runs; deleted at the end.
PROGRESS_FILE = "progress.json"
PROGRESS_SECONDS = 1.0
# If a run is repeated, these files and those of the model must be identical. Records must be identical,
# except for the fields in `TIMES_AND_VERSIONS`.
REPRODUCIBLE_FILES = ("demos.jsonl.gz", PLANS_FILE)
TIMES_AND_VERSIONS = ("seconds", "versions")
RUN_FILE = "run.json"
FORMAT, VERSION = "needful-run", 1


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

    The number of finished parts is written at most once per second. All other changes are written
    immediately.
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
            # Write immediately: the stages of learning after hill climbing may take long without a report.
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


@dataclass(frozen=True, slots=True)
class RunDescription:
    """How a run was made.

    Attributes:
        command: the command, without the user's folders (see `without_folders`); empty for runs made in
            Python.
        settings: all settings, including the defaults, as JSON values.
        versions: the versions of needful, Python and the packages that results depend on, the platform, and
            the search engine.
        started: the time of the start in UTC, such as `2026-11-17T06:39:02Z`.
        seconds: the duration of the run, without the report; None if the run has not finished.
    """

    command: str
    settings: Mapping[str, JsonValue]
    versions: Mapping[str, str]
    started: str
    seconds: float | None = None

    @classmethod
    def starting_now(cls, command: str, settings: Mapping[str, JsonValue]) -> RunDescription:
        """Return the description of a run that starts now."""
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(command, settings, run_versions(), started)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the content of run.json."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


def run_versions() -> dict[str, str]:
    """Return the versions that results depend on, the platform, and the search engine (C++ or Python)."""
    machine = f"{platform.system()} {platform.machine()}"
    return {**versions(), "platform": machine, "engine": "C++" if ENGINE_BUILT else "Python"}


def read_run_description(folder: Path) -> RunDescription | None:
    """Read run.json of a run folder; return None if there is none, as in runs of earlier versions."""
    file = folder / RUN_FILE
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{file} cannot be read: {error.strerror}. Repeat the run.") from None
    content = parse_json(data, Source(str(file), ResultsError))
    content.check_format(FORMAT, VERSION)
    found = content.record("format", "version", *RunDescription.__dataclass_fields__)
    seconds = found["seconds"]
    return RunDescription(
        command=found["command"].text(),
        settings=found["settings"].as_dict(),
        versions={name: value.text() for name, value in found["versions"].entries().items()},
        started=found["started"].text(),
        seconds=None if seconds.value is None else seconds.number(),
    )


def settings_as_json(**settings: object) -> dict[str, JsonValue]:
    """Return the settings of a run as JSON values; a planner of the catalogue becomes its name."""
    content = {name: _without_folders(as_json(value, every_field=True)) for name, value in settings.items()}
    planning = settings.get("planning")
    if isinstance(planning, PlanningConfig):
        content["planning"]["planner"] = planner_name(planning.planner) or content["planning"]["planner"]
    return content


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_folders(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner) for inner in value]
    return without_folders(value) if isinstance(value, str) else value


def without_folders(text: str) -> str:
    """Shorten a path outside of the current folder to its last part; return all other texts unchanged.

    A path is shortened if it is absolute, starts with `~` or contains `..`. In an option with a path,
    only the path is shortened: `--out=/home/user/runs` becomes `--out=runs`.
    """
    option, equals, value = text.partition("=") if text.startswith("--") else ("", "", text)
    path = PurePath(value)
    if path.is_absolute() or value.startswith("~") or ".." in path.parts:
        value = path.name
    return f"{option}{equals}{value}"


def command_text(program: str, arguments: Iterable[str]) -> str:
    """Return a command for run.json, without the user's folders; see `without_folders`."""
    return shlex.join([*program.split(), *map(without_folders, arguments)])


def flat_settings(settings: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return nested settings as a flat map from paths, such as `planning.timeout`, to texts."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            inner = flat_settings(value)
            found |= {f"{name}.{path}": text for path, text in inner.items()}
            if not inner:
                found[name] = str(value.get("class", "none"))
        elif name != "class" or not str(value).endswith("Config"):
            found[name] = _setting_text(value)
    return found


def _setting_text(value: JsonValue) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting_text, value)) or "none"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{path} {text}" for path, text in flat_settings(value).items())
        return f"{value.get('class', '')}({inner})"
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
