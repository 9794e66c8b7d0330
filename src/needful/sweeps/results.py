"""Results of a sweep on disk: one file per job, in a folder that a sweep locks while it runs.

The format of a file is `needful-results`, version 1: gzipped JSON lines. Line 1 is the header with the
job, the summary of its run and, if the job failed, the error. Each further line is the record of one task.
Equal results give equal bytes. Files are written atomically, so the folder stays valid when a sweep is
killed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from needful.errors import OutputError, OutputExistsError, ResultsError
from needful.evaluation.records import RunRecord
from needful.storage.json_fields import JsonValue, Source, dump_json, parse_json
from needful.storage.outputs import compressed, read_gzipped, remove_leftovers, write_bytes
from needful.sweeps.jobs import Job

FORMAT, VERSION = "needful-results", 1
JOBS_FOLDER, RESULT_SUFFIX, LOCK_FILE = "jobs", ".jsonl.gz", ".lock"

# The advice in error messages about damaged result files.
REPEAT = "Delete the file and start the sweep again to repeat the job."


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job.

    Attributes:
        job: the job that ran.
        summary: the content of summary.json, empty if the job failed.
        records: one record per task, in task order.
        error: the traceback if the job raised an exception, a description if its worker crashed, otherwise
            None.
    """

    job: Job
    summary: Mapping[str, JsonValue]
    records: tuple[RunRecord, ...]
    error: str | None = None

    @property
    def sources(self) -> str:
        """The digest of the code that produced the records; empty if unknown or if there are no records."""
        return self.records[0].versions.get("sources", "") if self.records else ""

    @property
    def error_line(self) -> str:
        """The last line of `error`; in a traceback, this line names the exception."""
        lines = (self.error or "").strip().splitlines()
        return lines[-1].strip() if lines else "an error without a message"


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A result file that cannot be read.

    Attributes:
        path: the file.
        reason: the error message, with the remedy.
    """

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Results:
    """All results and all damaged files of a folder, in the order of the file names."""

    results: tuple[JobResult, ...] = ()
    damaged: tuple[DamagedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """A folder of results that this process has locked; create one with `SweepFolder.open`."""

    path: Path

    @classmethod
    @contextmanager
    def open(cls, path: str | Path) -> Iterator[SweepFolder]:
        """Lock a new folder, or the folder of an earlier sweep, inside a `with` block.

        Raises `OutputError` if another process has locked the folder. Raises `OutputExistsError` if the
        folder contains files, but neither the lock file nor the results of a sweep.
        """
        path = Path(path)
        _check_sweep_folder(path)
        with _locked(path):
            remove_leftovers(path)
            yield cls(path)

    def has(self, job: Job) -> bool:
        """Return whether a job has a result file, readable or not."""
        return results_path(self.path, job).exists()

    def save(self, result: JobResult) -> None:
        """Write the result file of a job atomically."""
        write_result(self.path, result)

    def read(self) -> Results:
        """Read the results of all jobs in the folder."""
        return read_results(self.path)


def results_path(folder: str | Path, job: Job) -> Path:
    """Return the path of a job's result file in the folder of a sweep."""
    return Path(folder) / JOBS_FOLDER / job.domain / f"{job.file_stem}{RESULT_SUFFIX}"


def results_files(folder: str | Path) -> list[Path]:
    """Return the paths of all result files in the folder of a sweep, sorted by name."""
    return sorted((Path(folder) / JOBS_FOLDER).glob(f"*/**/*{RESULT_SUFFIX}"))


def write_result(folder: str | Path, result: JobResult) -> Path:
    """Write the result file of a job atomically, and return its path."""
    header: dict[str, JsonValue] = {
        "format": FORMAT,
        "version": VERSION,
        "job": result.job.to_json(),
        "summary": result.summary,
        "error": result.error,
    }
    lines = [dump_json(header), *(record.to_json() for record in result.records)]
    path = results_path(folder, result.job)
    write_bytes(path, compressed("".join(line + "\n" for line in lines).encode()))
    return path


def read_results(folder: str | Path) -> Results:
    """Read all results in the folder of a sweep; files that cannot be read are listed in `damaged`."""
    results, damaged = [], []
    for path in results_files(folder):
        try:
            results.append(read_result(path))
        except ResultsError as error:
            damaged.append(DamagedFile(path, str(error)))
    return Results(tuple(results), tuple(damaged))


def read_result(path: Path) -> JobResult:
    """Read the result file of a job.

    If the file is damaged, raise a `ResultsError` that names the file and, if known, the faulty line.
    """
    lines = read_gzipped(path, ResultsError, REPEAT).split(b"\n")
    if lines.pop() != b"":
        raise ResultsError(f"{path}: the last line is cut off. {REPEAT}")
    fields = [
        parse_json(line, Source(str(path), ResultsError, number)) for number, line in enumerate(lines, 1)
    ]
    if not fields:
        raise ResultsError(f"{path}: the file is empty. {REPEAT}")
    fields[0].check_format(FORMAT, VERSION)
    header = fields[0].record("format", "version", "job", "summary", "error")
    job = Job.from_json(header["job"])
    expected = Path(job.domain, f"{job.file_stem}{RESULT_SUFFIX}")
    if path.parts[-len(expected.parts) :] != expected.parts:
        raise ResultsError(f"{path}: this file holds another job. Rename it to {expected}, or delete it.")
    error = None if header["error"].value is None else header["error"].text()
    records = tuple(map(RunRecord.from_json, fields[1:]))
    for task, record in enumerate(records):
        found = (record.domain, record.learner, record.seed, record.task)
        if found != (job.domain, job.learner, job.seed, task):
            raise ResultsError(
                f"{path}, line {task + 2}: this record belongs to another job, {found}. {REPEAT}"
            )
    return JobResult(job, header["summary"].as_dict(), records, error)


def _check_sweep_folder(path: Path) -> None:
    """Raise if the folder contains files, but neither the lock file nor the results of a sweep."""
    held = set(os.listdir(path)) if path.is_dir() else set()
    if held and LOCK_FILE not in held and not any(results_files(path)):
        raise OutputExistsError(
            f"{path} contains files, such as {min(held)!r}, but no sweep. Choose another path."
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder inside a `with` block; the operating system releases the lock if this process dies.

    The lock file is not removed at the end. Otherwise one process could lock the removed file while another
    process creates and locks a new file of the same name: both would hold a lock.
    """
    import fcntl  # imported here, because some systems do not have it and only sweeps need it

    path = folder / LOCK_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}. Choose another path.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "an unknown process"
            raise OutputError(
                f"{folder} is in use by another sweep, {holder}. "
                "Wait for it, stop it, or choose another path."
            ) from None
        with suppress(OSError):  # if the disk is full, the lock file stays empty, but the lock is held
            file.truncate(0)
            os.write(file.fileno(), f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
