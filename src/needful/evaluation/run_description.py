"""run.json: how a run was made. The format is `needful-run`, version 1.

Of all files in a run folder, only run.json contains the date and time of the run. The names of the host and
of the user's folders are not stored.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from needful.errors import ResultsError
from needful.evaluation.records import as_json, versions
from needful.planning.bilevel import PlanningConfig
from needful.planning.engines.native_planner import ENGINE_BUILT
from needful.planning.planners import planner_name
from needful.storage.json_fields import JsonValue, Source, parse_json

RUN_FILE = "run.json"
FORMAT, VERSION = "needful-run", 1


@dataclass(frozen=True, slots=True)
class RunDescription:
    """How a run was made.

    Attributes:
        command: the command, without the user's folders (see `without_folders`); empty for runs made in
            Python.
        settings: all settings, including the defaults, as JSON values.
        versions: the versions of needful, Python and the packages that results depend on, the platform, and
            the search engine.
        started: the time of the start in UTC, such as `2026-11-17T06:39:02Z`.
        seconds: the duration of the run, without the report; None if the run has not finished.
    """

    command: str
    settings: Mapping[str, JsonValue]
    versions: Mapping[str, str]
    started: str
    seconds: float | None = None

    @classmethod
    def starting_now(cls, command: str, settings: Mapping[str, JsonValue]) -> RunDescription:
        """Return the description of a run that starts now."""
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(command, settings, run_versions(), started)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the content of run.json."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


def run_versions() -> dict[str, str]:
    """Return the versions that results depend on, the platform, and the search engine (C++ or Python)."""
    machine = f"{platform.system()} {platform.machine()}"
    return {**versions(), "platform": machine, "engine": "C++" if ENGINE_BUILT else "Python"}


def read_run_description(folder: Path) -> RunDescription | None:
    """Read run.json of a run folder; return None if there is none, as in runs of earlier versions."""
    file = folder / RUN_FILE
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"{file} cannot be read: {error.strerror}. Repeat the run.") from None
    content = parse_json(data, Source(str(file), ResultsError))
    content.check_format(FORMAT, VERSION)
    found = content.record("format", "version", *RunDescription.__dataclass_fields__)
    seconds = found["seconds"]
    return RunDescription(
        command=found["command"].text(),
        settings=found["settings"].as_dict(),
        versions={name: value.text() for name, value in found["versions"].entries().items()},
        started=found["started"].text(),
        seconds=None if seconds.value is None else seconds.number(),
    )


def settings_as_json(**settings: object) -> dict[str, JsonValue]:
    """Return the settings of a run as JSON values; a planner of the catalogue becomes its name."""
    content = {name: _without_folders(as_json(value, every_field=True)) for name, value in settings.items()}
    planning = settings.get("planning")
    if isinstance(planning, PlanningConfig):
        content["planning"]["planner"] = planner_name(planning.planner) or content["planning"]["planner"]
    return content


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_folders(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner) for inner in value]
    return without_folders(value) if isinstance(value, str) else value


def without_folders(text: str) -> str:
    """Shorten a path outside of the current folder to its last part; return all other texts unchanged.

    A path is shortened if it is absolute, starts with `~` or contains `..`. In an option with a path,
    only the path is shortened: `--out=/home/user/runs` becomes `--out=runs`.
    """
    option, equals, value = text.partition("=") if text.startswith("--") else ("", "", text)
    path = PurePath(value)
    if path.is_absolute() or value.startswith("~") or ".." in path.parts:
        value = path.name
    return f"{option}{equals}{value}"


def command_text(program: str, arguments: Iterable[str]) -> str:
    """Return a command for run.json, without the user's folders; see `without_folders`."""
    return shlex.join([*program.split(), *map(without_folders, arguments)])


def flat_settings(settings: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return nested settings as a flat map from paths, such as `planning.timeout`, to texts."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            inner = flat_settings(value)
            found |= {f"{name}.{path}": text for path, text in inner.items()}
            if not inner:
                found[name] = str(value.get("class", "none"))
        elif name != "class" or not str(value).endswith("Config"):
            found[name] = _setting_text(value)
    return found


def _setting_text(value: JsonValue) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting_text, value)) or "none"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{path} {text}" for path, text in flat_settings(value).items())
        return f"{value.get('class', '')}({inner})"
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
