"""Kinds of output files and folders, and how to recognise them.

An output replaces only an output of the same kind.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

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
        {"summary.json", "demos.jsonl.gz", "plans.jsonl.gz", "report.html", "pictures/solved_task.png"}
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
