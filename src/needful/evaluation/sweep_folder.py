"""The folder of a sweep: held by one process at a time, and whole whenever that one is killed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from needful.errors import OutputError, OutputExistsError
from needful.evaluation.job import Job
from needful.evaluation.job_results import (
    JobResult,
    Results,
    read_results,
    results_files,
    results_path,
    write_result,
)
from needful.storage.atomic import remove_leftovers

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
        _check_ours(path)
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


def _check_ours(path: Path) -> None:
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
