"""The household domains: BEHAVIOR activities in procedural houses; all domains share one vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.controllers import Controller, GroundController, Parameters
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.envs.household.oracle import make_oracle
from needful.envs.household.scene.activities import ACTIVITIES, ActivityDefinition, Literal
from needful.envs.household.scene.categories import CATEGORIES
from needful.envs.household.scene.furnishing import NoPlaceError
from needful.envs.household.scene.scene import FLOOR, HOUSE, OBJ, ROBOT, ROBOT_OBJECT, THING, Scene, type_of
from needful.envs.household.simulation.world import SEED_LIMIT, SPLITS, World, WorldCache, make_house
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from needful.envs.drawing.film import Film, FilmedPlan

TYPES = (OBJ, FLOOR, THING, *(type_of(name) for name in CATEGORIES), HOUSE, ROBOT)

PREDICATES: dict[str, tuple[Type, ...]] = {
    "Closed": (OBJ,),
    "HandEmpty": (),
    "Holding": (OBJ,),
    "Inside": (OBJ, OBJ),
    "NotOpenable": (OBJ,),
    "OnTop": (OBJ, OBJ),
    "Open": (OBJ,),
    "Openable": (OBJ,),
    "Reachable": (OBJ,),
    "ReachableNothing": (),
}

# The lower and upper bounds of each controller's parameters. The parameters are an offset in metres from
# the target object (Open and Close: from its handle), in a frame that is rotated by the target's yaw.
CONTROLLERS: dict[str, tuple[Parameters, Parameters]] = {
    "NavigateTo": ((-2.5, -2.5), (2.5, 2.5)),
    "Grasp": ((-0.2, -0.2, 0.0), (0.2, 0.2, 0.4)),
    "PlaceOnTop": ((-1.2, -1.2, 0.0), (1.2, 1.2, 2.0)),
    "PlaceInside": ((-0.3, -0.3, 0.0), (0.3, 0.3, 0.8)),
    "Open": ((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)),
    "Close": ((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)),
}

# Activities are defined by literals in BDDL, the language of BEHAVIOR. This dictionary maps the predicate
# and the sign of a BDDL literal (False if it is negated) to a name in `PREDICATES`.
LITERAL_PREDICATES = {
    ("inside", True): "Inside",
    ("ontop", True): "OnTop",
    ("open", False): "Closed",
    ("open", True): "Open",
}

MAX_HOUSES = 100


def make_vocabulary(worlds: WorldCache) -> Vocabulary:
    """Return the vocabulary of the household domains.

    `worlds` provides the simulator of the house of a state. The classifiers of the predicates and the
    initiation tests of the controllers query this simulator.
    """
    return Vocabulary(
        TYPES,
        tuple(
            Predicate(name, types, _Classifier(worlds, name), _Extension(worlds, name))
            for name, types in PREDICATES.items()
        ),
        tuple(
            Controller(name, (OBJ,), low, high, _InitiationTest(worlds, name))
            for name, (low, high) in CONTROLLERS.items()
        ),
    )


@dataclass(frozen=True, slots=True)
class _Classifier:
    worlds: WorldCache
    name: str

    def __call__(self, state: State, objects: Sequence[Object]) -> bool:
        return self.worlds.of(state).holds(state, self.name, tuple(objects))


@dataclass(frozen=True, slots=True)
class _Extension:
    worlds: WorldCache
    name: str

    def __call__(self, state: State) -> Iterable[tuple[Object, ...]]:
        return self.worlds.of(state).extension(state, self.name)


@dataclass(frozen=True, slots=True)
class _InitiationTest:
    worlds: WorldCache
    name: str

    def __call__(self, state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
        return self.rejection_reason(state, objects, parameters) is None

    def rejection_reason(
        self, state: State, objects: Sequence[Object], parameters: Parameters
    ) -> str | None:
        return self.worlds.of(state).start_failure(state, self.name, objects[0], parameters)


class Household(Environment):
    """The base class of the household domains: an activity in procedural houses, simulated by MuJoCo."""

    picture_size = (8.0, 6.0)
    size_sample_count = 5  # a small number, because sampling a task takes 0.1 s

    def __init__(self) -> None:
        self._worlds = WorldCache()
        self.vocabulary = make_vocabulary(self._worlds)
        self._predicates = {predicate.name: predicate for predicate in self.vocabulary.predicates}

    def simulate(self, state: State, action: GroundController) -> State:
        """Run a controller and return the state after it; raise `EnvironmentFailure` if it fails."""
        world = self._worlds.of(state)
        return world.run(state, action.controller.name, action.objects[0], action.parameters)

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample houses until one fits the activity, and return the task in this house.

        A house fits if it has room for all objects of the activity, and if `task_in` does not reject it.
        Raises `NoPlaceError` with the most common reasons if none of 100 houses fits.
        """
        activity = [one.name for one in ACTIVITIES].index(self.name)
        reasons: Counter[str] = Counter()
        for _ in range(MAX_HOUSES):
            identity = (float(activity), float(SPLITS.index(split)), float(rng.integers(SEED_LIMIT)))
            try:
                return self.task_in(*make_house(identity))
            except NoPlaceError as error:
                reasons[str(error)] += 1
        listed = " ".join(reason for reason, _ in reasons.most_common(3))
        raise NoPlaceError(f"None of {MAX_HOUSES} houses fits {self.name}. Most common reasons: {listed}")

    def task_in(self, definition: ActivityDefinition, scene: Scene) -> Task:
        """Return the task that an activity's definition describes in the house `scene`.

        The initial state is the state after all objects have come to rest. Raises `NoPlaceError` if an
        initial literal of the definition is false in this state, or if an object of the goal is within the
        robot's reach.

        The simulators of the `MAX_WORLDS` most recently used houses are kept; older ones are dropped. If
        `make_house` made the house, its simulator is rebuilt when it is needed again. If you made the house
        in another way, its simulator cannot be rebuilt, and its tasks can no longer be used.
        """
        world = World(scene)
        self._worlds.add(world)
        state = world.settled()
        self._check_start(definition, state)
        return Task(state, frozenset(self._atom(literal, state) for literal in definition.goal))

    def oracle_model(self) -> PlanningModel:
        """Return hand-written operators, with samplers that use the shapes of the furniture."""
        return make_oracle(self.vocabulary, self._worlds)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the house from above; objects of the goal have a red outline."""
        from needful.envs.household.view.picture import draw_top_view

        draw_top_view(self._worlds.of(state).model.scene, state, axes, goal)

    def film(self, result: PlanningResult, goal: AbstractState) -> Film:
        """Return a film of a planning result, in which the camera looks obliquely from above.

        Rendering needs OpenGL.
        """
        from needful.envs.household.view.film import film_house

        world = self._worlds.of(result.states[0])
        return film_house(world, result, goal, self.vocabulary.predicates)

    def film_3d(self, plan: FilmedPlan, max_keyframes: int) -> dict[str, Any]:
        """Return the data of a 3D film of a plan; see `Filmable`."""
        from needful.envs.household.view.film import film_house_3d

        return film_house_3d(self._worlds.of(plan.states[0]), plan, max_keyframes)

    def _atom(self, literal: Literal, state: State) -> GroundAtom:
        """Return the ground atom for a BDDL literal; raise `InvalidInputError` if no predicate fits."""
        name = LITERAL_PREDICATES.get((literal.predicate, literal.positive))
        if name is None:
            raise InvalidInputError(
                f"{self.name}: {literal} cannot be an initial atom or a goal. "
                "Use inside, ontop, open or (not (open ...))."
            )
        objects = {obj.name: obj for obj in state}
        return self._predicates[name](*(objects[argument] for argument in literal.arguments))

    def _check_start(self, definition: ActivityDefinition, state: State) -> None:
        """Raise `NoPlaceError` if the task cannot start in this state.

        All initial literals of the definition must hold, and no object of the goal may be within reach.
        """
        for literal in definition.initial:
            # Skip literals about the rooms of objects and about the robot: no predicate describes these,
            # and they stay true while objects come to rest.
            if literal.predicate == "inroom" or ROBOT_OBJECT.name in literal.arguments:
                continue
            if not self._atom(literal, state).holds(state):
                raise NoPlaceError(f"{literal} no longer holds after all things have come to rest.")
        for obj in self._goal_objects(definition, state):
            if self._predicates["Reachable"](obj).holds(state):
                raise NoPlaceError(f"{obj.name} is within reach from the start.")

    def _goal_objects(self, definition: ActivityDefinition, state: State) -> list[Object]:
        atoms = [self._atom(literal, state) for literal in definition.goal]
        return sorted({obj for atom in atoms for obj in atom.objects})


class OpeningPresents(Household):
    """The Opening Presents domain: a robot opens all packages on a bedroom floor."""

    name = "opening-presents"
    description = "A robot opens all the packages on a bedroom floor, among clutter."


class LockingWindows(Household):
    """The Locking Windows domain: a robot closes all open windows of a house."""

    name = "locking-windows"
    description = "A robot goes through a house and closes all the windows that stand open."


class CollectingCans(Household):
    """The Collecting Cans domain: a robot puts cans from the bed and the floor into a bucket."""

    name = "collecting-cans"
    description = "A robot collects cans from the bed and the floor and puts them into a bucket."


class SortingBooks(Household):
    """The Sorting Books domain: a robot carries books from the table and the floor to a shelf."""

    name = "sorting-books"
    description = "A robot carries books from the table and the floor to a shelf."
