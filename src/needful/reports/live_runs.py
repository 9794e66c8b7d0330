"""Read the runs in a folder for `needful view`, including runs that are still in progress.

Nothing is read outside of the folder: symbolic links are ignored. A run that is deleted or half written
while it is read is shown as far as it can be read.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needful.core.plans import Outcome
from needful.errors import NeedfulError
from needful.evaluation.run_folder import PROGRESS_FILE, RUN_FILE
from needful.reports.page.recorded_run import RecordedRun, read_run, run_of_job
from needful.storage.evidence import CLIMB_FILE
from needful.sweeps.jobs import JOBS_FOLDER, RESULT_SUFFIX, read_result

RECORDS_FILE, SUMMARY_FILE = "records.jsonl", "summary.json"
CLIMB_PATH = f"model/{CLIMB_FILE}"
WATCHED = (RECORDS_FILE, SUMMARY_FILE, RUN_FILE, PROGRESS_FILE, CLIMB_PATH)
# The folder is read at most once per second, even if several pages send requests.
SCAN_SECONDS = 1.0

# The modification time and the size of each file of a run, to find out whether the files have changed.
Signature = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The part of a run that has been written so far.

    Attributes:
        signature: the times and sizes of the files that were read.
        row: what the list of all runs shows about this run, such as its domain and its state.
        tasks: the finished tasks.
        climb: the steps of the hill climbing over sets of operators; None if there are none.
        made: the command and the duration of the run.
    """

    signature: Signature
    row: Mapping[str, Any]
    tasks: tuple[Mapping[str, Any], ...] = ()
    climb: Mapping[str, Any] | None = None
    made: Mapping[str, Any] = field(default_factory=dict)

    def details(self) -> dict[str, Any]:
        """Return all attributes except the signature as one JSON object, for the page about this run."""
        return {**self.row, "taskList": list(self.tasks), "climb": self.climb, "made": dict(self.made)}


class LiveRuns:
    """The runs in a folder, read again when their files change; safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._runs: dict[str, LiveRun] = {}
        self._read_at = float("-inf")

    def current(self) -> Mapping[str, LiveRun]:
        """Return the runs by their path relative to the folder."""
        with self._lock:
            if time.monotonic() - self._read_at >= SCAN_SECONDS:
                self._runs = {name: self._read(name, path) for name, path in self._find()}
                self._read_at = time.monotonic()
            return self._runs

    def recorded(self, name: str) -> RecordedRun:
        """Read a finished run in full; `name` must be among the current runs."""
        path = self.root / name
        if name.endswith(RESULT_SUFFIX):
            return run_of_job(read_result(path))
        link = next((one for one in path.rglob("*") if one.is_symlink()), None)
        if link is not None:
            raise NeedfulError(f"{link.name} is a symbolic link. Links are not followed; copy the file.")
        return read_run(path)

    def _find(self) -> Iterator[tuple[str, Path]]:
        if _signature(self.root, (RECORDS_FILE,)) != (None,):
            yield ".", self.root
            return
        for folder in _subfolders(self.root):
            if _signature(folder, (RECORDS_FILE,)) != (None,):
                yield folder.name, folder
        jobs = self.root / JOBS_FOLDER
        if jobs.is_dir() and not jobs.is_symlink():
            for domain in _subfolders(jobs):
                for file in sorted(domain.glob(f"*{RESULT_SUFFIX}")):
                    if not file.is_symlink():
                        yield file.relative_to(self.root).as_posix(), file

    def _read(self, name: str, path: Path) -> LiveRun:
        is_job = name.endswith(RESULT_SUFFIX)
        signature = _signature(path.parent, (path.name,)) if is_job else _signature(path, WATCHED)
        known = self._runs.get(name)
        if known is not None and known.signature == signature:
            return known
        try:
            return _read_job(name, path, signature) if is_job else _read_folder(name, path, signature)
        except Exception as error:  # a damaged run must not hide the others
            reason = str(error).replace(str(path), name)
            return LiveRun(signature, {**_empty_row(name), "state": "unreadable", "error": reason})


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [
                Path(entry)
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."
            ]
    except OSError:  # the folder was deleted
        return []
    return sorted(found)


def _signature(folder: Path, names: tuple[str, ...]) -> Signature:
    """Return the modification time and the size of each file; None for missing files and for links."""
    found: list[tuple[int, int] | None] = []
    for name in names:
        try:
            status = os.lstat(folder / name)
            found.append((status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None)
        except OSError:
            found.append(None)
    return tuple(found)


def _empty_row(name: str) -> dict[str, Any]:
    unknown = {"domain": "", "learner": "", "seed": None, "started": "", "stage": "", "error": ""}
    return {"name": name, "state": "running", "done": 0, "solved": 0, "total": None, **unknown}


def _read_folder(name: str, path: Path, signature: Signature) -> LiveRun:
    present = {file for file, found in zip(WATCHED, signature, strict=True) if found is not None}

    def read(file: str) -> Any:
        return _object(path / file) if file in present else {}

    description, progress, summary = read(RUN_FILE), read(PROGRESS_FILE), read(SUMMARY_FILE)
    climb = read(CLIMB_PATH) or progress.get("climb")
    settings = description.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    tasks = tuple(_tasks(path / RECORDS_FILE))
    known = {**settings, **summary, **(tasks[0]["run"] if tasks else {})}
    total = settings.get("tasks", summary.get("tasks"))
    row = {
        **_empty_row(name),
        "state": "finished" if summary else "running" if progress else "unfinished",
        "domain": str(known.get("domain", "")),
        "learner": str(known.get("learner", "")),
        "seed": known.get("seed"),
        "started": str(description.get("started", "")),
        "stage": _stage(progress),
        "total": total if isinstance(total, int) else None,
        "done": len(tasks),
        "solved": sum(task["outcome"] == Outcome.SOLVED.value for task in tasks),
    }
    shown = tuple({key: value for key, value in task.items() if key != "run"} for task in tasks)
    made = {key: description.get(key) for key in ("command", "seconds")}
    return LiveRun(signature, row, shown, climb if isinstance(climb, dict) else None, made)


def _object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if the file is half written or deleted."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _stage(progress: Mapping[str, Any]) -> str:
    stage, done, total = (progress.get(key) for key in ("stage", "done", "total"))
    if not isinstance(stage, str):
        return ""
    return f"{stage}: {done} of {total}" if isinstance(total, int) else stage


def _tasks(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the tasks in records.jsonl; a line that cannot be read is skipped."""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            record = json.loads(line)
            yield {
                "task": int(record["task"]),
                "outcome": str(record["outcome"]),
                "seconds": {"total": float(record["seconds"]["total"])},
                "failure": str(record.get("failure") or ""),
                "run": {key: record[key] for key in ("domain", "learner", "seed")},
            }
        except (ValueError, KeyError, TypeError):
            continue


def _read_job(name: str, path: Path, signature: Signature) -> LiveRun:
    result = read_result(path)
    job = result.job
    tasks = tuple(
        {
            "task": one.task,
            "outcome": one.outcome,
            "seconds": {"total": one.seconds["total"]},
            "failure": one.failure or "",
        }
        for one in result.records
    )
    row = {
        **_empty_row(name),
        "state": "finished" if result.error is None else "failed",
        "error": result.error_line if result.error else "",
        "domain": job.domain,
        "learner": job.learner,
        "seed": job.seed,
        "total": job.tasks,
        "done": len(tasks),
        "solved": sum(one.solved for one in result.records),
    }
    return LiveRun(signature, row, tasks)
