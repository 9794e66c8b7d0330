"""Household operators learned from books also apply to other types of objects."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from needful import Definition, Expression, abstract
from needful.approaches.bilevel import learn_model
from needful.core.definitions import defined_predicate
from needful.core.plans import Outcome
from needful.core.tasks import Task
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.evaluation.evaluate import achieves_goal
from needful.operator_learning.backchaining import Coverage, cover
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.merge_types import keep_types
from needful.planning.bilevel import PlanningConfig, plan

# Without the C++ engine, planning in a house can take longer than 10 seconds on a loaded machine.
PATIENT = PlanningConfig(timeout=120)


@pytest.fixture(scope="module")
def books():
    return make_environment("sorting-books")


@pytest.fixture(scope="module")
def demonstrations(books):
    return collect_demonstrations(books, OracleDemonstrator(books, PATIENT), 5, seed=0).demonstrations


def headings(operators) -> list[str]:
    return [f"{o.name}({', '.join(map(str, o.parameters))})" for o in operators]


def test_one_operator_for_books_and_hardbacks(demonstrations):
    learned = learn_operators(demonstrations)
    assert headings(learned.operators) == [
        "Grasp(?x0:thing)",
        "NavigateTo(?x0:thing)",
        "PlaceOnTop(?x0:shelf, ?x1:thing)",
    ]
    assert learned.coverage == 1.0
    forgotten = {str(pattern) for one in learned.operators for pattern in one.delete_patterns}
    assert forgotten == {"OnTop(?x0, *:obj)", "Reachable(*:thing)"}
    narrow = learn_operators(demonstrations, OperatorLearningConfig(types=keep_types))
    assert len(narrow.operators) == 7


@pytest.mark.parametrize(
    "name", ["opening-presents", "locking-windows", "collecting-cans", "sorting-books"]
)
def test_order_of_demonstrations_does_not_matter(name):
    environment = make_environment(name)
    collected = collect_demonstrations(environment, OracleDemonstrator(environment, PATIENT), 3, seed=1)
    operators = learn_operators(collected.demonstrations).operators
    for seed in range(3):
        shuffled = list(collected.demonstrations)
        random.Random(seed).shuffle(shuffled)
        assert learn_operators(shuffled).operators == operators


def test_merging_types_leaves_no_superfluous_operator(books):
    """A book may lie next to the shelf by chance. No operator promises that other books do."""
    collected = collect_demonstrations(
        books, OracleDemonstrator(books, PATIENT), 10, seed=71
    ).demonstrations
    kinds = {kind.name: kind for kind in books.vocabulary.types}
    thing, robot = kinds["obj"], kinds["robot"]
    held = Expression("feature", (thing,), (("held",),))
    distance = Expression("distance", (thing, robot), (("x", "y"), ("x", "y")), "max")
    predicates = [
        defined_predicate(Definition(held, ">", 0.5), "Held"),
        defined_predicate(Definition(distance, "<=", 1.1), "Near"),
        defined_predicate(Definition(replace(held, quantifier="max"), ">", 0.5), "SomethingHeld"),
    ]
    on_top = tuple(one for one in books.vocabulary.predicates if one.name == "OnTop")
    demonstrations = [
        replace(one, abstract_states=tuple(abstract(state, (*on_top, *predicates)) for state in one.states))
        for one in collected
    ]
    operators = learn_operators(demonstrations).operators
    problem = LearningProblem.of(demonstrations, partly_bound, skip_idle_steps=True)
    empty = Coverage.empty(problem.demonstrations)
    assert not cover(operators, empty, problem.matcher, skip_purposeless=True).uncovered
    for superfluous in operators:
        rest = [one for one in operators if one is not superfluous]
        assert cover(rest, empty, problem.matcher, skip_purposeless=True).uncovered


# Cans occur only in another domain's houses. Plants occur here, but are never carried in demonstrations.
@pytest.mark.parametrize(("houses", "kind"), [("collecting-cans", "pop_can"), ("sorting-books", "plant")])
def test_operators_generalise_to_types_never_carried_in_demonstrations(books, demonstrations, houses, kind):
    """Samplers were also learned from books only."""
    seen = {obj.type.name for demonstration in demonstrations for obj in demonstration.objects}
    assert (kind in seen) is (houses == "sorting-books")
    on_top = next(one for one in books.vocabulary.predicates if one.name == "OnTop")
    state = make_environment(houses).tasks(Split.TEST, 1, seed=7)[0].initial_state
    thing, shelf = (min(obj for obj in state if obj.type.name == name) for name in (kind, "shelf"))
    task = Task(state, frozenset({on_top(thing, shelf)}))
    model = learn_model(books.vocabulary, demonstrations).model
    config = PlanningConfig(timeout=60)
    result = plan(task, model, books.execute, config)
    assert result.outcome == Outcome.SOLVED
    assert achieves_goal(books, task, result.actions, config.horizon)
