"""The families of planning problems in benchmarks, and the notation of their domains."""

from __future__ import annotations

import re

import pytest

import families
from answers import valid
from families import BOOKS, FAMILIES, Case
from needful.core.atoms import GroundAtom
from needful.core.limits import Budget
from needful.planning.grounding import ground
from needful.planning.pddl.writer import write_pddl
from needful.planning.planners import generate_abstract_plans, make_planner
from notation import read_domain
from pddl_tools import fast_downward_plan
from search import OPTIMAL, QUICK, SATISFICING

SMALL = [
    case
    for case in OPTIMAL
    if case.name in ("paint-3-1", "paint-3-3", "paint-5-5", "paint-8-4", "books-50-2")
]
MORE = [Case("screws", 10, 2, 8), Case("screws", 5, 3, 12), Case("books", 10, 1, 6), Case("paint", 1, 1, 7)]


def ground_operators(case: Case) -> int:
    problem = ground(case.operators(), case.task(), Budget.unlimited())
    assert problem is not None
    return len(problem.ground_operators)


@pytest.mark.parametrize("case", SMALL + MORE, ids=lambda case: case.name)
def test_best_costs_are_those_of_fast_downward(case, tmp_path):
    task = case.task()
    pddl = write_pddl(case.vocabulary(), case.domain.operators, task)
    text = fast_downward_plan(pddl.domain, pddl.problem, tmp_path)
    assert text is not None
    plan = pddl.read_plan(text)
    assert len(plan) == case.cost
    assert valid(task, plan)


@pytest.mark.parametrize("case", SMALL + MORE, ids=lambda case: case.name)
def test_our_first_plan_is_a_best_one(case):
    task = case.task()
    plan = next(generate_abstract_plans(case.operators(), task, make_planner("paper")))
    assert len(plan) == case.cost
    assert valid(task, plan)


@pytest.mark.parametrize(("goals", "cost"), [(1, 7), (2, 13), (4, 26), (7, 42), (12, 73)])
def test_the_cost_of_paint_is_the_sum_over_its_objects(goals, cost):
    """Five steps each, one more if it is wet, two more if it is dirty."""
    task = families.paint(12, goals)
    wanted = {atom.objects[0] for atom in task.goal}
    dirty, wet = (
        {atom.objects[0] for atom in task.initial if atom.predicate.name == name} & wanted
        for name in ("IsDirty", "IsWet")
    )
    assert 5 * len(wanted) + 2 * len(dirty) + len(wet) == cost


def test_numbers_of_ground_operators():
    assert ground_operators(Case("paint", 12, 12, 73)) == 133
    assert ground_operators(Case("screws", 100, 4, 16)) == 400
    assert ground_operators(Case("books", 50, 4, 20)) == 585
    assert ground_operators(Case("books", 150, 4, 20)) == 4755


@pytest.mark.parametrize(("n", "expected"), [(50, 585), (150, 4_755), (400, 32_680), (1230, 304_671)])
def test_the_ground_operators_of_books_follow_from_its_objects(n, expected):
    """Navigate to each object, grasp each item, put each item on each surface and into each cabinet."""
    objects = families.books(n, 4).objects

    def count(kind: str) -> int:
        return sum(obj.type.is_subtype_of(BOOKS.types[kind]) for obj in objects)

    containers = count("surface") + count("cabinet")
    assert count("obj") + count("item") * (1 + containers) + 2 * count("cabinet") == expected


@pytest.mark.parametrize("case", [*OPTIMAL, *SATISFICING, *QUICK], ids=lambda case: case.name)
def test_tasks_are_the_same_each_time_and_not_solved_already(case):
    assert case.task() == case.task()
    task = case.task()
    assert not task.goal <= task.initial
    assert len(set(task.objects)) == len(task.objects)
    mentioned = {obj for atom in task.initial | task.goal for obj in atom.objects}
    assert mentioned <= set(task.objects)


def test_more_objects_do_not_change_what_is_asked_for():
    for make_task in (families.paint, families.screws, families.books):
        few, many = make_task(20, 2), make_task(40, 2)
        assert few.goal == many.goal
        assert set(few.objects) < set(many.objects)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_predicate_is_used_by_an_operator(name):
    domain, used = FAMILIES[name].domain, set()
    for operator in domain.operators:
        for atoms in (operator.preconditions, operator.add_effects, operator.delete_effects):
            used |= {atom.predicate for atom in atoms}
    assert used == set(domain.predicates.values())


def test_operators_are_read_as_they_are_written():
    domain = read_domain("""
        type thing
        type cup < thing
        predicate Full cup
        predicate Beside thing thing
        predicate Done

        operator Pour ?from:cup ?to:cup
          needs   Full ?from, Beside ?from ?to
          adds    Full ?to, Done
          deletes Full ?from
          forgets Beside ?to *:thing, Beside *:cup *:thing
    """)
    (pour,) = domain.operators
    assert str(pour).splitlines() == [
        "Pour(?from:cup, ?to:cup)",
        "  controller: Pour(?from, ?to)",
        "  needs:      Beside(?from, ?to), Full(?from)",
        "  adds:       Done(), Full(?to)",
        "  deletes:    Full(?from)",
        "  forgets:    Beside(*:cup, *:thing), Beside(?to, *:thing)",
    ]
    cup = domain.object("cup", "mug")
    assert domain.atom("Full", cup) == GroundAtom(domain.predicates["Full"], (cup,))
    assert domain.types["cup"].parent == domain.types["thing"]


@pytest.mark.parametrize("line", ["predicat Full cup", "needs Full ?x"])
def test_unknown_lines_are_refused(line):
    with pytest.raises(ValueError, match=f"line '{re.escape(line)}'"):
        read_domain(line)
