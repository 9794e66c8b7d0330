"""Effects that no demonstration needed, but that tasks with more objects need.

In each world, training tasks have one thing, and test tasks have two or three. Demonstrations are plans of
the true operators. Plans of the learned operators are executed with the true operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.limits import Budget
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask
from needful.operator_learning.learn_operators import learn_operators
from needful.planning.planners import AutoPlanner, generate_abstract_plans

THING, ROBOT, PLACE = Type("thing"), Type("robot"), Type("place")
T, R, P = Variable("?t", THING), Variable("?r", ROBOT), Variable("?p", PLACE)
ROBBY, DEPOT = ROBOT("robby"), PLACE("depot")
THINGS = tuple(THING(f"t{number}") for number in range(3))
PLACES = tuple(PLACE(f"p{number}") for number in range(3))

EMPTY, CHARGED = Predicate("HandEmpty", (ROBOT,)), Predicate("Charged", (ROBOT,))
AT, AT_DEPOT = Predicate("At", (ROBOT, PLACE)), Predicate("AtDepot", (ROBOT,))
HELD, DONE, HOLE = (Predicate(name, (THING,)) for name in ("Held", "Done", "Hole"))
SCRATCHED = Predicate("Scratched", (THING,))
DELIVERED, OPEN = Predicate("Delivered", (THING, PLACE)), Predicate("Open", (PLACE,))
KEY_FREE, VISITED = Predicate("KeyFree", (ROBOT,)), Predicate("Visited", (PLACE,))


def operator(
    name: str,
    parameters: Sequence[Variable],
    needs: Sequence[object],
    adds: Sequence[object],
    deletes: Sequence[object],
) -> Operator:
    controller = Controller(name, tuple(variable.type for variable in parameters))
    sets = (frozenset(needs), frozenset(adds), frozenset(deletes))
    return Operator(name, tuple(parameters), *sets, frozenset(), controller, tuple(parameters))


@dataclass(frozen=True)
class World:
    """True operators, and a function from the number of things to a task."""

    operators: tuple[Operator, ...]
    task: Callable[[Sequence[int]], AbstractTask]

    def demonstrate(self, numbers: Sequence[int]) -> Demonstration:
        task = self.task(numbers)
        states = [task.initial]
        plan = first_plan(self.operators, task)
        assert plan is not None
        for step in plan:
            states.append(step.apply(states[-1]))
        actions = tuple(step.operator.controller(*step.controller_objects) for step in plan)
        return Demonstration(task.objects, task.goal, tuple(states), actions)

    def solves(self, operators: Sequence[Operator], task: AbstractTask) -> bool:
        plan = first_plan(operators, task)
        state = task.initial
        truth = {one.controller: one for one in self.operators}
        for step in plan or ():
            true_step = truth[step.operator.controller].ground(step.controller_objects)
            if not true_step.applicable(state):
                return False
            state = true_step.apply(state)
        return plan is not None and task.goal <= state


def first_plan(operators: Sequence[Operator], task: AbstractTask) -> AbstractPlan | None:
    budget = Budget(math.inf, 10_000, max_ground_operators=10_000)
    return next(generate_abstract_plans(operators, task, AutoPlanner(), budget), None)


def hand_task(numbers: Sequence[int]) -> AbstractTask:
    things = [THINGS[number] for number in numbers]
    return AbstractTask((ROBBY, *things), frozenset({EMPTY(ROBBY)}), frozenset(map(DONE, things)))


def drill_task(numbers: Sequence[int]) -> AbstractTask:
    things = [THINGS[number] for number in numbers]
    return AbstractTask((ROBBY, *things), frozenset({CHARGED(ROBBY)}), frozenset(map(DONE, things)))


def key_task(numbers: Sequence[int]) -> AbstractTask:
    places = [PLACES[number] for number in numbers]
    return AbstractTask((ROBBY, *places), frozenset({KEY_FREE(ROBBY)}), frozenset(map(VISITED, places)))


def depot_task(numbers: Sequence[int]) -> AbstractTask:
    things: list[Object] = [THINGS[number] for number in numbers]
    goal: AbstractState = frozenset(DELIVERED(THINGS[n], PLACES[n]) for n in numbers)
    initial = frozenset({AT_DEPOT(ROBBY), EMPTY(ROBBY)})
    return AbstractTask((ROBBY, *things, *(PLACES[n] for n in numbers)), initial, goal)


empty, held, done = EMPTY.lifted(R), HELD.lifted(T), DONE.lifted(T)
charged, hole, key = CHARGED.lifted(R), HOLE.lifted(T), KEY_FREE.lifted(R)
at, at_depot, opened = AT.lifted(R, P), AT_DEPOT.lifted(R), OPEN.lifted(P)
scratched = SCRATCHED.lifted(T)

PICK = operator("Pick", (R, T), [empty], [held], [empty])
WORLDS = {
    "hand": World((PICK, operator("Put", (R, T), [held], [done, empty, scratched], [held])), hand_task),
    "drill": World(
        (
            operator("Drill", (R, T), [charged], [hole], [charged]),
            operator("Polish", (R, T), [hole], [done, charged], []),
        ),
        drill_task,
    ),
    "key": World(
        (
            operator("Unlock", (R, P), [key], [opened], [key]),
            operator("Visit", (R, P), [opened], [VISITED.lifted(P), key], []),
        ),
        key_task,
    ),
    "depot": World(
        (
            operator("Load", (R, T), [at_depot, empty], [held], [empty]),
            operator("Drive", (R, P), [at_depot], [at], [at_depot]),
            operator(
                "Deliver",
                (R, T, P),
                [held, at],
                [DELIVERED.lifted(T, P), empty, at_depot],
                [held, at],
            ),
        ),
        depot_task,
    ),
}


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_operators_of_tasks_with_one_thing_solve_tasks_with_three(name: str) -> None:
    world = WORLDS[name]
    demos = [world.demonstrate([number]) for number in range(3)]
    tests = world.task([0, 1]), world.task([0, 1, 2])
    learned = learn_operators(demos).operators
    assert len(learned) == len(world.operators)
    assert [world.solves(learned, task) for task in tests] == [True, True]
    paper = BILEVEL_APPROACHES["necessary-paper"].learn_operators(demos).operators
    assert [world.solves(paper, task) for task in tests] == [False, False]


def test_effects_that_no_operator_requires_stay_out() -> None:
    world = WORLDS["hand"]
    learned = learn_operators([world.demonstrate([number]) for number in range(3)])
    assert adds(learned.operators, "Put") == {"Done(?x1)", "HandEmpty(?x0)"}
    assert learned.unnecessary_effects["Put"] == {EMPTY.lifted(put(learned.operators).parameters[0])}


def test_effects_that_some_transition_lacks_stay_out() -> None:
    demos = [WORLDS["hand"].demonstrate([number]) for number in range(3)]
    states = demos[0].abstract_states
    stuck = Demonstration(
        demos[0].objects, demos[0].goal, (*states[:-1], states[-1] - {EMPTY(ROBBY)}), demos[0].actions
    )
    assert adds(learn_operators([stuck, *demos[1:]]).operators, "Put") == {"Done(?x1)"}


def test_one_transition_does_not_show_that_an_effect_is_reliable() -> None:
    learned = learn_operators([WORLDS["hand"].demonstrate([0])]).operators
    assert adds(learned, "Put") == {"Done(?x1)"}


def put(operators: Sequence[Operator]) -> Operator:
    (found,) = (one for one in operators if one.name == "Put")
    return found


def adds(operators: Sequence[Operator], name: str) -> set[str]:
    return {str(atom) for one in operators if one.name == name for atom in one.add_effects}
