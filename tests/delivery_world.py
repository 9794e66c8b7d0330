"""A world whose controllers do not name every object: trucks deliver packages.

`Load(package, truck)` does not name the place where both are, `Drive(truck, place)` neither the place that
the truck leaves nor the city in which it must stay.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type

PACKAGE, TRUCK, PLACE, CITY = (Type(name) for name in ("package", "truck", "place", "city"))
AT = Predicate("At", (PACKAGE, PLACE))
PARKED = Predicate("Parked", (TRUCK, PLACE))
IN = Predicate("In", (PACKAGE, TRUCK))
PART_OF = Predicate("PartOf", (PLACE, CITY))
LOAD = Controller("Load", (PACKAGE, TRUCK))
UNLOAD = Controller("Unload", (PACKAGE, TRUCK))
DRIVE = Controller("Drive", (TRUCK, PLACE))


def after(state: AbstractState, action: GroundController) -> AbstractState:
    """Return the next state; an impossible action changes nothing."""
    where = {atom.objects[0]: atom.objects[1] for atom in state if atom.predicate in (AT, PARKED, IN)}
    city = {atom.objects[0]: atom.objects[1] for atom in state if atom.predicate == PART_OF}
    one, other = action.objects
    match action.controller.name:
        case "Load" if where[one] == where[other]:
            return state - {AT(one, where[one])} | {IN(one, other)}
        case "Unload" if where[one] == other:
            return state - {IN(one, other)} | {AT(one, where[other])}
        case "Drive" if where[one] != other and city.get(where[one]) == city.get(other):
            return state - {PARKED(one, where[one])} | {PARKED(one, other)}
    return state


def play(
    objects: Sequence[Object],
    start: AbstractState,
    goal: AbstractState,
    actions: Sequence[GroundController],
) -> Demonstration:
    """Execute the actions."""
    states = [start]
    for action in actions:
        states.append(after(states[-1], action))
    return Demonstration(tuple(objects), goal, tuple(states), tuple(actions))


def deliver(seed: int, packages: int = 2, places: int = 4, cities: int = 0) -> Demonstration:
    """Deliver packages one after the other, each with the truck of its city.

    Without cities, there are two trucks. Places and packages are spread at random.
    """
    rng = random.Random(seed)
    trucks = [TRUCK(f"truck{i}") for i in range(cities or 2)]
    towns = [CITY(f"city{i}") for i in range(cities)]
    stops = [PLACE(f"place{i}") for i in range(places * max(cities, 1))]
    parcels = [PACKAGE(f"package{i}") for i in range(packages)]
    start = {PART_OF(stop, towns[index % cities]) for index, stop in enumerate(stops) if cities}
    of_truck = {
        truck: stops[index::cities] if cities else stops for index, truck in enumerate(trucks)
    }  # the places that a truck can reach
    parked = {truck: rng.choice(of_truck[truck]) for truck in trucks}
    goal, actions = set(), []
    start |= {PARKED(truck, stop) for truck, stop in parked.items()}
    for parcel in parcels:
        truck = rng.choice(trucks)
        here, there = rng.sample(of_truck[truck], 2)
        start.add(AT(parcel, here))
        goal.add(AT(parcel, there))
        actions += [DRIVE(truck, here)] if parked[truck] != here else []
        actions += [LOAD(parcel, truck), DRIVE(truck, there), UNLOAD(parcel, truck)]
        parked[truck] = there
    return play((*parcels, *trucks, *stops, *towns), frozenset(start), frozenset(goal), actions)
