"""The smallest world that needs keep effects: a robot carries a cup to a box and passes other cups.

Moving changes the near cups. The held cup stays near, which is a precondition of putting it down.
"""

from __future__ import annotations

from collections.abc import Iterable

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard

ROBOT, CUP, BOX = Type("robot"), Type("cup"), Type("box")
NEAR = Predicate("Near", (ROBOT, CUP))
AT = Predicate("At", (ROBOT, BOX))
HELD = Predicate("Held", (CUP,))
IN = Predicate("In", (CUP, BOX))
GO = Controller("Go", (ROBOT, BOX))
PUT = Controller("Put", (ROBOT, CUP, BOX))

R, BOX1 = ROBOT("robby"), BOX("box1")
A, B, C, D = CUP("a"), CUP("b"), CUP("c"), CUP("d")

_r, _b, _c = Variable("?r", ROBOT), Variable("?b", BOX), Variable("?c", CUP)
GOING = Operator(
    "Go",
    (_r, _b, _c),
    preconditions=frozenset({HELD.lifted(_c), NEAR.lifted(_r, _c)}),
    add_effects=frozenset({AT.lifted(_r, _b), NEAR.lifted(_r, _c)}),
    delete_effects=frozenset(),
    delete_patterns=frozenset({DeletePattern(NEAR, (_r, Wildcard(CUP)))}),
    controller=GO,
    controller_arguments=(_r, _b),
)
PUTTING = Operator(
    "Put",
    (_r, _c, _b),
    preconditions=frozenset({HELD.lifted(_c), NEAR.lifted(_r, _c), AT.lifted(_r, _b)}),
    add_effects=frozenset({IN.lifted(_c, _b)}),
    delete_effects=frozenset({HELD.lifted(_c)}),
    delete_patterns=frozenset(),
    controller=PUT,
    controller_arguments=(_r, _c, _b),
)


def carrying(
    held: Object, near_before: Iterable[Object], near_after: Iterable[Object], goto: Controller = GO
) -> Demonstration:
    """Go to the box with a held cup and put the cup into it.

    `goto` may be a controller that takes the held cup as its third argument.
    """
    start = frozenset({HELD(held), *(NEAR(R, cup) for cup in near_before)})
    there = frozenset({HELD(held), AT(R, BOX1), *(NEAR(R, cup) for cup in near_after)})
    end = there - {HELD(held)} | {IN(held, BOX1)}
    arguments = (R, BOX1, held)[: len(goto.types)]
    return Demonstration(
        (R, BOX1, A, B, C, D),
        frozenset({IN(held, BOX1)}),
        (start, there, end),
        (goto(*arguments), PUT(R, held, BOX1)),
    )
