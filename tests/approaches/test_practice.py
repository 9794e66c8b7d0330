"""Experiments practise tasks without demonstrations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from needful.approaches.base import LearningConfig
from needful.approaches.bilevel import learn_model, with_experiments
from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.approaches.learned_model import LearnedModel
from needful.approaches.practice import Attempt, Practice
from needful.core.demonstrations import Demonstrations
from needful.core.model import PlanningModel
from needful.core.tasks import Task
from needful.errors import InvalidInputError
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import plan
from workshop_world import POLISH as POLISHING
from workshop_world import POLISHED, WORDS, demonstrate, execute, task, workshop

# All things in the demonstrations are red, and no demonstration polishes a thing.
SPOTS = (0.2, 0.4, 0.7)
DEMOS = tuple(demonstrate(workshop((spot, 1.0, 0.0))) for spot in SPOTS)
RED = task(workshop((0.3, 1.0, 0.0)))
BLUE = task(workshop((0.3, 0.0, 0.0)))
POLISH = task(workshop((0.3, 1.0, 0.0)), POLISHED)


def learn(*tasks: Task, demonstrations: Demonstrations = DEMOS, practised: int = 45) -> LearnedModel:
    config = LearningConfig(
        experiments=ExperimentConfig(practice_tasks=practised), execute=execute, practice_tasks=tasks
    )
    return BILEVEL_APPROACHES["necessary"].learn(WORDS, demonstrations, config)


def solves(learned: LearnedModel, one: Task) -> bool:
    return plan(one, learned.model, execute, strict=True).solved


def needs(learned: LearnedModel, name: str) -> set[str]:
    (operator,) = (one for one in learned.model.operators if one.name == name)
    return {atom.predicate.name for atom in operator.preconditions}


def test_without_practice_an_accidental_precondition_stays() -> None:
    learned = learn()
    assert needs(learned, "Paint") == {"Clean", "Red"}
    assert not solves(learned, BLUE)
    assert learned.practised == ()


def test_practice_refutes_a_precondition_that_holds_in_all_demonstrations() -> None:
    learned = learn(RED, BLUE)
    assert needs(learned, "Paint") == {"Clean"}
    assert solves(learned, BLUE)
    assert [one.goal for one in learned.practised] == [BLUE.goal]
    assert learned.demonstrations == (*DEMOS, *learned.practised)
    assert "Learned from 1 task solved in practice." in learned.describe()


def test_practice_gives_examples_to_samplers() -> None:
    """In the demonstrations, the spot is always 0.2, so the sampler returns 0.2."""
    demos = [demonstrate(workshop((0.2, 1.0, 0.0))) for _ in range(3)]
    tasks = [task(workshop((spot, 1.0, 0.0))) for spot in (0.5, 0.6, 0.9)]
    new = task(workshop((0.75, 1.0, 0.0)))
    assert not solves(learn(demonstrations=demos), new)
    assert solves(learn(*tasks, demonstrations=demos), new)


def test_practice_finds_an_operator_that_no_demonstration_shows() -> None:
    assert not solves(learn(), POLISH)
    learned = learn(POLISH)
    assert {one.name for one in learned.model.operators} == {"Paint", "Polish"}
    assert "Painted" in needs(learned, "Polish")
    assert solves(learned, task(workshop((0.6, 1.0, 0.0)), POLISHED))


def test_a_model_that_solves_no_more_tasks_is_rejected() -> None:
    learned = learn_model(WORDS, DEMOS)
    useless = replace(learned, model=replace(learned.model, operators=(), samplers={}))
    tested = with_experiments(
        learned, execute, ExperimentConfig(), practice_tasks=[RED, BLUE], learn_again=lambda _: useless
    )
    assert tested.practised == ()
    assert tested.model.operators == learned.model.operators


class Scripted(Practice):
    """A practice in which the task is solved if and only if there is Paint but not Polish."""

    def attempt(self, model: PlanningModel) -> Attempt:
        names = {one.name for one in model.operators}
        return Attempt(frozenset({0} if names == {"Paint"} else ()), tuple(sorted(names)))


def test_an_operator_that_misleads_the_planner_is_removed() -> None:
    model = learn_model(WORDS, DEMOS).model
    (paint,) = model.operators
    misled = replace(model, operators=(paint, replace(paint, name="Polish", controller=POLISHING)))
    practice = Scripted([RED], execute, 1, 0)
    found, attempt = practice.without_misleading(misled, practice.attempt(misled))
    assert found == model
    assert attempt.solved == {0}
    # Without a gain, nothing is removed.
    assert practice.without_misleading(model, practice.attempt(model))[0] == model


def test_the_same_seed_gives_the_same_result() -> None:
    one, other = (learn(RED, BLUE, POLISH) for _ in range(2))
    assert one.model.operators == other.model.operators
    assert one.practised == other.practised


def test_limits_of_practice() -> None:
    for name in ("practice_rounds", "practice_executions"):
        with pytest.raises(InvalidInputError, match=rf"{name} must be at least 1, got 0"):
            ExperimentConfig(**{name: 0})
    with pytest.raises(InvalidInputError, match="practice_tasks must be at least 0, got -1"):
        ExperimentConfig(practice_tasks=-1)


def test_cross_validation_makes_experiments_too() -> None:
    """One demonstration, found in practice, has a blue thing; without it, red seems to be required."""
    config = LearningConfig(
        experiments=ExperimentConfig(practice_tasks=2),
        execute=execute,
        practice_tasks=(RED, BLUE),
        validation_folds=2,
        validation_limit=60.0,
    )
    learned = BILEVEL_APPROACHES["necessary"].learn(WORDS, DEMOS, config)
    assert learned.validation is not None
    assert learned.validation.uncovered == 1
    assert len(learned.practised) == 1
    assert all("--experiments" not in doubt.text for doubt in learned.all_doubts())
