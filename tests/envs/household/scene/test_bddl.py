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
    ("goal", "facts"),
    [
        ("(onto cup_1 tray_1)", ("predicate", "line 6", "'onto'", "'ontop'")),
        ("(or (open cup_1) (open cup_2))", ("predicate", "line 6", "'or'")),
        ("(and (open cup_1)\n(ontop cup_3 tray_1))", ("object", "line 7", "'cup_3'", "'cup_")),
        ("(forall (?x - plate) (open ?x))", ("category", "line 6", "'plate'")),
    ],
)
def test_unknown_names_are_named(goal: str, facts: tuple[str, ...]) -> None:
    with pytest.raises(UnknownNameError) as error:
        read_bddl(with_goal(goal), "tea")
    for fact in ("tea", *facts):
        assert fact in str(error.value)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (with_goal("(open cup_1 cup_2)"), ("line 6", "open takes 1", "(cup_1 cup_2)")),
        (with_goal("(and\n(not (and (open cup_1))))"), ("line 7", "(not (and (open cup_1)))")),
        (with_goal("(forall (?a ?b - cup) (open ?a))"), ("line 6", "`forall`", "one variable")),
        (with_goal("(forall () (open cup_1))"), ("line 6", "`forall`", "one variable", "()")),
        (with_goal("(open (cup_1))"), ("line 6", "name", "(cup_1)")),
        (with_goal("cup_1"), ("line 6", "cup_1")),
        (with_goal("()"), ("line 6", "()")),
        (TEXT + ")", (")", "line 7")),
        (TEXT.rstrip()[:-2], ("2", "line 6")),
        (TEXT + TEXT, ("one definition", "2")),
        ("", ("one definition", "0")),
        ("\n(problem)", ("line 2", "(define (problem ...) ...)")),
        ("(define (problem tea))", (":domain", ":goal", ":init", ":objects", "missing")),
        (TEXT.replace("(problem tea)", "(problem)"), ("line 3", "problem", "name")),
        (TEXT.replace("- tray", ""), ("line 4", "tray_1", "category")),
        (TEXT.replace("- tray", "-"), ("line 4", "`-`", "category")),
        (TEXT.replace(":init", ":start"), ("line 5", "section", "':start'")),
    ],
)
def test_broken_text_is_refused_with_its_line(text: str, facts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_bddl(text, "tea")
    for fact in ("tea", *facts):
        assert fact in str(error.value)


def test_a_category_that_does_not_exist_is_named_with_its_line() -> None:
    assert read_bddl(TEXT, "tea", ("cup", "tray")).categories["tray_1"] == "tray"
    with pytest.raises(
        UnknownNameError, match=r"Unknown category in tea, line 4, 'tray'\. Did you mean 'trays'"
    ):
        read_bddl(TEXT, "tea", ("cup", "trays"))
