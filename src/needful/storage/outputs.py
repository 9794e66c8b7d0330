"""Output files and folders: their kinds, atomic replacement, and reproducible gzip data.

An output appears at its path only when it is complete. Existing paths are replaced only on request, and
only by an output of the same kind.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from needful.errors import InvalidInputError, OutputError, OutputExistsError

TEMPORARY_NAME = ".needful-{}.tmp"
MAX_HEADER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of output file: its name in messages, and the pattern that its first bytes match."""

    name: str
    header_pattern: re.Pattern[bytes]

    def matches(self, path: Path) -> bool:
        """Return whether the file at `path` is of this kind; an empty file is of every kind."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_HEADER_BYTES)
            if data.startswith(b"\x1f\x8b"):
                data = zlib.decompressobj(wbits=31).decompress(data, MAX_HEADER_BYTES)
        except (OSError, zlib.error):
            return False
        return not data or self.header_pattern.match(data) is not None


@dataclass(frozen=True, slots=True)
class FolderKind:
    """A kind of output folder.

    Attributes:
        name: the name in messages.
        marker_files: the file names by which a folder of this kind is recognised, with the kind of each
            file. A folder of this kind has at least one of these files.
        other_files: the relative paths of all other files that may be in the folder.
    """

    name: str
    marker_files: Mapping[str, FileKind]
    other_files: frozenset[str] = field(default=frozenset())

    def foreign_entry(self, folder: Path) -> str | None:
        """Return the first file or folder in `folder` that does not belong to this kind of output, or None.

        If `folder` has none of the `marker_files`, it is not of this kind, and everything in it is foreign.
        """
        entries = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
        files = self.marker_files.keys() | self.other_files
        known = files | {parent.as_posix() for file in files for parent in PurePosixPath(file).parents}
        foreign_entries = [entry for entry in entries if entry not in known and not _is_leftover(entry)]
        markers = [entry for entry in entries if entry in self.marker_files]
        foreign_entries += [name for name in markers if not self.marker_files[name].matches(folder / name)]
        if not foreign_entries and not markers:
            foreign_entries = entries
        return min(foreign_entries, default=None)


def _is_leftover(path: str) -> bool:
    """Return whether the path is, or lies in, a temporary file or folder of needful.

    Temporary files and folders remain if a process is killed while it writes an output.
    """
    return any(fnmatch(part, TEMPORARY_NAME.format("*")) for part in PurePosixPath(path).parts)


def _kind(name: str, header_pattern: bytes) -> FileKind:
    return FileKind(name, re.compile(header_pattern, re.DOTALL | re.IGNORECASE))


DEMONSTRATIONS = _kind("a file of demonstrations", rb'\s*\{[^\n]*"needful-demos"')
PAGE = _kind("a page that needful wrote", rb"<!doctype html>.*needful</title>")
PNG = _kind("a PNG picture", rb"\x89PNG")
GIF = _kind("a GIF", rb"GIF8")
MP4 = _kind("an MP4 film", rb"....ftyp")

MODEL = FolderKind(
    "a model directory",
    marker_files={
        "model.json": _kind("a model", rb'\{.*"needful-model"'),
        "policy.json": _kind("a policy", rb'\{.*"needful-policy"'),
    },
    other_files=frozenset(
        {
            "samplers.safetensors",
            "domain.pddl",
            "evidence.json",
            "climb.json",
            "doubts.json",
            "policy.safetensors",
        }
    ),
)
RUN = FolderKind(
    "the folder of a run",
    marker_files={"records.jsonl": _kind("a file of records", rb'\{[^\n]*"config_hash"')},
    other_files=frozenset(
        {"run.json", "progress.json", "summary.json", "demos.jsonl.gz", "plans.jsonl.gz", "report.html"}
        | {"pictures/solved_task.png"}
        | {f"model/{name}" for name in MODEL.marker_files.keys() | MODEL.other_files}
    ),
)
PDDL = FolderKind(
    "a folder of exported PDDL",
    marker_files={
        "domain.pddl": _kind("an exported domain", rb"(?:;[^\n]*\n)*\(define \(domain needful\)")
    },
    other_files=frozenset({"problem.pddl"}),
)


def check_output_file(path: Path, kind: FileKind, force: bool = False) -> None:
    """Raise `OutputError` unless a file of the given kind may be written to this path.

    With `force`, an existing file of this kind may be replaced. Call this function before a long
    computation, so that a wrong path is reported early.
    """
    if os.path.isdir(path):
        raise OutputExistsError(f"{path} is a folder, but a file is to be written. Choose another path.")
    _check_writable(path, force)
    if os.path.exists(path) and not (os.path.isfile(path) and kind.matches(path)):
        raise OutputExistsError(
            f"{path} is not {kind.name}, so it is not replaced. Choose another path, or move it away."
        )


def check_output_directory(path: Path, kind: FolderKind, force: bool = False) -> None:
    """Raise `OutputError` unless a folder of the given kind may be written to this path.

    With `force`, an existing folder of this kind may be replaced if all its files belong to this kind. Call
    this function before a long computation, so that a wrong path is reported early.
    """
    if os.path.ismount(path):
        raise OutputExistsError(f"{path} is a mount point and cannot be replaced. Choose a path inside it.")
    if os.path.isdir(path):
        _check_replaceable(path, kind)
    elif os.path.exists(path):
        raise OutputExistsError(f"{path} is a file, but a folder is to be written. Choose another path.")
    _check_writable(path, force)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8; an existing file at `path` is replaced."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically; an existing file at `path` is replaced.

    The bytes go to a temporary file in the same folder. Once they are on disk, this file is renamed to
    `path`.
    """
    with _translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary_beside(path)
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


@contextmanager
def staged_directory(
    path: Path, kind: FolderKind, force: bool = False, keep_on_error: bool = False
) -> Iterator[Path]:
    """Yield a new empty folder, which is renamed to `path` when the `with` block ends without an error.

    A folder that exists at `path` is replaced in three steps: it gets a temporary name, the new folder is
    renamed to `path`, and the old folder is removed. If the process is killed during these steps, at least
    one of the two folders is complete. `check_output_directory` decides which folders may be replaced.

    With `keep_on_error`, a finished folder that cannot be renamed to `path` is kept, because it may contain
    the results of a long computation. The error message contains the path of the kept folder.
    """
    check_output_directory(path, kind, force)
    with _translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = _temporary_beside(path)
        staging.mkdir()
    try:
        yield staging
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    try:
        check_output_directory(path, kind, force)  # again: the path may have been created meanwhile
        with _translate_os_errors(path):
            _sync_folder(staging)
            _move_into_place(staging, path)
    except BaseException as error:
        if keep_on_error and staging.exists():
            error.add_note(f"The finished output is in {staging}.")
        else:
            shutil.rmtree(staging, ignore_errors=True)
        raise


def prepare_output_directory(path: Path, kind: FolderKind, force: bool = False) -> None:
    """Create an empty folder for outputs that are written gradually, such as the records of a run.

    With `force`, an existing folder is replaced if `check_output_directory` allows it.
    """
    with staged_directory(path, kind, force):
        pass


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder.

    Call this function only if no other process is writing to the folder.
    """
    for leftover in sorted(folder.rglob(TEMPORARY_NAME.format("*"))):
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def disk_is_full(error: OSError) -> bool:
    """Return whether an error reports a full disk or an exceeded quota."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def compressed(data: bytes) -> bytes:
    """Compress data to a complete gzip stream; the same data always gives the same bytes.

    Several streams can be appended to one file. Decompressing the file returns the data of all its streams.
    """
    # Not gzip.compress: it may write the time and the operating system into the header.
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def decompressed(data: bytes, path: str | Path, error: type[InvalidInputError], remedy: str) -> bytes:
    """Decompress gzip data that was read from the file at `path`.

    If the data is damaged, raise an exception of class `error` whose message contains `path` and `remedy`.
    """
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise error(f"{path}: the gzip data is broken or cut off ({cause}). {remedy}") from None


def read_gzipped(path: Path, error: type[InvalidInputError], remedy: str) -> bytes:
    """Return the decompressed content of the gzip file at `path`.

    If the file cannot be read, raise an exception of class `error` whose message contains `remedy`.
    """
    try:
        data = path.read_bytes()
    except OSError as cause:
        raise error(f"{path}: cannot be read: {cause.strerror or cause}. {remedy}") from None
    return decompressed(data, path, error, remedy)


def _check_replaceable(path: Path, kind: FolderKind) -> None:
    if Path.cwd().is_relative_to(path.resolve()):
        raise OutputExistsError(
            f"{path} contains the current folder, so it is not replaced. Choose another path."
        )
    if path.is_symlink():  # replacing a link leaves its target unchanged
        return
    with _translate_os_errors(path):
        foreign_entry = kind.foreign_entry(path)
    if foreign_entry is not None:
        raise OutputExistsError(
            f"{path} holds {foreign_entry!r}, which is not part of {kind.name} that needful wrote, "
            "so it is not replaced. Choose another path, or move that file away."
        )


def _check_writable(path: Path, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise OutputExistsError(
            f"{path} exists already. Choose another path, or use --force to replace it."
        )
    ancestor = next(folder for folder in path.absolute().parents if os.path.exists(folder))
    if not os.path.isdir(ancestor) or not os.access(ancestor, os.W_OK):
        raise OutputError(
            f"{path} cannot be written: {ancestor} is not a folder that you may write to. "
            "Choose another path."
        )


def _move_into_place(staging: Path, path: Path) -> None:
    old = _temporary_beside(path)
    try:
        if os.path.lexists(path):
            path.rename(old)
        staging.rename(path)
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(path):
            old.rename(path)
        raise
    _sync_folder(path.parent)
    if old.is_symlink():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)


def _temporary_beside(path: Path) -> Path:
    return path.parent / TEMPORARY_NAME.format(secrets.token_hex(8))


def _sync_folder(folder: Path) -> None:
    """Write a folder's list of files to disk (fsync); do nothing on systems without fsync for folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    """Raise each `OSError` of the `with` block as an `OutputError` that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = (
            "Free some space and repeat the command." if disk_is_full(error) else "Choose another path."
        )
        raise OutputError(f"{path} cannot be written: {reason}. {remedy}") from error
