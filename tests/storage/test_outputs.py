"""Atomic outputs: complete or absent, and existing paths are replaced only on request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from needful.errors import OutputError, OutputExistsError
from needful.storage.outputs import (
    DEMONSTRATIONS,
    MODEL,
    PDDL,
    PNG,
    RUN,
    FileKind,
    FolderKind,
    check_output_directory,
    check_output_file,
    prepare_output_directory,
    staged_directory,
    write_bytes,
    write_text,
)

RECORDS = '{"config_hash": "old"}'
MODEL_TEXT = '{"format": "needful-model"}'


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_files_are_written_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "file.txt"
    write_text(file, "ü\n")
    assert file.read_bytes() == b"\xc3\xbc\n"
    write_bytes(file, b"other")
    assert file.read_bytes() == b"other"
    assert names(file.parent) == ["file.txt"]


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    write_text(file, "old")

    def disk_full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OutputError, match="file cannot be written: No space left on device"):
        write_text(file, "new")
    assert names(tmp_path) == ["file"]
    assert file.read_text() == "old"


def test_existing_outputs_are_not_replaced_without_force(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text('{"format": "needful-demos"}')
    folder.mkdir()
    (folder / "model.json").write_text(MODEL_TEXT)
    with pytest.raises(OutputExistsError, match=f"{folder} exists already.*--force"):
        check_output_directory(folder, MODEL)
    with pytest.raises(OutputError, match="--force"), staged_directory(folder, MODEL):
        pytest.fail("the block must not run")
    with pytest.raises(OutputError, match="--force"):
        prepare_output_directory(folder, MODEL)
    check_output_directory(folder, MODEL, force=True)
    with pytest.raises(OutputExistsError, match=f"{file} exists already.*--force"):
        check_output_file(file, DEMONSTRATIONS)
    for path in (file, tmp_path / "new"):
        check_output_file(path, DEMONSTRATIONS, force=True)
    check_output_directory(tmp_path / "new", MODEL)
    assert names(tmp_path) == ["file", "folder"]
    assert names(folder) == ["model.json"]


@pytest.mark.parametrize("force", [False, True])
def test_folders_with_foreign_files_are_never_replaced(tmp_path: Path, force: bool) -> None:
    path = tmp_path / "precious"
    (path / "sub" / "model.json").mkdir(parents=True)
    (path / "thesis.tex").write_text("")
    for check in (check_output_directory, prepare_output_directory):
        with pytest.raises(OutputExistsError, match=r"precious holds 'sub', which is not part of a model"):
            check(path, MODEL, force)
    assert names(path) == ["sub", "thesis.tex"]


@pytest.mark.parametrize(
    ("kind", "marker", "text"),
    [
        (MODEL, "model.json", MODEL_TEXT),
        (MODEL, "policy.json", '{"format": "needful-policy"}'),
        (RUN, "records.jsonl", ""),
        (RUN, "records.jsonl", '{"config_hash": "0"}'),
        (PDDL, "domain.pddl", "(define (domain needful)"),
    ],
)
def test_outputs_are_recognised_by_their_marker_files(
    tmp_path: Path, kind: FolderKind, marker: str, text: str
) -> None:
    path = tmp_path / "out"
    path.mkdir()
    for other in kind.other_files:
        (path / other).parent.mkdir(exist_ok=True)
        (path / other).write_text("any content")
    with pytest.raises(OutputExistsError, match=f"holds {min(names(path))!r}, which is not part"):
        check_output_directory(path, kind, force=True)
    (path / marker).write_text(text)
    check_output_directory(path, kind, force=True)
    (path / marker).write_text("precious")
    with pytest.raises(OutputExistsError, match=f"holds {marker!r}, which is not part"):
        check_output_directory(path, kind, force=True)


def test_leftovers_of_killed_processes_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / ".needful-0123.tmp").mkdir()
    (tmp_path / ".needful-0123.tmp" / "model.json").write_text("")
    (tmp_path / "records.jsonl").write_text("")
    check_output_directory(tmp_path, RUN, force=True)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "notes").mkdir()
    with pytest.raises(OutputExistsError, match="holds 'model/notes'"):
        check_output_directory(tmp_path, RUN, force=True)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (PNG, b"precious"),
        (DEMONSTRATIONS, b"about needful-demos"),
        (DEMONSTRATIONS, b"\x1f\x8bno gzip data"),
    ],
)
def test_files_of_another_kind_are_never_replaced(tmp_path: Path, kind: FileKind, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    check_output_file(path, kind, force=True)
    path.write_bytes(content)
    with pytest.raises(OutputExistsError, match=f"{path} is not {kind.name}, so it is not replaced"):
        check_output_file(path, kind, force=True)
    with pytest.raises(OutputExistsError, match="null is not"):
        check_output_file(Path(os.devnull), kind, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_never_replaces_a_file(tmp_path: Path, force: bool) -> None:
    (tmp_path / "file").write_text("")
    for check in (check_output_directory, prepare_output_directory):
        with pytest.raises(OutputExistsError, match="file is a file, but a folder is to be written"):
            check(tmp_path / "file", RUN, force)


def test_mount_points_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.ismount", lambda path: path == tmp_path)
    with pytest.raises(OutputExistsError, match="mount point"):
        check_output_directory(tmp_path, PDDL, force=True)


def test_empty_folders_may_be_replaced(tmp_path: Path) -> None:
    prepare_output_directory(tmp_path / "out", RUN)
    prepare_output_directory(tmp_path / "out", RUN, force=True)
    with pytest.raises(OutputExistsError, match="exists already"):
        prepare_output_directory(tmp_path / "out", RUN)


@pytest.mark.parametrize("force", [False, True])
def test_a_file_never_replaces_a_folder(tmp_path: Path, force: bool) -> None:
    with pytest.raises(OutputExistsError, match=f"{tmp_path} is a folder, but a file is to be written"):
        check_output_file(tmp_path, PNG, force)


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="exists already"):
        check_output_directory(link, RUN)
    with pytest.raises(OutputError, match="exists already"):
        check_output_file(link, PNG)


def test_the_current_folder_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    for path in (Path(), tmp_path / "a"):
        with pytest.raises(OutputError, match="contains the current folder"):
            check_output_directory(path, RUN, force=True)
    check_output_directory(tmp_path / "a" / "c", RUN, force=True)


@pytest.mark.parametrize("old", ["nothing", "folder", "link"])
def test_a_staged_folder_replaces_the_old_path(tmp_path: Path, old: str) -> None:
    path = tmp_path / "out"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    if old == "folder":
        path.mkdir()
        (path / "records.jsonl").write_text(RECORDS)
    elif old == "link":
        path.symlink_to(elsewhere)
    with staged_directory(path, RUN, force=True) as staging:
        (staging / "new").write_text("new")
        assert old != "folder" or names(path) == ["records.jsonl"]
    assert names(tmp_path) == ["elsewhere", "out"]
    assert names(path) == ["new"]
    assert names(elsewhere) == ["precious"]


def test_an_error_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "out"
    prepare_output_directory(path, RUN)
    (path / "records.jsonl").write_text(RECORDS)

    def interrupted() -> None:
        with staged_directory(path, RUN, force=True) as staging:
            (staging / "new").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path) == ["out"]
    assert names(path) == ["records.jsonl"]


def test_a_kill_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "out"
    prepare_output_directory(path, RUN)
    (path / "records.jsonl").write_text(RECORDS)
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from needful.storage.outputs import RUN, staged_directory\n"
        "with staged_directory(Path(sys.argv[1]), RUN, force=True) as staging:\n"
        "    (staging / 'new').write_text('new')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == -9
    assert names(path) == ["records.jsonl"]


def test_prepared_folders_are_empty_and_usable(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "first"
    prepare_output_directory(path, RUN)
    (path / "records.jsonl").write_text(RECORDS)
    prepare_output_directory(path, RUN, force=True)
    assert names(path) == []
    assert names(tmp_path / "runs") == ["first"]


def test_unwritable_paths_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "below"
    with pytest.raises(OutputError, match=r"below cannot be written.*Choose another path"):
        write_text(path, "")
    with pytest.raises(OutputError, match=r"below cannot be written: .*file is not a folder"):
        check_output_file(path, PNG)
    for check in (check_output_directory, prepare_output_directory):
        with pytest.raises(OutputError, match=r"below cannot be written: .*file is not a folder"):
            check(path, RUN)


def test_folders_without_permission_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests may run as root, who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(OutputError, match=f"{tmp_path} is not a folder that you may write to"):
        check_output_directory(tmp_path / "new" / "out", RUN)


def test_a_failed_rename_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    prepare_output_directory(path, RUN)
    (path / "records.jsonl").write_text(RECORDS)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target == path and (self / "new").exists():
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)

    def replace() -> None:
        with staged_directory(path, RUN, force=True) as staging:
            (staging / "new").write_text("new")

    with pytest.raises(OutputError, match="Input/output error"):
        replace()
    assert names(tmp_path) == ["out"]
    assert names(path) == ["records.jsonl"]
