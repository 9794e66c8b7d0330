"""The oracle models solve the tasks of their domains, and their predictions hold after each step."""

from __future__ import annotations

import pytest

from envs.painting_scenes import LID_OBJECT
from needful.abstraction import abstract
from needful.envs.catalogue import make_environment
from needful.envs.cluttered_painting import ClutteredPainting
from needful.envs.contract import Environment, Split
from needful.envs.painting import Painting
from needful.envs.satellites import ClutteredSatellites
from needful.planning.bilevel import PlanningConfig, plan

NAMES = ["cluttered-1d", "cluttered-painting", "cluttered-satellites", "painting", "satellites", "screws"]

# Much longer than needed, so that no result depends on the speed of the machine.
CONFIG = PlanningConfig(timeout=300.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", list(Split))
def test_the_oracle_solves_tasks_and_predicts_correctly(name: str, split: Split) -> None:
    env = make_environment(name)
    model = env.oracle_model()
    for number, task in enumerate(env.tasks(split, 8, seed=7)):
        result = plan(task, model, env.execute, CONFIG, seed=number)
        assert result.solved
        assert task.achieved_in(result.states[-1])
        predicted = abstract(task.initial_state, env.vocabulary.predicates)
        for step, state in zip(result.abstract_plan, result.states[1:], strict=True):
            predicted = step.apply(predicted)
            assert predicted <= abstract(state, env.vocabulary.predicates)


@pytest.mark.parametrize("env", [Painting(), ClutteredPainting()])
def test_a_single_abstract_plan_works_only_if_the_lid_is_open(env: Painting) -> None:
    single = PlanningConfig(timeout=300.0, max_abstract_plans=1)
    opened = []
    for number, task in enumerate(env.tasks(Split.TEST, 15, seed=7)):
        result = plan(task, env.oracle_model(), env.execute, single, seed=number)
        opened.append(task.initial_state.get(LID_OBJECT, "is_open") == 1.0)
        assert result.solved is opened[-1]
        assert result.statistics.abstract_plans == 1
    assert set(opened) == {False, True}


@pytest.mark.parametrize(
    "env",
    [
        Painting(include_is_open=True),
        ClutteredPainting(include_is_open=True),
        ClutteredSatellites("segment"),
    ],
)
def test_the_oracle_solves_variants_of_the_domains(env: Environment) -> None:
    for number, task in enumerate(env.tasks(Split.TEST, 4, seed=7)):
        assert plan(task, env.oracle_model(), env.execute, CONFIG, seed=number).solved
