"""The jobs of a sweep, and their results on disk.

A job has all settings of one run, and a key: a hash of them. Equal jobs have the same key in every process.

The results have one file per job, in a folder that a sweep locks while it runs. The format of a file is
`needful-results`, version 1: gzipped JSON lines. Line 1 is the header with the job, the summary of its run
and, if the job failed, the error. Each further line is the record of one task. Equal results give equal
bytes. Files are written atomically, so the folder stays valid when a sweep is killed.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from needful.errors import (
    InvalidInputError,
    OutputError,
    OutputExistsError,
    ResultsError,
    UnknownNameError,
    check_at_least,
)
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.records import RunRecord, config_hash
from needful.planning.bilevel import PlanningConfig
from needful.planning.planners import DEFAULT_PLANNER, make_planner
from needful.sampler_learning.learn_samplers import PAPER_SAMPLERS, SamplerConfig
from needful.storage.json_fields import Field, JsonValue, Source, dump_json, parse_json
from needful.storage.outputs import compressed, read_gzipped, remove_leftovers, write_bytes

# Settings of a job that are stored only if they differ from their defaults. They are grouped by the kind of
# their values: numbers, names and flags.
OPTIONAL_NUMBERS = ("samples_per_step", "horizon")
OPTIONAL_NAMES = ("samplers", "preset")
OPTIONAL_FLAGS = ("oracle_samplers", "adaptive", "cpu_time")
OPTIONAL = OPTIONAL_NUMBERS + OPTIONAL_NAMES + OPTIONAL_FLAGS

# The settings of sampler training that a job can name: those of this package and those of the paper.
SAMPLERS: Mapping[str, SamplerConfig] = MappingProxyType(
    {"default": SamplerConfig(), "paper": PAPER_SAMPLERS}
)
FORMAT, VERSION = "needful-results", 1
JOBS_FOLDER, RESULT_SUFFIX, LOCK_FILE = "jobs", ".jsonl.gz", ".lock"

# The advice in error messages about damaged result files.
REPEAT = "Delete the file and start the sweep again to repeat the job."


@dataclass(frozen=True, slots=True)
class Job:
    """A run of one learner on one domain with one seed.

    Attributes:
        domain, learner, planner: names of catalogue entries. They are looked up only when the job runs, so
            results of learners that were removed from the catalogue stay readable.
        seed: the seed of all random numbers.
        demos, tasks: the numbers of demonstrated training tasks and of unseen tasks to solve.
        timeout: seconds of planning per task.
        abstract_plans: the maximum number of abstract plans to refine per task.
        learning_timeout: seconds of learning, None for no limit.
        samples_per_step: how many times to try a step with continuous parameters.
        horizon: the maximum number of low-level actions in a plan, None for the domain's horizon.
        samplers: how samplers are trained, a name in `SAMPLERS`.
        oracle_samplers: whether tasks are solved with the domain's hand-written samplers.
        adaptive: whether planning adapts to failed refinements; see `PlanningConfig`.
        cpu_time: whether the seconds of planning are CPU time, which does not depend on other programs.
        preset: the preset and the names of changed settings, such as `paper, except horizon`; may be empty.
    """

    domain: str
    learner: str
    seed: int = 0
    demos: int = 50
    tasks: int = 50
    timeout: float = 10.0
    abstract_plans: int = 8
    learning_timeout: float | None = None
    planner: str = DEFAULT_PLANNER
    samples_per_step: int = 10
    horizon: int | None = None
    samplers: str = "default"
    oracle_samplers: bool = False
    adaptive: bool = True
    cpu_time: bool = False
    preset: str = ""

    def __post_init__(self) -> None:
        for name in ("domain", "learner", "planner"):
            value = getattr(self, name)
            # Names of result files and folders contain these names, so some characters are not allowed.
            # Only domains may have a slash, such as `kinder/Motion2D-p1`.
            parts = value.split("/") if name == "domain" else [value]
            if any(not part or part.startswith(".") or {*part} & {*"/\\\0"} for part in parts):
                raise InvalidInputError(f"{name} must be the name of a catalogue entry, got {value!r}.")
        for name, least in (("seed", 0), ("demos", 1), ("tasks", 0), ("abstract_plans", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        check_at_least(1, samples_per_step=self.samples_per_step, horizon=self.horizon)
        for name in ("timeout", "learning_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds < math.inf:
                raise InvalidInputError(f"{name} must be more than 0 seconds and finite, got {seconds}.")

    @property
    def key(self) -> str:
        """The hash of the job's settings; different jobs have different keys."""
        return config_hash(dump_json(self.to_json()))

    @property
    def file_stem(self) -> str:
        """The name of the result file without its suffix: readable, and different for every job."""
        return f"{self.learner}-seed{self.seed}-demos{self.demos}-{self.key}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return the job as a JSON object; equal jobs give equal objects.

        `OPTIONAL` settings with their default values are omitted, so that the key of a stored job does not
        change when a new optional setting is added to this class.
        """
        limit = self.learning_timeout
        settings = asdict(self)
        for name in OPTIONAL:
            if settings[name] == Job.__dataclass_fields__[name].default:
                del settings[name]
        return {
            **settings,
            # Convert numbers to floats: 10 and 10.0 are equal, but JSON writes them differently.
            "timeout": float(self.timeout),
            "learning_timeout": None if limit is None else float(limit),
        }

    @classmethod
    def from_json(cls, field: Field) -> Job:
        """Return the job in a JSON object; raise an error with the location of an invalid field."""
        needed = [name for name in cls.__dataclass_fields__ if name not in OPTIONAL]
        record = field.record(*needed, optional=OPTIONAL)
        limit = record["learning_timeout"]
        settings: dict[str, Any] = {}
        for names, read in (
            (("domain", "learner", "planner"), Field.name),
            (("seed", "demos", "tasks", "abstract_plans", *OPTIONAL_NUMBERS), Field.integer),
            (("timeout",), Field.number),
            (OPTIONAL_NAMES, Field.text),
            (OPTIONAL_FLAGS, Field.boolean),
        ):
            settings |= {name: read(record[name]) for name in names if name in record}
        with field.locate_errors():
            return cls(learning_timeout=None if limit.value is None else limit.number(), **settings)


def run_config(job: Job) -> RunConfig:
    """Return the configuration of a job's run.

    Raises `UnknownNameError` if the learner, the planner or the samplers of the job are unknown.
    """
    if job.samplers not in SAMPLERS:
        raise UnknownNameError("kind of samplers", job.samplers, SAMPLERS)
    planning = PlanningConfig(
        timeout=job.timeout,
        max_abstract_plans=job.abstract_plans,
        samples_per_step=job.samples_per_step,
        horizon=job.horizon,
        planner=make_planner(job.planner),
        adaptive=job.adaptive,
        clock=time.thread_time if job.cpu_time else time.monotonic,
    )
    return RunConfig(
        job.learner,
        job.demos,
        job.tasks,
        job.seed,
        planning,
        SAMPLERS[job.samplers],
        oracle_samplers=job.oracle_samplers,
        learning_timeout=job.learning_timeout,
        preset=job.preset,
    )


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
