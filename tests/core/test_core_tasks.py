"""Tasks: an initial state and a goal."""

from __future__ import annotations

import pytest

from needful.core.atoms import Predicate
from needful.core.objects import Type
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import InvalidInputError, UnknownNameError

CUP = Type("cup", ("full",))
FULL = Predicate("Full", (CUP,), lambda state, objects: state.get(objects[0], "full") > 0.5)
RED, BLUE = CUP("red"), CUP("blue")
START = State({RED: [0.0], BLUE: [1.0]})


def test_goal_is_achieved_where_all_of_its_atoms_hold():
    task = Task(START, frozenset({FULL(RED), FULL(BLUE)}))
    assert not task.achieved_in(START)
    assert task.achieved_in(START.replace({RED: {"full": 1.0}}))
    assert not task.achieved_in(State({RED: [1.0], BLUE: [0.0]}))


def test_objects_are_those_of_the_initial_state():
    assert Task(START, frozenset({FULL(RED)})).objects == (BLUE, RED)


def test_goal_must_not_be_empty():
    with pytest.raises(InvalidInputError, match="goal of a task is empty"):
        Task(START, frozenset())


def test_goal_atoms_name_objects_of_the_task():
    with pytest.raises(UnknownNameError, match=r"goal atom Full\(rad\) 'rad'. Did you mean 'red'\?"):
        Task(START, frozenset({FULL(CUP("rad"))}))
