"""An environment of one's own, from its first type to solved tasks: a lift.

When the doors open, everybody who waits on that floor gets in, wanted or not. The learned operators
predict only the passenger that the plan is about, and forget who else waits there.

    python examples/04_add_an_environment.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from needful import (
    AbstractState,
    Controller,
    DeletePattern,
    Environment,
    GroundController,
    Object,
    OracleDemonstrator,
    PlanningModel,
    Predicate,
    Split,
    State,
    Task,
    Type,
    Variable,
    Vocabulary,
    Wildcard,
    check_environment,
    collect_demonstrations,
    learn_model,
    oracle_operator,
    plan,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STOREY = 3.0
TOLERANCE = 0.1

LIFT = Type("lift", ("height",))
FLOOR = Type("floor", ("height",))
PASSENGER = Type("passenger", ("height", "inside"))


def _level(state: State, one: Object, other: Object) -> bool:
    return abs(state.get(one, "height") - state.get(other, "height")) < TOLERANCE


def _stops_at(state: State, objects: Sequence[Object]) -> bool:
    lift, floor = objects
    return _level(state, lift, floor)


def _is_on(state: State, objects: Sequence[Object]) -> bool:
    passenger, floor = objects
    return state.get(passenger, "inside") < 0.5 and _level(state, passenger, floor)


def _rides(state: State, objects: Sequence[Object]) -> bool:
    passenger, _ = objects
    return state.get(passenger, "inside") > 0.5


STOPS_AT = Predicate("StopsAt", (LIFT, FLOOR), _stops_at)
IS_ON = Predicate("IsOn", (PASSENGER, FLOOR), _is_on)
RIDES = Predicate("Rides", (PASSENGER, LIFT), _rides)

# Go takes the height above the floor at which to stop; too far off, nobody can get in or out.
GO = Controller("Go", (LIFT, FLOOR), low=(-1.0,), high=(1.0,))
LET_IN = Controller("LetIn", (LIFT, FLOOR))
LET_OUT = Controller("LetOut", (LIFT, FLOOR, PASSENGER))


class StopLevel:
    """Samples where to stop: a little off, like any lift."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        """Return a height above the floor."""
        return [rng.uniform(-TOLERANCE / 2, TOLERANCE / 2)]


class Lift(Environment):
    """A lift that takes passengers to their floors."""

    name = "lift"
    description = "A lift takes passengers to their floors; all who wait get in, wanted or not."
    vocabulary = Vocabulary((LIFT, FLOOR, PASSENGER), (STOPS_AT, IS_ON, RIDES), (GO, LET_IN, LET_OUT))
    picture_size = (3.0, 4.0)

    def simulate(self, state: State, action: GroundController) -> State:
        """Move the lift and all inside it, let everybody in, or let one passenger out."""
        lift, floor, *passengers = action.objects
        if action.controller == GO:
            height = state.get(floor, "height") + action.parameters[0]
            inside = [one for one in state.of_type(PASSENGER) if _rides(state, (one, lift))]
            return state.replace({one: {"height": height} for one in (lift, *inside)})
        if not _level(state, lift, floor):
            return state
        if action.controller == LET_IN:
            waiting = [one for one in state.of_type(PASSENGER) if _is_on(state, (one, floor))]
            return state.replace({one: {"inside": 1.0} for one in waiting})
        return state.replace({one: {"inside": 0.0} for one in passengers})

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Let passengers wait on random floors, those who are going somewhere on different ones."""
        size, wanted = (3, 1 + index % 2) if split is Split.TRAIN else (5, 2 + index % 2)
        lift, floors = LIFT("lift"), [FLOOR(f"floor{number}") for number in range(size)]
        passengers = [PASSENGER(f"passenger{number}") for number in range(size)]
        starts = [*rng.permutation(size)[:wanted], *rng.integers(size, size=size - wanted)]
        vectors: dict[Object, Sequence[float]] = {lift: (STOREY * rng.integers(size),)}
        vectors |= {floor: (STOREY * number,) for number, floor in enumerate(floors)}
        vectors |= {one: (STOREY * start, 0.0) for one, start in zip(passengers, starts, strict=True)}
        ends = [floors[(start + rng.integers(1, size)) % size] for start in starts[:wanted]]
        return Task(State(vectors), frozenset(map(IS_ON, passengers, ends)))

    def oracle_model(self) -> PlanningModel:
        """Return operators that say as little as a plan needs; who else gets in is forgotten."""
        lift, floor = Variable("?lift", LIFT), Variable("?floor", FLOOR)
        passenger = Variable("?passenger", PASSENGER)
        stops, rides = STOPS_AT.lifted(lift, floor), RIDES.lifted(passenger, lift)
        is_on = IS_ON.lifted(passenger, floor)
        go = oracle_operator("Go", (lift, floor), (GO, (lift, floor)), adds=[stops], forgets=[STOPS_AT])
        waiting = DeletePattern(IS_ON, (Wildcard(PASSENGER), floor))
        let_in = oracle_operator(
            "LetIn",
            (lift, floor, passenger),
            (LET_IN, (lift, floor)),
            needs=[stops, is_on],
            adds=[rides],
            deletes=[is_on],
            forgets=[waiting],
        )
        let_out = oracle_operator(
            "LetOut",
            (lift, floor, passenger),
            (LET_OUT, (lift, floor, passenger)),
            needs=[stops, rides],
            adds=[is_on],
            deletes=[rides],
        )
        return PlanningModel(self.vocabulary, (go, let_in, let_out), {"Go": StopLevel()})

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw floors as lines, the lift as a box, and passengers as dots, blue if they want something."""
        heights = [state.get(floor, "height") for floor in state.of_type(FLOOR)]
        axes.hlines(heights, -0.5, 3.0, color="lightgrey")
        axes.set(xlim=(-0.7, 3.0), ylim=(-0.3, max(heights) + STOREY))
        for lift in state.of_type(LIFT):
            axes.bar(0.0, STOREY * 0.8, 1.0, state.get(lift, "height"), color="gold")
        wanting = {atom.objects[0] for atom in goal}
        for number, one in enumerate(state.of_type(PASSENGER)):
            x = 0.0 if state.get(one, "inside") > 0.5 else 1.0 + 0.3 * number
            axes.scatter(x, state.get(one, "height") + 0.3, color="tab:blue" if one in wanting else "grey")
        axes.axis("off")


def main() -> None:
    """Check the environment, collect demonstrations, learn from them, and solve unseen tasks."""
    environment = Lift()
    oracle = OracleDemonstrator(environment)
    findings = check_environment(environment, solve=lambda _, task: oracle.demonstrate(task, seed=0))
    print(f"{len(findings)} findings", *findings, sep="\n")

    collected = collect_demonstrations(environment, oracle, count=30, seed=0)
    learned = learn_model(environment.vocabulary, collected.demonstrations)
    for operator in learned.model.operators:
        print(operator, end="\n\n")

    tasks = environment.tasks(Split.TEST, 10, seed=0)
    results = [plan(task, learned.model, environment.execute) for task in tasks]
    print("\n".join(map(str, results[0].actions)))
    print(f"Solved {sum(result.solved for result in results)} of {len(results)} unseen tasks.")


if __name__ == "__main__":
    main()
