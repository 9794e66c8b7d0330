"""Families of abstract planning problems that grow with the number of objects.

    paint(n, goals)    Cluttered Painting with n objects; goal objects go on the shelf or into the box
    screws(n, goals)   a magnet carries some of n identical screws to a receptacle
    books(n, goals)    n household objects of several types; goal books go on a shelf, cabinets are closed

Every task is deterministic: nothing is random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from needful.core.atoms import GroundAtom
from needful.core.model import Vocabulary
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.tasks import AbstractTask
from notation import Domain, read_domain

# The operators learned in Cluttered Painting, with only the preconditions that the domain really has.
# Learned operators have more preconditions, which would make the search easier.
PAINT = read_domain("""
    type obj
    type box
    type shelf
    type lid
    type robot
    predicate GripperOpen robot
    predicate Holding obj
    predicate HoldingSide obj
    predicate HoldingTop obj
    predicate InBox obj box
    predicate InShelf obj shelf
    predicate IsBoxColor obj box
    predicate IsShelfColor obj shelf
    predicate IsClean obj
    predicate IsDirty obj
    predicate IsDry obj
    predicate IsWet obj
    predicate NextTo robot obj
    predicate NextToBox robot box
    predicate NextToShelf robot shelf
    predicate NextToTable robot
    predicate NotOnTable obj
    predicate OnTable obj

    operator MoveToObj ?r:robot ?o:obj
      needs   GripperOpen ?r, OnTable ?o
      adds    NextTo ?r ?o, NextToTable ?r
      forgets NextTo ?r *:obj, NextToBox ?r *:box, NextToShelf ?r *:shelf
    operator MoveToBox ?r:robot ?b:box ?o:obj
      needs   Holding ?o, NextTo ?r ?o
      adds    NextTo ?r ?o, NextToBox ?r ?b, NotOnTable ?o
      deletes NextToTable ?r, OnTable ?o
      forgets NextTo ?r *:obj
    operator MoveToShelf ?r:robot ?s:shelf ?o:obj
      needs   Holding ?o, NextTo ?r ?o
      adds    NextTo ?r ?o, NextToShelf ?r ?s, NotOnTable ?o
      deletes NextToTable ?r, OnTable ?o
      forgets NextTo ?r *:obj
    operator PickSide ?r:robot ?o:obj
      needs   GripperOpen ?r, NextTo ?r ?o, OnTable ?o
      adds    Holding ?o, HoldingSide ?o
      deletes GripperOpen ?r
    operator PickTop ?r:robot ?o:obj
      needs   GripperOpen ?r, NextTo ?r ?o, OnTable ?o
      adds    Holding ?o, HoldingTop ?o
      deletes GripperOpen ?r
    operator Wash ?r:robot ?o:obj
      needs   Holding ?o, IsDirty ?o, IsDry ?o, NextTo ?r ?o
      adds    IsClean ?o, IsWet ?o
      deletes IsDirty ?o, IsDry ?o
    operator Dry ?r:robot ?o:obj
      needs   Holding ?o, IsWet ?o, NextTo ?r ?o
      adds    IsDry ?o
      deletes IsWet ?o
    operator PaintForBox ?r:robot ?b:box ?o:obj
      needs   Holding ?o, IsClean ?o, IsDry ?o, NextTo ?r ?o
      adds    IsBoxColor ?o ?b
    operator PaintForShelf ?r:robot ?s:shelf ?o:obj
      needs   Holding ?o, IsClean ?o, IsDry ?o, NextTo ?r ?o
      adds    IsShelfColor ?o ?s
    operator PlaceInBox ?r:robot ?b:box ?o:obj
      needs   Holding ?o, HoldingTop ?o, NextTo ?r ?o, NextToBox ?r ?b
      adds    GripperOpen ?r, InBox ?o ?b
      deletes Holding ?o, HoldingTop ?o
    operator PlaceOnShelf ?r:robot ?s:shelf ?o:obj
      needs   Holding ?o, HoldingSide ?o, NextTo ?r ?o, NextToShelf ?r ?s
      adds    GripperOpen ?r, InShelf ?o ?s
      deletes Holding ?o, HoldingSide ?o
    operator PlaceOnTable ?r:robot ?o:obj
      needs   Holding ?o, NextTo ?r ?o, NextToTable ?r
      adds    GripperOpen ?r, OnTable ?o
      deletes Holding ?o, HoldingSide ?o, HoldingTop ?o, NotOnTable ?o
    operator OpenLid ?r:robot ?l:lid
      needs   GripperOpen ?r
""")

# The initial conditions of the objects, in a cycle: two, one or no steps away from clean and dry.
_DIRTY, _WET, _CLEAN = ("IsDirty", "IsDry"), ("IsClean", "IsWet"), ("IsClean", "IsDry")
_CONDITIONS = (_DIRTY, _WET, _DIRTY, _WET, _CLEAN, _WET, _CLEAN)

# The operators learned in Screws, but with delete patterns for all atoms that the controllers can change:
# each demonstration carries one screw, so effects on a second screw are not learned.
SCREWS = read_domain("""
    type screw
    type receptacle
    type gripper
    predicate AboveReceptacle gripper receptacle
    predicate GripperCanPickScrew gripper screw
    predicate HoldingScrew gripper screw
    predicate ScrewInReceptacle screw receptacle

    operator MoveToScrew ?g:gripper ?s:screw
      adds    GripperCanPickScrew ?g ?s
      forgets AboveReceptacle ?g *:receptacle, GripperCanPickScrew ?g *:screw, HoldingScrew ?g *:screw
    operator MagnetizeGripper ?g:gripper ?s:screw
      needs   GripperCanPickScrew ?g ?s
      adds    HoldingScrew ?g ?s
      forgets HoldingScrew ?g *:screw
    operator MoveToReceptacle ?g:gripper ?r:receptacle ?s:screw
      needs   HoldingScrew ?g ?s
      adds    AboveReceptacle ?g ?r
      forgets GripperCanPickScrew ?g *:screw
    operator DemagnetizeGripper ?g:gripper ?r:receptacle ?s:screw
      needs   AboveReceptacle ?g ?r, HoldingScrew ?g ?s
      adds    ScrewInReceptacle ?s ?r
      forgets HoldingScrew ?g *:screw
""")

BOOKS = read_domain("""
    type obj
    type item < obj
    type book < item
    type toy < item
    type surface < obj
    type shelf < surface
    type table < surface
    type cabinet < obj
    type window < obj
    predicate Closed cabinet
    predicate HandEmpty
    predicate Holding item
    predicate Inside item cabinet
    predicate OnTop item surface
    predicate Open cabinet
    predicate Reachable obj

    operator NavigateTo ?o:obj
      adds    Reachable ?o
      forgets Reachable *:obj
    operator Grasp ?i:item
      needs   HandEmpty, Reachable ?i
      adds    Holding ?i
      deletes HandEmpty, Reachable ?i
      forgets Inside ?i *:cabinet, OnTop ?i *:surface
    operator PlaceOnTop ?i:item ?s:surface
      needs   Holding ?i, Reachable ?s
      adds    HandEmpty, OnTop ?i ?s
      deletes Holding ?i
      forgets Reachable *:obj
    operator PlaceInside ?i:item ?c:cabinet
      needs   Holding ?i, Open ?c, Reachable ?c
      adds    HandEmpty, Inside ?i ?c
      deletes Holding ?i
      forgets Reachable *:obj
    operator Open ?c:cabinet
      needs   Closed ?c, Reachable ?c
      adds    Open ?c
      deletes Closed ?c
    operator Close ?c:cabinet
      needs   Open ?c, Reachable ?c
      adds    Closed ?c
      deletes Open ?c
""")

# The types of the household objects, in a cycle.
_HOUSEHOLD = ("book", "toy", "shelf", "toy", "table", "book", "cabinet", "toy", "table", "window")


def paint(n: int, goals: int) -> AbstractTask:
    """Return a task: paint the first `goals` objects; the last goes into the box, others on the shelf."""
    box, shelf, lid, robot = (PAINT.object(kind, kind) for kind in ("box", "shelf", "lid", "robot"))
    objects = [PAINT.object("obj", f"obj{i}") for i in range(n)]
    initial = {PAINT.atom("GripperOpen", robot)}
    for i, obj in enumerate(objects):
        initial |= {PAINT.atom(p, obj) for p in ("OnTable", *_CONDITIONS[i % len(_CONDITIONS)])}
    goal: set[GroundAtom] = set()
    for obj in objects[: goals - 1]:
        goal |= {PAINT.atom("InShelf", obj, shelf), PAINT.atom("IsShelfColor", obj, shelf)}
    last = objects[goals - 1]
    goal |= {PAINT.atom("InBox", last, box), PAINT.atom("IsBoxColor", last, box)}
    return _task((box, shelf, lid, robot, *objects), initial, goal)


def screws(n: int, goals: int) -> AbstractTask:
    """Return a task: put the first `goals` screws into the receptacle."""
    gripper, receptacle = SCREWS.object("gripper", "gripper"), SCREWS.object("receptacle", "receptacle")
    heap = [SCREWS.object("screw", f"screw{i}") for i in range(n)]
    goal = {SCREWS.atom("ScrewInReceptacle", screw, receptacle) for screw in heap[:goals]}
    return _task((gripper, receptacle, *heap), set(), goal)


def books(n: int, goals: int) -> AbstractTask:
    """Return a task: put the first `goals` books on a shelf, and close one cabinet for every two books."""
    kinds = [_HOUSEHOLD[i % len(_HOUSEHOLD)] for i in range(n)]
    objects = [BOOKS.object(kind, f"{kind}{i}") for i, kind in enumerate(kinds)]

    def all_of(kind: str) -> list[Object]:
        return [obj for obj in objects if obj.type.is_subtype_of(BOOKS.types[kind])]

    tables, cabinets = all_of("table"), all_of("cabinet")
    wide_open = cabinets[: (goals + 1) // 2]
    initial = {BOOKS.atom("HandEmpty")}
    initial |= {BOOKS.atom("OnTop", item, tables[i % len(tables)]) for i, item in enumerate(all_of("item"))}
    initial |= {BOOKS.atom("Open" if one in wide_open else "Closed", one) for one in cabinets}
    goal = {BOOKS.atom("OnTop", book, all_of("shelf")[0]) for book in all_of("book")[:goals]}
    goal |= {BOOKS.atom("Closed", cabinet) for cabinet in wide_open}
    return _task(objects, initial, goal)


def _task(
    objects: Iterable[Object], initial: Iterable[GroundAtom], goal: Iterable[GroundAtom]
) -> AbstractTask:
    return AbstractTask(tuple(objects), frozenset(initial), frozenset(goal))


@dataclass(frozen=True, slots=True)
class Family:
    """A domain, and a function from the numbers of objects and goals to a task."""

    domain: Domain
    make_task: Callable[[int, int], AbstractTask]


FAMILIES: Mapping[str, Family] = {
    "paint": Family(PAINT, paint),
    "screws": Family(SCREWS, screws),
    "books": Family(BOOKS, books),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A member of a family.

    Attributes:
        family: the name of the family.
        objects, goals: the arguments of the family's function.
        cost: the length of the shortest plan, proved by Fast Downward where possible. For larger cases it
            is the sum of the steps that each goal needs.
    """

    family: str
    objects: int
    goals: int
    cost: int

    @property
    def name(self) -> str:
        return f"{self.family}-{self.objects}-{self.goals}"

    @property
    def domain(self) -> Domain:
        return FAMILIES[self.family].domain

    def task(self) -> AbstractTask:
        return FAMILIES[self.family].make_task(self.objects, self.goals)

    def operators(self) -> tuple[Operator, ...]:
        """Return the operators with effects: OpenLid has none, and third-party planners drop it too."""
        return tuple(one for one in self.domain.operators if one.add_effects or one.delete_effects)

    def vocabulary(self) -> Vocabulary:
        return self.domain.vocabulary
