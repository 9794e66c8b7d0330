"""The BDDL reader, on the published files, on handwritten text and on broken text."""

from __future__ import annotations

from importlib import resources

import pytest

from needful.envs.household.scene.activities import ActivityDefinition, Literal, read_bddl
from needful.errors import InvalidInputError, UnknownNameError

FILES = resources.files("needful.envs.household.scene") / "bddl_files"

TEXT = """
; two cups, each with a saucer
(define (problem tea) (:domain d)
  (:objects cup_1 cup_2 - cup  tray_1 - tray)
  (:init (ontop cup_1 tray_1) (not (open cup_2)) (inroom tray_1 kitchen))
  (:goal (and (forall (?cup - cup) (inside ?cup ?tray_1)) (not (open ?cup_1)))))
"""


def read(name: str) -> ActivityDefinition:
    return read_bddl((FILES / f"{name}.bddl").read_text("utf-8"), name)


def with_goal(goal: str) -> str:
    start = TEXT.index("(:goal")
    return f"{TEXT[:start]}(:goal {goal}))"


def test_a_handwritten_definition() -> None:
    assert read_bddl(TEXT, "tea") == ActivityDefinition(
        "tea",
        {"cup_1": "cup", "cup_2": "cup", "tray_1": "tray"},
        (
            Literal("ontop", ("cup_1", "tray_1")),
            Literal("open", ("cup_2",), positive=False),
            Literal("inroom", ("tray_1", "kitchen")),
        ),
        (
            Literal("inside", ("cup_1", "tray_1")),
            Literal("inside", ("cup_2", "tray_1")),
            Literal("open", ("cup_1",), positive=False),
        ),
    )


def test_forall_may_contain_conjunctions_and_another_forall() -> None:
    goal = "(forall (?a - cup) (and (open ?a) (forall (?b - tray) (ontop ?a ?b))))"
    assert read_bddl(with_goal(goal), "tea").goal == (
        Literal("open", ("cup_1",)),
        Literal("ontop", ("cup_1", "tray_1")),
        Literal("open", ("cup_2",)),
        Literal("ontop", ("cup_2", "tray_1")),
    )


def test_the_published_files() -> None:
    presents = read("opening_presents")
    assert list(map(str, presents.goal)) == ["(open package.n.02_1)", "(open package.n.02_2)"]
    windows = read("locking_every_window")
    assert list(map(str, windows.goal)) == [f"(not (open window.n.01_{n}))" for n in (1, 2, 3, 4)]
    cans = read("collecting_aluminum_cans")
    assert set(cans.goal) == {Literal("inside", (f"pop.n.02_{n}", "bucket.n.01_1")) for n in range(1, 7)}
    assert Literal("ontop", ("bucket.n.01_1", "bed.n.01_1")) in cans.initial
    books = read("sorting_books")
    kinds = ("hardback.n.01", "book.n.02")
    assert set(books.goal) == {
        Literal("ontop", (f"{kind}_{n}", "shelf.n.01_1")) for kind in kinds for n in (1, 2)
    }


def test_the_bddl_files_have_their_licence() -> None:
    assert "Copyright (c) 2021 Stanford Vision and Learning Lab" in (FILES / "LICENSE").read_text("utf-8")
    assert "bddl/1.0.1" in (FILES / "NOTICE").read_text("utf-8")


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("(onto cup_1 tray_1)", "Unknown predicate in tea, line 6, 'onto'. Did you mean 'ontop'"),
        ("(or (open cup_1) (open cup_2))", "Unknown predicate in tea, line 6, 'or'"),
        (
            "(and (open cup_1)\n(ontop cup_3 tray_1))",
            "Unknown object in tea, line 7, 'cup_3'. Did you mean 'cup_",
        ),
        ("(forall (?x - plate) (open ?x))", "Unknown category in tea, line 6, 'plate'"),
    ],
)
def test_unknown_names_are_named(goal: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as error:
        read_bddl(with_goal(goal), "tea")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_goal("(open cup_1 cup_2)"), "tea, line 6: open takes 1 arguments, got (cup_1 cup_2)"),
        (with_goal("(and\n(not (and (open cup_1))))"), "tea, line 7: cannot read (not (and (open cup_1)))"),
        (with_goal("(forall (?a ?b - cup) (open ?a))"), "tea, line 6: `forall` takes one variable"),
        (with_goal("(forall () (open cup_1))"), "tea, line 6: `forall` takes one variable, got ()"),
        (with_goal("(open (cup_1))"), "tea, line 6: expected a name, got (cup_1)"),
        (with_goal("cup_1"), "tea, line 6: cannot read cup_1"),
        (with_goal("()"), "tea, line 6: cannot read ()"),
        (TEXT + ")", "tea: there is a `)` too many in line 7"),
        (TEXT.rstrip()[:-2], "tea: there are 2 `)` too few; the last `(` without one is in line 6"),
        (TEXT + TEXT, "tea: a file holds one definition, got 2"),
        ("", "tea: a file holds one definition, got 0"),
        ("\n(problem)", "tea, line 2: a definition has the form (define (problem ...) ...)"),
        (
            "(define (problem tea))",
            "tea: the sections [':domain', ':goal', ':init', ':objects'] are missing",
        ),
        (TEXT.replace("(problem tea)", "(problem)"), "tea, line 3: the problem has no name"),
        (TEXT.replace("- tray", ""), "tea, line 4: the objects ['tray_1'] have no category"),
        (TEXT.replace("- tray", "-"), "tea, line 4: a `-` needs names before it and a category after it"),
        (TEXT.replace(":init", ":start"), "Unknown section in tea, line 5, ':start'"),
    ],
)
def test_broken_text_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_bddl(text, "tea")
    assert message in str(error.value)
    assert "tea" in str(error.value)


def test_a_category_that_does_not_exist_is_named_with_its_line() -> None:
    assert read_bddl(TEXT, "tea", ("cup", "tray")).categories["tray_1"] == "tray"
    with pytest.raises(
        UnknownNameError, match=r"Unknown category in tea, line 4, 'tray'\. Did you mean 'trays'"
    ):
        read_bddl(TEXT, "tea", ("cup", "trays"))
