"""The MuJoCo model of a house."""

from __future__ import annotations

from math import pi

import mujoco
import numpy as np
import pytest

from needful.envs.household.scene.categories import CATEGORIES
from needful.envs.household.scene.scene import Thing
from needful.envs.household.simulation.house_model import (
    OWNER_GROUND,
    OWNER_HOUSE,
    OWNER_ROBOT,
    build_model,
)
from tiny_house import scene_of, tiny_scene


@pytest.fixture(scope="module")
def model():
    return build_model(tiny_scene())


def test_angles_are_radians(model):
    window = model.physics_model.joint("window/hinge")
    assert window.range == pytest.approx((0.0, 0.45 * pi))


def test_fixed_things_do_not_collide_with_each_other():
    # The window overlaps the wall, and the table overlaps the shelf.
    things = (
        Thing("window", "window", (2.0, -0.05, 0.8), opened=0.5),
        Thing("shelf", "shelf", (5.0, 0.3, 0.0)),
        Thing("table", "table", (5.2, 0.45, 0.0)),
    )
    model = build_model(scene_of(things))
    data = mujoco.MjData(model.query_model)
    mujoco.mj_forward(model.query_model, data)
    assert data.ncon == 0


def test_every_geom_has_an_owner(model):
    parts = np.bincount(model.owner[model.owner >= 0], minlength=len(model.things))
    for count, category in zip(parts, model.categories, strict=True):
        assert count == len(category.parts) + (len(category.hinge.parts) if category.hinge else 0)
    assert np.count_nonzero(model.owner == OWNER_HOUSE) == len(model.scene.walls)
    assert np.count_nonzero(model.owner == OWNER_GROUND) == 1 + len(model.scene.rooms)
    assert model.owner[model.hand_geom] == OWNER_ROBOT
    assert not (model.is_fixed & model.is_loose).any()


def test_things_have_addresses_if_they_move(model):
    for thing, category, free, hinge, tree in zip(
        model.things, model.categories, model.free_address, model.hinge_address, model.tree, strict=True
    ):
        assert (free >= 0) == (not category.fixed), thing
        assert (hinge >= 0) == (category.hinge is not None), thing
        assert (tree >= 0) == (free >= 0 or hinge >= 0), thing


def test_masses_are_those_of_the_categories(model):
    for thing, category in zip(model.things, model.categories, strict=True):
        if not category.fixed:
            assert model.physics_model.body(thing.name).subtreemass[0] == pytest.approx(category.mass)


def test_round_parts_fill_their_boxes():
    model = build_model(scene_of([Thing("can", "pop_can", (1.0, 1.0, 0.0))]))
    can = int(np.flatnonzero(model.owner == 0)[0])
    assert model.half_sizes[can] == pytest.approx(CATEGORIES["pop_can"].parts[0].box.half)


def test_cavities_are_listed(model):
    owners, centres, halves = model.cavities
    names = [model.things[owner].name for owner in owners]
    assert names == ["bucket", "fridge", "package"]
    assert halves[0] == pytest.approx((0.142, 0.142, 0.116))
    assert centres[0] == pytest.approx((0.0, 0.0, 0.124))


def test_a_house_may_be_empty():
    model = build_model(scene_of([]))
    assert model.things == ()
    assert len(model.cavities[0]) == 0
