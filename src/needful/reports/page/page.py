"""Make the interactive page about runs: one HTML file that contains all its data as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate
from typing import Any

from needful.approaches.base import Progress, SilentProgress
from needful.core.operators import GroundOperator, Operator
from needful.envs.drawing.film import Filmable
from needful.errors import InvalidInputError
from needful.evaluation.run_folder import RunDescription, flat_settings
from needful.operator_learning.doubts import DoubtKind, Doubts
from needful.operator_learning.explanation import (
    OperatorExplanation,
    Reason,
    TransitionEvidence,
    explain_operator,
)
from needful.planning.pddl.writer import write_actions
from needful.reports.comparison import comparisons, run_labels
from needful.reports.page.inline_page import AtomList, fill_page, join_scripts, shared_asset
from needful.reports.page.invented import invented_cards
from needful.reports.page.recorded_run import RecordedModel, RecordedRun
from needful.reports.page.task_films import (
    FilmLimits,
    FilmSelection,
    FindEnvironment,
    RendererCache,
    choose_films,
    task_rows,
)
from needful.storage.evidence import RecordedClimb, climb_to_json
from needful.storage.json_fields import JsonValue

SUMMARY_KEYS = ("demos", "transitions", "operators", "coverage", "false_claims_validated")
# The JavaScript files, in the order in which they are joined into one script: those of all pages with a
# player, those for 3D films, and those of the report page.
SHARED_SCRIPTS = ("elements.js", "player.js", "failure.js")
SCRIPTS_3D = ("viewer.js", "scene.js")
SCRIPTS = (
    "fragments.js",
    "charts.js",
    "summary.js",
    "operators.js",
    "invented.js",
    "doubts.js",
    "climb.js",
    "picture.js",
    "tasks.js",
    "comparison.js",
    "made.js",
    "page.js",
)
# The page shows the steps of at most this many demonstrations, because more would make it slow to load.
MAX_DEMONSTRATIONS = 100
# In PDDL, a comment with this prefix names the controller of an operator. The page leaves this comment out,
# because each card of an operator shows the controller in another place.
ACTION_COMMENT_PREFIX = "; action "


def page_data(
    runs: Sequence[RecordedRun],
    find_environment: FindEnvironment,
    limits: FilmLimits | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return all data that the page about the given runs shows, as JSON values.

    The entry `undrawn` maps each domain whose states cannot be drawn to the reason. `progress` receives
    the number of finished tasks of all runs.
    """
    if not runs:
        raise InvalidInputError("A report needs at least one run.")
    cache = RendererCache(find_environment, limits or FilmLimits())
    counts = [len(run.records) for run in runs]
    report = (progress or SilentProgress()).stage("Writing the report", sum(counts) or None)
    parts = zip(runs, run_labels(runs), accumulate([0, *counts]), strict=False)
    shown = [_run_data(run, label, cache, _after(done, report)) for run, label, done in parts]
    undrawn = {domain: one for domain, one in cache.renderers.items() if isinstance(one, str)}
    return {
        "runs": shown,
        "comparisons": comparisons(runs),
        "scenes": cache.as_json(),
        "undrawn": undrawn,
    }


def _after(earlier: int, report: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that takes the number of finished tasks of one run, and reports that of all runs.

    `earlier` is the number of tasks of the runs before this one.
    """
    return lambda done: report(earlier + done)


def _run_data(
    run: RecordedRun, label: str, cache: RendererCache, report: Callable[[int], None]
) -> dict[str, Any]:
    atoms = AtomList()
    notes: list[str] = []
    tasks = _tasks(run, atoms, cache, notes, report)
    model = None if run.model is None else _model(run, run.model, atoms, notes)
    return {
        "label": label,
        "domain": run.domain,
        "learner": run.learner,
        "seed": run.seed,
        "learned": run.learned,
        "facts": _numbers(run.summary, SUMMARY_KEYS),
        "seconds": _numbers(run.summary.get("seconds")),
        "versions": dict(run.versions),
        "made": run.description and _made(run.description),
        "model": model,
        "tasks": tasks,
        "notes": notes,
        "atoms": atoms.texts(),
    }


def _made(description: RunDescription) -> dict[str, Any]:
    return {
        "command": description.command,
        "started": description.started,
        "seconds": description.seconds,
        "settings": flat_settings(description.settings),
    }


def _numbers(values: JsonValue, names: Sequence[str] | None = None) -> dict[str, float]:
    """Return the entries of a JSON object that are numbers; with `names`, only entries with these names."""
    found = values if isinstance(values, Mapping) else {}
    return {
        name: value
        for name, value in found.items()
        if (names is None or name in names) and isinstance(value, int | float) and type(value) is not bool
    }


def _tasks(
    run: RecordedRun,
    atoms: AtomList,
    cache: RendererCache,
    notes: list[str],
    report: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Return the data of each task of a run; append a note to `notes` if plans or pictures are missing."""
    if not run.plans:
        if run.records and run.learned:
            notes.append("The plans of this run were not recorded, so there is nothing to replay.")
        return task_rows(run, atoms, None, FilmSelection(frozenset()))
    renderer = cache.renderer(run.domain)
    in_3d = not isinstance(renderer, str) and isinstance(renderer.environment, Filmable)
    films = choose_films(run, cache.limits, in_3d)
    if not isinstance(renderer, str):
        try:
            rows = task_rows(run, atoms, renderer, films, report)
        except Exception as error:  # The environment's drawing code may raise anything.
            renderer = f"{type(error).__name__}: {error}"
            cache.disable(run.domain, renderer)
        else:
            notes += _omission_notes(run, films)
            return rows
    notes.append(f"Plans are shown without pictures, because the domain cannot be drawn. {renderer}")
    return task_rows(run, atoms, None, films)


def _omission_notes(run: RecordedRun, films: FilmSelection) -> Iterator[str]:
    """Yield notes about pictures that are omitted to keep the page small."""
    if len(films.tasks) < len(run.plans):
        yield (
            f"Only {len(films.tasks)} of {len(run.records)} tasks have films: failed and solved ones, "
            "evenly spread. `needful report RUN` draws more films; for your own environment, add "
            "`--environment MODULE:CLASS`."
        )
    if films.stride > 1:
        yield f"Only one in {films.stride} states of each plan is drawn."


def _model(run: RecordedRun, model: RecordedModel, atoms: AtomList, notes: list[str]) -> dict[str, Any]:
    demonstrations = 1 + max(
        (one.demonstration for seen in (model.evidence or {}).values() for one in seen), default=-1
    )
    if demonstrations > MAX_DEMONSTRATIONS:
        notes.append(
            f"Of {demonstrations} demonstrations, the first {MAX_DEMONSTRATIONS} are shown step by step; "
            "the counts include all of them."
        )
    return {
        "operators": operator_cards(model),
        "explained": model.evidence is not None,
        "demonstrations": demonstration_steps(model, atoms),
        "climb": model.climb and _climb(model.climb),
        "doubts": model.doubts and _doubts(model.doubts, run),
        "invented": invented_cards(model.stored),
    }


def _doubts(doubts: Doubts, run: RecordedRun) -> dict[str, Any]:
    """Return the doubts about a model (signs that an operator may be wrong), as JSON values.

    The doubts that cross-validation found are in the summary of the run; they come first.
    """
    validated = run.summary.get("doubts")
    kind = DoubtKind.VALIDATION.value
    texts = [
        {"operator": None, "kind": kind, "text": one["text"]}
        for one in (validated if isinstance(validated, list) else [])
        if isinstance(one, Mapping) and one.get("kind") == kind and isinstance(one.get("text"), str)
    ]
    return {
        "transitions": doubts.transitions,
        "falseClaims": doubts.false_claims,
        "falseTransitions": doubts.false_transitions,
        "purposeless": doubts.purposeless_steps,
        "idle": doubts.idle_steps,
        "repaired": doubts.repaired_atoms,
        "items": [
            *texts,
            *({"operator": one.operator, "kind": one.kind.value, "text": one.text} for one in doubts.items),
        ],
    }


def _climb(climb: RecordedClimb) -> dict[str, Any]:
    content = climb_to_json(climb)
    return {key: content[key] for key in ("transitions", "steps")}


def make_report(
    runs: Sequence[RecordedRun], find_environment: FindEnvironment, limits: FilmLimits | None = None
) -> str:
    """Return the HTML page about the given runs.

    The page loads no other files. Equal runs give equal pages. `limits` bounds the number of pictures.
    """
    return report_html(page_data(runs, find_environment, limits))


def report_html(data: Mapping[str, Any]) -> str:
    """Return the HTML page that shows the data of `page_data`."""
    domains = dict.fromkeys(run["domain"] for run in data["runs"])
    title = {"title": f"{', '.join(domains)} · needful"}
    films = [task["film"] for run in data["runs"] for task in run["tasks"]]
    script = player_script(films, SCRIPTS)
    return fill_page(page_asset("page.html"), page_asset("page.css"), script, data, title)


def player_script(films: Iterable[Mapping[str, Any] | None], names: Sequence[str]) -> str:
    """Return the script of a page that plays the given films (sequences of pictures of plans).

    The script joins the files that every player needs, those for 3D films if one of the films is 3D, and
    the files `names` of this folder.
    """
    in_3d = any(film is not None and "moves" in film for film in films)
    shared = (*SHARED_SCRIPTS, *(SCRIPTS_3D if in_3d else ()))
    return join_scripts(map(shared_asset, shared), map(page_asset, names))


def page_asset(name: str) -> str:
    """Return the text of a file in this package, such as `page.html` or `page.css`."""
    return files("needful.reports.page").joinpath(name).read_text(encoding="utf-8")


def operator_cards(model: RecordedModel) -> list[dict[str, Any]]:
    """Return the data of one card per operator, as JSON values.

    A card shows an operator as PDDL, the reasons for its preconditions and effects, and the demonstrations
    that it was learned from.
    """
    operators, evidence = model.stored.model.operators, model.evidence or {}
    actions = write_actions(model.stored.model.vocabulary, operators)
    cards = []
    for operator, action in zip(operators, actions, strict=True):
        seen = evidence.get(operator.name, ())
        explained = explain_operator(operator, seen)
        cards.append(
            {
                "name": operator.name,
                "parameters": [[v.name, v.type.name] for v in operator.parameters],
                "runs": call_text(operator),
                "pddl": _without_action_comments(action),
                "changes": bool(
                    operator.add_effects or operator.delete_effects or operator.delete_patterns
                ),
                "transitions": explained.transitions,
                "demonstrations": explained.demonstrations,
                "reasons": list(_reasons(explained)),
                "notPredicted": dict(explained.not_predicted),
                "dropped": dict(model.dropped.get(operator.name, {})),
                "seen": [[one.demonstration, one.step] for one in seen if _is_shown(one)],
            }
        )
    return cards


def demonstration_steps(model: RecordedModel, atoms: AtomList) -> dict[int, list[dict[str, Any]]]:
    """Return the steps that operators were learned from, as one list of JSON objects per demonstration.

    The keys are the numbers of the demonstrations. The object of a step has the atoms that the step added,
    the atoms that it deleted, and the atoms that must hold after the step because later steps or the goal
    need them. Changes that the step's operator does not predict are listed separately.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for number, operator in enumerate(model.stored.model.operators):
        for seen in (model.evidence or {}).get(operator.name, ()):
            if _is_shown(seen):
                step = {"step": seen.step, "operator": number, **_step(operator, seen, atoms)}
                found.setdefault(seen.demonstration, []).append(step)
    return {
        demonstration: sorted(steps, key=lambda step: step["step"])
        for demonstration, steps in sorted(found.items())
    }


def call_text(operator: Operator) -> str:
    """Return the controller call of an operator, such as `Pick(?x0)`."""
    arguments = ", ".join(variable.name for variable in operator.controller_arguments)
    return f"{operator.controller.name}({arguments})"


def _without_action_comments(action: str) -> str:
    lines = (line for line in action.split("\n") if not line.startswith(ACTION_COMMENT_PREFIX))
    return "\n".join(lines)


def _is_shown(seen: TransitionEvidence) -> bool:
    return seen.demonstration < MAX_DEMONSTRATIONS


def _reasons(explained: OperatorExplanation) -> Iterator[dict[str, Any]]:
    operator, total = explained.operator, explained.transitions
    for atom in sorted(operator.preconditions - operator.keep_effects):
        yield {"kind": "needs", "part": str(atom), "count": total, "first": None}
    for atom in sorted(operator.negative_preconditions):
        yield {"kind": "forbids", "part": str(atom), "count": total, "first": None}
    sections: Sequence[tuple[str, Mapping[Any, Reason]]] = (
        ("adds", explained.adds),
        ("keeps", explained.keeps),
        ("deletes", explained.deletes),
        ("forgets", explained.patterns),
    )
    for kind, reasons in sections:
        for part, reason in reasons.items():
            first = reason.first
            yield {
                "kind": kind,
                "part": str(part),
                "count": reason.count,
                "first": first
                and {
                    "demonstration": first.demonstration,
                    "step": first.step,
                    "atom": str(first.atom),
                    "neededBy": first.needed_by,
                },
            }


def _step(operator: Operator, seen: TransitionEvidence, atoms: AtomList) -> dict[str, Any]:
    ground = operator.ground(seen.objects)
    deleted = seen.deleted & ground.delete_effects
    forgotten = frozenset(atom for atom in seen.deleted - deleted if _is_forgotten(ground, atom))
    return {
        "objects": [obj.name for obj in seen.objects],
        "necessary": None if seen.necessary is None else atoms.add(seen.necessary),
        "needed": [[atoms.add([atom])[0], user] for atom, user in sorted(seen.needed_by.items())],
        "added": atoms.add(seen.added & ground.add_effects),
        "deleted": atoms.add(deleted),
        "forgotten": atoms.add(forgotten),
        "addedUnpredicted": atoms.add(seen.added - ground.add_effects),
        "deletedUnpredicted": atoms.add(seen.deleted - deleted - forgotten),
    }


def _is_forgotten(ground: GroundOperator, atom: Any) -> bool:
    return any(pattern.matches(atom) for pattern in ground.delete_patterns)
