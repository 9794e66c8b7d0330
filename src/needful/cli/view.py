"""`needful view`: a local page about runs, which is updated while the runs are in progress."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

import typer

from needful.cli import console
from needful.cli.report import find_environment
from needful.core.cards import quote_code
from needful.errors import NeedfulError, OutputError, ResultsError
from needful.reports.live_runs import LiveRun, LiveRuns
from needful.reports.page.inline_page import fill_page
from needful.reports.page.page import make_report, page_asset, player_script

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 7340
# A report page may show at most this many runs, because more would take too long to draw.
MAX_REPORTED = 40
SECONDS_PER_REQUEST = 30
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
VIEW_SCRIPTS = ("charts.js", "view.js")
PLAIN, HTML, JSON = "text/plain; charset=utf-8", "text/html; charset=utf-8", "application/json"


@console.reporting_errors
def view(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", help="A run folder, a folder of runs, or a folder of a sweep.")
    ],
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help=f"Port; by default {DEFAULT_PORT} or a free one."),
    ] = None,
) -> None:
    """Show runs on a local page that updates while they are made; stop with Ctrl-C.

    The page is served to this computer only.
    """
    if not runs.is_dir():
        raise ResultsError(f"{runs} is not a folder. Give a folder that `needful run` writes to.")
    with make_server(runs, port) as server:
        console.print_result(f"Serving {runs} at http://{ADDRESS}:{server.server_port}/ (Ctrl-C to stop)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.print_stderr("Stopped.")


class ViewServer(ThreadingHTTPServer):
    """Serves pages about the runs in a folder, to this computer only."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path, port: int) -> None:
        self.runs = LiveRuns(folder)
        self.folder = folder
        # Held while a page is drawn: matplotlib is not thread-safe, so pages are drawn one at a time.
        self.drawing = threading.Lock()
        self.pages: dict[tuple[str, ...], tuple[tuple[object, ...], bytes]] = {}
        super().__init__((ADDRESS, port), ViewHandler)


def make_server(folder: Path, port: int | None = None) -> ViewServer:
    """Return a server for the runs in a folder.

    If `port` is None, the server uses the default port, or a free one if the default port is in use.
    """
    try:
        return ViewServer(folder, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is None:
            return ViewServer(folder, 0)
        raise OutputError(
            f"Port {port} cannot be used: {error.strerror}. Choose another --port."
        ) from error


class ViewHandler(BaseHTTPRequestHandler):
    """Answers four requests: the page, the list of runs, the details of one run, and a report about runs.

    A run that is named in a request must be one of the runs in the folder. Thus no request can read files
    outside of these runs.
    """

    server: ViewServer
    timeout = SECONDS_PER_REQUEST
    server_version = "needful"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a GET request."""
        # Reject other host names. Otherwise, a web site whose name resolves to 127.0.0.1 could read the
        # answers (DNS rebinding).
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{ADDRESS}:{port}", f"localhost:{port}"):
            self._send(HTTPStatus.FORBIDDEN, PLAIN, b"Open the address that 'needful view' printed.\n")
            return
        parts = urlsplit(self.path)
        answers: dict[str, Callable[[], None]] = {
            "/": self._send_page,
            "/runs.json": self._send_runs,
            "/run.json": partial(self._send_run, parse_qs(parts.query).get("run", [])),
            "/report": partial(self._send_report, parse_qs(parts.query).get("run", [])),
        }
        answer = answers.get(parts.path)
        if answer is None:
            self._send(HTTPStatus.NOT_FOUND, PLAIN, b"There is no such page.\n")
            return
        try:
            answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:  # a damaged run must not stop the server
            reason = str(error) if isinstance(error, NeedfulError) else type(error).__name__
            text = quote_code(f"The page cannot be made: {reason}\n")
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, PLAIN, text.encode(errors="replace"))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, because the page sends a request every two seconds."""

    def _send_page(self) -> None:
        name = self.server.folder.resolve().name
        text = make_view(name, self._rows())
        self._send(HTTPStatus.OK, HTML, text.encode(errors="replace"))

    def _send_runs(self) -> None:
        content = json.dumps({"runs": self._rows()}).encode()
        version = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        if self.headers.get("If-None-Match") == version:
            self._send(HTTPStatus.NOT_MODIFIED, JSON, b"", version)
        else:
            self._send(HTTPStatus.OK, JSON, content, version)

    def _send_run(self, names: list[str]) -> None:
        found = self._chosen(names[:1])
        if found:
            self._send(HTTPStatus.OK, JSON, json.dumps(found[names[0]].details()).encode())

    def _send_report(self, names: list[str]) -> None:
        if len(names) > MAX_REPORTED:
            text = f"A page has at most {MAX_REPORTED} runs.\n"
            self._send(HTTPStatus.BAD_REQUEST, PLAIN, text.encode())
            return
        found = self._chosen(names)
        if not found:
            return
        key, signatures = tuple(found), tuple(run.signature for run in found.values())
        with self.server.drawing:
            known = self.server.pages.get(key)
            if known is None or known[0] != signatures:
                recorded = [self.server.runs.recorded(name) for name in found]
                page = make_report(recorded, find_environment).encode(errors="replace")
                # Keep only the last page, so that memory does not grow while the server is left open.
                self.server.pages = {key: (signatures, page)}
                known = (signatures, page)
        self._send(HTTPStatus.OK, HTML, known[1])

    def _rows(self) -> list[dict[str, object]]:
        rows = [dict(run.row) for run in self.server.runs.current().values()]
        finished_last = sorted(rows, key=lambda row: str(row["started"]), reverse=True)
        return sorted(finished_last, key=lambda row: row["state"] != "running")

    def _chosen(self, names: list[str]) -> dict[str, LiveRun]:
        """Return the runs with these names; if one does not exist, send an error and return no runs."""
        current = self.server.runs.current()
        if not names or any(name not in current for name in names):
            self._send(HTTPStatus.NOT_FOUND, PLAIN, b"There is no such run. It may have been deleted.\n")
            return {}
        return {name: current[name] for name in names}

    def _send(self, status: HTTPStatus, kind: str, content: bytes, version: str = "") -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if version:
            self.send_header("ETag", version)
        self.end_headers()
        if content:
            self.wfile.write(content)


def make_view(folder: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return the HTML page of `needful view`, which asks its server for the current runs.

    `rows` are the runs that the page shows until the server has sent its first answer.
    """
    data = {"runs": list(rows), "maxReported": MAX_REPORTED}
    texts = {"title": f"{folder} · needful", "folder": folder}
    script = player_script((), VIEW_SCRIPTS)
    return fill_page(page_asset("view.html"), page_asset("page.css"), script, data, texts, connects=True)
