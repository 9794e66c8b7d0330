from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from needful.errors import OutputError, OutputExistsError
from needful.storage.atomic import (
    OUTPUT_MARKS,
    check_output_directory,
    check_output_file,
    prepare_output_directory,
    staged_directory,
    write_bytes,
    write_text,
)


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


def test_existing_outputs_are_refused(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("kept")
    folder.mkdir()
    (folder / "model.json").write_text("")
    for path in (file, folder):
        with pytest.raises(OutputExistsError, match=f"{path} exists already.*--force"):
            check_output_directory(path)
        with pytest.raises(OutputError, match="--force"), staged_directory(path):
            pytest.fail("the block must not run")
        with pytest.raises(OutputError, match="--force"):
            prepare_output_directory(path)
        check_output_directory(path, force=True)
    with pytest.raises(OutputExistsError, match=f"{file} exists already.*--force"):
        check_output_file(file)
    for path in (file, tmp_path / "new"):
        check_output_file(path, force=True)
    check_output_directory(tmp_path / "new")
    assert names(tmp_path) == ["file", "folder"]
    assert file.read_text() == "kept"
    assert names(folder) == ["model.json"]


@pytest.mark.parametrize("force", [False, True])
def test_folders_of_other_things_are_never_replaced(tmp_path: Path, force: bool) -> None:
    path = tmp_path / "precious"
    (path / "sub" / "model.json").mkdir(parents=True)
    (path / "thesis.tex").write_text("")
    for check in (check_output_directory, prepare_output_directory):
        with pytest.raises(OutputExistsError, match=r"precious holds other things .* is not replaced"):
            check(path, force)
    assert names(path) == ["sub", "thesis.tex"]


@pytest.mark.parametrize("mark", sorted(OUTPUT_MARKS))
def test_outputs_are_known_by_their_files(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "out"
    path.mkdir()
    (path / mark).write_text("")
    check_output_directory(path, force=True)
    with pytest.raises(OutputExistsError, match="other things"):
        check_output_directory(path, force=True, marks={"test_garden.py"})
    (path / "test_garden.py").write_text("")
    check_output_directory(path, force=True, marks={"test_garden.py"})


def test_empty_folders_may_be_replaced(tmp_path: Path) -> None:
    prepare_output_directory(tmp_path / "out")
    prepare_output_directory(tmp_path / "out", force=True)
    with pytest.raises(OutputExistsError, match="exists already"):
        prepare_output_directory(tmp_path / "out")


@pytest.mark.parametrize("force", [False, True])
def test_a_file_never_takes_the_place_of_a_folder(tmp_path: Path, force: bool) -> None:
    with pytest.raises(OutputExistsError, match=f"{tmp_path} is a folder, but a file is to be written"):
        check_output_file(tmp_path, force)


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="exists already"):
        check_output_directory(link)
    with pytest.raises(OutputError, match="exists already"):
        check_output_file(link)


def test_the_current_folder_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    for path in (Path(), tmp_path / "a"):
        with pytest.raises(OutputError, match="holds the current folder"):
            check_output_directory(path, force=True)
    check_output_directory(tmp_path / "a" / "c", force=True)


@pytest.mark.parametrize("old", ["nothing", "file", "folder", "link"])
def test_a_staged_folder_takes_the_place_of_what_was_there(tmp_path: Path, old: str) -> None:
    path = tmp_path / "out"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    if old == "file":
        path.write_text("old")
    elif old == "folder":
        path.mkdir()
        (path / "records.jsonl").write_text("old")
    elif old == "link":
        path.symlink_to(elsewhere)
    with staged_directory(path, force=True) as staging:
        (staging / "new").write_text("new")
        assert old != "folder" or names(path) == ["records.jsonl"]
    assert names(tmp_path) == ["elsewhere", "out"]
    assert names(path) == ["new"]
    assert names(elsewhere) == ["precious"]


def test_an_error_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "out"
    prepare_output_directory(path)
    (path / "records.jsonl").write_text("old")

    def interrupted() -> None:
        with staged_directory(path, force=True) as staging:
            (staging / "new").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path) == ["out"]
    assert names(path) == ["records.jsonl"]


def test_a_kill_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "out"
    prepare_output_directory(path)
    (path / "records.jsonl").write_text("old")
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from needful.storage.atomic import staged_directory\n"
        "with staged_directory(Path(sys.argv[1]), force=True) as staging:\n"
        "    (staging / 'new').write_text('new')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == -9
    assert names(path) == ["records.jsonl"]


def test_prepared_folders_are_empty_and_usable(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "first"
    prepare_output_directory(path)
    (path / "records.jsonl").write_text("old")
    prepare_output_directory(path, force=True)
    assert names(path) == []
    assert names(tmp_path / "runs") == ["first"]


def test_unwritable_places_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "below"
    with pytest.raises(OutputError, match=r"below cannot be written.*Choose another path"):
        write_text(path, "")
    for check in (check_output_file, check_output_directory, prepare_output_directory):
        with pytest.raises(OutputError, match=r"below cannot be written: .*file is no folder"):
            check(path)


def test_folders_without_permission_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests may run as a user whom no permission stops.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(OutputError, match=f"{tmp_path} is no folder that you may write to"):
        check_output_directory(tmp_path / "new" / "out")


def test_an_output_that_cannot_take_its_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    prepare_output_directory(path)
    (path / "records.jsonl").write_text("old")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target == path and (self / "new").exists():
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)

    def replace() -> None:
        with staged_directory(path, force=True) as staging:
            (staging / "new").write_text("new")

    with pytest.raises(OutputError, match="Input/output error"):
        replace()
    assert names(tmp_path) == ["out"]
    assert names(path) == ["records.jsonl"]
