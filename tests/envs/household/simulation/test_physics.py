"""Physics: things come to rest, and only things with a cause move."""

from __future__ import annotations

import numpy as np
import pytest

from needful.envs.household.scene.categories import CATEGORIES
from needful.envs.household.scene.scene import Thing
from needful.envs.household.simulation.house_model import build_model
from needful.envs.household.simulation.physics import MAX_STEPS, FailureReason, Physics
from needful.envs.household.simulation.snapshot import HELD, JOINT, Snapshot, initial_snapshot
from needful.errors import EnvironmentFailure
from tiny_house import WALLS, scene_of, tiny_scene

LOOSE = sorted(name for name, category in CATEGORIES.items() if not category.fixed)


class House:
    """A settled scene with its physics."""

    def __init__(self, scene):
        self.model = build_model(scene)
        self.physics = Physics(self.model)
        self.start = self.physics.settle_all(initial_snapshot(self.model))

    def number(self, name):
        return [thing.name for thing in self.model.things].index(name)

    def lifted(self, snapshot, name, *, to):
        """Return a snapshot with a thing at another position."""
        pose = snapshot.rows[self.number(name), :7].copy()
        pose[:3] = to
        return snapshot.with_pose(self.number(name), pose)

    def asleep(self):
        return self.physics._data.ntree_awake == 0


@pytest.fixture(scope="module")
def house():
    return House(tiny_scene())


def changed(before: Snapshot, after: Snapshot) -> set[int]:
    return set(np.flatnonzero((before.rows != after.rows).any(axis=1)).tolist())


def test_a_house_comes_to_rest(house):
    assert house.asleep()
    assert house.physics._data.time < 1.0


@pytest.mark.parametrize("category", LOOSE)
@pytest.mark.parametrize("tilt", [0.0, 0.3, 1.4])
def test_every_category_comes_to_rest_however_it_falls(category, tilt):
    house = House(scene_of([Thing("it", category, (2.0, 2.0, 0.0))]))
    pose = np.array([2.0, 2.0, 0.3, np.cos(tilt / 2), np.sin(tilt / 2) * 0.8, np.sin(tilt / 2) * 0.6, 0.0])
    fallen = house.physics.settle(house.start.with_pose(0, pose), [0])
    assert house.asleep()
    assert -0.002 < fallen.rows[0, 2] < 0.3
    assert np.hypot(*(fallen.rows[0, :2] - 2.0)) < 1.0


def test_only_woken_and_hit_things_move(house):
    can, bucket = house.number("can_0"), house.number("bucket")
    up = house.lifted(house.start, "can_0", to=(1.2, 2.2, 0.9))
    assert changed(house.start, up) == {can}
    fallen = house.physics.settle(up, [can])
    assert changed(up, fallen) == {can, bucket}
    assert fallen.rows[can, 2] == pytest.approx(0.458, abs=0.002)
    # A can in the air that is not woken does not fall.
    assert changed(up, house.physics.settle(up, [house.number("hardback")])) == {house.number("hardback")}
    assert house.physics.settle(up, [house.number("table")]) is up


def test_things_without_support_fall():
    stack = [Thing(f"book_{n}", "book", (1.0, 1.0, 0.002 + 0.026 * n)) for n in range(3)]
    house = House(scene_of(stack))
    gone = house.lifted(house.start, "book_0", to=(3.0, 3.0, 0.5)).with_feature(0, HELD, 1.0)
    fallen = house.physics.settle(gone, [1])
    # The third book falls too, because it touches the second; the held one stays in the air.
    assert fallen.rows[1:, 2] == pytest.approx([0.0, 0.025], abs=1e-3)
    assert (fallen.rows[0] == gone.rows[0]).all()


def test_the_held_thing_does_not_collide():
    blocks = [Thing(name, "toy_block", (x, 1.0, 0.001)) for name, x in (("falling", 1.0), ("held", 2.0))]
    house = House(scene_of(blocks))
    held = house.lifted(house.start, "held", to=(1.0, 1.0, 0.3)).with_feature(1, HELD, 1.0)
    fallen = house.physics.settle(house.lifted(held, "falling", to=(1.0, 1.0, 0.6)), [0])
    assert fallen.rows[0, 2] == pytest.approx(0.0, abs=1e-3)
    assert (fallen.rows[1] == held.rows[1]).all()


def test_results_are_deterministic(house):
    up = house.lifted(house.start, "can_0", to=(1.25, 2.2, 0.9))
    first = house.physics.settle(up, [house.number("can_0")])
    house.physics.drive_hinge(house.start, house.number("package"), 1.0)
    second = house.physics.settle(up, [house.number("can_0")])
    third = Physics(house.model).settle(up, [house.number("can_0")])
    assert first.rows.tobytes() == second.rows.tobytes() == third.rows.tobytes()


def test_a_pile_of_cans_in_a_bucket_comes_to_rest():
    cans = [Thing(f"can_{n}", "pop_can", (3.0 + 0.2 * n, 3.0, 0.002)) for n in range(6)]
    house = House(scene_of([Thing("bucket", "bucket", (1.0, 1.0, 0.002)), *cans]))
    rng, snapshot = np.random.default_rng(3), house.start
    for can in cans:
        x, y = 1.0 + rng.uniform(-0.07, 0.07, 2)
        snapshot = house.lifted(snapshot, can.name, to=(x, y, 0.4))
        snapshot = house.physics.settle(snapshot, [house.number(can.name)])
        assert house.asleep()
    inside = np.abs(snapshot.rows[1:, :2] - 1.0).max(axis=1) < 0.16
    assert inside.sum() >= 5


@pytest.mark.parametrize("name", ["window", "package", "fridge"])
def test_hinges_are_driven_to_their_stops(house, name):
    thing = house.number(name)
    opened = house.physics.drive_hinge(house.start, thing, 1.0)
    assert opened.rows[thing, JOINT] == pytest.approx(1.0, abs=1e-3)
    closed = house.physics.drive_hinge(opened, thing, 0.0)
    assert closed.rows[thing, JOINT] == pytest.approx(0.0, abs=1e-3)
    assert changed(house.start, closed) <= {thing}


@pytest.mark.parametrize("name", ["window", "package", "fridge"])
@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
def test_a_hinge_that_is_already_at_its_target_stays_there(house, name, fraction):
    thing = house.number(name)
    once = house.physics.drive_hinge(house.start, thing, fraction).with_feature(thing, JOINT, fraction)
    twice = house.physics.drive_hinge(once, thing, fraction)
    assert twice.rows[thing, JOINT] == pytest.approx(fraction, abs=1e-3)
    assert house.asleep()
    assert changed(once, twice) <= {thing}


def test_an_opening_lid_throws_off_what_lies_on_it():
    things = [Thing("book", "book", (2.0, 2.0, 0.252)), Thing("package", "package", (2.0, 2.0, 0.002))]
    house = House(scene_of(things))
    assert house.start.rows[0, 2] == pytest.approx(0.25, abs=1e-3)
    opened = house.physics.drive_hinge(house.start, 1, 1.0)
    assert opened.rows[1, JOINT] > 0.9
    assert opened.rows[0, 2] < 0.1


def test_things_that_never_rest_are_stopped():
    house = House(scene_of([Thing("it", "toy_block", (2.0, 2.0, 0.0))]))
    far = house.lifted(house.start, "it", to=(2.0, 2.0, 500.0))
    falling = house.physics.settle(far, [0])
    seconds = MAX_STEPS * house.model.physics_model.opt.timestep
    assert house.physics._data.time == pytest.approx(seconds)
    assert 300.0 < falling.rows[0, 2] < 490.0


def test_an_unstable_simulation_is_an_error(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    house = House(scene_of([Thing("it", "toy_block", (2.0, 2.0, 0.0))], WALLS))
    broken = house.start.with_feature(0, 2, 1e12)
    with pytest.raises(EnvironmentFailure, match=FailureReason.UNSTABLE.value):
        house.physics.settle(broken, [0])
