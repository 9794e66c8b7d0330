"""Screws: a magnetic crane carries one screw to a receptacle.

Screws lie in clusters, so the magnet picks up and drops many at once. A plan needs only one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split, oracle_operator
from needful.envs.drawing import palette
from needful.envs.drawing.palette import draw_legend
from needful.errors import UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT_WALL, RIGHT_WALL = -5.0, 5.0
FLOOR, CEILING = 0.0, 5.0
GRIPPER_WIDTH = 0.5
RECEPTACLE_WIDTH = 0.6
SCREW_WIDTH = SCREW_HEIGHT = 0.05
MAGNETIC_REACH = 0.5
RECEPTACLE_POSE = (4.7, 2.5)
GRIPPER_START = (0.0, 2.5)

# The distances at which the gripper stops above the top of a screw, and above the receptacle.
ABOVE_SCREW, ABOVE_RECEPTACLE = 0.25, 0.5

CLUSTERS = 3
TRAIN_COUNTS, TEST_COUNTS = (15, 20), (25, 30)

# The magnet picks up only screws whose top is not above the gripper. The top of a held screw is exactly at
# the gripper's height, so the comparison of the heights allows rounding errors of this size.
TOP_SLACK = 1e-6

LEGEND = {
    palette.DARK_GREY: "gripper with a magnet",
    palette.GOLD: "screw of the goal",
    palette.GREY: "other screws",
    palette.GREEN: "receptacle",
}

SCREW = Type("screw", ("pose_x", "pose_y", "held"))
RECEPTACLE = Type("receptacle", ("pose_x", "pose_y"))
GRIPPER = Type("gripper", ("pose_x", "pose_y"))


def _within(inner: float, inner_width: float, outer: float, outer_width: float) -> bool:
    """Return whether the inner interval lies strictly inside the outer one.

    Each interval is given by its centre and its width. The function compares the ends of the intervals. It
    does not compare the distance of the centres with the widths, because rounding errors could then change
    the result if two ends are equal.
    """
    return (
        outer - outer_width / 2 < inner - inner_width / 2
        and inner + inner_width / 2 < outer + outer_width / 2
    )


def _is_held(state: State, screw: Object) -> bool:
    return state.get(screw, "held") > 0.5


def _gripper_can_pick_screw(state: State, objects: Sequence[Object]) -> bool:
    gripper, screw = objects
    height = state.get(gripper, "pose_y")
    top = state.get(screw, "pose_y") + SCREW_HEIGHT / 2
    in_reach = top <= height + TOP_SLACK and height - top < MAGNETIC_REACH
    return in_reach and _within(
        state.get(screw, "pose_x"), SCREW_WIDTH, state.get(gripper, "pose_x"), GRIPPER_WIDTH
    )


def _above_receptacle(state: State, objects: Sequence[Object]) -> bool:
    gripper, receptacle = objects
    higher = state.get(gripper, "pose_y") > state.get(receptacle, "pose_y")
    return higher and _within(
        state.get(gripper, "pose_x"), GRIPPER_WIDTH, state.get(receptacle, "pose_x"), RECEPTACLE_WIDTH
    )


def _holding_screw(state: State, objects: Sequence[Object]) -> bool:
    _, screw = objects
    return _is_held(state, screw)


def _screw_in_receptacle(state: State, objects: Sequence[Object]) -> bool:
    screw, receptacle = objects
    # The height of the screw is not tested: no screw lies on the floor below the receptacle.
    return not _is_held(state, screw) and _within(
        state.get(screw, "pose_x"), SCREW_WIDTH, state.get(receptacle, "pose_x"), RECEPTACLE_WIDTH
    )


CAN_PICK = Predicate("GripperCanPickScrew", (GRIPPER, SCREW), _gripper_can_pick_screw)
ABOVE = Predicate("AboveReceptacle", (GRIPPER, RECEPTACLE), _above_receptacle)
HOLDING = Predicate("HoldingScrew", (GRIPPER, SCREW), _holding_screw)
IN_RECEPTACLE = Predicate("ScrewInReceptacle", (SCREW, RECEPTACLE), _screw_in_receptacle)

MOVE_TO_SCREW = Controller("MoveToScrew", (GRIPPER, SCREW))
# The argument SCREW does not affect the motion. It shows learners for which of the held screws the gripper
# moves to the receptacle.
MOVE_TO_RECEPTACLE = Controller("MoveToReceptacle", (GRIPPER, RECEPTACLE, SCREW))
MAGNETIZE = Controller("MagnetizeGripper", (GRIPPER,))
DEMAGNETIZE = Controller("DemagnetizeGripper", (GRIPPER,))


class Screws(Environment):
    """The Screws domain: a magnetic crane carries one of many screws to a receptacle."""

    name = "screws"
    description = "A magnetic crane carries one screw to a receptacle and picks up many others on the way."
    vocabulary = Vocabulary(
        (SCREW, RECEPTACLE, GRIPPER),
        (CAN_PICK, ABOVE, HOLDING, IN_RECEPTACLE),
        (MOVE_TO_SCREW, MOVE_TO_RECEPTACLE, MAGNETIZE, DEMAGNETIZE),
    )
    picture_size = (8.0, 4.16)

    def simulate(self, state: State, action: GroundController) -> State:
        """Move the gripper, switch its magnet on or off, or do both, depending on the controller."""
        gripper = action.objects[0]
        match action.controller.name:
            case "MoveToScrew":
                x, y, _ = state[action.objects[1]]
                target = (x, y + SCREW_HEIGHT / 2 + ABOVE_SCREW)
                return _magnet_off(_move(state, gripper, target), gripper)
            case "MoveToReceptacle":
                x, y = state[action.objects[1]]
                return _magnet_on(_move(state, gripper, (x, y + ABOVE_RECEPTACLE)), gripper)
            case "MagnetizeGripper":
                return _magnet_on(state, gripper)
            case "DemagnetizeGripper":
                return _magnet_off(state, gripper)
            case unknown:
                known = (controller.name for controller in self.vocabulary.controllers)
                raise UnknownNameError(f"controller of {self.name}", unknown, known)

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample screws on the floor, left of the receptacle; the goal is one screw in the receptacle."""
        count = int(rng.choice(TRAIN_COUNTS if split is Split.TRAIN else TEST_COUNTS))
        screws = [SCREW(f"screw_{number}") for number in range(count)]
        positions = _sample_positions(count, rng)
        receptacle = RECEPTACLE("receptacle")
        vectors: dict[Object, tuple[float, ...]] = {
            GRIPPER("robby"): GRIPPER_START,
            receptacle: RECEPTACLE_POSE,
        }
        vectors |= {screw: (x, SCREW_HEIGHT / 2, 0.0) for screw, x in zip(screws, positions, strict=True)}
        wanted = screws[rng.integers(count)]
        return Task(State(vectors), frozenset({IN_RECEPTACLE(wanted, receptacle)}))

    def oracle_model(self) -> PlanningModel:
        """Return a model with four operators, without samplers: no controller has continuous parameters."""
        gripper, screw = Variable("?gripper", GRIPPER), Variable("?screw", SCREW)
        receptacle = Variable("?receptacle", RECEPTACLE)
        pair, everything = (gripper, screw), (gripper, receptacle, screw)
        can_pick, holding = CAN_PICK.lifted(*pair), HOLDING.lifted(*pair)
        above = ABOVE.lifted(gripper, receptacle)
        move_to_screw = oracle_operator(
            "MoveToScrew", pair, (MOVE_TO_SCREW, pair), adds=[can_pick], forgets=[CAN_PICK]
        )
        magnetize = oracle_operator(
            "Magnetize", pair, (MAGNETIZE, (gripper,)), needs=[can_pick], adds=[holding], forgets=[HOLDING]
        )
        move_to_receptacle = oracle_operator(
            "MoveToReceptacle",
            everything,
            (MOVE_TO_RECEPTACLE, everything),
            needs=[holding],
            adds=[above],
            forgets=[CAN_PICK],
        )
        demagnetize = oracle_operator(
            "Demagnetize",
            (gripper, screw, receptacle),
            (DEMAGNETIZE, (gripper,)),
            needs=[holding, above],
            adds=[IN_RECEPTACLE.lifted(screw, receptacle)],
            deletes=[holding],
            forgets=[HOLDING],
        )
        return PlanningModel(self.vocabulary, (move_to_screw, magnetize, move_to_receptacle, demagnetize))

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw walls, the receptacle as a green line, the gripper as a bracket, and screws as squares.

        Screws that the goal mentions are gold, each on a pale gold disc.
        """
        from matplotlib.patches import Circle, Rectangle

        axes.set(
            xlim=(LEFT_WALL - 0.1, RIGHT_WALL + 0.1), ylim=(FLOOR - 0.3, CEILING + 0.1), aspect="equal"
        )
        axes.axis("off")
        size = (RIGHT_WALL - LEFT_WALL, CEILING - FLOOR)
        axes.add_patch(Rectangle((LEFT_WALL, FLOOR), *size, fill=False, edgecolor=palette.LIGHT_GREY))
        for receptacle in state.of_type(RECEPTACLE):
            x, y = state[receptacle]
            ends = (x - RECEPTACLE_WIDTH / 2, x + RECEPTACLE_WIDTH / 2)
            axes.plot(ends, (y, y), color=palette.GREEN, linewidth=2.5, solid_capstyle="butt")
        for gripper in state.of_type(GRIPPER):
            _draw_gripper(axes, *state[gripper])
        wanted = {obj for atom in goal for obj in atom.objects if obj.type == SCREW}
        others = [screw for screw in state.of_type(SCREW) if screw not in wanted]
        _draw_screws(axes, state, others, palette.GREY, layer=3)
        _draw_screws(axes, state, sorted(wanted), palette.GOLD, layer=4)
        for screw in sorted(wanted):
            x, y, _ = state[screw]
            halo = Circle((x, y), 0.18, facecolor=palette.GOLD, edgecolor="none", alpha=0.35, zorder=1)
            axes.add_patch(halo)
        draw_legend(axes, LEGEND)


def _move(state: State, gripper: Object, target: tuple[float, float]) -> State:
    """Move the gripper and all held screws towards the target, as far as the walls allow."""
    x = min(max(target[0], LEFT_WALL + GRIPPER_WIDTH / 2), RIGHT_WALL - GRIPPER_WIDTH / 2)
    y = min(max(target[1], FLOOR), CEILING)
    dx, dy = x - state.get(gripper, "pose_x"), y - state.get(gripper, "pose_y")
    changes: dict[Object, dict[str, float]] = {gripper: {"pose_x": x, "pose_y": y}}
    for screw in state.of_type(SCREW):
        if _is_held(state, screw):
            screw_x, screw_y, _ = state[screw]
            changes[screw] = {"pose_x": screw_x + dx, "pose_y": screw_y + dy}
    return state.replace(changes)


def _magnet_on(state: State, gripper: Object) -> State:
    """Switch the magnet on: pick up every screw in the gripper's reach; held screws stay held."""
    height = state.get(gripper, "pose_y") - SCREW_HEIGHT / 2
    return state.replace(
        {
            screw: {"pose_y": height, "held": 1.0}
            for screw in state.of_type(SCREW)
            if not _is_held(state, screw) and _gripper_can_pick_screw(state, (gripper, screw))
        }
    )


def _magnet_off(state: State, gripper: Object) -> State:
    """Switch the magnet off: every held screw falls into the receptacle below, or else to the floor."""
    below = [r for r in state.of_type(RECEPTACLE) if _above_receptacle(state, (gripper, r))]
    surface = state.get(below[0], "pose_y") if below else FLOOR
    return state.replace(
        {
            screw: {"pose_y": surface + SCREW_HEIGHT / 2, "held": 0.0}
            for screw in state.of_type(SCREW)
            if _is_held(state, screw)
        }
    )


def _sample_positions(count: int, rng: np.random.Generator) -> list[float]:
    """Sample x positions of screws, in clusters; no screw overlaps others, the wall or the receptacle."""
    rightmost = RECEPTACLE_POSE[0] - RECEPTACLE_WIDTH / 2
    centres = rng.uniform(LEFT_WALL, rightmost, size=CLUSTERS)
    positions: list[float] = []
    while len(positions) < count:
        x = float(rng.normal(rng.choice(centres), 1.0))
        inside = LEFT_WALL + SCREW_WIDTH / 2 <= x <= rightmost - SCREW_WIDTH / 2
        if inside and all(abs(x - other) >= SCREW_WIDTH for other in positions):
            positions.append(x)
    return positions


def _draw_gripper(axes: Axes, x: float, y: float) -> None:
    """Draw the gripper at (x, y) as a bracket that hangs from the ceiling and opens downwards."""
    left, right, prongs = x - GRIPPER_WIDTH / 2, x + GRIPPER_WIDTH / 2, y - 0.12
    axes.plot((x, x), (y, CEILING), color=palette.LIGHT_GREY, linewidth=1.0, zorder=1)
    axes.plot(
        (left, left, right, right), (prongs, y, y, prongs), color=palette.DARK_GREY, linewidth=2.0, zorder=2
    )


def _draw_screws(axes: Axes, state: State, screws: Sequence[Object], colour: str, layer: int) -> None:
    """Draw screws to scale as squares, in one collection: dozens of separate patches would be slow."""
    from matplotlib.collections import PolyCollection

    width, height = SCREW_WIDTH / 2, SCREW_HEIGHT / 2
    squares = [
        [(x - width, y - height), (x + width, y - height), (x + width, y + height), (x - width, y + height)]
        for x, y, _ in (state[screw] for screw in screws)
    ]
    axes.add_collection(PolyCollection(squares, color=colour, linewidths=1.0, zorder=layer), autolim=False)
