"""Robots forage together in a third-party Gymnasium environment; the planner restores deep copies of it.

In Level-Based Foraging, robots and food have levels. Robots beside a food can collect it if the sum of
their levels is large enough. Install it: pip install 'needful[examples]'.

    python examples/simulators/foraging.py
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

import needful
from needful import AbstractState, GroundController, Object, PlanningModel, Split, State, Task, Type
from needful.envs.adapters.gymnasium import GymnasiumEnvironment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROBOT = Type("robot", ("row", "column", "level"))
FOOD = Type("food", ("row", "column", "level", "collected"))

STAY, NORTH, SOUTH, WEST, EAST, LOAD = range(6)  # the actions of one robot
MOVES = {NORTH: (-1, 0), SOUTH: (1, 0), WEST: (0, -1), EAST: (0, 1)}
SIDES = tuple(MOVES.values())  # of a food

Cell = tuple[int, int]


def _cell(state: State, obj: Object) -> Cell:
    return int(state.get(obj, "row")), int(state.get(obj, "column"))


def _beside(state: State, objects: Sequence[Object]) -> bool:
    (row, column), (other_row, other_column) = (_cell(state, obj) for obj in objects)
    return abs(row - other_row) + abs(column - other_column) == 1


def _collected(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[0], "collected") > 0.5


def _strong_enough(state: State, objects: Sequence[Object]) -> bool:
    *robots, food = objects
    return sum(state.get(robot, "level") for robot in robots) >= state.get(food, "level")


BESIDE = needful.Predicate("Beside", (ROBOT, FOOD), _beside)
COLLECTED = needful.Predicate("Collected", (FOOD,), _collected)
STRONG = needful.Predicate("StrongEnough", (ROBOT, FOOD), _strong_enough)
STRONG_TOGETHER = needful.Predicate("StrongTogether", (ROBOT, ROBOT, FOOD), _strong_enough)

# The parameter of GoTo is the side of the food: 0 to 1 is north of it, 1 to 2 south, and so on.
GO_TO = needful.Controller("GoTo", (ROBOT, FOOD), low=(0.0,), high=(3.999,))
COLLECT = needful.Controller("Collect", (ROBOT, FOOD))
COLLECT_TOGETHER = needful.Controller("CollectTogether", (ROBOT, ROBOT, FOOD))


class Foraging(GymnasiumEnvironment):
    """The simulator, the tasks and a scripted demonstrator; there is no oracle model."""

    name = "foraging"
    description = "Robots collect food, alone or together."
    vocabulary = needful.Vocabulary(
        (ROBOT, FOOD), (BESIDE, COLLECTED, STRONG, STRONG_TOGETHER), (GO_TO, COLLECT, COLLECT_TOGETHER)
    )

    def scene(self, start: tuple[int, int, int, int]) -> tuple[int, ...]:
        """Return the numbers of robots, foods and rows; the last number of a start is a seed."""
        return start[:3]

    def make_gym(self, scene: Any) -> Any:
        """Make the third-party environment."""
        from lbforaging.foraging.environment import ForagingEnv

        robots, foods, size = scene
        return ForagingEnv(
            players=robots,
            min_player_level=1,
            max_player_level=2,
            min_food_level=1,
            max_food_level=3,
            field_size=(size, size),
            max_num_food=foods,
            sight=size,
            max_episode_steps=10**9,
            force_coop=False,
        )

    def reset(self, start: tuple[int, int, int, int]) -> None:
        """Reset the environment with the seed of the start, and remember where the food is."""
        super().reset(start[-1])
        field = self.simulator.field
        # The environment forgets collected food. Attributes of the simulator are part of its snapshots.
        self.simulator.foods = [(int(r), int(c), int(field[r, c])) for r, c in np.argwhere(field)]

    def observe(self) -> State:
        """Return the cells and levels of robots and food."""
        players, field = self.simulator.players, self.simulator.field
        robots = {
            ROBOT(f"robot{number}"): (*player.position, player.level)
            for number, player in enumerate(players)
        }
        foods = {
            FOOD(f"food{number}"): (row, column, level, field[row, column] == 0)
            for number, (row, column, level) in enumerate(self.simulator.foods)
        }
        return State({**robots, **foods})

    def run(self, action: GroundController) -> int:
        """Run a controller: walk to a side of a food, or collect it."""
        state = self.observe()
        *robots, food = action.objects
        if action.controller == GO_TO:
            (row, column), (down, right) = _cell(state, food), SIDES[int(action.parameters[0])]
            path = self._path(state, robots[0], (row + down, column + right))
            for move in path:
                self._step({robots[0]: move})
            return max(1, len(path))
        for robot in robots:
            if not _beside(state, (robot, food)) or _collected(state, (food,)):
                raise needful.EnvironmentFailure(f"There is no food beside {robot.name}.")
        self._step(dict.fromkeys(robots, LOAD))
        return 1

    def _step(self, moves: dict[Object, int]) -> None:
        robots = (ROBOT(f"robot{number}") for number in range(len(self.simulator.players)))
        self.simulator.step([moves.get(robot, STAY) for robot in robots])

    def _path(self, state: State, robot: Object, target: Cell) -> list[int]:
        """Return the shortest sequence of moves to a cell, around food and other robots."""
        others = {_cell(state, other) for other in state.of_type(ROBOT) if other != robot}
        start, rows = _cell(state, robot), self.simulator.rows
        paths: dict[Cell, list[int]] = {start: []}
        queue = deque([start])
        while queue and target not in paths:
            row, column = cell = queue.popleft()
            for move, (down, right) in MOVES.items():
                following = row + down, column + right
                inside = all(0 <= index < rows for index in following)
                free = inside and following not in others and not self.simulator.field[following]
                if free and following not in paths:
                    paths[following] = [*paths[cell], move]
                    queue.append(following)
        if target not in paths:
            # Another side of the food may be free, so that no object is to blame.
            raise needful.EnvironmentFailure(f"{robot.name} finds no way to this side.")
        return paths[target]

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Return a task with food to collect; test tasks have more robots, more food and more rows."""
        robots, foods, size, wanted = (2, 3, 7, 1 + index % 2) if split is Split.TRAIN else (4, 8, 14, 5)
        while True:
            state = self.initial_state((robots, foods, size, int(rng.integers(2**31))))
            pairs = list(combinations(state.of_type(ROBOT), 2))
            possible = [
                food
                for food in state.of_type(FOOD)
                if any(_strong_enough(state, (*pair, food)) for pair in pairs)
            ]
            if len(possible) >= wanted:
                return Task(state, frozenset(COLLECTED(food) for food in possible[:wanted]))

    def demonstrate(self, task: Task, rng: np.random.Generator) -> Generator[GroundController, State, None]:
        """Collect one food after the other, with one robot if possible."""
        state = task.initial_state
        robots = state.of_type(ROBOT)
        for atom in sorted(task.goal):
            (food,) = atom.objects
            teams = [(robot,) for robot in robots] + list(combinations(robots, 2))
            team = next(one for one in teams if _strong_enough(state, (*one, food)))
            for robot in team:
                while not _beside(state, (robot, food)):
                    state = yield GO_TO(robot, food, parameters=_random_side(rng))
            controller = COLLECT if len(team) == 1 else COLLECT_TOGETHER
            state = yield controller(*team, food)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw robots as squares and food as circles, with their levels."""
        for obj in state:
            row, column = _cell(state, obj)
            if obj.type == ROBOT or not _collected(state, (obj,)):
                colour, marker = ("tab:blue", "s") if obj.type == ROBOT else ("tab:green", "o")
                axes.scatter(column, -row, s=200, color=colour, marker=marker)
                axes.text(column, -row, f"{state.get(obj, 'level'):.0f}", ha="center", va="center")


class ForagingWithOracle(Foraging):
    """The same environment with hand-written operators, which also solve the test tasks."""

    name = "foraging-with-oracle"

    def oracle_model(self) -> PlanningModel:
        """Return one operator per controller."""
        robot, other, food = (
            needful.Variable("?robot", ROBOT),
            needful.Variable("?other", ROBOT),
            needful.Variable("?food", FOOD),
        )
        beside, collected = BESIDE.lifted(robot, food), COLLECTED.lifted(food)
        anywhere = needful.DeletePattern(BESIDE, (robot, needful.Wildcard(FOOD)))
        operators = (
            needful.oracle_operator(
                "GoTo", (robot, food), (GO_TO, (robot, food)), adds=[beside], forgets=[anywhere]
            ),
            needful.oracle_operator(
                "Collect",
                (robot, food),
                (COLLECT, (robot, food)),
                needs=[beside, STRONG.lifted(robot, food)],
                adds=[collected],
            ),
            needful.oracle_operator(
                "CollectTogether",
                (robot, other, food),
                (COLLECT_TOGETHER, (robot, other, food)),
                needs=[beside, BESIDE.lifted(other, food), STRONG_TOGETHER.lifted(robot, other, food)],
                adds=[collected],
            ),
        )
        return PlanningModel(self.vocabulary, operators, {"GoTo": SideSampler()})


class SideSampler:
    """Samples a side of a food."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        """Return any side."""
        return _random_side(rng)


def _random_side(rng: np.random.Generator) -> list[float]:
    return [float(value) for value in rng.uniform(GO_TO.low, GO_TO.high)]


if __name__ == "__main__":
    environment = Foraging()
    result = needful.run(environment, needful.RunConfig(demos=30, tasks=20))
    assert isinstance(result.learned, needful.LearnedModel)
    print(*result.learned.model.operators, sep="\n\n")
    print(f"Solved {result.summary['solved']} of {result.summary['tasks']} unseen tasks.")
    print(environment.simulator_calls)
