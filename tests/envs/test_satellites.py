"""Tests of both Satellites domains: predicates, controllers, tasks and the oracle."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from envs.operator_rows import rows_of
from envs.satellite_skies import CAMERA, GEIGER, INFRARED, OBJ0, OBJ1, SAT0, SEEN, UNSEEN, Sat, sky
from needful.abstraction import abstract
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.envs.contract import Split
from needful.envs.satellites import (
    CALIBRATE,
    CALIBRATION_TARGET,
    CAMERA_READING_TAKEN,
    GEIGER_READING_TAKEN,
    HAS_CAMERA,
    HAS_GEIGER,
    HAS_INFRARED,
    INFRARED_READING_TAKEN,
    IS_CALIBRATED,
    MOVE_TO,
    OBJECT,
    SATELLITE,
    SHOOT_CHEM_X,
    SHOOT_CHEM_Y,
    USE_INSTRUMENT,
    ClutteredSatellites,
    Satellites,
)
from needful.errors import UnknownNameError

LINE, SEGMENT = Satellites(), Satellites("segment")


# Predicates


@pytest.mark.parametrize(
    ("instrument", "kind"),
    [
        (0.0, None),
        (0.01, HAS_CAMERA),
        (0.329, HAS_CAMERA),
        (0.33, None),
        (0.331, HAS_INFRARED),
        (0.66, None),
        (0.661, HAS_GEIGER),
        (0.999, HAS_GEIGER),
        (1.0, None),
    ],
)
def test_instruments_are_open_ranges(instrument: float, kind: Predicate | None) -> None:
    state = sky([Sat(instrument=instrument)], [SEEN])
    found = [has for has in (HAS_CAMERA, HAS_INFRARED, HAS_GEIGER) if has(SAT0).holds(state)]
    assert found == ([] if kind is None else [kind])


@pytest.mark.parametrize(
    ("instrument", "taken"),
    [
        (CAMERA, CAMERA_READING_TAKEN),
        (INFRARED, INFRARED_READING_TAKEN),
        (GEIGER, GEIGER_READING_TAKEN),
    ],
)
@pytest.mark.parametrize("off", [0.0, 9e-4, 2e-3])
def test_a_reading_is_of_the_instrument_that_took_it(
    instrument: float, taken: Predicate, off: float
) -> None:
    state = sky([Sat(instrument=instrument, reading=1.0 + off, target=1.0 - off)], [UNSEEN, (0.9, 0.9)])
    kinds = (CAMERA_READING_TAKEN, INFRARED_READING_TAKEN, GEIGER_READING_TAKEN)
    readings = {taken(SAT0, OBJ1)} if off < 1e-3 else set()
    assert abstract(state, kinds) == readings
    targets = {CALIBRATION_TARGET(SAT0, OBJ1)} if off < 1e-3 else set()
    assert abstract(state, [CALIBRATION_TARGET]) == targets


# Controllers


@pytest.mark.parametrize(
    ("position", "theta"),
    [
        ((0.2, 0.9), -math.pi / 2),
        ((0.6, 0.2), math.pi),
        ((0.1, 0.1), math.pi / 4),
        ((0.5, 0.3), math.atan(1 / 3) - math.pi),
    ],
)
@pytest.mark.parametrize("env", [LINE, SEGMENT])
def test_moving_jumps_and_faces_the_object(
    env: Satellites, position: tuple[float, float], theta: float
) -> None:
    state = sky([Sat(theta=1.0)], [(0.7, 0.5), (0.2, 0.2)])
    after = env.simulate(state, MOVE_TO(SAT0, OBJ1, parameters=position))
    assert after.get(SAT0, "theta") == pytest.approx(theta, abs=1e-4)
    assert after == state.replace(
        {SAT0: {"x": position[0], "y": position[1], "theta": after.get(SAT0, "theta")}}
    )


def test_a_move_may_end_without_sight() -> None:
    after = LINE.simulate(sky([Sat()], [(0.2, 0.2)]), MOVE_TO(SAT0, OBJ0, parameters=(0.2, 0.9)))
    assert not LINE.sees(SAT0, OBJ0).holds(after)


@pytest.mark.parametrize("blocker", [(0.2, 0.2), (0.8, 0.8), (0.5, 0.5)])
@pytest.mark.parametrize(("distance", "free"), [(0.0, False), (0.0399, False), (0.0401, True)])
def test_a_move_too_close_to_an_entity_changes_nothing(
    blocker: tuple[float, float], distance: float, free: bool
) -> None:
    state = sky([Sat(), Sat(0.8, 0.8)], [(0.2, 0.2)])
    position = (blocker[0] + distance * 0.6, blocker[1] - distance * 0.8)
    after = LINE.simulate(state, MOVE_TO(SAT0, OBJ0, parameters=position))
    assert (after != state) is free


def test_a_move_to_the_current_position_changes_nothing() -> None:
    state = sky([Sat(theta=2.0)], [SEEN])
    assert LINE.simulate(state, MOVE_TO(SAT0, OBJ0, parameters=(0.5, 0.5))) == state


@pytest.mark.parametrize("position", [SEEN, UNSEEN])
@pytest.mark.parametrize("target", [0.0, 1.0])
def test_calibrating_needs_the_right_object_in_sight(position: tuple[float, float], target: float) -> None:
    state = sky([Sat(target=target)], [position, (0.1, 0.9)])
    after = LINE.simulate(state, CALIBRATE(SAT0, OBJ0))
    works = position == SEEN and target == 0.0
    assert after == (state.replace({SAT0: {"is_calibrated": 1.0}}) if works else state)


@pytest.mark.parametrize("position", [SEEN, UNSEEN])
@pytest.mark.parametrize("able", [0.0, 1.0])
@pytest.mark.parametrize(
    ("shoot", "ability", "effect"),
    [(SHOOT_CHEM_X, "shoots_chem_x", "has_chem_x"), (SHOOT_CHEM_Y, "shoots_chem_y", "has_chem_y")],
)
def test_shooting_needs_the_ability_and_the_object_in_sight(
    position: tuple[float, float], able: float, shoot: Controller, ability: str, effect: str
) -> None:
    other = {"shoots_chem_x", "shoots_chem_y"} - {ability}
    state = sky([Sat()], [position]).replace({SAT0: {ability: able} | dict.fromkeys(other, 1.0 - able)})
    after = LINE.simulate(state, shoot(SAT0, OBJ0))
    works = position == SEEN and able == 1.0
    assert after == (state.replace({OBJ0: {effect: 1.0}}) if works else state)


@pytest.mark.parametrize("instrument", [CAMERA, INFRARED, GEIGER])
@pytest.mark.parametrize("calibrated", [0.0, 1.0])
@pytest.mark.parametrize("chemicals", list(itertools.product([0.0, 1.0], repeat=2)))
@pytest.mark.parametrize("position", [SEEN, UNSEEN])
def test_a_reading_needs_sight_calibration_and_the_right_chemical(
    instrument: float, calibrated: float, chemicals: tuple[float, float], position: tuple[float, float]
) -> None:
    state = sky([Sat(instrument=instrument, calibrated=calibrated)], [(*position, *chemicals)])
    prepared = {CAMERA: chemicals[0], INFRARED: chemicals[1], GEIGER: 1.0}[instrument]
    works = position == SEEN and calibrated == 1.0 and prepared == 1.0
    after = LINE.simulate(state, USE_INSTRUMENT(SAT0, OBJ0))
    assert after == (state.replace({SAT0: {"read_obj_id": 0.0}}) if works else state)


def test_a_new_reading_overwrites_the_old_one() -> None:
    state = sky([Sat(calibrated=1.0, reading=1.0)], [SEEN, (0.1, 0.9)])
    assert GEIGER_READING_TAKEN(SAT0, OBJ1).holds(state)
    after = LINE.simulate(state, USE_INSTRUMENT(SAT0, OBJ0))
    assert abstract(after, [GEIGER_READING_TAKEN]) == {GEIGER_READING_TAKEN(SAT0, OBJ0)}


def test_controllers_use_the_occlusion_of_the_domain() -> None:
    state = sky([Sat()], [SEEN, (0.4, 0.5)])
    assert LINE.simulate(state, CALIBRATE(SAT0, OBJ0)) == state
    assert IS_CALIBRATED(SAT0).holds(SEGMENT.simulate(state, CALIBRATE(SAT0, OBJ0)))


def test_an_unknown_controller_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'MoveTo'"):
        LINE.simulate(sky([Sat()], [SEEN]), Controller("MoveT", (SATELLITE, OBJECT))(SAT0, OBJ0))


# Tasks


@pytest.mark.parametrize(
    ("env", "split", "satellites", "objects"),
    [
        (Satellites(), Split.TRAIN, {2, 3}, {1}),
        (Satellites(), Split.TEST, {3, 4}, {1}),
        (ClutteredSatellites(), Split.TRAIN, {2, 3}, {3, 4}),
        (ClutteredSatellites(), Split.TEST, {3, 4}, {4, 5}),
    ],
)
def test_the_distribution_of_tasks(
    env: Satellites, split: Split, satellites: set[int], objects: set[int]
) -> None:
    seen: Counter[str] = Counter()
    sizes = set()
    for task in env.tasks(split, 150, seed=0):
        state = task.initial_state
        sats, objs = state.of_type(SATELLITE), state.of_type(OBJECT)
        sizes.add((len(sats), len(objs)))
        positions = [(state.get(entity, "x"), state.get(entity, "y")) for entity in state]
        assert all(math.dist(one, other) >= 0.14 for one, other in itertools.combinations(positions, 2))
        assert all(0.0 <= value <= 1.0 for position in positions for value in position)
        assert [obj.name for obj in objs] == [f"obj{number}" for number in range(len(objs))]
        assert [state.get(obj, "id") for obj in objs] == list(range(len(objs)))
        assert {state[obj][3:] for obj in objs} == {(0.0, 0.0)}
        for satellite in sats:
            _, _, theta, instrument, target, calibrated, reading, *_ = state[satellite]
            assert -math.pi <= theta <= math.pi
            assert 0.0 <= instrument <= 1.0
            assert target in range(len(objs))
            assert (calibrated, reading) == (0.0, -1.0)
        for ability in ("shoots_chem_x", "shoots_chem_y"):
            able = sum(state.get(satellite, ability) for satellite in sats)
            assert able >= 1
            seen["able"] += int(able)
        # Each satellite has one goal atom, a reading by its own instrument.
        assert sorted(atom.objects[0] for atom in task.goal) == list(sats)
        for atom in task.goal:
            satellite, target = atom.objects
            has = {"C": HAS_CAMERA, "I": HAS_INFRARED, "G": HAS_GEIGER}[atom.predicate.name[0]]
            assert has(satellite).holds(state)
            seen[target.name] += 1
            seen[has.name] += 1
            seen["satellites"] += 1
    assert sizes == set(itertools.product(satellites, objects))
    for name in ("HasCamera", "HasInfrared", "HasGeiger"):
        assert seen[name] / seen["satellites"] == pytest.approx(1 / 3, abs=0.08)
    assert seen["able"] / seen["satellites"] == pytest.approx(2 * 0.55, abs=0.2)
    assert all(seen[f"obj{number}"] > 20 for number in range(max(objects)))


# The oracle

OPERATORS = """
MoveTo(?satellite, ?object) | MoveTo(?satellite, ?object) | - | Sees(?satellite, ?object) | - | Sees
Calibrate(?satellite, ?object) | Calibrate(?satellite, ?object) | CalibrationTarget(?satellite, ?object), Sees(?satellite, ?object) | IsCalibrated(?satellite) | - | -
ShootChemX(?satellite, ?object) | ShootChemX(?satellite, ?object) | Sees(?satellite, ?object), ShootsChemX(?satellite) | HasChemX(?object) | - | -
ShootChemY(?satellite, ?object) | ShootChemY(?satellite, ?object) | Sees(?satellite, ?object), ShootsChemY(?satellite) | HasChemY(?object) | - | -
CameraReading(?satellite, ?object) | UseInstrument(?satellite, ?object) | HasCamera(?satellite), HasChemX(?object), IsCalibrated(?satellite), Sees(?satellite, ?object) | CameraReadingTaken(?satellite, ?object) | - | -
InfraredReading(?satellite, ?object) | UseInstrument(?satellite, ?object) | HasChemY(?object), HasInfrared(?satellite), IsCalibrated(?satellite), Sees(?satellite, ?object) | InfraredReadingTaken(?satellite, ?object) | - | -
GeigerReading(?satellite, ?object) | UseInstrument(?satellite, ?object) | HasGeiger(?satellite), IsCalibrated(?satellite), Sees(?satellite, ?object) | GeigerReadingTaken(?satellite, ?object) | - | -
"""  # noqa: E501


@pytest.mark.parametrize("env", [LINE, SEGMENT, ClutteredSatellites()])
def test_the_oracle_has_the_operators_of_the_table(env: Satellites) -> None:
    assert rows_of(env.oracle_model().operators) == OPERATORS.strip().splitlines()


def test_the_oracle_samples_positions_in_a_ring_around_the_object() -> None:
    sampler, rng = LINE.oracle_model().samplers["MoveTo"], np.random.default_rng(0)
    state = sky([Sat()], [(0.4, 0.6)])
    offsets = np.array([sampler.sample(state, (SAT0, OBJ0), rng) for _ in range(300)]) - (0.4, 0.6)
    distances = np.hypot(*offsets.T)
    assert 0.08 <= distances.min() < 0.1
    assert 0.24 < distances.max() <= 0.26
    assert set(np.floor(np.arctan2(*offsets.T) / (math.pi / 4))) == set(range(-4, 4))


def test_samples_of_the_oracle_stay_in_the_unit_square() -> None:
    sampler, rng = LINE.oracle_model().samplers["MoveTo"], np.random.default_rng(0)
    samples = np.array(
        [sampler.sample(sky([Sat()], [(0.01, 0.99)]), (SAT0, OBJ0), rng) for _ in range(100)]
    )
    assert samples.min() == 0.0
    assert samples.max() == 1.0
