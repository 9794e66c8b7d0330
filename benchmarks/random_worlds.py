"""Learn from small random worlds: count models that miss transitions, and models that depend on names.

Usage: python benchmarks/random_worlds.py [--worlds 2000] [--renamed 300] [--first-seed 0]
                                          [--learners necessary,necessary-paper]

A world is stuck if the learned operators do not cover all transitions of its demonstrations. A full cover
always exists: one operator per transition, with a parameter for each object, all atoms before it as
preconditions, and all atoms after it as add effects. The first --renamed worlds are learned from twice: the
second time, objects, predicates, types and controllers have other names, and demonstrations, objects and
atoms are in another order. A world counts as different if the operators of the two runs differ in more than
their names. Seconds are CPU seconds of learning.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias, TypeVar

from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.canonical import canonical_form
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard

DEFAULT_LEARNERS = "necessary,necessary-paper"
MAX_DEMONSTRATIONS, MAX_STEPS, MAX_OBJECTS = 8, 6, 5

World: TypeAlias = tuple[Demonstration, ...]
Kind = TypeVar("Kind", Predicate, Controller)


@dataclass(frozen=True, slots=True)
class Rule:
    """The changes that an action makes for each binding of `variables` under which the atoms `needs` hold.

    The first variables stand for the arguments of the controller.
    """

    variables: tuple[Variable, ...]
    needs: frozenset[LiftedAtom]
    adds: frozenset[LiftedAtom]
    deletes: frozenset[LiftedAtom]

    def bindings(
        self, state: AbstractState, objects: Sequence[Object], arguments: Sequence[Object]
    ) -> Iterator[dict[Variable, Object]]:
        """Yield the bindings with the given controller arguments under which `needs` hold."""
        others = [obj for obj in objects if obj not in arguments]
        for chosen in itertools.permutations(others, len(self.variables) - len(arguments)):
            binding = dict(zip(self.variables, (*arguments, *chosen), strict=True))
            fits = all(obj.type.is_subtype_of(variable.type) for variable, obj in binding.items())
            if fits and all(atom.ground(binding) in state for atom in self.needs):
                yield binding


@dataclass(frozen=True, slots=True)
class Action:
    """A controller of a random world and its effects.

    One of the rules `main` is applied, with one binding. The rules `side` are applied with every binding.
    """

    controller: Controller
    main: tuple[Rule, ...]
    side: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a random world.

    In each step, each atom of the predicates `clutter` changes with the probability `clutter_rate`.
    """

    types: tuple[Type, ...]
    predicates: tuple[Predicate, ...]
    clutter: tuple[Predicate, ...]
    clutter_rate: float
    actions: tuple[Action, ...]


def random_world(seed: int) -> World:
    """Return the demonstrations of a random world; they depend only on the seed."""
    rng = Random(f"random world {seed}")
    rules = _rules(rng)
    count = rng.randint(1, MAX_DEMONSTRATIONS)
    return tuple(_demonstration(rules, rng) for _ in range(count))


def _rules(rng: Random) -> Rules:
    root = Type("thing")
    leaves = [Type(name, parent=root) for name in ("ball", "box", "cup")[: rng.randint(1, 3)]]
    types = (root, *leaves)
    predicates = tuple(
        Predicate(name, tuple(rng.choices(types, k=rng.choice((0, 1, 1, 1, 2, 2)))))
        for name in ("Clean", "Open", "On", "Near", "Lit", "Wet")[: rng.choice((2, 3, 3, 4, 5, 6))]
    )
    clutter = tuple(
        Predicate(name, tuple(rng.choices(types, k=rng.randint(1, 2))))
        for name in ("Seen", "Far")[: rng.choice((0, 1, 1, 2))]
    )
    actions = []
    for name in ("Push", "Turn", "Move")[: rng.choice((1, 1, 2, 3))]:
        controller = Controller(name, tuple(rng.choices(types, k=rng.choice((0, 1, 1, 2)))))
        main = tuple(_rule(controller, predicates, types, rng, (1, 3)) for _ in range(rng.randint(1, 2)))
        side = tuple(_rule(controller, predicates, types, rng, (1, 2)) for _ in range(rng.randint(0, 3)))
        actions.append(Action(controller, main, side))
    return Rules(types, predicates, clutter, rng.choice((0.1, 0.3, 0.5)), tuple(actions))


def _rule(
    controller: Controller,
    predicates: Sequence[Predicate],
    types: Sequence[Type],
    rng: Random,
    changes: tuple[int, int],
) -> Rule:
    kinds = [*controller.types, *rng.choices(types, k=rng.choice((0, 0, 1, 1, 2)))]
    variables = tuple(Variable(f"?x{index}", kind) for index, kind in enumerate(kinds))
    atoms = [
        LiftedAtom(predicate, chosen)
        for predicate in predicates
        for chosen in itertools.product(variables, repeat=len(predicate.types))
        if predicate.fits(chosen)
    ]
    if not atoms:
        return Rule(variables, frozenset(), frozenset(), frozenset())
    needs = frozenset(rng.sample(atoms, min(len(atoms), rng.choice((0, 1, 1, 2)))))
    changed = rng.sample(atoms, min(len(atoms), rng.randint(*changes)))
    adds = frozenset(atom for atom in changed if rng.random() < 0.5)
    return Rule(variables, needs, adds, frozenset(changed) - adds)


def _demonstration(rules: Rules, rng: Random) -> Demonstration:
    objects = tuple(
        Object(f"o{index}", rng.choice(rules.types)) for index in range(rng.randint(2, MAX_OBJECTS))
    )
    share = rng.choice((0.2, 0.4, 0.6))
    atoms = ground_atoms((*rules.predicates, *rules.clutter), objects)
    states = [frozenset(atom for atom in atoms if rng.random() < share)]
    actions: list[GroundController] = []
    for _ in range(rng.randint(1, MAX_STEPS)):
        step = _step(rules, states[-1], objects, rng)
        if step is not None:
            actions.append(step[0])
            states.append(step[1])
    final = sorted(states[-1])
    new = sorted(states[-1] - states[0])
    goal = {*rng.sample(final, min(len(final), rng.randint(1, 3))), *new[: rng.randint(0, 2)]}
    return Demonstration(objects, frozenset(goal), tuple(states), tuple(actions))


def ground_atoms(predicates: Sequence[Predicate], objects: Sequence[Object]) -> list[GroundAtom]:
    """Return all ground atoms of predicates over objects."""
    return [
        GroundAtom(predicate, chosen)
        for predicate in predicates
        for chosen in itertools.product(objects, repeat=len(predicate.types))
        if predicate.fits(chosen)
    ]


def _step(
    rules: Rules, state: AbstractState, objects: Sequence[Object], rng: Random
) -> tuple[GroundController, AbstractState] | None:
    """Return a random action and the state that it leads to, or None if no action was found."""
    for _ in range(10):
        action = rng.choice(rules.actions)
        arguments = rng.sample(objects, min(len(objects), len(action.controller.types)))
        fits = len(arguments) == len(action.controller.types) and all(
            obj.type.is_subtype_of(kind)
            for obj, kind in zip(arguments, action.controller.types, strict=True)
        )
        bindings = [
            (rule, binding)
            for rule in action.main
            if fits
            for binding in rule.bindings(state, objects, arguments)
        ]
        if not bindings:
            continue
        rule, binding = rng.choice(bindings)
        effects = [(rule, binding)]
        effects += ((rule, one) for rule in action.side for one in rule.bindings(state, objects, arguments))
        deleted = {atom.ground(one) for rule, one in effects for atom in rule.deletes}
        added = {atom.ground(one) for rule, one in effects for atom in rule.adds}
        flipped = {
            atom for atom in ground_atoms(rules.clutter, objects) if rng.random() < rules.clutter_rate
        }
        return action.controller(*arguments), ((state - deleted) | added) ^ flipped
    return None


@dataclass(frozen=True, slots=True)
class Renaming:
    """New names of types, predicates and controllers, and the renamed demonstrations in another order."""

    types: dict[Type, Type]
    predicates: dict[Predicate, Predicate]
    controllers: dict[Controller, Controller]
    world: World

    def restore(self, operator: Operator) -> Operator:
        """Return an operator that was learned from the renamed world, with the original names."""
        types = {new: old for old, new in self.types.items()}
        predicates = {new: old for old, new in self.predicates.items()}
        controllers = {new: old for old, new in self.controllers.items()}
        variables = {one: Variable(one.name, types[one.type]) for one in operator.parameters}

        def atoms(old: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
            return frozenset(
                LiftedAtom(predicates[a.predicate], tuple(variables[v] for v in a.variables)) for a in old
            )

        return Operator(
            operator.name,
            tuple(variables.values()),
            atoms(operator.preconditions),
            atoms(operator.add_effects),
            atoms(operator.delete_effects),
            frozenset(
                DeletePattern(
                    predicates[pattern.predicate],
                    tuple(
                        variables[one] if isinstance(one, Variable) else Wildcard(types[one.type])
                        for one in pattern.arguments
                    ),
                )
                for pattern in operator.delete_patterns
            ),
            controllers[operator.controller],
            tuple(variables[one] for one in operator.controller_arguments),
            atoms(operator.negative_preconditions),
        )


def renamed(world: World, seed: int) -> Renaming:
    """Return the world with other names and another order of demonstrations, at random."""
    rng = Random(f"renaming {seed}")
    found = {kind for demo in world for obj in demo.objects for kind in obj.type.ancestry()}
    atoms = {atom for demo in world for state in demo.abstract_states for atom in state}
    predicates = {atom.predicate for atom in atoms}
    controllers = {action.controller for demo in world for action in demo.actions}
    declared = [kind for one in predicates for kind in one.types]
    declared += [kind for one in controllers for kind in one.types]
    found.update(kind for one in declared for kind in one.ancestry())
    names = dict(zip(sorted(found), _shuffled_names("t", len(found), rng), strict=True))
    types: dict[Type, Type] = {}

    def new_type(kind: Type) -> Type:
        if kind not in types:
            parent = new_type(kind.parent) if kind.parent else None
            types[kind] = replace(kind, name=names[kind], parent=parent)
        return types[kind]

    def new(kinds: set[Kind], letter: str) -> dict[Kind, Kind]:
        pairs = zip(sorted(kinds), _shuffled_names(letter, len(kinds), rng), strict=True)
        return {old: replace(old, name=name, types=tuple(map(new_type, old.types))) for old, name in pairs}

    for kind in sorted(found):
        new_type(kind)
    new_predicates, new_controllers = new(predicates, "p"), new(controllers, "c")

    def demonstration(demo: Demonstration) -> Demonstration:
        chosen = zip(demo.objects, _shuffled_names("o", len(demo.objects), rng), strict=True)
        objects = {obj: Object(name, types[obj.type]) for obj, name in chosen}

        def state(old: AbstractState) -> AbstractState:
            pairs = [(new_predicates[a.predicate], tuple(objects[o] for o in a.objects)) for a in old]
            rng.shuffle(pairs)
            return frozenset(GroundAtom(*pair) for pair in pairs)

        actions = (
            new_controllers[one.controller](*(objects[o] for o in one.objects), parameters=one.parameters)
            for one in demo.actions
        )
        return Demonstration(
            tuple(rng.sample(list(objects.values()), len(objects))),
            state(demo.goal),
            tuple(map(state, demo.abstract_states)),
            tuple(actions),
        )

    demos = [demonstration(demo) for demo in world]
    rng.shuffle(demos)
    return Renaming(types, new_predicates, new_controllers, tuple(demos))


def _shuffled_names(letter: str, count: int, rng: Random) -> list[str]:
    return rng.sample([f"{letter}{index}" for index in range(count)], count)


def operator_texts(operators: Sequence[Operator]) -> Counter[str]:
    """Return the texts of operators, without the numbers in their names and with canonical variables."""
    unnamed = (replace(operator, name=operator.controller.name) for operator in operators)
    return Counter(canonical_form(operator)[0].text for operator in unnamed)


def differs(world: World, learner: str, seed: int) -> bool:
    """Return whether the operators learned from a renamed world differ in more than names."""
    learn = BILEVEL_APPROACHES[learner].learn_operators
    renaming = renamed(world, seed)
    restored = [renaming.restore(one) for one in learn(renaming.world).operators]
    return operator_texts(restored) != operator_texts(learn(world).operators)


@dataclass(frozen=True, slots=True)
class Result:
    """The measurements of one learner.

    These include the seeds of the worlds that are not covered completely (stuck), and of the worlds whose
    operators depend on names (different).
    """

    stuck: tuple[int, ...]
    differing: tuple[int, ...]
    operators: int
    seconds: float


def measure(learner: str, worlds: range, renamed_worlds: range) -> Result:
    """Learn from random worlds, and from some of them again with other names."""
    stuck: list[int] = []
    operators, seconds = 0, 0.0
    for seed in worlds:
        world = random_world(seed)
        start = time.process_time()
        learned = BILEVEL_APPROACHES[learner].learn_operators(world)
        seconds += time.process_time() - start
        operators += len(learned.operators)
        if learned.uncovered:
            stuck.append(seed)
    differing = (seed for seed in renamed_worlds if differs(random_world(seed), learner, seed))
    return Result(tuple(stuck), tuple(differing), operators, seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--worlds", type=int, default=2000, help="the number of worlds")
    parser.add_argument("--renamed", type=int, default=300, help="the number of worlds that are renamed")
    parser.add_argument("--first-seed", type=int, default=0, help="the seed of the first world")
    parser.add_argument("--learners", default=DEFAULT_LEARNERS, metavar="NAME,...")
    args = parser.parse_args(arguments)
    first = args.first_seed
    for learner in args.learners.split(","):
        if learner not in BILEVEL_APPROACHES:
            parser.error(f"unknown learner {learner!r}; choose from {', '.join(BILEVEL_APPROACHES)}")
        worlds, again = range(first, first + args.worlds), range(first, first + args.renamed)
        result = measure(learner, worlds, again)
        print(
            f"{learner}: {len(worlds)} worlds, {len(result.stuck)} stuck, {result.operators} operators, "
            f"{result.seconds:.1f} s; {len(again)} renamed, {len(result.differing)} differ"
        )
        for title, seeds in (("stuck", result.stuck), ("differ", result.differing)):
            if seeds:
                print(f"  {title}: {' '.join(map(str, seeds))}", flush=True)


if __name__ == "__main__":
    main()
