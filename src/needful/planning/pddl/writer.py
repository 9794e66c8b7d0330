"""Write operators and tasks as PDDL, and read and write plans of PDDL planners.

A quantified delete is an effect that deletes all atoms that match a pattern, except those that the same
action adds. There are three styles to write it:

    forall   as (forall (?any0 - block) (not (Clear ?any0))); PDDL applies deletes first, then adds
    paper    like `forall`, with an explicit condition that excludes the atoms that the action adds
    strips   without quantifiers: operators are grounded, and each ground operator is one action

A negative precondition is written as (not (Clear ?x)) in all styles. The style `strips` then requires
`:negative-preconditions`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from needful.abstraction.atom_table import bits
from needful.core.atoms import Predicate
from needful.core.limits import Budget
from needful.core.model import Vocabulary
from needful.core.objects import Abbreviated, Object, Type
from needful.core.operators import GroundOperator, Operator
from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.grounding import GroundProblem, deleted_atoms, ground
from needful.planning.pddl.deletes import DeleteWriter, forall_delete, guarded_delete, types_overlap
from needful.planning.pddl.names import (
    DomainNames,
    NameTable,
    Scope,
    controller_comment,
    definition_comment,
    make_unique,
)

_STRIPS = ":strips :typing"
_STRIPS_WITH_NEGATION = f"{_STRIPS} :negative-preconditions"
_QUANTIFIED = (
    ":strips :typing :equality :negative-preconditions :conditional-effects :quantified-preconditions"
)


class PddlStyle(Enum):
    """How to write effects that delete all atoms that match a pattern (quantified deletes)."""

    FORALL = "forall"
    PAPER = "paper"
    STRIPS = "strips"


@dataclass(frozen=True, slots=True, repr=False)
class Pddl(Abbreviated):
    """A PDDL domain and problem. It also converts plans from and to the text format of PDDL planners.

    Attributes:
        domain: the text of the domain file.
        problem: the text of the problem file; None if no task was given.
        actions: maps the lower-case name of each PDDL action to its operator.
        objects: maps lower-case PDDL names to the task's objects; empty in the style `strips`.
    """

    domain: str
    problem: str | None
    actions: Mapping[str, Operator | GroundOperator]
    objects: Mapping[str, Object]

    def read_plan(self, text: str) -> AbstractPlan:
        """Return the plan in a planner's output, which has a line `(action object ...)` per step."""
        lines = (line.split(";")[0].strip() for line in text.splitlines())
        return tuple(self._read_step(line) for line in lines if line)

    def write_plan(self, plan: AbstractPlan) -> str:
        """Return a plan as text with a line `(action object ...)` per step, as PDDL planners write it."""
        actions = {operator: name for name, operator in self.actions.items()}
        objects = {obj: name for name, obj in self.objects.items()}
        lines = []
        for step in plan:
            if step in actions:  # style `strips`: each PDDL action is a ground operator
                words = [actions[step]]
            elif step.operator in actions and objects.keys() >= set(step.objects):
                words = [actions[step.operator], *(objects[obj] for obj in step.objects)]
            else:
                raise InvalidInputError(
                    f"{step} is not a step of this domain and task. Write a plan for this task."
                )
            lines.append(f"({' '.join(words)})\n")
        return "".join(lines)

    def _read_step(self, line: str) -> GroundOperator:
        name, *arguments = line.strip("()").lower().split()
        if name not in self.actions:
            raise UnknownNameError("action in the plan", name, self.actions)
        action = self.actions[name]
        if isinstance(action, GroundOperator):
            return action
        for argument in arguments:
            if argument not in self.objects:
                raise UnknownNameError("object in the plan", argument, self.objects)
        return action.ground([self.objects[argument] for argument in arguments])


def write_pddl(
    vocabulary: Vocabulary,
    operators: Sequence[Operator],
    task: AbstractTask | None = None,
    style: PddlStyle = PddlStyle.FORALL,
    name: str = "needful",
) -> Pddl:
    """Return operators as a PDDL domain and, if given, a task as a PDDL problem.

    The style `strips` grounds the operators over the objects of the task, so it needs a task.
    """
    writer = _PddlWriter(vocabulary, tuple(operators), task.objects if task else (), name)
    if style is not PddlStyle.STRIPS:
        return _lifted(writer, task, guarded_delete if style is PddlStyle.PAPER else forall_delete)
    if task is None:
        raise InvalidInputError(
            "The style 'strips' grounds the operators over the objects of a task. "
            "Give a task, or use the style 'forall' or 'paper'."
        )
    return _grounded(writer, task)


def write_actions(vocabulary: Vocabulary, operators: Sequence[Operator]) -> tuple[str, ...]:
    """Return the PDDL text of the action of each operator, in the style `forall`."""
    names = _PddlWriter(vocabulary, tuple(operators), (), "needful").names
    return tuple("\n".join(_lifted_action(operator, names, forall_delete)) for operator in operators)


def _lifted(writer: _PddlWriter, task: AbstractTask | None, write_delete: DeleteWriter) -> Pddl:
    names = writer.names
    actions = [_lifted_action(operator, names, write_delete) for operator in writer.operators]
    return Pddl(
        writer.domain(_QUANTIFIED, (), actions),
        writer.problem(task, task.objects) if task else None,
        {names.operators[operator.name].lower(): operator for operator in writer.operators},
        {names.objects[obj.name].lower(): obj for obj in writer.objects},
    )


def _grounded(writer: _PddlWriter, task: AbstractTask) -> Pddl:
    problem = ground(writer.operators, task, Budget.unlimited())
    if problem is None:
        raise InvalidInputError(
            "The task has too many ground operators or atoms for the style strips. Use another style."
        )
    ground_operators = problem.plan(range(len(problem.ground_operators)))
    action_names = make_unique(map(writer.action_name, ground_operators), writer.names.non_action_names())
    actions = list(_ground_actions(problem, writer.names, action_names))
    negation = any(operator.negative_preconditions for operator in writer.operators)
    return Pddl(
        # The actions name objects, not parameters, so the domain must declare the objects as constants.
        writer.domain(_STRIPS_WITH_NEGATION if negation else _STRIPS, task.objects, actions),
        writer.problem(task, ()),
        {name.lower(): operator for name, operator in zip(action_names, ground_operators, strict=True)},
        {},
    )


class _PddlWriter:
    """Writes the parts of PDDL files that are the same in all styles."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        operators: tuple[Operator, ...],
        objects: tuple[Object, ...],
        name: str,
    ) -> None:
        self.operators = operators
        self.objects = objects
        self._predicates = sorted(vocabulary.predicates)
        self._types = _all_types(vocabulary, operators, objects)
        self._domain_names = NameTable.of("domain", [name])
        self._domain = self._domain_names[name]
        self.names = DomainNames.of(
            types=(kind.name for kind in self._types),
            predicates=(predicate.name for predicate in self._predicates),
            operators=(operator.name for operator in operators),
            objects=(obj.name for obj in objects),
        )

    def action_name(self, operator: GroundOperator) -> str:
        """Return the PDDL action name of a ground operator, such as `Grasp__robot__box1`."""
        objects = (self.names.objects[obj.name] for obj in operator.objects)
        return "__".join([self.names.operators[operator.operator.name], *objects])

    def domain(
        self, requirements: str, constants: Sequence[Object], actions: Iterable[Sequence[str]]
    ) -> str:
        """Return the text of the domain file."""
        names = self.names
        tables = [self._domain_names, names.types, names.predicates, names.operators]
        if constants:
            tables.append(names.objects)
        lines = [comment for table in tables for comment in table.rename_comments()]
        lines += [
            definition_comment(names.predicates[one.name], one.definition.sentence)
            for one in self._predicates
            if one.definition is not None
        ]
        lines += [f"(define (domain {self._domain})", f"  (:requirements {requirements})"]
        lines += _section("types", _typed((names.types[k.name], self._parent(k)) for k in self._types))
        lines += _section("constants", self._typed_objects(constants))
        lines += _section("predicates", [self._signature(predicate) for predicate in self._predicates])
        for action in actions:
            lines += ["", *(f"  {line}" for line in action)]
        return "\n".join([*lines, ")", ""])

    def problem(self, task: AbstractTask, objects: Sequence[Object]) -> str:
        """Return the text of the problem file.

        `objects` are the objects to declare: those that the domain file does not declare as constants.
        """
        lines = list(self.names.objects.rename_comments()) if objects else []
        lines += [f"(define (problem task) (:domain {self._domain})"]
        lines += _section("objects", self._typed_objects(objects)) or ["  (:objects)"]
        lines += _section("init", map(self.names.atom, sorted(task.initial))) or ["  (:init)"]
        lines += _section("goal (and", map(self.names.atom, sorted(task.goal)), closing="))")
        return "\n".join([*lines, ")", ""])

    def _parent(self, kind: Type) -> str:
        return self.names.types[kind.parent.name] if kind.parent else "object"

    def _typed_objects(self, objects: Iterable[Object]) -> list[str]:
        names = self.names
        return _typed((names.objects[obj.name], names.types[obj.type.name]) for obj in sorted(objects))

    def _signature(self, predicate: Predicate) -> str:
        arguments = (f" ?x{i} - {self.names.types[kind.name]}" for i, kind in enumerate(predicate.types))
        return f"({self.names.predicates[predicate.name]}{''.join(arguments)})"


def _all_types(
    vocabulary: Vocabulary, operators: Iterable[Operator], objects: Iterable[Object]
) -> list[Type]:
    """Return the types of the vocabulary, the operators and the objects, with all supertypes, sorted."""
    mentioned = [*vocabulary.types, *(obj.type for obj in objects)]
    mentioned += [kind for predicate in vocabulary.predicates for kind in predicate.types]
    for operator in operators:
        mentioned += [variable.type for variable in operator.parameters]
        mentioned += [a.type for pattern in operator.delete_patterns for a in pattern.arguments]
    by_name = {ancestor.name: ancestor for kind in mentioned for ancestor in kind.ancestry()}
    return sorted(by_name.values())


def _typed(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return a PDDL typed list from pairs (name, type), one line per type."""
    by_type: dict[str, list[str]] = {}
    for name, kind in pairs:
        by_type.setdefault(kind, []).append(name)
    return [f"{' '.join(by_type[kind])} - {kind}" for kind in sorted(by_type)]


def _section(title: str, lines: Iterable[str], closing: str = ")") -> list[str]:
    """Return the lines of a section of a PDDL file, or no lines if the section is empty."""
    indented = [f"    {line}" for line in lines]
    if not indented:
        return []
    return [f"  (:{title}", *indented[:-1], indented[-1] + closing]


def _lifted_action(operator: Operator, names: DomainNames, write_delete: DeleteWriter) -> list[str]:
    """Return an operator as the lines of a PDDL action; `write_delete` writes its quantified deletes."""
    scope = Scope.of(operator, names)
    parameters = scope.typed_list((scope.variable(v), v.type) for v in operator.parameters)
    conditions = [scope.atom(atom) for atom in sorted(operator.preconditions)]
    conditions += [f"(not {scope.atom(atom)})" for atom in sorted(operator.negative_preconditions)]
    conditions += [
        f"(not (= {scope.variable(a)} {scope.variable(b)}))"
        for a, b in itertools.combinations(operator.parameters, 2)
        if types_overlap(a.type, b.type)
    ]
    effects = [scope.atom(atom) for atom in sorted(operator.add_effects)]
    deletes = operator.delete_effects - operator.add_effects
    effects += [f"(not {scope.atom(atom)})" for atom in sorted(deletes)]
    patterns = (write_delete(pattern, operator, scope) for pattern in sorted(operator.delete_patterns))
    effects += [effect for effect in patterns if effect is not None]
    action_name = names.operators[operator.name]
    arguments = [scope.variable(variable) for variable in operator.controller_arguments]
    return [
        *scope.variables.rename_comments(),
        controller_comment(action_name, operator.controller.name, arguments),
        *_action(action_name, parameters, conditions, effects),
    ]


def _ground_actions(
    problem: GroundProblem, names: DomainNames, action_names: Sequence[str]
) -> Iterator[list[str]]:
    """Yield each ground operator as the lines of a PDDL action without parameters."""
    written = [names.atom(atom) for atom in problem.atoms]
    for operator, name in zip(problem.ground_operators, action_names, strict=True):
        deletes = deleted_atoms(operator, problem) & problem.reachable
        effects = [written[atom] for atom in bits(operator.adds)]
        effects += [f"(not {written[atom]})" for atom in bits(deletes)]
        conditions = [written[atom] for atom in bits(operator.preconditions)]
        forbidden = operator.negative_preconditions & problem.reachable
        conditions += [f"(not {written[atom]})" for atom in bits(forbidden)]
        yield _action(name, "", conditions, effects)


def _action(name: str, parameters: str, conditions: list[str], effects: list[str]) -> list[str]:
    return [
        f"(:action {name}",
        f"  :parameters ({parameters})",
        "  :precondition (and",
        *(f"    {condition}" for condition in conditions),
        "  )",
        "  :effect (and",
        *(f"    {effect}" for effect in effects),
        "  )",
        ")",
    ]
