"""Handwritten PDDL domains, and errors for unsupported ones."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.plans import SearchStatistics
from needful.core.tasks import AbstractTask
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.engines.searches import AStar
from needful.planning.grounding import ground
from needful.planning.pddl.reader import PddlDomain, read_pddl_domain

# Upper case, comments, several names of one type, an action without `and`.
GRIPPER = """
; A robot carries balls between rooms. ; (not (a (list
(DEFINE (DOMAIN gripper)
  (:REQUIREMENTS :STRIPS :Typing)
  (:TYPES room ball gripper - object  ; three of them
          heavy - ball)
  (:CONSTANTS left - gripper)
  (:PREDICATES (at-robby ?r - room) (at ?b - ball ?r - Room)
               (free ?g - gripper) (carry ?o - ball ?g - gripper) (lamp-lit))
  (:ACTION move
    :PARAMETERS (?from ?to - room)
    :PRECONDITION (AT-ROBBY ?from)
    :EFFECT (and (at-robby ?to) (NOT (at-robby ?FROM))))
  (:action pick
    :parameters (?b - ball ?r - room)
    :precondition (and (at ?b ?r) (and (at-robby ?r) (free LEFT)))
    :effect (and (carry ?b left) (not (at ?b ?r)) (not (free left))))
  (:action drop
    :effect (and (at ?b ?r) (free left) (not (carry ?b left)))
    :precondition (and (carry ?b left) (at-robby ?r))
    :parameters (?b - heavy ?r - room))
  (:action rest :parameters () :precondition () :effect ()))
"""


def test_a_handwritten_domain() -> None:
    domain = read_pddl_domain(GRIPPER)
    assert domain.name == "gripper"
    names = [kind.name for kind in domain.vocabulary.types]
    assert names == ["room", "ball", "gripper", "heavy", "only left"]
    parents = [kind.parent and kind.parent.name for kind in domain.vocabulary.types]
    assert parents == [None, None, None, "ball", "gripper"]
    assert list(map(str, domain.vocabulary.predicates)) == [
        "at-robby(room)",
        "at(ball, room)",
        "free(gripper)",
        "carry(ball, gripper)",
        "lamp-lit()",
    ]
    assert [str(constant) for constant in domain.constants] == ["left:only left"]
    move, pick, drop, rest = map(str, domain.operators)
    assert move.splitlines() == [
        "move(?from:room, ?to:room)",
        "  controller: move(?from, ?to)",
        "  needs:      at-robby(?from)",
        "  adds:       at-robby(?to)",
        "  deletes:    at-robby(?from)",
        "  forgets:    -",
    ]
    assert pick.splitlines() == [
        "pick(?b:ball, ?r:room, ?left:only left)",
        "  controller: pick(?b, ?r)",
        "  needs:      at(?b, ?r), at-robby(?r), free(?left)",
        "  adds:       carry(?b, ?left)",
        "  deletes:    at(?b, ?r), free(?left)",
        "  forgets:    -",
    ]
    assert drop.splitlines()[0] == "drop(?b:heavy, ?r:room, ?left:only left)"
    assert rest.splitlines()[:2] == ["rest()", "  controller: rest()"]


def test_a_domain_can_be_planned_with() -> None:
    domain = read_pddl_domain(GRIPPER)
    types = {kind.name: kind for kind in domain.vocabulary.types}
    at_robby, at, free, *_ = domain.vocabulary.predicates
    here, there, ball = types["room"]("here"), types["room"]("there"), types["heavy"]("ball")
    (left,) = domain.constants
    right = types["gripper"]("right")  # no action names it
    initial = frozenset([at_robby(there), at(ball, here), free(left), free(right)])
    goal = frozenset([at(ball, there)])
    task = AbstractTask((here, there, ball, left, right), initial, goal)
    problem = ground(domain.operators, task, Budget.unlimited())
    assert problem is not None
    plan = next(AStar()(problem, 0, Budget.unlimited(), SearchStatistics()))
    assert [str(step) for step in problem.plan(plan)] == [
        "move(there, here)",
        "pick(ball, here, left)",
        "move(here, there)",
        "drop(ball, there, left)",
    ]


UNTYPED = """(define (domain blocks) (:predicates (on ?x ?y) (clear ?x)) (:types thing)
  (:action stack :parameters (?x ?y) :precondition (and (clear ?x) (clear ?y))
    :effect (and (on ?x ?y) (not (clear ?y)))))"""


def test_the_default_type_is_object() -> None:
    domain = read_pddl_domain(UNTYPED)
    root, thing = domain.vocabulary.types
    assert (root.name, thing.name, thing.parent) == ("object", "thing", root)
    assert domain.vocabulary.predicates[0].types == (root, root)
    assert [variable.type for variable in domain.operators[0].parameters] == [root, root]


def test_using_an_object_twice_is_a_separate_operator() -> None:
    stack, twice = read_pddl_domain(UNTYPED, repeated_objects=True).operators
    assert stack == read_pddl_domain(UNTYPED).operators[0]
    assert str(twice).splitlines() == [
        "stack[?y=?x](?x:object)",
        "  controller: stack(?x, ?x)",
        "  needs:      clear(?x)",
        "  adds:       on(?x, ?x)",
        "  deletes:    clear(?x)",
        "  forgets:    -",
    ]


def with_action(text: str) -> str:
    return f"""(define (domain d) (:types block table - thing thing)
  (:constants floor - table)
  (:predicates (On ?x ?y - thing) (Clear ?x - thing) (Dark))
  (:action act {text}))"""


def operators(text: str, repeated_objects: bool = False) -> tuple[str, ...]:
    return tuple(map(str, read_pddl_domain(with_action(text), repeated_objects=repeated_objects).operators))


def test_equalities_are_decided_by_the_merged_parameters() -> None:
    different = ":parameters (?x ?y - block) :precondition (not (= ?x ?y)) :effect (On ?x ?y)"
    assert len(operators(different)) == len(operators(different, repeated_objects=True)) == 1
    same = ":parameters (?x ?y - block) :precondition (= ?x ?y) :effect (Clear ?x)"
    (found,) = operators(same, repeated_objects=True)
    assert found.startswith("act[?y=?x](?x:block)")
    with pytest.raises(InvalidInputError, match=r"line 4: act can never be applied.*repeated_objects=True"):
        operators(same)


def test_negative_preconditions() -> None:
    text = ":parameters (?x ?y - block) :precondition (and (Clear ?x) (not (Clear ?y)) (NOT (Dark)))"
    (found,) = operators(f"{text} :effect (On ?x ?y)")
    assert found.splitlines()[2:4] == ["  needs:      Clear(?x)", "  forbids:    Clear(?y), Dark()"]
    # If both parameters stand for one object, the precondition never holds.
    assert operators(f"{text} :effect (On ?x ?y)", repeated_objects=True) == (found,)
    (found,) = operators(":precondition (not (Clear floor)) :effect (Dark)")
    assert "  forbids:    Clear(?floor)" in found


def test_parameters_are_merged_if_their_types_allow_it() -> None:
    text = (
        ":parameters (?x - thing ?y - block ?z - table) :effect (and (On ?x floor) (Clear ?y) (Clear ?z))"
    )
    assert {one.splitlines()[0] for one in operators(text, repeated_objects=True)} == {
        "act(?x:thing, ?y:block, ?z:table, ?floor:only floor)",
        "act[?x=?y](?y:block, ?z:table, ?floor:only floor)",
        "act[?x=?z](?z:table, ?y:block, ?floor:only floor)",
        "act[?x=?floor](?floor:only floor, ?y:block, ?z:table)",
        "act[?z=?floor](?x:thing, ?y:block, ?floor:only floor)",
        "act[?x=?y,?z=?floor](?y:block, ?floor:only floor)",
        "act[?x=?floor,?z=?floor](?floor:only floor, ?y:block)",
    }


def test_a_constant_and_a_parameter_may_share_a_name() -> None:
    (found,) = operators(":parameters (?floor - block) :effect (On ?floor floor)")
    assert found.startswith("act(?floor:block, ?floor_:only floor)")


class TestWithAVocabulary:
    BLOCK = Type("Block", ("x",))
    CLEAR = Predicate("Is clear", (BLOCK,), lambda state, objects: True)
    PUSH = Controller("Push", (BLOCK,), (0.0,), (1.0,))
    VOCABULARY = Vocabulary((BLOCK,), (CLEAR,), (PUSH,))
    # As a tool writes it that drops comments and converts names to lower case.
    TEXT = """(define (domain d) (:types block) (:predicates (is_clear ?b - block))
      (:action push :parameters (?b - block) :effect (is_clear ?b)))"""

    def read(self, text: str) -> PddlDomain:
        return read_pddl_domain(text, self.VOCABULARY)

    def test_names_are_recognised(self) -> None:
        domain = self.read(self.TEXT)
        (operator,) = domain.operators
        assert operator.parameters[0].type is self.BLOCK
        assert next(iter(operator.add_effects)).predicate is self.CLEAR

    def test_a_comment_names_the_controller(self) -> None:
        domain = self.read(f'; action PUSH runs "Push" with (?B)\n{self.TEXT}')
        assert domain.operators[0].controller is self.PUSH
        assert domain.vocabulary == self.VOCABULARY

    def test_a_missing_controller_is_created(self) -> None:
        domain = self.read(self.TEXT)
        assert domain.vocabulary.controllers == (self.PUSH, Controller("push", (self.BLOCK,)))
        assert domain.operators[0].controller.name == "push"

    def test_a_controller_of_the_same_name_is_used(self) -> None:
        assert self.read(self.TEXT.replace("push", "Push")).operators[0].controller is self.PUSH

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "(:types block)",
                "(:types blok)",
                "Unknown type in PDDL, line 1, 'blok'. Did you mean 'Block'?",
            ),
            ("(:types block)", "(:types block - big big)", "Unknown type in PDDL, line 1, 'big'"),
            ("- block))\n", "- block) (on ?b - block))\n", "Unknown predicate in PDDL, line 1, 'on'"),
            (
                "(is_clear ?b - block)",
                "(is_clear)",
                "the predicate is is_clear() here and Is clear(Block) in",
            ),
            ("(is_clear ?b - block)", "(is_clear ?b)", "Unknown type in PDDL, line 1, 'object'"),
            ("(define", '; action push runs "Puhs" with (?b)\n(define', "'Puhs'. Did you mean 'Push'?"),
            (
                "(define",
                '; action push runs "Push" with (?c)\n(define',
                "argument of the controller 'Push'",
            ),
            ("(define", '; action push runs "Push" with ()\n(define', "passes 0 arguments to 'Push'"),
        ],
    )
    def test_unknown_names_are_reported(self, old: str, new: str, message: str) -> None:
        with pytest.raises(InvalidInputError) as error:
            self.read(self.TEXT.replace(old, new))
        assert message in str(error.value)

    def test_parents_must_agree(self) -> None:
        thing = Type("thing")
        vocabulary = Vocabulary((thing, Type("block", parent=thing)), (), ())
        with pytest.raises(
            InvalidInputError, match=r"the parent of the type 'block' is None here and 'thing'"
        ):
            read_pddl_domain("(define (domain d) (:types block thing))", vocabulary)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(define (domain d)",
            "PDDL: 1 `)` missing at the end; the last `(` that is not closed is in line 1.",
        ),
        ("(define (domain d)))", "PDDL: line 1 has a `)` without a matching `(`."),
        ("(define)", "line 1: a domain must have the form (define (domain name)"),
        ("(define (problem d))", "a domain must have the form"),
        ("(define (domain))", "a domain must have the form"),
        ("(define d)", "line 1: expected a list in parentheses, got d."),
        ("()", "line 1: this list is empty"),
        ("((define) d)", "line 1: expected a name, got (define)."),
        (
            "(define (domain d)\n(:requirements :strips :fluents\n:durative-actions))",
            "PDDL: these requirements are not supported: :fluents (line 2), :durative-actions (line 3). "
            "Supported: :strips, :typing",
        ),
        ("(define (domain d)\n\n(:functions (cost)))", "Unknown section in PDDL, line 3, ':functions'."),
        ("(define (domain d)\n(:durative-action a))", "Did you mean ':action'?"),
        ("(define (domain d) (:types a)\n(:types b))", "line 2: the section :types is repeated"),
        ("(define (domain d) (:types a - (either b c)))", "types such as (either b c) are not supported"),
        ("(define (domain d) (:types a - ))", "line 1: a `-` must be between names and their type"),
        ("(define (domain d) (:types - a))", "a `-` must be between names and their type"),
        ("(define (domain d) (:types a A))", "line 1: a is listed twice."),
        ("(define (domain d) (:types a - b))", "Unknown type in PDDL, line 1, 'b'."),
        ("(define (domain d) (:types a - b b - a))", "the ancestors of the type a contain a cycle"),
        ("(define (domain d) (:predicates (p)\n(P)))", "line 2: the predicate P is declared twice."),
        ("(define (domain d) (:predicates (p ?x - q)))", "Unknown type in PDDL, line 1, 'q'. Known: none."),
        (
            "(define (domain d) (:constants ?x))",
            "line 1: ?x is a variable",
        ),
        ("(define (domain d) (:action))", "an action must have the form (:action name"),
        ("(define (domain d) (:action a :effect))", "an action must have the form"),
        ("(define (domain d) (:action a) (:action A))", "the section :action a is repeated"),
        ("(define (domain d) (:action a :effect () :effect ()))", "the action has :effect twice"),
        (
            "(define (domain d) (:action a :cost ()))",
            "Unknown part of an action in PDDL, line 1, ':cost'. Known: :effect, :parameters,",
        ),
        (
            "(define (domain d) (:action a :parameters (x)))",
            "the parameter x must start with a question mark",
        ),
    ],
)
def test_broken_domains(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_pddl_domain(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            ":precondition (not (and (Dark) (Clear floor)))",
            "line 4: (and (Dark) (Clear floor)) is not supported. Preconditions must be",
        ),
        (":precondition (not (not (Dark)))", "(not (Dark)) is not supported."),
        (":precondition (not (Drak))", "Unknown predicate in PDDL, line 4, 'Drak'. Did you mean 'dark'?"),
        (":precondition (not Dark)", "line 4: (not Dark) is not supported. Preconditions must be"),
        (":precondition (not ())", "line 4: this list is empty"),
        (":precondition (not (Dark) (Clear floor))", "(not (Dark) (Clear floor)) is not supported."),
        (":precondition (not (Clear))", "line 4: Predicate Clear(thing) takes 1 arguments, got 0."),
        (
            ":precondition (and (Clear floor) (not (Clear floor)))",
            "line 4: act can never be applied, because its precondition requires that Clear(?floor) holds "
            "and that it does not hold.",
        ),
        (":precondition (or (Dark) (Clear floor))", "(or (Dark) (Clear floor)) is not supported."),
        (
            ":precondition (exists (?z - block) (Clear ?z))",
            "(exists (?z - block) (Clear ?z)) is not supported.",
        ),
        (":precondition (forall (?z - block) (Clear ?z))", "is not supported. Preconditions must be"),
        (":precondition (> (cost) 1)", "(> (cost) 1) is not supported."),
        (
            ":precondition (Clean floor)",
            "Unknown predicate in PDDL, line 4, 'Clean'. Did you mean 'clear'?",
        ),
        (":precondition (Clear flor)", "Unknown constant in PDDL, line 4, 'flor'. Did you mean 'floor'?"),
        (":precondition (Clear ?x)", "Unknown parameter in PDDL, line 4, '?x'."),
        (":precondition (Clear)", "line 4: Predicate Clear(thing) takes 1 arguments, got 0."),
        (":precondition (not (= floor floor))", "act can never be applied"),
        (":precondition Dark", "line 4: expected a list in parentheses, got Dark."),
        (
            ":effect (increase (total-cost) 1)",
            "(increase (total-cost) 1) is not supported. Effects must be",
        ),
        (":effect (forall (?z - block) (Clear ?z))", "(Clear ?z) is not supported."),
        (":effect (when (Dark) (Clear floor))", "(Clear floor) is not supported."),
        (":effect (not (and (Dark)))", "(and (Dark)) is not supported."),
        (":effect (not (Drak))", "Unknown predicate in PDDL, line 4, 'Drak'. Did you mean 'dark'?"),
        (":effect (forall (?z - block) (not (Dark)))", "must contain each of ?z once"),
        (":effect (forall (?z - block) (not (On ?z ?z)))", "must contain each of ?z once"),
        (":effect (forall (?z - blok) (not (Clear ?z)))", "Unknown type in PDDL, line 4, 'blok'."),
        (
            ":effect (forall (?z) (not (Clear ?z)))",
            "line 4: Predicate Clear(thing) does not take *:object.",
        ),
    ],
)
def test_unsupported_conditions_and_effects_are_refused(action: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_pddl_domain(with_action(action))
    assert message in str(error.value)


def test_two_actions_can_share_a_controller_if_their_arguments_can() -> None:
    text = """(define (domain d) (:types block table - thing thing lamp) (:predicates (Clear ?x - thing))
      ; action one runs "Go" with (?b)
      (:action one :parameters (?b - block) :effect (Clear ?b))
      ; action two runs "Go" with (?t)
      (:action two :parameters (?t - table ?l - lamp) :effect (Clear ?t)))"""
    (controller,) = read_pddl_domain(text).vocabulary.controllers
    assert (controller.name, [kind.name for kind in controller.types]) == ("Go", ["thing"])
    for other in ("(?l)", "()"):
        with pytest.raises(
            InvalidInputError, match=r"line 5: another action runs 'Go' with arguments of incompatible"
        ):
            read_pddl_domain(text.replace("(?t)\n", f"{other}\n"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    for path, reason in (
        (tmp_path / "none.pddl", "No such file"),
        (binary, "can't decode"),
        ("a\0b", "null"),
    ):
        with pytest.raises(InvalidInputError, match=f"cannot be read: .*{reason}.*Give"):
            read_pddl_domain(path)


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.pddl"
    file.write_text(with_action(":effect (Drak)"))
    with pytest.raises(UnknownNameError, match=r"mine\.pddl, line 4, 'Drak'"):
        read_pddl_domain(str(file))


QUANTIFIED = with_action(
    """:parameters (?x - block) :precondition (and (Dark) (not (Clear ?x)) (not (= ?x floor)))
    :effect (and (On ?x floor) (forall (?z - block) (when (not (= ?z ?x)) (not (On ?z floor)))))"""
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([GRIPPER, QUANTIFIED]), st.data())
def test_any_text_is_read_or_refused(text: str, data: st.DataObject) -> None:
    """Some words of a valid domain are removed, doubled or replaced."""
    words = re.findall(r"[()]|[^\s()]+", re.sub(";.*", "", text))
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(words) - 1))
        other = data.draw(st.sampled_from(words))
        words[index : index + 1] = data.draw(st.sampled_from([[], [words[index]] * 2, [other]]))
    with suppress(InvalidInputError):
        read_pddl_domain(" ".join(words), repeated_objects=data.draw(st.booleans()))
