"""Outputs that are there completely or not at all, and that never replace anything unasked.

Gzip data that is the same for the same content, and read back with a complaint that helps.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from needful.errors import InvalidInputError, OutputError, OutputExistsError
from needful.storage.output_kinds import TEMPORARY_NAME, FileKind, FolderKind


def check_output_file(path: Path, kind: FileKind, force: bool = False) -> None:
    """Raise unless a file may come to this path; call it before long work, it changes nothing.

    A file that is there is never replaced unless it is of the same kind.
    """
    if os.path.isdir(path):
        raise OutputExistsError(f"{path} is a folder, but a file is to be written. Choose another path.")
    _check_writable(path, force)
    if os.path.exists(path) and not (os.path.isfile(path) and kind.matches(path)):
        raise OutputExistsError(
            f"{path} is not {kind.name}, so it is not replaced. Choose another path, or move it away."
        )


def check_output_directory(path: Path, kind: FolderKind, force: bool = False) -> None:
    """Raise unless a folder may come to this path; call it before long work, it changes nothing.

    A folder that is there is never replaced unless everything in it is of an output of the same kind.
    """
    if os.path.ismount(path):
        raise OutputExistsError(f"{path} is a mounted folder, which has to stay. Choose a path in it.")
    if os.path.isdir(path):
        _check_replaceable(path, kind)
    elif os.path.exists(path):
        raise OutputExistsError(f"{path} is a file, but a folder is to be written. Choose another path.")
    _check_writable(path, force)


def _check_replaceable(path: Path, kind: FolderKind) -> None:
    if Path.cwd().is_relative_to(path.resolve()):
        raise OutputExistsError(
            f"{path} holds the current folder, so it is not replaced. Choose another path."
        )
    if path.is_symlink():  # only the link is replaced
        return
    with _translate_os_errors(path):
        foreign_entry = kind.foreign_entry(path)
    if foreign_entry is not None:
        raise OutputExistsError(
            f"{path} holds {foreign_entry!r}, which is no part of {kind.name} that needful wrote, "
            "so it is not replaced. Choose another path, or move that away."
        )


def _check_writable(path: Path, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise OutputExistsError(
            f"{path} exists already. Choose another path, or use --force to replace it."
        )
    above = next(folder for folder in path.absolute().parents if os.path.exists(folder))
    if not os.path.isdir(above) or not os.access(above, os.W_OK):
        raise OutputError(
            f"{path} cannot be written: {above} is no folder that you may write to. Choose another path."
        )


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8, whole or not at all, replacing a file that is there."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, replacing a file that is there.

    The bytes go to a temporary file in the same folder, which gets the name when all is on disk.
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
    """Yield a fresh folder that takes the place of `path` when the block ends without an error.

    For outputs that are written in one go. What was at `path` is moved aside, then the new folder
    gets the name, then the old one is removed: a kill at any moment leaves either of them whole.
    `check_output_directory` says what may be replaced. With `keep_on_error`, a finished folder that cannot get the
    name stays where it is, and the error says where: long work is in it.
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
        check_output_directory(path, kind, force)  # other_files may have put something there meanwhile
        with _translate_os_errors(path):
            _sync_folder(staging)
            _put_in_place(staging, path)
    except BaseException as error:
        if keep_on_error and staging.exists():
            error.add_note(f"What was finished is in {staging}.")
        else:
            shutil.rmtree(staging, ignore_errors=True)
        raise


def prepare_output_directory(path: Path, kind: FolderKind, force: bool = False) -> None:
    """Make an empty folder for outputs that grow while work goes on, such as the records of a run.

    What is there already is only replaced with `force`.
    """
    with staged_directory(path, kind, force):
        pass


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left of unfinished outputs; no other process may be writing there."""
    for leftover in sorted(folder.rglob(TEMPORARY_NAME.format("*"))):
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def _put_in_place(staging: Path, path: Path) -> None:
    aside = _temporary_beside(path)
    try:
        if os.path.lexists(path):
            path.rename(aside)
        staging.rename(path)
    except BaseException:
        if os.path.lexists(aside) and not os.path.lexists(path):
            aside.rename(path)
        raise
    _sync_folder(path.parent)
    if aside.is_symlink():
        aside.unlink()
    else:
        shutil.rmtree(aside, ignore_errors=True)


def _temporary_beside(path: Path) -> Path:
    return path.parent / TEMPORARY_NAME.format(secrets.token_hex(8))


def _sync_folder(folder: Path) -> None:
    """Ask for the folder's entries to be on disk; not every system lets a folder be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors into one that names the path and what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = (
            "Free some space and repeat the command." if disk_is_full(error) else "Choose another path."
        )
        raise OutputError(f"{path} cannot be written: {reason}. {remedy}") from error


def disk_is_full(error: OSError) -> bool:
    """Return whether an error of the system says that there is no more space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def compressed(data: bytes) -> bytes:
    """Return data as one gzip member; members that follow each other are read as one text."""
    # GzipFile, not gzip.compress: the header then holds no name, no time and no operating system.
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def read_gzipped(path: Path, error: type[InvalidInputError], remedy: str) -> bytes:
    """Return the content of a gzip file; raise `error` with the remedy if it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as cause:
        raise error(f"{path}: cannot be read: {cause.strerror or cause}. {remedy}") from None
    return decompressed(data, path, error, remedy)


def decompressed(data: bytes, path: str | Path, error: type[InvalidInputError], remedy: str) -> bytes:
    """Return what the gzip data of a file holds; raise `error` with the remedy if it is damaged."""
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise error(f"{path}: the gzip data is broken or cut off ({cause}). {remedy}") from None
