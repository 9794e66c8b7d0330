"""The household domains: tasks, states, plans and errors."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from needful.abstraction import abstract
from needful.core.atoms import GroundAtom
from needful.core.plans import Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.checker import check_environment
from needful.envs.contract import Split
from needful.envs.household import environment
from needful.envs.household.environment import (
    CollectingCans,
    Household,
    LockingWindows,
    OpeningPresents,
    SortingBooks,
)
from needful.envs.household.scene.activities import ACTIVITIES, ActivityDefinition, Literal
from needful.envs.household.scene.categories import CATEGORIES, CLUTTER
from needful.envs.household.scene.furnishing import NoPlaceError
from needful.envs.household.scene.scene import FLOOR, HOUSE_OBJECT, ROBOT_OBJECT, THING, Box, Thing
from needful.envs.household.simulation import world as worlds
from needful.envs.household.simulation.world import MAX_WORLDS, make_house
from needful.errors import InvalidInputError
from needful.planning.bilevel import PlanningConfig, plan
from tiny_house import WALLS, scene_of

DOMAINS = [OpeningPresents, LockingWindows, CollectingCans, SortingBooks]
CLUTTER_NAMES = {category.name for category in CLUTTER}

# A generous time limit, so that no result depends on the speed of the machine.
CONFIG = PlanningConfig(timeout=300.0)


@cache
def env_of(domain: type[Household]) -> Household:
    return domain()


@cache
def task_of(domain: type[Household], split: Split) -> Task:
    return env_of(domain).task(split, 0, seed=3)


@cache
def solved(domain: type[Household], split: Split) -> PlanningResult:
    env = env_of(domain)
    return plan(task_of(domain, split), env.oracle_model(), env.execute, CONFIG, seed=1)


def held(env: Household, state: State) -> set[str]:
    return set(map(str, abstract(state, env.vocabulary.predicates)))


def test_names_and_activities_belong_together() -> None:
    assert [domain.name for domain in DOMAINS] == [activity.name for activity in ACTIVITIES]


@pytest.mark.parametrize("split", list(Split))
def test_opening_presents_starts_closed_and_ends_open(split: Split) -> None:
    env, task = env_of(OpeningPresents), task_of(OpeningPresents, split)
    packages = [obj.name for obj in task.objects if obj.type.name == "package"]
    assert len(packages) == 2 if split is Split.TRAIN else len(packages) in (3, 4)
    atoms = held(env, task.initial_state)
    assert {f"OnTop({name}, bedroom_floor)" for name in packages} <= atoms
    assert {f"Closed({name})" for name in packages} <= atoms
    assert set(map(str, task.goal)) == {f"Open({name})" for name in packages}


@pytest.mark.parametrize("split", list(Split))
def test_locking_windows_starts_open_and_ends_closed(split: Split) -> None:
    env, task = env_of(LockingWindows), task_of(LockingWindows, split)
    windows = [obj.name for obj in task.objects if obj.type.name == "window"]
    assert len(windows) == (4 if split is Split.TRAIN else 6)
    assert {f"Open({name})" for name in windows} <= held(env, task.initial_state)
    assert set(map(str, task.goal)) == {f"Closed({name})" for name in windows}


@pytest.mark.parametrize("split", list(Split))
def test_collecting_cans_starts_on_bed_and_floor_and_ends_in_the_bucket(split: Split) -> None:
    env, task = env_of(CollectingCans), task_of(CollectingCans, split)
    cans = [obj.name for obj in task.objects if obj.type.name == "pop_can"]
    assert len(cans) == 3 if split is Split.TRAIN else len(cans) in (6, 7, 8)
    atoms = held(env, task.initial_state)
    assert "OnTop(bucket_1, bed_1)" in atoms
    for name in cans:
        assert {f"OnTop({name}, bed_1)", f"OnTop({name}, bedroom_floor)"} & atoms
    assert set(map(str, task.goal)) == {f"Inside({name}, bucket_1)" for name in cans}


@pytest.mark.parametrize("split", list(Split))
def test_sorting_books_starts_on_table_and_floor_and_ends_on_the_shelf(split: Split) -> None:
    env, task = env_of(SortingBooks), task_of(SortingBooks, split)
    books = [obj.name for obj in task.objects if obj.type.name in ("book", "hardback")]
    assert len(books) == 4 if split is Split.TRAIN else len(books) in (6, 7, 8)
    atoms = held(env, task.initial_state)
    on_table = [name for name in books if f"OnTop({name}, table_1)" in atoms]
    on_floor = [name for name in books if f"OnTop({name}, living_room_floor)" in atoms]
    assert sorted(on_table + on_floor) == sorted(books)
    assert abs(len(on_table) - len(on_floor)) <= 1
    assert set(map(str, task.goal)) == {f"OnTop({name}, shelf_1)" for name in books}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("split", list(Split))
def test_houses_are_cluttered_and_no_goal_object_is_within_reach(
    domain: type[Household], split: Split
) -> None:
    env, task = env_of(domain), task_of(domain, split)
    clutter = sum(obj.type.name in CLUTTER_NAMES for obj in task.objects)
    assert clutter in (range(18, 23) if split is Split.TRAIN else range(40, 71))
    assert 3 <= len(task.initial_state.of_type(FLOOR)) <= 5
    atoms = held(env, task.initial_state)
    wanted = {obj.name for atom in task.goal for obj in atom.objects}
    assert not {f"Reachable({name})" for name in wanted} & atoms
    assert "HandEmpty()" in atoms


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_robot_starts_in_the_room_of_the_definition(domain: type[Household]) -> None:
    state = task_of(domain, Split.TEST).initial_state
    activity, split, seed = state[HOUSE_OBJECT]
    definition, scene = make_house((activity, split, seed))
    (floor,) = (one.arguments[1] for one in definition.initial if one.arguments[0] == ROBOT_OBJECT.name)
    (room,) = (room for room in scene.rooms if room.floor == floor)
    x, y, *_ = state[ROBOT_OBJECT]
    assert room.low[0] < x < room.high[0]
    assert room.low[1] < y < room.high[1]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("split", list(Split))
def test_oracle_plans_navigate_before_they_act_and_predict_correctly(
    domain: type[Household], split: Split
) -> None:
    env, task, result = env_of(domain), task_of(domain, split), solved(domain, split)
    assert result.solved
    assert task.achieved_in(result.states[-1])
    predicted = abstract(task.initial_state, env.vocabulary.predicates)
    for step, state in zip(result.abstract_plan, result.states[1:], strict=True):
        predicted = step.apply(predicted)
        assert predicted <= abstract(state, env.vocabulary.predicates)
    for before, action in zip(result.actions, result.actions[1:], strict=False):
        if action.controller.name != "NavigateTo":
            assert (before.controller.name, before.objects) == ("NavigateTo", action.objects)
    assert result.actions[0].controller.name == "NavigateTo"


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_state_is_enough_for_another_environment_to_continue(domain: type[Household]) -> None:
    """A new environment continues from a state of another one."""
    result = solved(domain, Split.TRAIN)
    other = domain()
    middle = len(result.actions) // 2
    state = pickle.loads(pickle.dumps({obj: result.states[middle][obj] for obj in result.states[middle]}))
    state = State(state)
    assert held(other, state) == held(env_of(domain), result.states[middle])
    for action, expected in zip(result.actions[middle:], result.states[middle + 1 :], strict=True):
        state = other.simulate(state, action)
        assert state == expected


def test_things_of_a_category_are_interchangeable() -> None:
    env, state = env_of(CollectingCans), solved(CollectingCans, Split.TRAIN).states[-1]
    rng = np.random.default_rng(0)
    renaming = {obj: obj for obj in state}
    for kind in sorted({obj.type for obj in state.of_type(THING)}):
        if not CATEGORIES[kind.name].fixed:
            members = state.of_type(kind)
            renaming |= {
                one: members[i] for one, i in zip(members, rng.permutation(len(members)), strict=True)
            }
    assert any(old != new for old, new in renaming.items())
    renamed = State({renaming[obj]: state[obj] for obj in state})
    assert abstract(renamed, env.vocabulary.predicates) == {
        GroundAtom(atom.predicate, tuple(renaming[obj] for obj in atom.objects))
        for atom in abstract(state, env.vocabulary.predicates)
    }


def test_the_checker_accepts_the_environment_along_a_plan() -> None:
    env = CollectingCans()
    found = check_environment(
        env,
        tasks=1,
        rounds=1,
        solve=lambda env, task: plan(task, env.oracle_model(), env.execute, CONFIG),
    )
    assert found == ()


def test_predicates_can_be_pickled() -> None:
    env, task = env_of(OpeningPresents), task_of(OpeningPresents, Split.TRAIN)
    copies = pickle.loads(pickle.dumps(env.vocabulary.predicates))
    assert abstract(task.initial_state, copies) == abstract(task.initial_state, env.vocabulary.predicates)


def test_only_the_last_worlds_are_cached() -> None:
    env = OpeningPresents()
    tasks = env.tasks(Split.TRAIN, MAX_WORLDS + 2, seed=8)
    first = env._worlds.of(tasks[0].initial_state)
    assert env._worlds.of(tasks[0].initial_state) is first
    for task in tasks[1:]:
        env._worlds.of(task.initial_state)
    assert env._worlds.of(tasks[0].initial_state) is not first
    assert len(env._worlds._worlds) == MAX_WORLDS


def test_a_house_in_which_the_definition_fails_is_refused() -> None:
    env, state = env_of(OpeningPresents), task_of(OpeningPresents, Split.TRAIN).initial_state
    activity, split, seed = state[HOUSE_OBJECT]
    definition, _ = make_house((activity, split, seed))
    package = next(obj for obj in state if obj.name == "package_1")
    lifted = state.replace({package: {"z": 1.0}})
    with pytest.raises(NoPlaceError, match=r"\(ontop package_1 bedroom_floor\)"):
        env._check_start(definition, lifted)
    result = solved(OpeningPresents, Split.TRAIN)
    near = result.states[1]
    with pytest.raises(NoPlaceError, match=r"package_\d is within reach"):
        env._check_start(definition, near)


def test_an_activity_without_a_fitting_house_reports_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_house(identity: tuple[float, ...]) -> None:
        raise NoPlaceError("There is no place for elephant_1 on bedroom_floor.")

    monkeypatch.setattr(environment, "make_house", no_house)
    with pytest.raises(NoPlaceError, match=r"100 houses .*opening-presents.*elephant_1"):
        OpeningPresents().task(Split.TRAIN, 0, seed=0)


def test_a_thing_that_fits_into_no_house_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = replace(ACTIVITIES[0], counts={Split.TRAIN: {"package": (60, 60)}})
    monkeypatch.setattr(worlds, "ACTIVITIES", (crowd, *ACTIVITIES[1:]))
    monkeypatch.setattr(environment, "MAX_HOUSES", 3)
    with pytest.raises(NoPlaceError, match=r"3 houses .*package_\d+ on bedroom_floor"):
        OpeningPresents().task(Split.TRAIN, 0, seed=0)


def unreachable_task(env: Household, opened: bool) -> Task:
    """Return the task to open a package in a room with or without a door."""
    package = Thing("package", "package", (2.8, 0.9, 0.0))
    door = () if opened else (Box((4.0, 2.0, 0.75), (0.05, 0.5, 0.75)),)
    scene = replace(scene_of([package], (*WALLS, *door)), robot=(6.0, 2.0, 0.0))
    goal = (Literal("open", ("package",)),)
    return env.task_in(ActivityDefinition("party", {"package": "package"}, (), goal), scene)


def test_an_unreachable_goal_is_a_failure_with_a_reason() -> None:
    env = OpeningPresents()
    assert plan(unreachable_task(env, True), env.oracle_model(), env.execute, CONFIG, seed=0).solved
    env = OpeningPresents()
    once = replace(CONFIG, max_abstract_plans=1)
    result = plan(unreachable_task(env, False), env.oracle_model(), env.execute, once, seed=0)
    assert result.outcome is Outcome.NOT_INITIABLE
    assert result.failure is not None
    for fact in ("NavigateTo(package)", "100", "no path"):
        assert fact in result.failure.detail


def test_a_task_whose_initial_literals_fail_is_refused() -> None:
    env = OpeningPresents()
    scene = scene_of([Thing("package", "package", (2.8, 0.9, 0.0), opened=1.0)])
    closed = Literal("open", ("package",), positive=False)
    definition = ActivityDefinition(
        "party", {"package": "package"}, (closed,), (Literal("open", ("package",)),)
    )
    with pytest.raises(NoPlaceError, match=r"\(not \(open package\)\)"):
        env.task_in(definition, scene)


def test_a_literal_without_a_predicate_is_refused() -> None:
    env, task = env_of(SortingBooks), task_of(SortingBooks, Split.TRAIN)
    literal = Literal("ontop", ("book_1", "table_1"), positive=False)
    with pytest.raises(InvalidInputError, match=r"sorting-books.*\(not \(ontop book_1 table_1\)\)"):
        env._atom(literal, task.initial_state)
