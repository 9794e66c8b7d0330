"""The folder of a sweep: held by one process at a time, and whole whenever that one is killed.

The results of a sweep on disk: one file a job, `needful-results` version 1, gzipped JSON lines.

Line 1 is the header with the job, its summary and, if it failed, the error; each further line is the
record of one task. The same result gives the same bytes.
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
from needful.storage.atomic import compressed, read_gzipped, remove_leftovers, write_bytes
from needful.storage.json_fields import JsonValue, Source, dump_json, parse_json
from needful.sweeps.jobs import Job

FORMAT = "needful-results"
VERSION = 1
JOBS_FOLDER = "jobs"
RESULT_SUFFIX = ".jsonl.gz"
REPEAT = "Delete the file and start the sweep again to repeat the job."


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job brought.

    Attributes:
        job: what was to be done.
        summary: the content of summary.json, empty if the job failed.
        records: one a task, in their order.
        error: the traceback if the job failed by an error of the program or with its worker.
    """

    job: Job
    summary: Mapping[str, JsonValue]
    records: tuple[RunRecord, ...]
    error: str | None = None

    @property
    def complaint(self) -> str:
        """The line of the traceback that names the error."""
        lines = (self.error or "").strip().splitlines()
        return lines[-1].strip() if lines else "an error without a message"


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A results file that cannot be read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a folder of results holds, in the order of the files' names."""

    results: tuple[JobResult, ...] = ()
    damaged: tuple[DamagedFile, ...] = ()


def results_path(folder: str | Path, job: Job) -> Path:
    """Return where the result of a job belongs."""
    return Path(folder) / JOBS_FOLDER / job.domain / f"{job.stem}{RESULT_SUFFIX}"


def write_result(folder: str | Path, result: JobResult) -> Path:
    """Write the file of a job, whole or not at all, and return its path."""
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


def results_files(folder: str | Path) -> list[Path]:
    """Return the files of all jobs, in the order of their names."""
    return sorted((Path(folder) / JOBS_FOLDER).glob(f"*/*{RESULT_SUFFIX}"))


def read_results(folder: str | Path) -> Results:
    """Read all results of a folder; files that cannot be read are named, and the others count."""
    results, damaged = [], []
    for path in results_files(folder):
        try:
            results.append(read_result(path))
        except ResultsError as error:
            damaged.append(DamagedFile(path, str(error)))
    return Results(tuple(results), tuple(damaged))


def read_result(path: Path) -> JobResult:
    """Read the file of a job; whatever is wrong with it is a `ResultsError` that says where."""
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
    if path.name != f"{job.stem}{RESULT_SUFFIX}" or path.parent.name != job.domain:
        raise ResultsError(
            f"{path}: the file holds the job {job.domain}/{job.stem}. Give it back its name."
        )
    error = None if header["error"].value is None else header["error"].text()
    records = tuple(map(RunRecord.from_json, fields[1:]))
    for task, record in enumerate(records):
        found = (record.domain, record.learner, record.seed, record.task)
        if found != (job.domain, job.learner, job.seed, task):
            raise ResultsError(f"{path}, line {task + 2}: this record belongs to {found}. {REPEAT}")
    return JobResult(job, header["summary"].as_dict(), records, error)


LOCK_FILE = ".lock"


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """A folder that this process holds; `SweepFolder.open` gives one."""

    path: Path

    @classmethod
    @contextmanager
    def open(cls, path: str | Path) -> Iterator[SweepFolder]:
        """Hold a folder while the block runs: a new one, or that of an earlier sweep.

        Raises if another process holds it, or if it holds other things than a sweep.
        """
        path = Path(path)
        _check_sweep_folder(path)
        with _locked(path):
            remove_leftovers(path)
            yield cls(path)

    def has(self, job: Job) -> bool:
        """Return whether there is a file of a job, whatever it holds."""
        return results_path(self.path, job).exists()

    def save(self, result: JobResult) -> None:
        """Write the file of a job, whole or not at all."""
        write_result(self.path, result)

    def read(self) -> Results:
        """Read all results."""
        return read_results(self.path)


def _check_sweep_folder(path: Path) -> None:
    """Raise unless a folder is new, empty, or that of a sweep: one with its lock, or at least results."""
    held = set(os.listdir(path)) if path.is_dir() else set()
    if held and LOCK_FILE not in held and not any(results_files(path)):
        raise OutputExistsError(
            f"{path} holds other things than a sweep, such as {min(held)!r}. Choose another path."
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system lets go of it when this process dies.

    The lock's file stays: removing it would let two processes hold two files of that name.
    """
    import fcntl  # not on every system, and only sweeps need it

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
        with suppress(OSError):  # on a full disk nobody is told who holds it
            file.truncate(0)
            os.write(file.fileno(), f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
