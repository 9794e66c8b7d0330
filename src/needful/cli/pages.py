"""Pages about runs: `needful report` writes one, `needful view` serves one that follows the runs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

import typer

from needful.approaches.base import Progress
from needful.cli import console
from needful.cli.environments import chosen_environment
from needful.cli.options import AsJson, Force, require_suffix
from needful.core.code_in_text import quote_code
from needful.core.objects import counted
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.errors import InvalidInputError, NeedfulError, OutputError, ResultsError, UnknownNameError
from needful.reports.live_runs import LiveRun, LiveRuns
from needful.reports.page.inline_page import fill_page
from needful.reports.page.page import make_report, page_asset, page_data, player_script, report_html
from needful.reports.page.recorded_run import RecordedRun, read_run, run_of_job
from needful.reports.page.task_films import FilmLimits
from needful.storage.outputs import PAGE, check_output_file, write_text
from needful.sweeps.jobs import JOBS_FOLDER, JobResult, read_results

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
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS",
            help="Run folders, folders that contain them, or folders of 'needful reproduce'; runs of the "
            "same domain are compared.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", callback=require_suffix(".html", ".htm"), help="HTML file to write.")
    ] = Path("report.html"),
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment",
            metavar="MODULE:CLASS",
            help="Your environment class, which draws the states; its code is run.",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write an HTML page about runs: the learned operators with explanations, and a film of each task."""
    check_output_file(out, PAGE, force)
    recorded = [run for folder in runs for run in _read(folder)]
    with console.progress_bars() as progress, ExitStack() as stack:
        custom = None if environment is None else _custom_environment(environment, recorded, stack)
        write_page(recorded, out, progress, custom)
    if as_json:
        console.print_json({"page": str(out), "runs": len(recorded)})
    else:
        console.print_result(f"Wrote {out}.")


def _read(folder: Path) -> list[RecordedRun]:
    """Read the runs in a folder: run folders, or the jobs of a sweep; failed jobs are skipped."""
    if not (folder / JOBS_FOLDER).is_dir():
        return [read_run(run) for run in runs_in(folder)]
    results = read_results(folder)
    skipped = len(results.damaged) + sum(result.error is not None for result in results.results)
    if skipped:
        console.print_stderr(f"warning: {counted(skipped, 'job')} of {folder} failed or cannot be read.")
    done = sorted((one for one in results.results if one.error is None), key=_job_order)
    return [run_of_job(result) for result in done]


def _job_order(result: JobResult) -> tuple[str, str, int, int, int]:
    job = result.job
    return job.domain, job.learner, job.demos, job.abstract_plans, job.seed


def runs_in(folder: Path) -> list[Path]:
    """Return the folder itself if it is a run folder, otherwise the finished run folders inside it."""
    if (folder / "records.jsonl").exists():
        return [folder]
    inner = sorted(file.parent for file in folder.glob("[!.]*/summary.json"))
    return inner or [folder]


def write_page(
    runs: Sequence[RecordedRun],
    out: Path,
    progress: Progress,
    custom: Environment | None = None,
    limits: FilmLimits | None = None,
) -> None:
    """Write an HTML page about runs to the file `out`; warn if a domain cannot be drawn.

    `custom` is the user's environment, if any; it draws the states of runs in its domain. The states of all
    other runs are drawn by the package's environments. `limits` bounds the number of pictures. `progress`
    shows how many tasks are done.
    """
    data = page_data(runs, partial(find_environment, custom=custom), limits, progress)
    for domain, reason in data["undrawn"].items():
        console.print_stderr(f"warning: the page has no pictures of {domain}. {reason}")
    write_text(out, report_html(data))


def find_environment(domain: str, custom: Environment | None = None) -> Environment:
    """Return the environment of a domain; `custom` is the user's environment, if any."""
    if custom is not None and custom.name == domain:
        return custom
    try:
        return make_environment(domain)
    except UnknownNameError:
        raise InvalidInputError(
            f"The package has no domain {domain!r}. If it is yours, add --environment MODULE:CLASS to "
            "`needful report`."
        ) from None


def _custom_environment(reference: str, runs: Sequence[RecordedRun], stack: ExitStack) -> Environment:
    """Return the user's environment; raise if none of the runs is in its domain."""
    environment = stack.enter_context(chosen_environment(reference))
    domains = sorted({run.domain for run in runs})
    if environment.name not in domains:
        raise InvalidInputError(
            f"{reference} has the name {environment.name!r}, but the runs are of {', '.join(domains)}. "
            "Give the class of the runs' domain."
        )
    return environment


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
