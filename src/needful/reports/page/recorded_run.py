"""Read the folder of a run: task records, summary, plans, and the model with its learning records."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from needful.approaches.files import dropped_preconditions
from needful.core.plans import Outcome
from needful.errors import ResultsError
from needful.evaluation.records import RunRecord
from needful.evaluation.run_folder import RunDescription, flat_settings, read_run_description
from needful.operator_learning.doubts import Doubts
from needful.operator_learning.explanation import TransitionEvidence
from needful.storage.evidence import (
    CLIMB_FILE,
    EVIDENCE_FILE,
    RecordedClimb,
    load_climb,
    load_doubts,
    load_evidence,
)
from needful.storage.json_fields import JsonValue, Source, parse_json
from needful.storage.model_directory import MODEL_FILE, StoredModel, load_model
from needful.storage.plans import PLANS_FILE, RecordedPlan, read_plans
from needful.sweeps.jobs import JOBS_FOLDER, JobResult

RUN_FOLDER_HINT = "Use a folder written by `needful run` or `needful eval --out`."


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """The learned operators, and the records of how they were learned.

    `dropped` maps the name of an operator to the preconditions that were dropped, and each of these to the
    number of experiments in which the operator succeeded without it. `evidence` has the transitions that
    each operator was learned from. `climb` has the steps of the hill climbing search over sets of
    operators. `doubts` has the signs that an operator may be wrong. `evidence`, `climb` and `doubts` are
    None if not recorded.
    """

    stored: StoredModel
    dropped: Mapping[str, Mapping[str, int]]
    evidence: Mapping[str, tuple[TransitionEvidence, ...]] | None
    climb: RecordedClimb | None
    doubts: Doubts | None = None


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The content of a run's folder.

    Attributes:
        name: the name of the folder.
        domain, learner, seed: the identity of the run, from summary.json.
        summary: the whole content of summary.json.
        records: one record per task.
        model: the operators; None for policies, for evaluations of a model in another folder, and if
            learning ran out of time.
        plans: the plan of each task, by task number; empty if plans were not recorded.
        description: how the run was made; None for runs of earlier versions.
    """

    name: str
    domain: str
    learner: str
    seed: int
    summary: Mapping[str, JsonValue]
    records: tuple[RunRecord, ...]
    model: RecordedModel | None = None
    plans: Mapping[int, RecordedPlan] = field(default_factory=dict)
    description: RunDescription | None = None

    @property
    def learned(self) -> bool:
        """Whether learning finished in time."""
        return not any(record.outcome == Outcome.NOT_LEARNED.value for record in self.records)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the run as texts; without run.json, only those in summary.json."""
        if self.description is not None:
            return flat_settings(self.description.settings)
        known = {name: self.summary[name] for name in ("demos", "preset") if name in self.summary}
        return flat_settings(known)

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions that the results depend on; empty if they are not recorded."""
        if self.description is not None:
            return self.description.versions
        return self.records[0].versions if self.records else {}


def read_run(folder: str | Path) -> RecordedRun:
    """Read the folder of a run; raise `ResultsError` or `ModelError` if a file is missing or damaged."""
    folder = Path(folder)
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "does not exist"
        raise ResultsError(f"{folder} {what}. {RUN_FOLDER_HINT}")
    records = _read_records(folder)
    summary = parse_json(
        _read(folder / "summary.json", "The run did not finish. Repeat it."),
        Source(str(folder / "summary.json"), ResultsError),
    )
    known = summary.entries()
    for name in ("domain", "learner", "seed"):
        if name not in known:
            raise summary.fault(f"the field {name!r} is missing.", RUN_FOLDER_HINT)
    return RecordedRun(
        name=folder.resolve().name,
        domain=known["domain"].name(),
        learner=known["learner"].name(),
        seed=known["seed"].integer(),
        summary=summary.as_dict(),
        records=records,
        model=_read_model(folder / "model"),
        plans={plan.task: plan for plan in _read_plans(folder / PLANS_FILE)},
        description=read_run_description(folder),
    )


def run_of_job(result: JobResult) -> RecordedRun:
    """Return a job of a sweep as a run without model and plans."""
    job, records = result.job, result.records
    versions = records[0].versions if records else {}
    return RecordedRun(
        name=job.file_stem,
        domain=job.domain,
        learner=job.learner,
        seed=job.seed,
        summary=result.summary,
        records=records,
        description=RunDescription("", asdict(job), versions, ""),
    )


def _read_records(folder: Path) -> tuple[RunRecord, ...]:
    file = folder / "records.jsonl"
    if not os.path.exists(file) and os.path.isdir(folder / JOBS_FOLDER):
        raise ResultsError(
            f"{folder} holds the results of a sweep by `needful reproduce`, not one run. Read them with "
            "`read_results`, or write a page about them with `needful report`."
        )
    lines = _read(file, RUN_FOLDER_HINT).split(b"\n")
    if lines.pop() != b"":
        raise ResultsError(f"{file}: the last line is cut off. Repeat the run.")
    fields = (
        parse_json(line, Source(str(file), ResultsError, number)) for number, line in enumerate(lines, 1)
    )
    return tuple(map(RunRecord.from_json, fields))


def _read(file: Path, remedy: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ResultsError(f"{file} cannot be read: {error.strerror or error}. {remedy}") from None


def _read_model(folder: Path) -> RecordedModel | None:
    if not os.path.exists(folder / MODEL_FILE):
        return None
    stored = load_model(folder)
    has_evidence, has_climb = (os.path.exists(folder / name) for name in (EVIDENCE_FILE, CLIMB_FILE))
    return RecordedModel(
        stored,
        dropped_preconditions(stored),
        load_evidence(folder, stored.model) if has_evidence else None,
        load_climb(folder) if has_climb else None,
        load_doubts(folder),
    )


def _read_plans(file: Path) -> tuple[RecordedPlan, ...]:
    return read_plans(file) if os.path.exists(file) else ()
