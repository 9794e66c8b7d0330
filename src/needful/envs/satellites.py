"""Satellites and Cluttered Satellites: satellites with instruments take readings of objects.

A satellite or object that is near the line of sight of another satellite blocks this line. So the move of
one satellite can change what other satellites see.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from needful.core.atoms import AbstractState, LiftedAtom, Predicate
from needful.core.controllers import Controller, GroundController, Parameters
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split, oracle_operator
from needful.envs.drawing import palette
from needful.envs.drawing.palette import draw_legend
from needful.errors import UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

RADIUS, PADDING = 0.02, 0.05
VIEW_ANGLE, VIEW_SIDE = math.pi / 4, 0.3
VIEW_REACH = VIEW_SIDE * math.cos(VIEW_ANGLE / 2)
CLEARANCE = 2 * RADIUS
ID_TOLERANCE, NO_READING = 1e-3, -1.0

# A satellite has an instrument if its feature `instrument` lies in the instrument's range, ends excluded.
CAMERA, INFRARED, GEIGER = (0.0, 0.33), (0.33, 0.66), (0.66, 1.0)

# The sampler of the oracle model draws positions whose distance to the object lies between these two.
NEAREST, FARTHEST = 0.08, 0.26

# In pictures, names are written at these distances from the centres of satellites and objects.
LABEL_OFFSET_X, LABEL_OFFSET_Y = 0.062, 0.045
VIEW_ALPHA = 0.2
LEGEND = {
    palette.RED: "not calibrated",
    palette.BLUE: "calibrated",
    palette.GREEN: "has a reading",
    palette.GOLD: "to be read",
    palette.blend(palette.WHITE, palette.PURPLE, VIEW_ALPHA): "field of view",
}

Point: TypeAlias = tuple[float, float]

# Which entities (satellites and objects) hide an object from a satellite. With "line", these are all
# entities near the infinite line through both; with "segment", only those near the segment between both.
Occlusion: TypeAlias = Literal["line", "segment"]

SATELLITE = Type(
    "satellite",
    (
        *("x", "y", "theta", "instrument", "calibration_obj_id"),
        *("is_calibrated", "read_obj_id", "shoots_chem_x", "shoots_chem_y"),
    ),
)
OBJECT = Type("object", ("id", "x", "y", "has_chem_x", "has_chem_y"))


def _position(state: State, entity: Object) -> Point:
    start = entity.type.features.index("x")  # in both types, the feature y comes after x
    x, y = state[entity][start : start + 2]
    return x, y


def _in_view(satellite: Point, theta: float, point: Point) -> bool:
    """Return whether `point` lies in the view triangle of a satellite that faces the direction `theta`."""
    dx, dy = point[0] - satellite[0], point[1] - satellite[1]
    ahead = dx * math.cos(theta) + dy * math.sin(theta)
    sideways = dy * math.cos(theta) - dx * math.sin(theta)
    return ahead <= VIEW_REACH and abs(sideways) <= ahead * math.tan(VIEW_ANGLE / 2)


def _hides(entity: Point, satellite: Point, target: Point, occlusion: Occlusion) -> bool:
    """Return whether an entity hides the target from the satellite.

    An entity hides the target if it is nearer than `CLEARANCE` to the line or segment through satellite and
    target (see `Occlusion`). The first three arguments are positions.
    """
    sight_x, sight_y = target[0] - satellite[0], target[1] - satellite[1]
    dx, dy = entity[0] - satellite[0], entity[1] - satellite[1]
    length = math.hypot(sight_x, sight_y)
    if occlusion == "segment":
        along = dx * sight_x + dy * sight_y
        if along < 0.0:
            return math.dist(entity, satellite) < CLEARANCE
        if along > length**2:
            return math.dist(entity, target) < CLEARANCE
    return abs(dx * sight_y - dy * sight_x) < CLEARANCE * length


def _sees(state: State, objects: Sequence[Object], occlusion: Occlusion) -> bool:
    satellite, target = objects
    start, end = _position(state, satellite), _position(state, target)
    # For speed, test `entity not in objects` last: `_hides` is true for few entities.
    return _in_view(start, state.get(satellite, "theta"), end) and not any(
        _hides(_position(state, entity), start, end, occlusion) and entity not in objects
        for entity in state
    )


def _has_id(state: State, target: Object, number: float) -> bool:
    return abs(number - state.get(target, "id")) < ID_TOLERANCE


def _calibration_target(state: State, objects: Sequence[Object]) -> bool:
    satellite, target = objects
    return _has_id(state, target, state.get(satellite, "calibration_obj_id"))


def _is_set(state: State, objects: Sequence[Object], flag: str) -> bool:
    (entity,) = objects
    return state.get(entity, flag) > 0.5


def _has_instrument(state: State, objects: Sequence[Object], kind: tuple[float, float]) -> bool:
    (satellite,) = objects
    low, high = kind
    return low < state.get(satellite, "instrument") < high


def _reading_taken(state: State, objects: Sequence[Object], kind: tuple[float, float]) -> bool:
    satellite, target = objects
    reading = state.get(satellite, "read_obj_id")
    return _has_instrument(state, (satellite,), kind) and _has_id(state, target, reading)


CALIBRATION_TARGET = Predicate("CalibrationTarget", (SATELLITE, OBJECT), _calibration_target)
IS_CALIBRATED = Predicate("IsCalibrated", (SATELLITE,), partial(_is_set, flag="is_calibrated"))
SHOOTS_CHEM_X = Predicate("ShootsChemX", (SATELLITE,), partial(_is_set, flag="shoots_chem_x"))
SHOOTS_CHEM_Y = Predicate("ShootsChemY", (SATELLITE,), partial(_is_set, flag="shoots_chem_y"))
HAS_CHEM_X = Predicate("HasChemX", (OBJECT,), partial(_is_set, flag="has_chem_x"))
HAS_CHEM_Y = Predicate("HasChemY", (OBJECT,), partial(_is_set, flag="has_chem_y"))
HAS_CAMERA = Predicate("HasCamera", (SATELLITE,), partial(_has_instrument, kind=CAMERA))
HAS_INFRARED = Predicate("HasInfrared", (SATELLITE,), partial(_has_instrument, kind=INFRARED))
HAS_GEIGER = Predicate("HasGeiger", (SATELLITE,), partial(_has_instrument, kind=GEIGER))
CAMERA_READING_TAKEN = Predicate(
    "CameraReadingTaken", (SATELLITE, OBJECT), partial(_reading_taken, kind=CAMERA)
)
INFRARED_READING_TAKEN = Predicate(
    "InfraredReadingTaken", (SATELLITE, OBJECT), partial(_reading_taken, kind=INFRARED)
)
GEIGER_READING_TAKEN = Predicate(
    "GeigerReadingTaken", (SATELLITE, OBJECT), partial(_reading_taken, kind=GEIGER)
)
READINGS = (
    (HAS_CAMERA, CAMERA_READING_TAKEN),
    (HAS_INFRARED, INFRARED_READING_TAKEN),
    (HAS_GEIGER, GEIGER_READING_TAKEN),
)

MOVE_TO = Controller("MoveTo", (SATELLITE, OBJECT), low=(0.0, 0.0), high=(1.0, 1.0))
CALIBRATE = Controller("Calibrate", (SATELLITE, OBJECT))
SHOOT_CHEM_X = Controller("ShootChemX", (SATELLITE, OBJECT))
SHOOT_CHEM_Y = Controller("ShootChemY", (SATELLITE, OBJECT))
USE_INSTRUMENT = Controller("UseInstrument", (SATELLITE, OBJECT))


class Satellites(Environment):
    """The Satellites domain: several satellites and one object.

    Args:
        occlusion: which satellites and objects hide an object from a satellite. With "line", as published,
            everything near the infinite line through satellite and object hides the object, even behind the
            satellite or beyond the object. With "segment", only what is near the segment between the two
            hides the object, so tasks are easier.

    Attributes:
        sees: the predicate Sees(satellite, object), which depends on the occlusion.
    """

    name = "satellites"
    description = "Satellites help each other to take readings of an object and hide it from each other."
    picture_size = (5.0, 5.0)
    satellite_counts: ClassVar[Mapping[Split, Sequence[int]]] = {Split.TRAIN: (2, 3), Split.TEST: (3, 4)}
    object_counts: ClassVar[Mapping[Split, Sequence[int]]] = {Split.TRAIN: (1,), Split.TEST: (1,)}

    def __init__(self, occlusion: Occlusion = "line") -> None:
        if occlusion not in get_args(Occlusion):
            raise UnknownNameError("occlusion", occlusion, get_args(Occlusion))
        self.sees = Predicate("Sees", (SATELLITE, OBJECT), partial(_sees, occlusion=occlusion))
        self.vocabulary = Vocabulary(
            (SATELLITE, OBJECT),
            (
                *(self.sees, CALIBRATION_TARGET, IS_CALIBRATED),
                *(SHOOTS_CHEM_X, SHOOTS_CHEM_Y, HAS_CHEM_X, HAS_CHEM_Y),
                *(predicate for pair in READINGS for predicate in pair),
            ),
            (MOVE_TO, CALIBRATE, SHOOT_CHEM_X, SHOOT_CHEM_Y, USE_INSTRUMENT),
        )

    def simulate(self, state: State, action: GroundController) -> State:
        """Move or calibrate a satellite, shoot a chemical at an object, or take a reading of an object.

        Every action except a move has an effect only if the satellite sees the object.
        """
        satellite, target = action.objects
        match action.controller.name:
            case "MoveTo":
                return _move_to(state, satellite, target, action.parameters)
            case "Calibrate":
                able = CALIBRATION_TARGET.holds(state, (satellite, target))
                effect = {satellite: {"is_calibrated": 1.0}}
            case "ShootChemX":
                able = SHOOTS_CHEM_X.holds(state, (satellite,))
                effect = {target: {"has_chem_x": 1.0}}
            case "ShootChemY":
                able = SHOOTS_CHEM_Y.holds(state, (satellite,))
                effect = {target: {"has_chem_y": 1.0}}
            case "UseInstrument":
                able = _can_read(state, satellite, target)
                effect = {satellite: {"read_obj_id": state.get(target, "id")}}
            case unknown:
                known = (controller.name for controller in self.vocabulary.controllers)
                raise UnknownNameError(f"controller of {self.name}", unknown, known)
        return state.replace(effect) if able and self.sees.holds(state, (satellite, target)) else state

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample satellites and objects; each satellite's goal is a reading of one random object."""
        satellites = [SATELLITE(f"sat{n}") for n in range(rng.choice(self.satellite_counts[split]))]
        targets = [OBJECT(f"obj{n}") for n in range(rng.choice(self.object_counts[split]))]
        positions = _sample_positions(len(satellites) + len(targets), rng)
        shoots_x, shoots_y = (_sample_shooters(len(satellites), rng) for _ in "xy")
        vectors: dict[Object, Sequence[float]] = {}
        for number, satellite in enumerate(satellites):
            sensors = (rng.uniform(-math.pi, math.pi), rng.uniform(), float(rng.integers(len(targets))))
            shoots = (shoots_x[number], shoots_y[number])
            vectors[satellite] = (*positions.pop(), *sensors, 0.0, NO_READING, *shoots)
        for number, target in enumerate(targets):
            vectors[target] = (number, *positions.pop(), 0.0, 0.0)
        state = State(vectors)
        goal = (
            taken(satellite, targets[rng.integers(len(targets))])
            for satellite in satellites
            for has_instrument, taken in READINGS
            if has_instrument.holds(state, (satellite,))
        )
        return Task(state, frozenset(goal))

    def oracle_model(self) -> PlanningModel:
        """Return a model with seven operators.

        MoveTo predicts that the satellite sees the object. It predicts no other atoms of Sees, because the
        move may block or clear any line of sight.
        """
        satellite, target = Variable("?satellite", SATELLITE), Variable("?object", OBJECT)
        pair = (satellite, target)
        sees = self.sees.lifted(*pair)
        calibrated = IS_CALIBRATED.lifted(satellite)
        has_x, has_y = HAS_CHEM_X.lifted(target), HAS_CHEM_Y.lifted(target)

        def seeing(
            name: str, controller: Controller, needs: Sequence[LiftedAtom], adds: LiftedAtom
        ) -> Operator:
            return oracle_operator(name, pair, (controller, pair), needs=[sees, *needs], adds=[adds])

        def reading(name: str, needs: Sequence[LiftedAtom], taken: Predicate) -> Operator:
            return seeing(name, USE_INSTRUMENT, [calibrated, *needs], taken.lifted(*pair))

        move_to = oracle_operator("MoveTo", pair, (MOVE_TO, pair), adds=[sees], forgets=[self.sees])
        operators = (
            move_to,
            seeing("Calibrate", CALIBRATE, [CALIBRATION_TARGET.lifted(*pair)], calibrated),
            seeing("ShootChemX", SHOOT_CHEM_X, [SHOOTS_CHEM_X.lifted(satellite)], has_x),
            seeing("ShootChemY", SHOOT_CHEM_Y, [SHOOTS_CHEM_Y.lifted(satellite)], has_y),
            reading("CameraReading", [HAS_CAMERA.lifted(satellite), has_x], CAMERA_READING_TAKEN),
            reading("InfraredReading", [HAS_INFRARED.lifted(satellite), has_y], INFRARED_READING_TAKEN),
            reading("GeigerReading", [HAS_GEIGER.lifted(satellite)], GEIGER_READING_TAKEN),
        )
        return PlanningModel(self.vocabulary, operators, {"MoveTo": NearTargetSampler()})

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw satellites with their view triangles, and objects with their chemicals.

        A satellite is red before calibration, blue after it, and green once it has a reading. A dotted
        line connects each satellite to the object that it must still read.
        """
        from matplotlib.patches import Rectangle

        axes.set(xlim=(-0.08, 1.08), ylim=(-0.1, 1.06), aspect="equal")
        axes.axis("off")
        frame = axes.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor=palette.LIGHT_GREY))
        for atom in sorted(goal):
            if not atom.holds(state):
                ends = zip(*(_position(state, obj) for obj in atom.objects), strict=True)
                axes.plot(*ends, color=palette.GOLD, linewidth=1.2, linestyle=":", zorder=1)
        for satellite in state.of_type(SATELLITE):
            _draw_satellite(state, axes, satellite).set_clip_path(frame)
        for target in state.of_type(OBJECT):
            _draw_object(state, axes, target)
        draw_legend(axes, LEGEND)


class ClutteredSatellites(Satellites):
    """The Cluttered Satellites domain: several satellites and several objects."""

    name = "cluttered-satellites"
    description = (
        "Satellites take readings of some of several objects; satellites and objects hide each other."
    )
    object_counts: ClassVar[Mapping[Split, Sequence[int]]] = {Split.TRAIN: (3, 4), Split.TEST: (4, 5)}


def _move_to(state: State, satellite: Object, target: Object, position: Parameters) -> State:
    """Move a satellite to a position at once, and turn it to the target.

    Nothing happens if a satellite or an object is nearer to the position than `CLEARANCE`. This includes
    the moving satellite itself, so it cannot move by less than `CLEARANCE`.
    """
    x, y = position
    if any(math.dist((x, y), _position(state, entity)) < CLEARANCE for entity in state):
        return state
    target_x, target_y = _position(state, target)
    return state.replace({satellite: {"x": x, "y": y, "theta": math.atan2(target_y - y, target_x - x)}})


def _can_read(state: State, satellite: Object, target: Object) -> bool:
    """Return whether a satellite is calibrated, and its target has the chemical for the instrument."""
    lacks_x = HAS_CAMERA.holds(state, (satellite,)) and not HAS_CHEM_X.holds(state, (target,))
    lacks_y = HAS_INFRARED.holds(state, (satellite,)) and not HAS_CHEM_Y.holds(state, (target,))
    return IS_CALIBRATED.holds(state, (satellite,)) and not (lacks_x or lacks_y)


def _sample_positions(count: int, rng: np.random.Generator) -> list[Point]:
    """Sample `count` positions in the unit square that keep a minimum distance from each other."""
    positions: list[Point] = []
    while len(positions) < count:
        x, y = rng.uniform(size=2)
        if all(math.dist((x, y), other) >= 2 * (RADIUS + PADDING) for other in positions):
            positions.append((x, y))
    return positions


def _sample_shooters(count: int, rng: np.random.Generator) -> list[float]:
    """Sample which of `count` satellites can shoot a chemical (1.0) or not (0.0); at least one can."""
    shooters = [float(rng.integers(2)) for _ in range(count)]
    if not any(shooters):
        shooters[rng.integers(count)] = 1.0
    return shooters


@dataclass(frozen=True, slots=True)
class NearTargetSampler:
    """Samples a position in a ring around an operator's second object, clipped to the unit square."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the coordinates of a random position near `objects[1]`."""
        (x, y), distance = _position(state, objects[1]), rng.uniform(NEAREST, FARTHEST)
        angle = rng.uniform(-math.pi, math.pi)
        return MOVE_TO.clip((x + distance * math.cos(angle), y + distance * math.sin(angle)))


def _draw_satellite(state: State, axes: Axes, satellite: Object) -> Patch:
    """Draw a satellite with its name and the initial of its instrument; return its view triangle."""
    from matplotlib.patches import Circle, Polygon

    (x, y), theta = _position(state, satellite), state.get(satellite, "theta")
    colour = palette.BLUE if IS_CALIBRATED.holds(state, (satellite,)) else palette.RED
    if state.get(satellite, "read_obj_id") != NO_READING:
        colour = palette.GREEN
    axes.add_patch(Circle((x, y), RADIUS, facecolor=colour, edgecolor=palette.WHITE, zorder=3))
    kinds = zip("CIG", READINGS, strict=True)
    initials = "".join(letter for letter, (has, _) in kinds if has.holds(state, (satellite,)))
    _write(axes, (x, y), initials, palette.WHITE, "bold")
    behind = (x - LABEL_OFFSET_X * math.cos(theta), y - LABEL_OFFSET_Y * math.sin(theta))
    _write(axes, behind, satellite.name, colour)
    edges = (theta - VIEW_ANGLE / 2, theta + VIEW_ANGLE / 2)
    corners = [(x + VIEW_SIDE * math.cos(edge), y + VIEW_SIDE * math.sin(edge)) for edge in edges]
    return axes.add_patch(Polygon([(x, y), *corners], facecolor=palette.PURPLE, alpha=VIEW_ALPHA, zorder=0))


def _draw_object(state: State, axes: Axes, target: Object) -> None:
    """Draw an object with its name below it and its chemicals above."""
    from matplotlib.patches import Circle

    x, y = _position(state, target)
    axes.add_patch(Circle((x, y), RADIUS, color=palette.DARK_GREY, zorder=3))
    pairs = (("X", HAS_CHEM_X), ("Y", HAS_CHEM_Y))
    chemicals = "/".join(letter for letter, has in pairs if has.holds(state, (target,)))
    _write(axes, (x, y + LABEL_OFFSET_Y), chemicals, palette.DARK_GREY, "bold")
    _write(axes, (x, y - LABEL_OFFSET_Y), target.name, palette.DARK_GREY)


def _write(axes: Axes, position: Point, text: str, colour: str, weight: str = "normal") -> None:
    axes.text(
        *position, text, color=colour, fontweight=weight, fontsize=7, ha="center", va="center", zorder=4
    )
