"""Gzip data that is the same for the same content, and read back with a complaint that helps."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from needful.errors import InvalidInputError


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
