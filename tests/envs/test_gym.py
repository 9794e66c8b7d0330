"""Tests of the Gymnasium view: arrays against the objects they stand for, and episodes."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.toy_walk import WALK_TO, WALKER, ToyWalk
from needful import register_all
from needful.abstraction import abstract
from needful.core.atoms import GroundAtom
from needful.core.controllers import Controller, GroundController
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import OracleDemonstrator
from needful.envs.catalogue import CATALOGUE, environment_names, make_environment
from needful.envs.cluttered_1d import DOT, GRASPED, MOVE_GRASP, ROBOT, Cluttered1D
from needful.envs.contract import Split
from needful.envs.gym import GymView
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.bilevel import PlanningConfig

NAMES = environment_names()
ROBBY, NEAR, FAR = ROBOT("robby"), DOT("dot0"), DOT("dot1")
TASK = Task(
    State({ROBBY: (50.0,), NEAR: (50.25, 0.0), FAR: (70.0, 1.0)}), frozenset({GRASPED(ROBBY, NEAR)})
)


@cache
def view_of(name: str) -> GymView:
    """Return a shared view after a reset; tests must not depend on its episode."""
    view = GymView(name)
    view.reset(seed=0)
    return view


def small_view(**settings: Any) -> GymView:
    """Return a view of Cluttered 1D at the start of `TASK`, in which the first dot is in reach."""
    view = GymView(Cluttered1D(), max_objects=5, max_goal_atoms=2, **settings)
    view.reset(seed=0, options={"task": TASK})
    return view


def as_action(controller: int, objects: list[int], parameters: list[float]) -> dict[str, Any]:
    return {"controller": controller, "objects": np.array(objects), "parameters": np.array(parameters)}


GRASP_NEAR = as_action(0, [2, 0], [1.0, 0.0])
MOVE_FAR = as_action(0, [2, 1], [-1.0, 0.5])


def random_action(view: GymView, rng: np.random.Generator) -> GroundController:
    controllers = view.environment.vocabulary.controllers
    controller = controllers[rng.integers(len(controllers))]
    fitting = [view.state.of_type(kind) for kind in controller.types]
    objects = [members[rng.integers(len(members))] for members in fitting]
    return controller(*objects, parameters=rng.uniform(controller.low, controller.high))


class TestDecoding:
    def test_a_state_is_decoded_without_its_names(self) -> None:
        view = small_view()
        observation = view.encoding.observe(TASK.initial_state, TASK.goal)
        state = view.encoding.decode_state(observation)
        near, far, robby = state.objects
        assert [str(obj) for obj in state.objects] == ["object0:dot", "object1:dot", "object2:robot"]
        assert (state[near], state[far], state[robby]) == ((50.25, 0.0), (70.0, 1.0), (50.0,))
        assert view.encoding.decode_goal(observation, state) == {GRASPED(robby, near)}

    @pytest.mark.parametrize("name", ["painting", "cluttered-satellites"])
    def test_rows_keep_their_order(self, name: str) -> None:
        view = view_of(name)
        state = view.encoding.decode_state(view.encoding.observe(view.state, view.task.goal))
        assert [obj.type for obj in state.objects] == [obj.type for obj in view.state.objects]
        for decoded, original in zip(state.objects, view.state.objects, strict=True):
            assert state[decoded] == pytest.approx(view.state[original], rel=1e-6)


class TestRegistration:
    def test_every_domain_is_registered_once(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Gymnasium warns about an id that is registered twice
            assert register_all() == register_all()
        assert len(register_all()) == len(CATALOGUE)
        assert {"needful/Screws-v0", "needful/Cluttered1D-v0", "needful/Painting-v0"} <= set(register_all())

    @pytest.mark.parametrize("identifier", register_all())
    def test_the_checker_of_gymnasium_passes(self, identifier: str) -> None:
        env = gymnasium.make(identifier, render_mode="rgb_array")
        check_env(env.unwrapped)
        assert identifier == f"needful/{type(env.unwrapped.environment).__name__}-v0"

    def test_arguments_reach_the_view(self) -> None:
        identifier = register_all()[0]
        view = gymnasium.make(identifier, split="test", horizon=7, atoms=True).unwrapped
        assert (view.split, view.horizon, view.atoms) == (Split.TEST, 7, True)

    def test_views_can_be_vectorised(self) -> None:
        envs = gymnasium.make_vec("needful/Satellites-v0", num_envs=3, vectorization_mode="sync")
        envs.reset(seed=0)
        observations, rewards, *_ = envs.step(envs.action_space.sample())
        assert observations["features"].shape[0] == len(rewards) == 3
        envs.close()

    def test_importing_needful_does_not_import_gymnasium(self) -> None:
        code = "import sys, needful; assert 'gymnasium' not in sys.modules; needful.register_all()"
        subprocess.run([sys.executable, "-c", code], check=True)


class TestObservation:
    def test_the_arrays_of_a_small_task(self) -> None:
        """Rows are sorted by name: dot0, dot1, robby; columns too: grasped, x."""
        view = small_view()
        observation, _ = view.reset(options={"task": TASK})
        assert view.encoding.columns == ("grasped", "x")
        assert observation["features"].tolist() == [[0, 50.25], [1, 70], [0, 50], [0, 0], [0, 0]]
        assert observation["types"].tolist() == [1, 1, 0, 0, 0]
        assert observation["mask"].tolist() == [1, 1, 1, 0, 0]
        assert observation["goal"].tolist() == [[2, 2, 0], [0, 0, 0]]
        assert observation["goal_mask"].tolist() == [1, 0]

    @pytest.mark.parametrize("name", NAMES)
    def test_state_and_goal_can_be_reconstructed(self, name: str) -> None:
        view = GymView(name)
        vocabulary, columns = view.environment.vocabulary, view.encoding.columns
        for seed in range(8):
            observation, _ = view.reset(seed=seed)
            rng = np.random.default_rng(seed)
            for _ in range(3):
                observation, *_ = view.step(view.encode_action(random_action(view, rng)))
            assert observation in view.observation_space
            assert observation["mask"].sum() == len(view.task.objects)
            for row, obj in enumerate(view.task.objects):
                assert vocabulary.types[observation["types"][row]] == obj.type
                for feature in obj.type.features:
                    shown = observation["features"][row, columns.index(feature)]
                    assert shown == np.float32(view.state.get(obj, feature))
            atoms = set()
            for number, *rows in observation["goal"][observation["goal_mask"] == 1]:
                predicate = vocabulary.predicates[number]
                objects = [view.task.objects[row] for row in rows[: len(predicate.types)]]
                atoms.add(GroundAtom(predicate, tuple(objects)))
            assert atoms == view.task.goal

    def test_large_features_are_clipped_to_the_space(self) -> None:
        far_away = Task(TASK.initial_state.replace({ROBBY: {"x": 1e300}}), TASK.goal)
        view = small_view()
        observation, info = view.reset(options={"task": far_away})
        assert observation in view.observation_space
        assert info["state"].get(ROBBY, "x") == 1e300

    def test_sizes_are_those_of_the_largest_tasks(self) -> None:
        environment = make_environment("cluttered-satellites")
        tasks = environment.tasks(Split.TEST, 100, seed=0)
        view = GymView(environment, split="test")
        assert view.encoding.max_objects == max(len(task.objects) for task in tasks)
        assert view.encoding.max_goal_atoms == max(len(task.goal) for task in tasks)
        assert all(map(view.encoding.fits, tasks))


class TestActions:
    def test_decoding_and_encoding_one_action(self) -> None:
        view = small_view()
        decoded = view.decode_action(MOVE_FAR)
        assert decoded == MOVE_GRASP(ROBBY, FAR, parameters=(-1.0, 0.5))
        encoded = view.encode_action(decoded)
        assert encoded in view.action_space
        assert data_equivalence(encoded["objects"], MOVE_FAR["objects"], exact=True)

    @pytest.mark.parametrize("name", NAMES)
    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10**6))
    def test_encoding_and_decoding_is_the_same_action(self, name: str, seed: int) -> None:
        view = view_of(name)
        action = random_action(view, np.random.default_rng(seed))
        encoded = view.encode_action(action)
        assert encoded in view.action_space
        decoded = view.decode_action(encoded)
        assert (decoded.controller, decoded.objects) == (action.controller, action.objects)
        np.testing.assert_allclose(decoded.parameters, action.parameters, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("name", NAMES)
    def test_parameters_at_the_bounds_are_encoded_exactly(self, name: str) -> None:
        view = view_of(name)
        for controller in view.environment.vocabulary.controllers:
            objects = [view.state.of_type(kind)[0] for kind in controller.types]
            for end in (controller.low, controller.high):
                action = controller(*objects, parameters=end)
                assert view.decode_action(view.encode_action(action)) == action

    @pytest.mark.parametrize("name", NAMES)
    def test_every_sampled_action_is_decoded_or_refused(self, name: str) -> None:
        view = view_of(name)
        view.action_space.seed(0)
        for _ in range(60):
            action = view.action_space.sample()
            controller = view.environment.vocabulary.controllers[action["controller"]]
            rows = action["objects"][: len(controller.types)]
            objects = [view.task.objects[row] for row in rows if row < len(view.task.objects)]
            valid = len(objects) == len(controller.types) and all(
                obj.type.is_subtype_of(kind) for obj, kind in zip(objects, controller.types, strict=True)
            )
            if valid:
                assert view.decode_action(action).objects == tuple(objects)
            else:
                with pytest.raises(InvalidInputError):
                    view.decode_action(action)

    def test_a_parameter_with_equal_bounds_is_kept(self) -> None:
        fixed = Controller("Wave", (ROBOT,), low=(3.0,), high=(3.0,))
        environment = Cluttered1D()
        environment.vocabulary = replace(environment.vocabulary, controllers=(fixed,))
        view = GymView(environment)
        view.reset(seed=0)
        action = fixed(ROBBY, parameters=(3.0,))
        assert view.decode_action(view.encode_action(action)) == action

    def test_parameters_outside_the_bounds_are_clipped(self) -> None:
        view = small_view()
        assert view.decode_action(as_action(0, [2, 0], [9.0, -9.0])).parameters == (1.0, -1.0)
        encoded = view.encode_action(MOVE_GRASP(ROBBY, NEAR, parameters=(9.0, -9.0)))
        assert encoded["parameters"].tolist() == [1.0, -1.0]

    def test_unknown_objects_and_controllers_are_refused(self) -> None:
        view = small_view()
        with pytest.raises(UnknownNameError, match=r"Unknown object 'dot2'. Did you mean 'dot1'"):
            view.encode_action(MOVE_GRASP(ROBBY, DOT("dot2"), parameters=(0.0, 0.0)))
        with pytest.raises(UnknownNameError, match=r"Unknown controller 'MoveGrab'.*'MoveGrasp'"):
            view.encode_action(Controller("MoveGrab", (ROBOT,))(ROBBY))


class TestEpisodes:
    @pytest.mark.parametrize("name", NAMES)
    def test_the_reward_is_minus_one_per_step_and_zero_at_the_goal(self, name: str) -> None:
        view = GymView(name)
        _, info = view.reset(seed=3)
        oracle = OracleDemonstrator(view.environment, PlanningConfig(timeout=300.0))
        plan = oracle.demonstrate(info["task"], seed=0)
        steps = []
        for action in plan.actions:
            _, reward, terminated, truncated, info = view.step(view.encode_action(action))
            assert (info["invalid"], info["failure"]) == (None, None)
            steps.append((reward, terminated, truncated))
        assert steps == [(-1.0, False, False)] * (len(steps) - 1) + [(0.0, True, False)]
        assert info["task"].achieved_in(info["state"])

    def test_a_step_executes_the_decoded_action(self) -> None:
        view = small_view()
        _, reward, terminated, _, info = view.step(MOVE_FAR)
        moved = view.environment.execute(TASK.initial_state, view.decode_action(MOVE_FAR)).state
        assert (reward, terminated, info["state"], view.state) == (-1.0, False, moved, moved)

    def test_episodes_are_truncated_at_the_horizon(self) -> None:
        view = small_view(horizon=3)
        assert [view.step(MOVE_FAR)[3] for _ in range(3)] == [False, False, True]
        view = small_view(horizon=1)
        assert view.step(GRASP_NEAR)[2:4] == (True, False)

    @pytest.mark.parametrize(
        ("objects", "reason"),
        [
            ([0, 1], "asks for a robot, got dot0:dot"),
            ([2, 2], "asks for a dot, got robby:robot"),
            ([2, 3], "Row 3 holds no object: the task has 3 objects."),
        ],
    )
    def test_an_invalid_action_costs_a_step_and_gives_the_reason(
        self, objects: list[int], reason: str
    ) -> None:
        view = small_view()
        _, reward, terminated, truncated, info = view.step(as_action(0, objects, [1.0, 0.0]))
        assert (reward, terminated, truncated) == (-1.0, False, False)
        assert reason in info["invalid"]
        assert info["state"] == TASK.initial_state

    def test_a_failed_controller_gives_the_reason(self) -> None:
        view = GymView(ToyWalk())
        _, info = view.reset(seed=0)
        before = info["state"]
        (walker,) = before
        *_, info = view.step(view.encode_action(WALK_TO(walker, parameters=(-6.0,))))
        assert (info["failure"], info["state"], info["invalid"]) == ("the walker fell", before, None)

    def test_a_controller_that_cannot_start_gives_the_reason(self) -> None:
        class CannotStart(ToyWalk):
            vocabulary = replace(
                ToyWalk.vocabulary, controllers=(replace(WALK_TO, initiable=lambda s, o, p: False),)
            )

        view = GymView(CannotStart())
        view.reset(seed=0)
        action = view.encode_action(WALK_TO(WALKER("walker"), parameters=(1.0,)))
        assert view.step(action)[4]["failure"] == "WalkTo(walker; 1) cannot start in this state."

    def test_atoms_are_optional(self) -> None:
        assert "abstract" not in small_view().step(MOVE_FAR)[4]
        info = small_view(atoms=True).step(MOVE_FAR)[4]
        assert info["abstract"] == abstract(info["state"], Cluttered1D.vocabulary.predicates)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_seed_determines_all_following_tasks(self, name: str) -> None:
        def tasks(seed: int) -> list[Task]:
            view = GymView(name)
            return [view.reset(seed=seed)[1]["task"], *(view.reset()[1]["task"] for _ in range(3))]

        assert tasks(5) == tasks(5)
        assert len({*tasks(5), *tasks(6)}) == 8

    def test_only_tasks_within_the_limits_are_sampled(self) -> None:
        view = GymView("satellites", max_objects=3)
        assert view.encoding.max_goal_atoms == 3
        assert {len(view.reset(seed=seed)[1]["task"].objects) for seed in range(12)} == {3}
        with pytest.raises(InvalidInputError, match="None of 1000 sampled tasks had at most 1 objects"):
            GymView("satellites", max_objects=1).reset(seed=0)

    def test_a_task_beyond_the_limits_is_refused(self) -> None:
        with pytest.raises(InvalidInputError, match=r"3 objects and 1 goal atoms.*larger max_objects"):
            GymView(Cluttered1D(), max_objects=2).reset(options={"task": TASK})


class TestPictures:
    def test_a_picture_shows_the_state(self) -> None:
        view = small_view(render_mode="rgb_array")
        before = view.render()
        view.step(MOVE_FAR)
        after = view.render()
        assert before is not None
        assert after is not None
        width, height = view.environment.picture_size
        assert before.shape[:2] == (round(height * 160), round(width * 160))
        assert before.dtype == np.uint8
        assert (before != after).any()

    def test_without_a_render_mode_there_is_no_picture(self) -> None:
        assert small_view().render() is None


class TestMisuse:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"split": "tset"}, "Unknown split 'tset'. Did you mean 'test'"),
            ({"render_mode": "human"}, "Unknown render mode 'human'"),
            ({"horizon": 0}, "horizon must be at least 1, got 0"),
            ({"max_objects": 0}, "max_objects must be at least 1, got 0"),
            ({"max_goal_atoms": -1}, "max_goal_atoms must be at least 1, got -1"),
        ],
    )
    def test_settings(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            GymView("screws", **settings)

    def test_an_unknown_domain(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean 'screws'"):
            GymView("screw")

    def test_a_step_before_the_first_episode(self) -> None:
        with pytest.raises(InvalidInputError, match="Call reset first"):
            GymView("screws").step({})

    @pytest.mark.parametrize(
        "action", [5, None, {"controller": 0}, as_action(0, [2], [0.0, 0.0]), as_action(0, [2, 0], [])]
    )
    def test_a_malformed_action(self, action: Any) -> None:
        with pytest.raises(InvalidInputError, match=r"Expected an action of"):
            small_view().step(action)

    def test_invalid_reset_options(self) -> None:
        view = small_view()
        with pytest.raises(InvalidInputError, match="The option 'task' must be a Task, got 3"):
            view.reset(options={"task": 3})
        with pytest.raises(UnknownNameError, match=r"Unknown reset option 'tsak'. Did you mean 'task'"):
            view.reset(options={"tsak": TASK})
        assert view.task == TASK

    def test_an_unknown_controller_index(self) -> None:
        with pytest.raises(InvalidInputError, match=r"controller index 1. Known: {0: 'MoveGrasp'}"):
            small_view().step(as_action(1, [2, 0], [0.0, 0.0]))


def test_types_share_only_columns_of_common_features() -> None:
    stone, bird = Type("stone", ("weight",)), Type("bird", ("height", "weight"))

    class Garden(Cluttered1D):
        vocabulary = replace(Cluttered1D.vocabulary, types=(stone, bird))

    view = GymView(Garden(), max_objects=2, max_goal_atoms=1)
    vectors: dict[Object, tuple[float, ...]] = {stone("a"): (3.0,), bird("b"): (9.0, 0.5)}
    assert view.encoding.columns == ("height", "weight")
    assert view.encoding.observe(State(vectors), frozenset())["features"].tolist() == [[0, 3], [9, 0.5]]
