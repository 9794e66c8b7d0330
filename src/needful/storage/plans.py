"""The plans of a run: `needful-plans` version 1, gzipped JSON lines.

Line 1 is the header with the vocabulary, each further line is the result of one test task. Such a line has
a list of the atoms of the goal and the subgoals. In `goal`, `subgoals` and `holding`, an atom is written as
its index in this list. The first state is written in full. Each further state lists only the objects that
changed, because most objects of a household task do not move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import GroundController
from needful.core.failure_causes import FailureCause, explain_failure
from needful.core.model import Vocabulary
from needful.core.objects import Object, counted, short_repr
from needful.core.plans import Draw, Failure, Outcome, PlanningResult, best_draw
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import ResultsError
from needful.storage.json_fields import Field, JsonValue, Source, dump_json, parse_json
from needful.storage.outputs import compressed, read_gzipped
from needful.storage.vocabulary_json import (
    VOCABULARY_FIELDS,
    GroundAtomReader,
    VocabularyIndex,
    atom_to_json,
    objects_from_json,
    objects_to_json,
    vocabulary_from_json,
    vocabulary_to_json,
)

PLANS_FILE = "plans.jsonl.gz"
FORMAT, VERSION = "needful-plans", 1
REMEDY = "Delete the file to continue without the plans, or repeat the run."


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of an abstract plan: the operator's name and the objects bound to its parameters."""

    operator: str
    objects: tuple[Object, ...]

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(obj.name for obj in self.objects)})"


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    """Where and why the deepest attempt to solve a task (the one with the most progress) failed.

    `holding` describes the state in which the best try of the failed step ended: it contains the atoms of
    the goal and of all subgoals that hold in this state. The other attributes are explained in
    `needful.core.plans.Failure`.
    """

    step: int
    outcome: str
    missing: tuple[GroundAtom, ...]
    detail: str
    draws: tuple[Draw, ...] = ()
    holding: AbstractState = frozenset()
    unlisted: int = 0

    @property
    def best_draw(self) -> Draw | None:
        """The try that missed the fewest atoms of the subgoal; None if the controller never ran."""
        return best_draw(self.draws)


@dataclass(frozen=True, slots=True)
class RecordedSuspect:
    """A ground operator whose prediction may be wrong; see `needful.core.plans.Suspect`."""

    step: PlanStep
    missing: tuple[GroundAtom, ...]
    tries: int


@dataclass(frozen=True, slots=True)
class RecordedPlan:
    """The result of one test task.

    Attributes:
        task: the index of the task among the test tasks.
        outcome: `solved` or the reason for the failure, as in the task's record.
        goal: the atoms to achieve.
        steps: the abstract plan; empty if none was found or if a policy acted.
        actions: the ground controllers that were executed.
        states: the initial state and the state after each action.
        subgoals: the atoms that had to hold in the initial state, then those that had to hold after each
            step; empty if a policy acted.
        holding: for each state, which atoms of the goal and of all subgoals hold in it.
        end: where and why the attempt with the most progress failed; None if the task was solved or if
            there was no attempt.
        suspects: the ground operators that failed in every try although their controllers ran.
        cause: why the task was not solved; None if it was solved or if the cause was not recorded.
    """

    task: int
    outcome: str
    goal: AbstractState
    steps: tuple[PlanStep, ...]
    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    subgoals: tuple[AbstractState, ...]
    holding: tuple[AbstractState, ...]
    end: RecordedFailure | None = None
    suspects: tuple[RecordedSuspect, ...] = ()
    cause: FailureCause | None = None

    def __repr__(self) -> str:
        return short_repr(self, f"task {self.task}", self.outcome, counted(self.actions, "action"))


def record_plan(number: int, task: Task, result: PlanningResult, outcome: str) -> RecordedPlan:
    """Return the record of the planning result of test task number `number`.

    The predicates of the goal and the subgoals must have classifiers. `outcome` is the outcome in the
    task's record.
    """
    states = result.states or (task.initial_state,)
    atoms = sorted(task.goal.union(*result.subgoals))

    def holding(state: State) -> AbstractState:
        return frozenset(atom for atom in atoms if atom.holds(state))

    return RecordedPlan(
        task=number,
        outcome=outcome,
        goal=task.goal,
        steps=tuple(PlanStep(step.operator.name, step.objects) for step in result.abstract_plan),
        actions=result.actions,
        states=states,
        subgoals=result.subgoals,
        holding=tuple(map(holding, states)),
        end=None if result.failure is None else _record_failure(result.failure, holding),
        suspects=tuple(
            RecordedSuspect(
                PlanStep(one.operator.operator.name, one.operator.objects), one.missing, one.tries
            )
            for one in result.suspects
        ),
        cause=explain_failure(result),
    )


def _record_failure(failure: Failure, holding: Callable[[State], AbstractState]) -> RecordedFailure:
    best = failure.best_draw
    return RecordedFailure(
        failure.step,
        failure.outcome.value,
        failure.missing,
        failure.detail,
        failure.draws,
        frozenset() if best is None or best.state is None else holding(best.state),
        failure.unlisted,
    )


def header_line(vocabulary: Vocabulary) -> bytes:
    """Return the first line of a file of plans, which holds the vocabulary; the line is gzip-compressed."""
    header: dict[str, JsonValue] = {"format": FORMAT, "version": VERSION, **vocabulary_to_json(vocabulary)}
    return _line(header)


def plan_line(plan: RecordedPlan) -> bytes:
    """Return the line of a file of plans that holds the result of one task; the line is gzip-compressed."""
    atoms = sorted(plan.goal.union(*plan.subgoals))
    indices: dict[GroundAtom, JsonValue] = {atom: index for index, atom in enumerate(atoms)}

    def listed(some: AbstractState) -> list[JsonValue]:
        return [indices[atom] for atom in sorted(some)]

    return _line(
        {
            "task": plan.task,
            "outcome": plan.outcome,
            "objects": objects_to_json(plan.states[0]),
            "atoms": [atom_to_json(atom) for atom in atoms],
            "goal": listed(plan.goal),
            "plan": [_step_to_json(step) for step in plan.steps],
            "actions": [
                [action.controller.name, [obj.name for obj in action.objects], list(action.parameters)]
                for action in plan.actions
            ],
            "states": _changes(plan.states),
            "subgoals": [listed(subgoal) for subgoal in plan.subgoals],
            "holding": [listed(true) for true in plan.holding],
            "end": None if plan.end is None else _end_to_json(plan.end, plan.states[-1], listed),
            **({} if plan.cause is None else {"cause": [plan.cause.cause, plan.cause.advice]}),
            **({"suspects": [_suspect_to_json(one) for one in plan.suspects]} if plan.suspects else {}),
        }
    )


def read_plans(path: Path) -> tuple[RecordedPlan, ...]:
    """Read a file of plans; if it is damaged, raise a `ResultsError` that names the line and the field."""
    lines = read_gzipped(path, ResultsError, REMEDY).split(b"\n")
    if lines.pop() != b"" or not lines:
        raise ResultsError(f"{path}: the file is empty or its last line is cut off. {REMEDY}")
    fields = [
        parse_json(line, Source(str(path), ResultsError, number)) for number, line in enumerate(lines, 1)
    ]
    fields[0].check_format(FORMAT, VERSION)
    index = vocabulary_from_json(fields[0].record("format", "version", *VOCABULARY_FIELDS))
    return tuple(_PlanReader(index, field).read() for field in fields[1:])


def _line(value: JsonValue) -> bytes:
    # Compress each line on its own, so that a line can be appended without compressing the file again.
    return compressed(dump_json(value).encode() + b"\n")


def _changes(states: Sequence[State]) -> list[JsonValue]:
    found: list[JsonValue] = []
    before: State | None = None
    for state in states:
        found.append(
            {obj.name: list(state[obj]) for obj in state if before is None or state[obj] != before[obj]}
        )
        before = state
    return found


def _step_to_json(step: PlanStep) -> list[JsonValue]:
    return [step.operator, *(obj.name for obj in step.objects)]


def _suspect_to_json(suspect: RecordedSuspect) -> dict[str, JsonValue]:
    return {
        "step": _step_to_json(suspect.step),
        "missing": [atom_to_json(atom) for atom in suspect.missing],
        "tries": suspect.tries,
    }


def _end_to_json(
    end: RecordedFailure, before: State, listed: Callable[[AbstractState], list[JsonValue]]
) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {
        "step": end.step,
        "outcome": end.outcome,
        "missing": [atom_to_json(atom) for atom in end.missing],
        "detail": end.detail,
    }
    if end.draws:
        found["draws"] = [_draw_to_json(draw, before) for draw in end.draws]
        found["holding"] = listed(end.holding)
    if end.unlisted:
        found["unlisted"] = end.unlisted
    return found


def _draw_to_json(draw: Draw, before: State) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {"params": list(draw.parameters), "outcome": draw.outcome.value}
    if draw.missing:
        found["missing"] = [atom_to_json(atom) for atom in draw.missing]
    if draw.reason:
        found["reason"] = draw.reason
    if draw.state is not None:
        found["state"] = _changes((before, draw.state))[1]
    return found


class _PlanReader:
    """Reads one plan from its line of a file of plans."""

    def __init__(self, index: VocabularyIndex, field: Field) -> None:
        self.index = index
        names = ("task", "outcome", "objects", "atoms", "goal", "plan", "actions", "states", "subgoals")
        self.record = field.record(*names, "holding", "end", optional=("suspects", "cause"))
        self.objects = objects_from_json(self.record["objects"], index.types)
        self.reader = GroundAtomReader(index, self.objects)
        self.atoms = [self.reader.atom(item) for item in self.record["atoms"].items()]

    def read(self) -> RecordedPlan:
        record = self.record
        actions = tuple(map(self._action, record["actions"].items()))
        states = self._states(record["states"])
        holding = tuple(map(self._atoms_at, record["holding"].items()))
        for name, found in (("states", states), ("holding", holding)):
            if len(found) != len(actions) + 1:
                raise record[name].fault(
                    f"{len(actions)} actions need {len(actions) + 1} entries, got {len(found)}."
                )
        return RecordedPlan(
            task=record["task"].integer(),
            outcome=self._outcome(record["outcome"]),
            goal=self._atoms_at(record["goal"]),
            steps=tuple(map(self._step, record["plan"].items())),
            actions=actions,
            states=states,
            subgoals=tuple(map(self._atoms_at, record["subgoals"].items())),
            holding=holding,
            end=None if record["end"].value is None else self._end(record["end"], states[-1]),
            cause=self._cause(record["cause"]) if "cause" in record else None,
            suspects=tuple(map(self._suspect, record["suspects"].items())) if "suspects" in record else (),
        )

    def _outcome(self, field: Field) -> str:
        return field.look_up("outcome", {one.value: one.value for one in Outcome})

    def _named(self, fields: Sequence[Field]) -> tuple[Object, ...]:
        return tuple(item.look_up("object", self.objects) for item in fields)

    def _atoms_at(self, field: Field) -> AbstractState:
        numbers, known = field.value, self.atoms
        if type(numbers) is list and all(type(one) is int and 0 <= one < len(known) for one in numbers):
            return frozenset(known[number] for number in numbers)
        return frozenset(map(self._atom_at, field.items()))

    def _atom_at(self, item: Field) -> GroundAtom:
        number = item.integer()
        if not 0 <= number < len(self.atoms):
            raise item.fault(f"there is no atom {number}.", REMEDY)
        return self.atoms[number]

    def _step(self, field: Field) -> PlanStep:
        name, *objects = field.items() or [Field(None, field.source, field.path)]
        return PlanStep(name.name(), self._named(objects))

    def _action(self, field: Field) -> GroundController:
        parts = field.items()
        if len(parts) != 3:
            raise field.fault("an action is a controller, its objects and its parameters.")
        controller = parts[0].look_up("controller", self.index.controllers)
        with field.locate_errors():
            return GroundController(controller, self._named(parts[1].items()), parts[2].numbers())

    def _states(self, field: Field) -> tuple[State, ...]:
        found: list[State] = []
        vectors: dict[Object, tuple[float, ...]] = {}
        for item in field.items():
            for name, vector in item.entries().items():
                known = Field(name, item.source, item.path).look_up("object", self.objects)
                vectors[known] = vector.numbers()
            absent = sorted(obj.name for obj in self.objects.values() if obj not in vectors)
            if absent:
                raise item.fault(f"the object {absent[0]!r} has no values in the first state.")
            with item.locate_errors():
                found.append(State(vectors))
        return tuple(found)

    def _suspect(self, field: Field) -> RecordedSuspect:
        record: Mapping[str, Field] = field.record("step", "missing", "tries")
        return RecordedSuspect(
            self._step(record["step"]),
            tuple(self.reader.atom(item) for item in record["missing"].items()),
            record["tries"].integer(),
        )

    def _cause(self, field: Field) -> FailureCause:
        parts = field.items()
        if len(parts) != 2:
            raise field.fault("a cause is a sentence and advice.")
        return FailureCause(parts[0].text(), parts[1].text())

    def _end(self, field: Field, before: State) -> RecordedFailure:
        names = ("step", "outcome", "missing", "detail")
        record: Mapping[str, Field] = field.record(*names, optional=("draws", "holding", "unlisted"))
        draws = record["draws"].items() if "draws" in record else ()
        return RecordedFailure(
            record["step"].integer(),
            self._outcome(record["outcome"]),
            tuple(self.reader.atom(item) for item in record["missing"].items()),
            record["detail"].text(),
            tuple(self._draw(item, before) for item in draws),
            self._atoms_at(record["holding"]) if "holding" in record else frozenset(),
            record["unlisted"].integer() if "unlisted" in record else 0,
        )

    def _draw(self, field: Field, before: State) -> Draw:
        record = field.record("params", "outcome", optional=("missing", "reason", "state"))
        missing = record["missing"].items() if "missing" in record else ()
        return Draw(
            record["params"].numbers(),
            Outcome(self._outcome(record["outcome"])),
            tuple(self.reader.atom(item) for item in missing),
            record["reason"].text() if "reason" in record else "",
            self._state_after(record["state"], before) if "state" in record else None,
        )

    def _state_after(self, field: Field, before: State) -> State:
        vectors = {obj: before[obj] for obj in before}
        for name, vector in field.entries().items():
            obj = Field(name, field.source, field.path).look_up("object", self.objects)
            vectors[obj] = vector.numbers()
        with field.locate_errors():
            return State(vectors)
