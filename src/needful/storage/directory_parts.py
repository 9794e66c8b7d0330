"""The parts of a directory that holds something learned: JSON, and arrays with their digest beside it.

Whatever is wrong with a part is a `ModelError` that says what to do.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from needful.errors import ModelError
from needful.storage.json_fields import JsonValue, dump_json


def check_directory(path: Path) -> None:
    """Raise unless there is a directory at a path."""
    if not os.path.isdir(path):
        what = "is a file" if os.path.exists(path) else "does not exist"
        raise ModelError(f"{path} {what}. Give a model directory, as written by `needful learn --out`.")


def read_part(file: Path) -> bytes:
    """Return the content of a file."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{file} cannot be read: {error.strerror}. The model is incomplete; learn it again."
        ) from None


def json_part(name: str, value: JsonValue) -> str:
    """Return the text of a JSON file."""
    try:
        return dump_json(value, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{name} cannot be written as JSON: {error}. Use only numbers, strings, lists and mappings."
        ) from None


def digest_of(data: bytes) -> str:
    """Return what tells a content from any other: its SHA-256."""
    return hashlib.sha256(data).hexdigest()


def parse_arrays(data: bytes, digest: str, file: Path, described_in: str) -> dict[str, np.ndarray]:
    """Return arrays by name; raise unless the data have the digest that the description says."""
    if digest_of(data) != digest:
        raise ModelError(
            f"{file}: the content is not what {described_in} says (SHA-256). The file is damaged or "
            "belongs to another model; copy the whole directory again, or learn the model again."
        )
    try:
        return load_arrays(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{file}: not a safetensors file: {error}. Learn the model again.") from None
