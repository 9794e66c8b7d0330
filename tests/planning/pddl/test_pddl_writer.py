from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pddl.parser.domain import DomainParser
from pddl.parser.problem import ProblemParser

import toy_world
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.model import Vocabulary
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.plans import SearchStatistics
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.engines.searches import AStar
from needful.planning.pddl.writer import Pddl, PddlStyle, write_actions, write_pddl
from pddl_tools import fast_downward_plan
from planning_problems import PREDICATES, VOCABULARY, Problem, random_problem, toy_problem, with_negation


def written(problem: Problem, style: PddlStyle, vocabulary: Vocabulary = VOCABULARY) -> Pddl:
    return write_pddl(vocabulary, problem.operators, problem.task, style)


def our_cost(problem: Problem) -> int | None:
    plan = next(AStar()(problem.grounded(), 0, Budget.unlimited(), SearchStatistics()), None)
    return None if plan is None else len(plan)


def check_with_fast_downward(problem: Problem, files: Pddl, folder: Path) -> None:
    """Assert that its plan has our cost and is valid by our semantics."""
    assert files.problem is not None
    text = fast_downward_plan(files.domain, files.problem, folder)
    if text is None:
        assert our_cost(problem) is None
        return
    plan = files.read_plan(text)
    state = problem.initial
    for step in plan:
        state = step.apply(state)
    assert problem.goal <= state
    assert len(plan) == our_cost(problem)


@pytest.mark.parametrize("style", list(PddlStyle))
@pytest.mark.parametrize("seed", range(6))
def test_fast_downward_agrees_on_random_problems(seed: int, style: PddlStyle, tmp_path: Path) -> None:
    problem = next(
        p
        for p in (random_problem(1000 * seed + i, max_objects=3) for i in range(1000))
        if (our_cost(p) or 0) >= min(seed, 3)
    )
    check_with_fast_downward(problem, written(problem, style), tmp_path)


@pytest.mark.parametrize("style", list(PddlStyle))
@pytest.mark.parametrize("seed", range(6))
def test_fast_downward_agrees_on_negative_preconditions(
    seed: int, style: PddlStyle, tmp_path: Path
) -> None:
    """Only problems are compared in which the negative preconditions change the cost."""
    pairs = ((p, with_negation(p, seed)) for p in (random_problem(i, max_objects=3) for i in range(5000)))
    changing = (other for p, other in pairs if our_cost(p) and our_cost(other) != our_cost(p))
    # With an odd seed, there must still be a plan.
    problem = next(p for p in itertools.islice(changing, seed, None) if seed % 2 == 0 or our_cost(p))
    check_with_fast_downward(problem, written(problem, style), tmp_path)


@pytest.mark.parametrize("style", list(PddlStyle))
def test_fast_downward_agrees_on_the_toy_world(style: PddlStyle, tmp_path: Path) -> None:
    problem = toy_problem(balls=3, jars=2)
    check_with_fast_downward(problem, written(problem, style, toy_world.VOCABULARY), tmp_path)
    assert our_cost(problem) == 3


@pytest.fixture(scope="module")
def parse_domain() -> DomainParser:
    return DomainParser()  # construction is slow


@pytest.mark.parametrize("style", list(PddlStyle))
def test_the_pddl_package_reads_the_files(style: PddlStyle, parse_domain: DomainParser) -> None:
    parse_problem = ProblemParser()
    for seed in range(30):
        problem = with_negation(random_problem(seed, max_objects=3), seed)
        files = written(problem, style)
        domain = parse_domain(files.domain)
        assert sorted(map(str, (p.name for p in domain.predicates))) == sorted(p.name for p in PREDICATES)
        assert {str(action.name).lower() for action in domain.actions} == set(files.actions)
        assert files.problem is not None
        task = parse_problem(files.problem)
        assert len(task.init) == len(problem.initial)
        assert str(task.domain_name) == str(domain.name) == "needful"


def test_toy_domain_by_hand() -> None:
    files = write_pddl(toy_world.VOCABULARY, toy_world.OPERATORS[:2], name="toy world")
    assert files.problem is None
    assert files.domain == (
        """\
; domain toy_world is "toy world"
(define (domain toy_world)
  (:requirements :strips :typing :equality :negative-preconditions :conditional-effects """
        """:quantified-preconditions)
  (:types
    ball jar robot - object)
  (:predicates
    (HandFree ?x0 - robot)
    (Holding ?x0 - robot ?x1 - ball)
    (Inside ?x0 - ball ?x1 - jar)
    (Near ?x0 - robot ?x1 - ball))

  ; action MoveTo runs "MoveTo" with (?r ?b)
  (:action MoveTo
    :parameters (?r - robot ?b - ball)
    :precondition (and
    )
    :effect (and
      (Near ?r ?b)
      (forall (?any0 - robot ?any1 - ball) (not (Near ?any0 ?any1)))
    )
  )

  ; action Grasp runs "Grasp" with (?r ?b)
  (:action Grasp
    :parameters (?r - robot ?b - ball)
    :precondition (and
      (HandFree ?r)
      (Near ?r ?b)
    )
    :effect (and
      (Holding ?r ?b)
      (not (HandFree ?r))
    )
  )
)
"""
    )


def test_problem_by_hand() -> None:
    files = written(toy_problem(balls=2, jars=1), PddlStyle.FORALL, toy_world.VOCABULARY)
    assert files.problem == (
        """\
; object robot_object is "robot"
(define (problem task) (:domain needful)
  (:objects
    ball0 ball1 - ball
    jar0 - jar
    robot_object - robot)
  (:init
    (HandFree robot_object))
  (:goal (and
    (Inside ball0 jar0)))
)
"""
    )


def effect_lines(operator: Operator, style: PddlStyle) -> list[str]:
    predicates = {atom.predicate for atom in operator.add_effects} | {
        pattern.predicate for pattern in operator.delete_patterns
    }
    text = write_pddl(Vocabulary((), tuple(sorted(predicates)), ()), [operator], style=style).domain
    lines = [line.strip() for line in text.splitlines()]
    return lines[lines.index(":effect (and") + 1 : -3]


THING, BOOK = Type("thing"), Type("book", parent=Type("thing"))
HERE = Predicate("Here", (THING,))
ON = Predicate("On", (THING, THING))
DARK = Predicate("Dark", ())
A, B = Variable("?a", THING), Variable("?b", BOOK)


def shelve(adds: Sequence[Predicate], *patterns: DeletePattern) -> Operator:
    """Put a book on a thing."""
    arguments = {0: (), 1: (A,), 2: (B, A)}
    return Operator(
        "Shelve",
        (A, B),
        frozenset(),
        frozenset(predicate.lifted(*arguments[len(predicate.types)]) for predicate in adds),
        frozenset(),
        frozenset(patterns),
        Controller("Shelve", ()),
        (),
    )


def test_a_guard_excludes_the_added_atom_as_in_the_paper() -> None:
    operator = shelve([HERE], DeletePattern(HERE, (Wildcard(THING),)))
    assert effect_lines(operator, PddlStyle.FORALL) == [
        "(Here ?a)",
        "(forall (?any0 - thing) (not (Here ?any0)))",
    ]
    assert effect_lines(operator, PddlStyle.PAPER) == [
        "(Here ?a)",
        "(forall (?any0 - thing) (when (not (= ?any0 ?a)) (not (Here ?any0))))",
    ]


def test_a_partly_bound_pattern_needs_a_guard_for_its_wildcards_only() -> None:
    operator = shelve([ON], DeletePattern(ON, (B, Wildcard(THING))))
    assert effect_lines(operator, PddlStyle.PAPER)[1:] == [
        "(forall (?any1 - thing) (when (not (= ?any1 ?a)) (not (On ?b ?any1))))"
    ]


def test_two_wildcards_differ_in_either_argument() -> None:
    operator = shelve([ON], DeletePattern(ON, (Wildcard(BOOK), Wildcard(THING))))
    delete = "(not (On ?any0 ?any1))"
    assert effect_lines(operator, PddlStyle.PAPER)[1:] == [
        "(forall (?any0 - book ?any1 - thing) "
        f"(and (when (not (= ?any0 ?b)) {delete}) (when (not (= ?any1 ?a)) {delete})))"
    ]


def test_patterns_that_no_added_atom_matches_need_no_guard() -> None:
    elsewhere = shelve(
        [ON], DeletePattern(ON, (A, Wildcard(THING))), DeletePattern(HERE, (Wildcard(BOOK),))
    )
    for style in (PddlStyle.FORALL, PddlStyle.PAPER):
        assert effect_lines(elsewhere, style)[1:] == [
            "(forall (?any0 - book) (not (Here ?any0)))",
            "(forall (?any1 - thing) (not (On ?a ?any1)))",
        ]


def test_nothing_is_quantified_without_wildcards() -> None:
    for style in (PddlStyle.FORALL, PddlStyle.PAPER):
        assert effect_lines(shelve([], DeletePattern(DARK, ())), style) == ["(not (Dark))"]
        assert effect_lines(shelve([DARK], DeletePattern(DARK, ())), style) == ["(Dark)"]
        assert effect_lines(shelve([ON], DeletePattern(ON, (B, A))), style) == ["(On ?b ?a)"]


def test_an_atom_that_is_deleted_and_added_is_only_added() -> None:
    operator = replace(shelve([HERE]), delete_effects=frozenset([HERE.lifted(A), HERE.lifted(B)]))
    for style in (PddlStyle.FORALL, PddlStyle.PAPER):
        assert effect_lines(operator, style) == ["(Here ?a)", "(not (Here ?b))"]


def test_distinct_objects_are_required_where_types_overlap() -> None:
    text = write_pddl(Vocabulary((), (HERE,), ()), [shelve([HERE])]).domain
    assert "(not (= ?a ?b))" in text
    assert "book - thing" in text
    assert "thing - object" in text


def test_strips_style_uses_neither_quantifiers_nor_equality() -> None:
    files = written(toy_problem(balls=3, jars=1), PddlStyle.STRIPS, toy_world.VOCABULARY)
    assert "(:requirements :strips :typing)" in files.domain
    for word in ("forall", "when", "=", "?r"):
        assert word not in files.domain
    assert "(:action MoveTo__robot_object__ball1" in files.domain
    assert "(not (Near robot_object ball2))" in files.domain
    assert "robot_object - robot" in files.domain  # the objects are constants
    assert files.problem is not None
    assert "(:objects)" in files.problem


def test_negative_preconditions_by_hand() -> None:
    operator = replace(
        shelve([HERE]),
        preconditions=frozenset([HERE.lifted(B)]),
        negative_preconditions=frozenset([ON.lifted(B, A), DARK.lifted()]),
    )
    condition = [
        ":precondition (and",
        "(Here ?b)",
        "(not (Dark))",
        "(not (On ?b ?a))",
        "(not (= ?a ?b))",
        ")",
    ]
    vocabulary = Vocabulary((), (DARK, HERE, ON), ())
    for style in (PddlStyle.FORALL, PddlStyle.PAPER):
        text = write_pddl(vocabulary, [operator], style=style).domain
        assert "\n".join(condition) in "\n".join(line.strip() for line in text.splitlines())
        assert ":negative-preconditions" in text
    book, shelf = BOOK("novel"), THING("board")
    problem = Problem((operator,), (book, shelf), frozenset([HERE(book), DARK()]), frozenset([HERE(shelf)]))
    text = written(problem, PddlStyle.STRIPS, vocabulary).domain
    # Nothing deletes Dark, so the operator is never applicable.
    assert "(:requirements :strips :typing :negative-preconditions)" in text
    assert ":action" not in text
    light = Operator("Light", (), *[frozenset()] * 2, frozenset([DARK.lifted()]), frozenset(), LIGHT, ())
    text = written(replace(problem, operators=(operator, light)), PddlStyle.STRIPS, vocabulary).domain
    assert "(not (Dark))\n    )\n    :effect (and\n      (Here board)" in text
    assert "(On" not in text.replace("(On ?x0", "")  # it never holds


LIGHT = Controller("Light", ())


def test_strips_style_needs_a_task() -> None:
    with pytest.raises(InvalidInputError, match="Give a task"):
        write_pddl(VOCABULARY, [], style=PddlStyle.STRIPS)


def test_strips_of_a_task_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("needful.planning.grounding._MAX_ATOMS", 1)
    with pytest.raises(InvalidInputError, match=r"too many ground operators or atoms.*another style"):
        written(toy_problem(), PddlStyle.STRIPS, toy_world.VOCABULARY)


@pytest.mark.parametrize("style", list(PddlStyle))
def test_any_name_can_be_written(style: PddlStyle, tmp_path: Path, parse_domain: DomainParser) -> None:
    root = Type("object")
    kind = Type("</script>", parent=root)
    fits = Predicate("and", (root, kind))
    also = Predicate("AND", (kind,))
    x, y = Variable("?any", root), Variable("?ein Stück", kind)
    operator = Operator(
        "when (not",
        (x, y),
        frozenset([also.lifted(y)]),
        frozenset([fits.lifted(x, y)]),
        frozenset(),
        frozenset([DeletePattern(fits, (Wildcard(root), y))]),
        Controller("c", ()),
        (),
    )
    objects = (root("a b"), root("A_B"), root("x" * 200), kind("箱"), kind('"'))
    goal = frozenset([fits(objects[0], objects[3]), fits(objects[2], objects[4])])
    initial = frozenset([also(objects[3]), also(objects[4])])
    problem = Problem((operator,), objects, initial, goal)
    vocabulary = Vocabulary((root, kind), (fits, also), ())
    files = written(problem, style, vocabulary)
    assert files.domain.isascii()
    assert '"</script>"' in files.domain
    assert len(parse_domain(files.domain).types) == 2
    check_with_fast_downward(problem, files, tmp_path)
    assert our_cost(problem) == 2


@pytest.mark.parametrize("style", list(PddlStyle))
def test_no_two_things_share_a_name(style: PddlStyle, parse_domain: DomainParser) -> None:
    """Unified Planning refuses files in which, for example, a type and an object share a name."""
    same, shelf = Type("same"), Type("SHELF")
    holds = Predicate("Same", (same,))
    x = Variable("?same", same)
    adds = frozenset([holds.lifted(x)])
    controller = Controller("same", (same,))
    nothing: frozenset[Any] = frozenset()
    operator = Operator("sAme", (x,), nothing, adds, nothing, nothing, controller, (x,))
    objects = (same("same"), same("same_object"), shelf("shelf"), shelf("sAme__same_object"))
    problem = Problem((operator,), objects, frozenset(), frozenset([holds(objects[0])]))
    files = written(problem, style, Vocabulary((same, shelf), (holds,), (controller,)))
    domain = parse_domain(files.domain)
    assert files.problem is not None
    task = ProblemParser()(files.problem)
    things = [*domain.types, *domain.predicates, *domain.actions, *domain.constants, *task.objects]
    names = [str(getattr(thing, "name", thing)).lower() for thing in things]
    assert len(names) == len(set(names)) == 2 + 1 + 4 + (2 if style is PddlStyle.STRIPS else 1)


def test_the_names_of_a_domain_do_not_depend_on_a_task() -> None:
    problem = toy_problem()
    alone = write_pddl(toy_world.VOCABULARY, problem.operators)
    assert written(problem, PddlStyle.FORALL, toy_world.VOCABULARY).domain == alone.domain


@pytest.mark.parametrize("style", list(PddlStyle))
def test_plans_are_written_as_planners_write_them(style: PddlStyle, tmp_path: Path) -> None:
    problem = toy_problem(balls=2)
    files = written(problem, style, toy_world.VOCABULARY)
    assert files.problem is not None
    theirs = fast_downward_plan(files.domain, files.problem, tmp_path)
    assert theirs is not None
    plan = files.read_plan(theirs)
    ours = files.write_plan(plan)
    assert [line.replace(" )", ")") for line in theirs.splitlines()[:-1]] == ours.splitlines()
    assert files.read_plan(ours) == plan
    assert files.write_plan(()) == ""


@pytest.mark.parametrize("style", list(PddlStyle))
def test_a_step_of_another_task_is_refused(style: PddlStyle) -> None:
    files = written(toy_problem(balls=2), style, toy_world.VOCABULARY)
    elsewhere = toy_world.OPERATORS[0].ground([toy_world.ROBOT("robot"), toy_world.BALL("ball9")])
    for step in (shelve([HERE]).ground([THING("a"), BOOK("b")]), elsewhere):
        with pytest.raises(InvalidInputError, match=f"{re.escape(str(step))} is not a step"):
            files.write_plan((step,))


def test_plans_of_other_planners_are_read() -> None:
    files = written(toy_problem(), PddlStyle.FORALL, toy_world.VOCABULARY)
    plan = files.read_plan(
        "(moveto robot_object ball0)\n(Grasp ROBOT_OBJECT ball0)\n; cost = 2 (unit cost)\n"
    )
    assert [str(step) for step in plan] == ["MoveTo(robot, ball0)", "Grasp(robot, ball0)"]
    with pytest.raises(UnknownNameError, match="action in the plan 'grab'"):
        files.read_plan("(grab robot_object ball0)")
    with pytest.raises(UnknownNameError, match="object in the plan 'ball9'"):
        files.read_plan("(grasp robot_object ball9)")


def test_each_action_is_the_one_of_the_domain_file() -> None:
    domain = write_pddl(toy_world.VOCABULARY, toy_world.OPERATORS).domain
    actions = write_actions(toy_world.VOCABULARY, toy_world.OPERATORS)
    assert len(actions) == len(toy_world.OPERATORS)
    for operator, action in zip(toy_world.OPERATORS, actions, strict=True):
        assert f"(:action {operator.name}\n" in action
        assert "\n".join(f"  {line}" for line in action.split("\n")) in domain
