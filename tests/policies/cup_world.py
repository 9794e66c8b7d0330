"""A vocabulary with predicates of arity 0 to 2 and a subtype, for tests of policies."""

from __future__ import annotations

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State

THING = Type("thing", ("x",))
CUP = Type("cup", ("x", "full"), parent=THING)
ROOM = Type("room", ("size",))

RAINY = Predicate("Rainy", (), lambda state, objects: False)
CLEAN = Predicate("Clean", (THING,), lambda state, objects: False)
ON = Predicate("On", (THING, THING), lambda state, objects: False)
IN = Predicate("In", (THING, ROOM), lambda state, objects: False)

MOVE = Controller("Move", (CUP, ROOM), low=(-1.0, 0.0), high=(1.0, 0.5))
WAIT = Controller("Wait", ())
VOCABULARY = Vocabulary((THING, CUP, ROOM), (RAINY, CLEAN, ON, IN), (MOVE, WAIT))

# Nodes are in the order of names: block, cup, room.
BLOCK, A_CUP, A_ROOM = THING("block"), CUP("cup"), ROOM("room")
STATE = State({BLOCK: (2.0,), A_CUP: (3.0, 0.5), A_ROOM: (9.0,)})
ATOMS = frozenset({RAINY(), CLEAN(BLOCK), ON(A_CUP, BLOCK), IN(A_CUP, A_ROOM)})
GOAL = frozenset({CLEAN(A_CUP), IN(A_CUP, A_ROOM)})
