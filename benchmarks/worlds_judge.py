"""Recorded worlds, and measures of how true operators are in them.

A world has demonstrations to learn from, held-out demonstrations of other tasks, and the true operators.
Operators are measured on the held-out demonstrations:

- *False claims* are the atoms that applicable operators predict after an executed action and that do not
  hold. All groundings that pass the action's objects to the controller are considered, because a planner
  may choose any of them. An atom counts once per transition.
- A plan is *valid* if its controllers can be executed with the true operators, so that the atoms that the
  plan relies on hold after each step.

Parameters of an operator are bound to distinct objects, with one exception: when a plan is executed,
parameters of a true operator may share an object.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from needful.abstraction.atom_table import AtomTable, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom
from needful.core.canonical import interchangeable
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration, Demonstrations, Transition
from needful.core.limits import Budget
from needful.core.model import Vocabulary
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator, Wildcard
from needful.core.plans import AbstractPlan, necessary_atoms
from needful.core.tasks import AbstractTask
from needful.planning.planners import AutoPlanner, generate_abstract_plans
from needful.storage.demonstrations import read_demonstrations

TRAIN, HELD_OUT, TRUTH = "_train.jsonl.gz", "_heldout.jsonl.gz", "_truth.json"
# Limits of planning for one task. They count nodes, not seconds, so that results are reproducible.
MAX_NODES = 100_000
MAX_GROUND_OPERATORS = 300_000
# False claims are counted over at most this many groundings per operator and transition.
MAX_GROUNDINGS = 400
# When a plan is executed, at most this many possible states are followed after each step.
MAX_STATES = 400

Operators: TypeAlias = Sequence[Operator]


@dataclass(frozen=True, slots=True)
class World:
    """Demonstrations of a world and its true operators."""

    name: str
    train: tuple[Demonstration, ...]
    held_out: tuple[Demonstration, ...]
    truth: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The measurements of the operators of one world.

    Attributes:
        false_claims: the number of false claims per held-out transition.
        valid: the share of the tasks whose first plan is valid.
        no_plan: the share of the tasks without a plan within the limits.
        tasks: the number of tasks.
        failing: for each operator's name, the number of invalid plans whose first failing step uses it.
    """

    false_claims: float
    valid: float
    no_plan: float
    tasks: int
    failing: Mapping[str, int]


def world_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the worlds in a folder, sorted."""
    return tuple(sorted(path.name.removesuffix(TRUTH) for path in folder.glob(f"*{TRUTH}")))


def read_world(folder: Path, name: str) -> World:
    """Read the three files of a world."""
    train = read_demonstrations(folder / f"{name}{TRAIN}")
    held_out = read_demonstrations(folder / f"{name}{HELD_OUT}")
    if train.vocabulary != held_out.vocabulary:
        raise ValueError(f"The headers of {name}{TRAIN} and {name}{HELD_OUT} in {folder} differ.")
    truth = json.loads((folder / f"{name}{TRUTH}").read_text(encoding="utf-8"))
    return World(
        name, train.demonstrations, held_out.demonstrations, read_truth(truth, held_out.vocabulary)
    )


def read_truth(content: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Operator, ...]:
    """Return the operators of a truth file.

    In the file, an operator can list predicates to ignore. For each of them, the operator gets a delete
    pattern that matches all atoms of this predicate.
    """
    types = {kind.name: kind for kind in vocabulary.types}
    predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
    controllers = {controller.name: controller for controller in vocabulary.controllers}

    def operator(record: Mapping[str, Any]) -> Operator:
        variables = {name: Variable(name, types[kind]) for name, kind in record["parameters"]}

        def atoms(part: str) -> frozenset[LiftedAtom]:
            split = map(_split_atom, record[part])
            return frozenset(
                predicates[name].lifted(*map(variables.__getitem__, names)) for name, names in split
            )

        return Operator(
            record["name"],
            tuple(variables.values()),
            preconditions=atoms("pre"),
            add_effects=atoms("add"),
            delete_effects=atoms("del"),
            delete_patterns=frozenset(
                DeletePattern(predicates[name], tuple(map(Wildcard, predicates[name].types)))
                for name in record["ignore"]
            ),
            controller=controllers[record["controller"]],
            controller_arguments=tuple(map(variables.__getitem__, record["controller_vars"])),
        )

    return tuple(map(operator, content["operators"]))


def _split_atom(text: str) -> tuple[str, list[str]]:
    """Return the predicate and the variables of an atom such as `On(?a:block, ?b:block)`."""
    predicate, _, arguments = text.removesuffix(")").partition("(")
    return predicate, [word.partition(":")[0].strip() for word in arguments.split(",") if word]


def judge(operators: Operators, world: World, max_tasks: int) -> Judgement:
    """Measure operators on the held-out demonstrations; plan for at most `max_tasks` tasks."""
    truth = [merged for operator in world.truth for merged in merge_parameters(operator)]
    tasks = choose_tasks(world.held_out, max_tasks)
    valid, failing = 0, Counter[str]()
    for task in tasks:
        plan = first_plan(operators, task)
        if plan is not None:
            failure = find_failure(plan, task, truth)
            valid += failure is None
            failing.update([] if failure is None else [failure.operator.name])
    return Judgement(
        false_claims_per_transition(operators, world.held_out),
        valid / len(tasks),
        (len(tasks) - valid - failing.total()) / len(tasks),
        len(tasks),
        dict(sorted(failing.items())),
    )


def choose_tasks(demonstrations: Demonstrations, max_tasks: int) -> list[AbstractTask]:
    """Return evenly spaced tasks of the demonstrations, without those whose goal holds at the start."""
    tasks = [
        AbstractTask(demonstration.objects, demonstration.abstract_states[0], demonstration.goal)
        for demonstration in demonstrations
        if not demonstration.goal <= demonstration.abstract_states[0]
    ]
    count = min(max_tasks, len(tasks))
    return [tasks[index * len(tasks) // count] for index in range(count)]


def first_plan(operators: Operators, task: AbstractTask) -> AbstractPlan | None:
    """Return the first abstract plan of the default planner, or None if there is none within the limits."""
    budget = Budget(math.inf, MAX_NODES, max_ground_operators=MAX_GROUND_OPERATORS)
    return next(generate_abstract_plans(operators, task, AutoPlanner(), budget), None)


def false_claims_per_transition(operators: Operators, demonstrations: Demonstrations) -> float:
    """Return the mean number of false claims over all transitions of the demonstrations."""
    counts = []
    for demonstration in demonstrations:
        table = AtomTable(demonstration.objects)
        counts += [len(false_claims(operators, one, table)) for one in demonstration.transitions()]
    return fmean(counts)


def false_claims(operators: Operators, transition: Transition, table: AtomTable) -> AbstractState:
    """Return the atoms that applicable operators predict and that do not hold after a transition."""
    action, before, claimed = transition.action, transition.before, set[GroundAtom]()
    for step in applicable_steps(
        operators, action.controller, action.objects, before, table, MAX_GROUNDINGS
    ):
        claimed |= step.apply(before) - transition.after
    return frozenset(claimed)


def find_failure(plan: AbstractPlan, task: AbstractTask, truth: Operators) -> GroundOperator | None:
    """Execute a plan with the true operators; return the first step after which a necessary atom is false.

    Return None if the plan is valid. Several true operators and groundings can fit the controller and the
    objects of a step. Each of them gives a possible state; the states in which all necessary atoms hold are
    followed. Atoms that a true operator makes unknown are assumed to hold if they are necessary.
    """
    table = AtomTable(task.objects)
    states = [task.initial]
    for step, necessary in zip(plan, necessary_atoms(plan, task.goal)[1:], strict=True):
        controller, objects = step.operator.controller, step.controller_objects
        results: dict[AbstractState, None] = {}  # a dictionary, because it keeps the order
        for state in states:
            for true_step in applicable_steps(truth, controller, objects, state, table):
                result = true_step.apply(state) | (necessary & (state - true_step.delete_effects))
                if necessary <= result:
                    results[result] = None
        if not results:
            return step
        states = list(islice(results, MAX_STATES))
    return None


def applicable_steps(
    operators: Operators,
    controller: Controller,
    objects: Sequence[Object],
    state: AbstractState,
    table: AtomTable,
    limit: int | None = None,
) -> Iterator[GroundOperator]:
    """Yield the applicable groundings of operators that execute a controller with the given objects.

    Groundings that differ only by swapping interchangeable parameters are yielded once. `table` numbers the
    objects of the task; the atoms of the state are added to it. `limit` is the largest number of groundings
    per operator.
    """
    allowed = table.encode(state)
    for operator in operators:
        if operator.controller == controller:
            for found in islice(_groundings(operator, objects, allowed, table), limit):
                step = GroundOperator(operator, tuple(table.objects[number] for number in found))
                if step.applicable(state):  # `_groundings` ignores negative preconditions
                    yield step


def _groundings(
    operator: Operator, objects: Sequence[Object], allowed: int, table: AtomTable
) -> Iterator[tuple[int, ...]]:
    """Yield the groundings whose preconditions are atoms of the mask `allowed`."""
    numbers = {variable: index for index, variable in enumerate(operator.parameters)}
    binding = [UNBOUND] * len(numbers)
    for variable, obj in zip(operator.controller_arguments, objects, strict=True):
        number = table.object_number[obj]
        if binding[numbers[variable]] not in (UNBOUND, number):
            return  # one variable, passed to the controller twice, would stand for two objects
        binding[numbers[variable]] = number
    yield from join(
        table,
        [Constraint(*lifted_key(atom, numbers), allowed) for atom in sorted(operator.preconditions)],
        [table.of_type(variable.type) for variable in operator.parameters],
        binding,
        ascending=[[numbers[variable] for variable in group] for group in interchangeable(operator)],
    )


def merge_parameters(operator: Operator) -> Iterator[Operator]:
    """Yield the operator with its parameters merged in every possible way; the first one is unchanged.

    Groundings bind parameters to distinct objects. The groundings of all results together are therefore the
    groundings of the operator in which parameters may share objects. Delete patterns must consist of
    wildcards, as in truth files.
    """
    for groups in _partitions(operator.parameters):
        merged = {variable: _merge(group) for group in groups for variable in group}
        yield replace(
            operator,
            parameters=tuple(map(_merge, groups)),
            preconditions=_substitute(operator.preconditions, merged),
            add_effects=_substitute(operator.add_effects, merged),
            delete_effects=_substitute(operator.delete_effects, merged),
            controller_arguments=tuple(merged[variable] for variable in operator.controller_arguments),
        )


def _substitute(atoms: frozenset[LiftedAtom], merged: Mapping[Variable, Variable]) -> frozenset[LiftedAtom]:
    return frozenset(atom.predicate.lifted(*(merged[v] for v in atom.variables)) for atom in atoms)


def _partitions(variables: Sequence[Variable]) -> Iterator[tuple[tuple[Variable, ...], ...]]:
    """Yield all ways to divide variables into groups that one object can be bound to."""
    if not variables:
        yield ()
        return
    *others, last = variables
    for groups in _partitions(others):
        yield (*groups, (last,))
        for index, group in enumerate(groups):
            joined = (*group, last)
            narrowest = _merge(joined).type
            if all(narrowest.is_subtype_of(variable.type) for variable in joined):
                yield (*groups[:index], joined, *groups[index + 1 :])


def _merge(group: Sequence[Variable]) -> Variable:
    """Return a variable with the name of the first variable and the narrowest type of the group."""
    return Variable(group[0].name, max((v.type for v in group), key=lambda kind: len([*kind.ancestry()])))
