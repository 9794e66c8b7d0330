"""What outputs look like, so that a new one takes the place of an earlier one and of nothing else."""

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
    """A kind of file that is written: what it is called, and how such a file begins."""

    name: str
    header_pattern: re.Pattern[bytes]

    def matches(self, path: Path) -> bool:
        """Return whether a file is of this kind; an empty one is of every kind."""
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
    """A kind of folder that is written.

    Attributes:
        name: what it is called.
        marker_files: files by name, one of which is always there.
        other_files: the paths of all other files that may be in it.
    """

    name: str
    marker_files: Mapping[str, FileKind]
    other_files: frozenset[str] = field(default=frozenset())

    def foreign_entry(self, folder: Path) -> str | None:
        """Return what in a folder belongs to no output of this kind; None if there is no such thing."""
        held = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
        files = self.marker_files.keys() | self.other_files
        known = files | {parent.as_posix() for file in files for parent in PurePosixPath(file).parents}
        foreign_entries = [one for one in held if one not in known and not _is_leftover(one)]
        marker_files = [one for one in held if one in self.marker_files]
        foreign_entries += [
            mark for mark in marker_files if not self.marker_files[mark].matches(folder / mark)
        ]
        if not foreign_entries and not marker_files:
            foreign_entries = held
        return min(foreign_entries, default=None)


def _is_leftover(path: str) -> bool:
    """Return whether a killed process left this behind of an unfinished output."""
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
        {"samplers.safetensors", "domain.pddl", "evidence.json", "climb.json", "policy.safetensors"}
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
