"""A world for type merging: things of several types go into bags, boxes and fridges.

A fridge must be opened first. After `Go`, only the target and the things around it are near.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type

THING = Type("thing")
BOOK, CUP, TOY = (Type(name, parent=THING) for name in ("book", "cup", "toy"))
BAG, BOX, FRIDGE = (Type(name, parent=THING) for name in ("bag", "box", "fridge"))

FREE = Predicate("Free", ())
NEAR = Predicate("Near", (THING,))
HELD = Predicate("Held", (THING,))
OPEN = Predicate("Open", (THING,))
IN = Predicate("In", (THING, THING))

GO = Controller("Go", (THING,))
TAKE = Controller("Take", (THING,))
UNLOCK = Controller("Unlock", (THING,))
PUT = Controller("Put", (THING,))


def after(
    state: AbstractState, action: GroundController, around: Mapping[Object, Iterable[Object]]
) -> AbstractState:
    """Return the next state; `around` maps a thing to the things near it."""
    (thing,) = action.objects
    near = {atom for atom in state if atom.predicate == NEAR}
    held = {atom for atom in state if atom.predicate == HELD}
    match action.controller.name:
        case "Go":
            return frozenset(state - near | {NEAR(thing), *map(NEAR, around.get(thing, ()))})
        case "Take":
            return frozenset(state - {FREE(), NEAR(thing)} | {HELD(thing)})
        case "Unlock":
            return state | {OPEN(thing)}
        case _:
            return frozenset(state - held | {FREE(), *(IN(atom.objects[0], thing) for atom in held)})


def putting(
    item: Object,
    container: Object,
    around: Mapping[Object, Iterable[Object]] | None = None,
    unlock: bool = False,
) -> Demonstration:
    """Put an item into a container, which is opened first if `unlock` is set."""
    around = around or {}
    actions = [*([GO(container), UNLOCK(container)] if unlock else [])]
    actions += [GO(item), TAKE(item), GO(container), PUT(container)]
    states = [frozenset({FREE()})]
    for action in actions:
        states.append(after(states[-1], action, around))
    objects = {item, container, *around, *(one for near in around.values() for one in near)}
    return Demonstration(
        tuple(sorted(objects)), frozenset({IN(item, container)}), tuple(states), tuple(actions)
    )
