"""Small worlds with negative conditions: their true operators, random tasks, and a brute-force simulation.

In some worlds, steps make the forbidden atom false, with or without a useless side effect. In others it can
only be avoided. Two worlds have no negative condition, but habits that look like one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask
from needful.envs.contract import oracle_operator
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.unnamed_objects import named_objects_only
from needful.planning.planners import generate_abstract_plans

ROOM, DOOR, ITEM, SHELF = Type("room"), Type("door"), Type("item"), Type("shelf")
F, T, D = Variable("?from", ROOM), Variable("?to", ROOM), Variable("?door", DOOR)
X, S = Variable("?item", ITEM), Variable("?shelf", SHELF)
AT, BLOCKED, WET = Predicate("At", (ROOM,)), Predicate("Blocked", (ROOM,)), Predicate("Wet", (ROOM,))
CLEAN, VISITED = Predicate("Clean", (ROOM,)), Predicate("Visited", (ROOM,))
NEXT_TO, CONNECTS = Predicate("NextTo", (ROOM, ROOM)), Predicate("Connects", (DOOR, ROOM, ROOM))
JAMMED, SCRATCHED = Predicate("Jammed", (DOOR,)), Predicate("Scratched", (DOOR,))
ON, OCCUPIED = Predicate("On", (ITEM, SHELF)), Predicate("Occupied", (SHELF,))
HOLDING, LOOSE = Predicate("Holding", (ITEM,)), Predicate("OnFloor", (ITEM,))
STORED, FREE = Predicate("Stored", (ITEM,)), Predicate("HandEmpty", ())

Sampled = tuple[list[Object], set[GroundAtom], set[GroundAtom]]
Sample = Callable[[random.Random, int], Sampled]


@dataclass(frozen=True)
class World:
    """A world: its true operators, and a function that samples objects, initial atoms and a goal."""

    operators: tuple[Operator, ...]
    sample: Sample

    def task(self, seed: int, size: int) -> AbstractTask:
        """Sample a task that has a plan, but is not solved at the start."""
        rng = random.Random(1000 * seed + size)
        while True:
            objects, initial, goal = self.sample(rng, size)
            task = AbstractTask(tuple(objects), frozenset(initial), frozenset(goal))
            if not goal <= initial and first_plan(self.operators, task) is not None:
                return task

    def demonstrate(self, seed: int, size: int) -> Demonstration:
        """Solve a task with the true operators."""
        task = self.task(seed, size)
        plan = first_plan(self.operators, task)
        assert plan is not None
        states = [task.initial]
        for step in plan:
            states.append(step.apply(states[-1]))
        actions = tuple(step.operator.controller(*step.controller_objects) for step in plan)
        return Demonstration(task.objects, task.goal, tuple(states), actions)

    def demonstrate_with_side_effects(
        self, seed: int, size: int, forbidden: Predicate, share: float
    ) -> Demonstration:
        """Solve a task; after a share of the steps, a forbidden atom becomes true for a random object.

        The demonstrator plans again after each step. If it does not succeed, the next seed is tried.
        """
        rng, task = random.Random(seed), self.task(seed, size)
        objects = [obj for obj in task.objects if obj.type == forbidden.types[0]]
        states = [task.initial]
        actions: list[GroundController] = []
        while not task.goal <= states[-1]:
            plan = first_plan(self.operators, AbstractTask(task.objects, states[-1], task.goal))
            if plan is None or len(actions) > 4 * size:
                return self.demonstrate_with_side_effects(seed + 1_000, size, forbidden, share)
            step = next(iter(plan))
            after = step.apply(states[-1])
            states.append(after | {forbidden(rng.choice(objects))} if rng.random() < share else after)
            actions.append(step.operator.controller(*step.controller_objects))
        return Demonstration(task.objects, task.goal, tuple(states), tuple(actions))

    def achieves_goal(self, task: AbstractTask, plan: AbstractPlan) -> bool:
        """Execute the actions of a plan, by brute force over the groundings of the true operators."""
        states = {task.initial}
        for step in plan:
            action = (step.operator.controller.name, step.controller_objects)
            states = {after for state in states for after in self._results(task, state, *action)}
        return any(task.goal <= state for state in states)

    def valid_plans(self, operators: Sequence[Operator], size: int, seeds: Iterable[int]) -> int:
        """Return for how many tasks the first plan with the given operators achieves the goal."""
        tasks = [self.task(seed, size) for seed in seeds]
        plans = [first_plan(operators, task) for task in tasks]
        return sum(self.achieves_goal(task, plan) for task, plan in zip(tasks, plans, strict=True) if plan)

    def conditions_help(self, demonstrated: int, size: int) -> bool:
        """Return whether all plans for larger tasks are valid only with conditions on unnamed objects."""
        demonstrations = [self.demonstrate(seed, 3) for seed in range(demonstrated)]
        without = OperatorLearningConfig(conditions=named_objects_only)
        valid = [
            self.valid_plans(learn_operators(demonstrations, config).operators, size, range(100, 120))
            for config in (OperatorLearningConfig(), without)
        ]
        return valid[0] == 20 > valid[1]

    def _results(
        self, task: AbstractTask, state: AbstractState, controller: str, arguments: Sequence[Object]
    ) -> Iterable[AbstractState]:
        for operator in self.operators:
            if operator.controller.name != controller:
                continue
            fixed = dict(zip(operator.controller_arguments, arguments, strict=True))
            free = [one for one in operator.parameters if one not in fixed]
            domains = ([obj for obj in task.objects if obj.type == one.type] for one in free)
            for chosen in itertools.product(*domains):
                binding = fixed | dict(zip(free, chosen, strict=True))

                def ground(
                    atoms: Iterable[LiftedAtom], binding: dict[Variable, Object] = binding
                ) -> set[GroundAtom]:
                    return {one.predicate(*(binding[v] for v in one.variables)) for one in atoms}

                holds = ground(operator.preconditions) <= state
                if holds and not ground(operator.negative_preconditions) & state:
                    yield state - ground(operator.delete_effects) | ground(operator.add_effects)


def first_plan(operators: Sequence[Operator], task: AbstractTask) -> AbstractPlan | None:
    return next(generate_abstract_plans(operators, task), None)


def operator(
    name: str, parameters: Sequence[Variable], arguments: Sequence[Variable], **parts: Any
) -> Operator:
    controller = Controller(name, tuple(one.type for one in arguments))
    return oracle_operator(name, parameters, (controller, arguments), **parts)


def objects_of(kind: Type, count: int, rng: random.Random) -> list[Object]:
    """Return objects in a random order, so that names say nothing."""
    found = [kind(f"{kind.name}{number:02}") for number in range(count)]
    rng.shuffle(found)
    return found


def corridors(rooms: Sequence[Object], rng: random.Random) -> list[tuple[Object, Object]]:
    """Return pairs of neighbouring rooms, such that all rooms are connected."""
    found = {(rooms[i], rooms[rng.randrange(max(0, i - 3), i)]) for i in range(1, len(rooms))}
    found |= {(one, other) for one, other in (rng.sample(rooms, 2) for _ in range(len(rooms) // 3))}
    return sorted({(min(pair), max(pair)) for pair in found})


def walk(share: float, forbidden: Predicate = BLOCKED) -> Sample:
    """Sample rooms, of which a share has the forbidden property; the goal is to be in a room."""

    def sample(rng: random.Random, size: int) -> Sampled:
        rooms = objects_of(ROOM, size, rng)
        start, goal = rng.sample(rooms, 2)
        initial = {AT(start)}
        for one, other in corridors(rooms, rng):
            initial |= {NEXT_TO(one, other), NEXT_TO(other, one)}
        initial |= {forbidden(room) for room in rooms if room != start and rng.random() < share}
        return rooms, initial, {AT(goal)}

    return sample


def walk_on_grid(rng: random.Random, size: int) -> Sampled:
    side = max(3, round(size**0.5))
    rooms = objects_of(ROOM, side * side, rng)
    start, goal = rng.sample(rooms, 2)
    initial = {AT(start)} | {BLOCKED(r) for r in rooms if r not in (start, goal) and rng.random() < 0.3}
    for (x, one), (y, other) in itertools.permutations(enumerate(rooms), 2):
        if abs(x // side - y // side) + abs(x % side - y % side) == 1:
            initial.add(NEXT_TO(one, other))
    return rooms, initial, {AT(goal)}


def walk_through_doors(rng: random.Random, size: int) -> Sampled:
    rooms = objects_of(ROOM, size, rng)
    pairs = corridors(rooms, rng)
    doors = objects_of(DOOR, len(pairs), rng)
    start, goal = rng.sample(rooms, 2)
    initial = {AT(start)} | {JAMMED(door) for door in doors if rng.random() < 0.4}
    for door, (one, other) in zip(doors, pairs, strict=True):
        initial |= {CONNECTS(door, one, other), CONNECTS(door, other, one)}
    return rooms + doors, initial, {AT(goal)}


def mop_rooms(rng: random.Random, size: int) -> Sampled:
    rooms, initial, _ = walk(0.2, WET)(rng, size)
    goals = rng.sample(rooms, min(3, size - 1))
    return rooms, initial, {CLEAN(room) for room in goals} | {AT(goals[0])}


def sort_items(rng: random.Random, size: int) -> Sampled:
    items, shelves = objects_of(ITEM, size, rng), objects_of(SHELF, size, rng)
    initial = {FREE()}
    for item, shelf in zip(items, shelves, strict=True):
        initial |= {ON(item, shelf), OCCUPIED(shelf)} if rng.random() < 0.6 else {LOOSE(item)}
    pairs = zip(rng.sample(items, 2), rng.sample(shelves, 2), strict=True)
    return items + shelves, initial, {ON(item, shelf) for item, shelf in pairs}


def store_items(rng: random.Random, size: int) -> Sampled:
    items, shelves = objects_of(ITEM, size, rng), objects_of(SHELF, size + 1, rng)
    initial = {FREE(), *map(LOOSE, items), *(OCCUPIED(one) for one in shelves[1:] if rng.random() < 0.4)}
    return items + shelves, initial, {STORED(items[0])}


def visit_rooms(rng: random.Random, size: int) -> Sampled:
    rooms, initial, goal = walk(0.0)(rng, size)
    return rooms, initial | {VISITED(atom.objects[0]) for atom in initial if atom.predicate == AT}, goal


NEARBY = (AT.lifted(F), NEXT_TO.lifted(F, T))
MOVED = {"adds": [AT.lifted(T)], "deletes": [AT.lifted(F)]}
GO = operator("Go", (F, T), (F, T), needs=[*NEARBY, ~BLOCKED.lifted(T)], **MOVED)
CLEAR = operator("Clear", (F, T), (F, T), needs=[*NEARBY, BLOCKED.lifted(T)], deletes=[BLOCKED.lifted(T)])
THROUGH = (AT.lifted(F), CONNECTS.lifted(D, F, T))
PICK = operator(
    "Pick",
    (X, S),
    (X, S),
    needs=[ON.lifted(X, S), FREE.lifted()],
    adds=[HOLDING.lifted(X)],
    deletes=[ON.lifted(X, S), FREE.lifted(), OCCUPIED.lifted(S)],
)
LIFT = operator(
    "Lift",
    (X,),
    (X,),
    needs=[LOOSE.lifted(X), FREE.lifted()],
    adds=[HOLDING.lifted(X)],
    deletes=[LOOSE.lifted(X), FREE.lifted()],
)
DROP = operator(
    "Drop",
    (X,),
    (X,),
    needs=[HOLDING.lifted(X)],
    adds=[LOOSE.lifted(X), FREE.lifted()],
    deletes=[HOLDING.lifted(X)],
)
PUT = operator(
    "Put",
    (X, S),
    (X, S),
    needs=[HOLDING.lifted(X), ~OCCUPIED.lifted(S)],
    adds=[ON.lifted(X, S), FREE.lifted(), OCCUPIED.lifted(S), STORED.lifted(X)],
    deletes=[HOLDING.lifted(X)],
)

WORLDS = {
    "clear blocked rooms": World((GO, CLEAR), walk(0.4)),
    "push jammed doors, which get scratched": World(
        (
            operator("Go", (D, F, T), (D, F, T), needs=[*THROUGH, ~JAMMED.lifted(D)], **MOVED),
            operator(
                "Push",
                (D, F, T),
                (D, F, T),
                needs=[*THROUGH, JAMMED.lifted(D)],
                adds=[SCRATCHED.lifted(D)],
                deletes=[JAMMED.lifted(D)],
            ),
        ),
        walk_through_doors,
    ),
    "go without naming the door": World(
        (
            operator("Go", (F, T, D), (F, T), needs=[*THROUGH, ~JAMMED.lifted(D)], **MOVED),
            operator(
                "Push",
                (D, F, T),
                (D, F),
                needs=[*THROUGH, JAMMED.lifted(D)],
                deletes=[JAMMED.lifted(D)],
            ),
        ),
        walk_through_doors,
    ),
    "rooms are wet after mopping": World(
        (
            operator("Go", (F, T), (F, T), needs=[*NEARBY, ~WET.lifted(T)], **MOVED),
            operator("Mop", (F, T), (F, T), needs=NEARBY, adds=[CLEAN.lifted(T), WET.lifted(T)]),
            operator("Dry", (F, T), (F, T), needs=[*NEARBY, WET.lifted(T)], deletes=[WET.lifted(T)]),
        ),
        mop_rooms,
    ),
    "empty a shelf first": World((PICK, LIFT, DROP, PUT), sort_items),
    "choose an empty shelf": World((LIFT, PUT), store_items),
    "walk around blocked rooms": World((GO,), walk_on_grid),
}
WITHOUT_CONDITION = {
    "a short way never returns": World(
        (
            operator(
                "Go",
                (F, T),
                (F, T),
                needs=NEARBY,
                adds=[AT.lifted(T), VISITED.lifted(T)],
                deletes=[AT.lifted(F)],
            ),
        ),
        visit_rooms,
    ),
    "mopping dries": World(
        (
            operator("Go", (F, T), (F, T), needs=NEARBY, **MOVED),
            operator("Mop", (F, T), (F, T), needs=NEARBY, adds=[CLEAN.lifted(T)], deletes=[WET.lifted(T)]),
        ),
        mop_rooms,
    ),
}
