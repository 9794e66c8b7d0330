"""`needful view`: runs that are made, deleted, damaged or hostile, and requests that must be refused."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from axe_core import fetch_axe, violations
from command_line import needful
from headless_browser import CHROMIUM, Browser, open_browser
from lamp_world import HOSTILE, MARKUP
from needful.cli.pages import ViewServer, make_server
from needful.reports import live_runs
from recorded_runs import run_lamps

HOSTILE_NAMES = (
    "</script><script>document.title = 'attacked'</script>",
    "'\"><img src=x onerror=document.title='attacked'>",
    "\u202egnorw",
    "%2e%2e",
)


@pytest.fixture(autouse=True)
def _read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_runs, "SCAN_SECONDS", 0.0)


@contextmanager
def serving(folder: Path) -> Iterator[ViewServer]:
    """Serve a folder on a free port during the block."""
    with make_server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(server: ViewServer, path: str, **headers: str) -> tuple[int, bytes, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def rows(server: ViewServer) -> dict[str, dict[str, Any]]:
    status, content, _ = get(server, "/runs.json")
    assert status == 200
    return {row["name"]: row for row in json.loads(content)["runs"]}


def details(server: ViewServer, name: str) -> tuple[int, Any]:
    status, content, _ = get(server, f"/run.json?run={quote(name, safe='')}")
    return status, json.loads(content) if status == 200 else content


def unfinished(run: Path, records: bytes = b"", stage: str = "Learning") -> Path:
    """Make a run look as if it were being made."""
    (run / "summary.json").unlink(missing_ok=True)
    (run / "records.jsonl").write_bytes(records)
    (run / "progress.json").write_text(json.dumps({"stage": stage, "done": 1, "total": 3}))
    return run


def test_runs_and_their_details(runs: dict[str, Path], screws: Path) -> None:
    with serving(screws.parent) as server:
        found = rows(server)
        assert sorted(found) == ["cluttered-1d", "screws"]
        assert found["screws"]["state"] == "finished"
        assert (found["screws"]["done"], found["screws"]["solved"], found["screws"]["seed"]) == (3, 3, 0)
        _, run = details(server, "screws")
        assert [task["outcome"] for task in run["taskList"]] == ["solved"] * 3
        assert run["climb"]["steps"][-1]["uncovered"] == 0
        assert run["made"]["command"].startswith("needful run screws")
        status, page, headers = get(server, "/report?run=screws&run=cluttered-1d")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert page.startswith(b"<!doctype html>")
        assert get(server, "/")[1].startswith(b"<!doctype html>")
        version = get(server, "/runs.json")[2]["ETag"]
        assert get(server, "/runs.json", **{"If-None-Match": version})[:2] == (304, b"")


def test_a_run_is_followed_while_it_is_made(screws: Path, tmp_path: Path) -> None:
    lines = (screws / "records.jsonl").read_bytes().splitlines(keepends=True)
    run = unfinished(Path(shutil.copytree(screws, tmp_path / "runs" / "one")))
    with serving(run.parent) as server:
        row = rows(server)["one"]
        assert (row["state"], row["stage"], row["done"], row["total"]) == (
            "running",
            "Learning: 1 of 3",
            0,
            3,
        )
        for done in (1, 2):
            (run / "records.jsonl").write_bytes(b"".join(lines[:done]))
            assert rows(server)["one"]["done"] == done
        # Half of a record is not counted, and a half-written summary does not end a run.
        (run / "records.jsonl").write_bytes(lines[0] + lines[1][:40])
        (run / "summary.json").write_text('{"domain": "scr')
        assert (rows(server)["one"]["done"], rows(server)["one"]["state"]) == (1, "running")
        shutil.rmtree(run)
        assert rows(server) == {}
        assert details(server, "one")[0] == 404
        assert get(server, "/report?run=one")[0] == 404


def test_files_that_are_not_json_do_not_stop_the_server(screws: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(screws, tmp_path / "one"))
    for file, content in [
        ("run.json", b"[]"),
        ("run.json", b'{"settings": 3, "started": {}}'),
        ("summary.json", b"[1]"),
        ("records.jsonl", b"\xff\xfe\n{}\n[]\n" + b"9" * 5000 + b"\n"),
        ("model/climb.json", b'{"steps": 3}'),
        ("progress.json", b'"stage"'),
    ]:
        (run / file).write_bytes(content)
        with serving(tmp_path) as server:
            assert "one" in rows(server)
            assert details(server, "one")[0] == 200
            assert get(server, "/report?run=one")[0] in (200, 500)


def test_only_this_computer_may_ask(screws: Path) -> None:
    with serving(screws.parent) as server:
        assert server.server_address[0] == "127.0.0.1"
        port = server.server_port
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}"):
            status, content, _ = get(server, "/runs.json", Host=host)
            assert status == 403
            assert b"screws" not in content
        assert get(server, "/runs.json", Host=f"localhost:{port}")[0] == 200
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET /runs.json HTTP/1.0\r\n\r\n")  # no Host at all
            assert b" 403 " in plain.recv(100)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/runs.json", b"{}")
        assert connection.getresponse().status == 501
        connection.close()


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/records.jsonl",
        "/screws/records.jsonl",
        "//etc/passwd",
        "/run.json?run=../secret",
        "/run.json?run=..%2fsecret",
        "/run.json?run=%2e%2e/secret",
        "/run.json?run=/etc",
        "/run.json?run=linked",
        "/run.json",
        "/report",
        "/report?run=../secret",
        "/report?run=linked",
        "/run.json?run=screws%00",
    ],
)
def test_nothing_outside_of_the_folder_is_served(path: str, screws: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(screws, folder / "screws")
    shutil.copytree(screws, tmp_path / "secret")
    (tmp_path / "secret.txt").write_text("secret text")
    (folder / "linked").symlink_to(tmp_path / "secret")
    with serving(folder) as server:
        assert list(rows(server)) == ["screws"]
        status, content, _ = get(server, path)
        assert status in (400, 404)
        assert b"secret text" not in content


def test_links_inside_of_a_run_are_not_followed(screws: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(screws, tmp_path / "runs" / "one"))
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes((run / "records.jsonl").read_bytes())
    (run / "model" / "climb.json").unlink()
    (run / "model" / "climb.json").symlink_to(screws / "model" / "climb.json")
    with serving(run.parent) as server:
        assert details(server, "one")[1]["climb"] is None
        status, content, _ = get(server, "/report?run=one")
        assert status == 500
        assert b"symbolic link" in content
        (run / "records.jsonl").unlink()
        (run / "records.jsonl").symlink_to(secret)
        assert rows(server) == {}


def test_a_thousand_runs_and_ten_clients(screws: Path, tmp_path: Path) -> None:
    for number in range(1000):
        run = tmp_path / f"run{number}"
        run.mkdir()
        for file in ("records.jsonl", "summary.json", "run.json"):
            (run / file).hardlink_to(screws / file)
    with serving(tmp_path) as server, ThreadPoolExecutor(10) as clients:
        assert len(rows(server)) == 1000
        answers = list(clients.map(lambda number: get(server, ("/runs.json", "/")[number % 2]), range(20)))
        assert {status for status, _, _ in answers} == {200}
        reports = list(clients.map(lambda _: get(server, "/report?run=run1"), range(10)))
        assert {status for status, _, _ in reports} == {200}
        assert len({content for _, content, _ in reports}) == 1
        assert get(server, "/report?" + "&".join(f"run=run{number}" for number in range(50)))[0] == 400


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium to open pages with")
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def open_view(browser: Browser, server: ViewServer, width: int = 1200, scheme: str = "light") -> None:
    browser.show("about:blank", width, 900)  # the page before this one may ask a server that has stopped
    browser.show(f"http://127.0.0.1:{server.server_port}/", width, 900, scheme)


def open_details(browser: Browser, index: int) -> None:
    """Open the run in a row of the list, and wait until it is shown."""
    browser.run(f"document.querySelectorAll('tbody .link')[{index}].click()")
    wanted = f"document.querySelectorAll('tbody .link')[{index}].textContent"
    shown = "document.querySelector('#run h2')?.textContent"
    browser.run(
        "new Promise(done => { const look = () => "
        f"{shown} === {wanted} ? done() : setTimeout(look, 20); look(); }})"
    )


def hostile_runs(folder: Path) -> int:
    """Make runs with hostile names in a folder, and return their number."""
    made = run_lamps(folder / "lamps", HOSTILE)
    names = [*(name.replace("/", "∕") for name in HOSTILE_NAMES), "n" * 200]
    for name in names:
        shutil.copytree(made, folder / name)
    # A name of a file has at most 255 bytes. Names in files can be longer.
    endless = Path(shutil.copytree(made, folder / "endless"))
    summary = json.loads((endless / "summary.json").read_text())
    summary |= {"domain": "d" * 10_000, "learner": f"\u202e\u2067{MARKUP}"}
    (endless / "summary.json").write_text(json.dumps(summary))
    lines = [json.loads(line) for line in (endless / "records.jsonl").read_text().splitlines()]
    changed = [{**line, "failure": f"\u202e{MARKUP}" + "f" * 10_000} for line in lines]
    (endless / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    return len(names) + 2


@pytest.mark.parametrize("width", [1200, 390])
def test_hostile_names_are_inert(browser: Browser, tmp_path: Path, width: int) -> None:
    folder = tmp_path / "runs"
    count = hostile_runs(folder)
    with serving(folder) as server:
        open_view(browser, server, width)
        assert browser.run("document.querySelectorAll('tbody tr').length") == count
        for index in range(count):
            open_details(browser, index)
        assert browser.run("document.querySelectorAll('img, tbody script').length") == 0
        assert "attacked" not in browser.run("document.title")
        assert browser.run("window.hacked") is None
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.messages == []
        local = f"http://127.0.0.1:{server.server_port}/"
        assert all(one.startswith((local, "data:")) for one in browser.requests)


def test_a_deleted_run_is_reported_without_errors_in_the_console(
    browser: Browser, screws: Path, tmp_path: Path
) -> None:
    for name in ("kept", "screws"):
        shutil.copytree(screws, tmp_path / "runs" / name)
    with serving(tmp_path / "runs") as server:
        open_view(browser, server)
        open_details(browser, 1)
        shutil.rmtree(tmp_path / "runs" / "screws")
        browser.run(
            "new Promise(done => { const look = () => document.querySelector('#run').textContent"
            ".includes('This run was deleted.') ? done() : setTimeout(look, 20); look(); })"
        )
        asked = [one for one in browser.requests if "run.json?run=screws" in one]
        browser.run("new Promise(done => setTimeout(done, 2500))")  # longer than one poll
        assert asked == [one for one in browser.requests if "run.json?run=screws" in one]
        assert browser.messages == []


def test_axe_finds_nothing(
    browser: Browser, screws: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    axe = fetch_axe(tmp_path_factory.mktemp("axe"))
    shutil.copytree(screws, tmp_path / "runs" / "screws")
    shutil.copytree(screws, tmp_path / "runs" / "running")
    unfinished(tmp_path / "runs" / "running", (screws / "records.jsonl").read_bytes())
    with serving(tmp_path / "runs") as server:
        for width, scheme in ((1200, "light"), (1200, "dark"), (390, "light")):
            open_view(browser, server, width, scheme)
            assert violations(browser, axe) == []
            open_details(browser, 0)
            assert violations(browser, axe) == []


def test_wrong_arguments(tmp_path: Path) -> None:
    assert "is not a folder" in needful("view", tmp_path / "none").err
    with serving(tmp_path) as server:
        result = needful("view", tmp_path, "--port", server.server_port)
        assert result.code != 0
        assert "Choose another --port" in result.err
