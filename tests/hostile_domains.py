"""Random domains with awkward names, for tests of writers and readers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard

NAMES = ("object", "Object", "and", "not", "when", "a b", "a_b", "A_B", 'say "hi"', "</script>", "naïve")
NAMES += ("箱", "箱子", "3d", "-", "?x", "x" * 90, "line\nbreak; (not)", '; type x is "y"', "n", "=", "é\\")
NAMES += ("fine", "Fine", "either", "define", ":action", "\t", "any", "any0")


@dataclass(frozen=True)
class HostileDomain:
    name: str
    vocabulary: Vocabulary
    operators: tuple[Operator, ...]
    objects: tuple[Object, ...]


def hostile_domain(seed: int) -> HostileDomain:
    """Return a domain of up to four types, predicates and operators."""
    random = Random(seed)

    def names(at_least: int, at_most: int) -> list[str]:
        return random.sample(NAMES, random.randint(at_least, at_most))

    types: list[Type] = []
    for name in names(1, 4):
        parent = random.choice([None, *types])
        types.append(
            Type(name, ("x", "y")[: random.randint(0, 2)] if parent is None else parent.features, parent)
        )
    predicates = [
        Predicate(name, tuple(random.choices(types, k=random.randint(0, 3)))) for name in names(1, 4)
    ]
    controllers = [
        Controller(name, tuple(random.choices(types, k=random.randint(0, 2))), (0.0,), (1.0,))
        for name in names(1, 3)
    ]
    operators = [_operator(name, types, predicates, controllers, random) for name in names(1, 4)]
    objects = tuple(random.choice(types)(name) for name in names(1, 4))
    vocabulary = Vocabulary(tuple(types), tuple(predicates), tuple(controllers))
    return HostileDomain(random.choice(NAMES), vocabulary, tuple(operators), objects)


def _operator(
    name: str,
    types: list[Type],
    predicates: list[Predicate],
    controllers: list[Controller],
    random: Random,
) -> Operator:
    controller = random.choice(controllers)
    kinds = [_subtype(kind, types, random) for kind in controller.types]
    kinds += random.choices(types, k=random.randint(0, 2))
    variables = [
        Variable(f"?{name}", kind)
        for name, kind in zip(random.sample(NAMES, len(kinds)), kinds, strict=True)
    ]

    def atoms(count: int) -> frozenset[LiftedAtom]:
        found = set()
        for predicate in random.choices(predicates, k=count):
            fitting = [[v for v in variables if v.type.is_subtype_of(kind)] for kind in predicate.types]
            if all(fitting):
                found.add(LiftedAtom(predicate, tuple(map(random.choice, fitting))))
        return frozenset(found)

    def pattern() -> DeletePattern:
        predicate = random.choice(predicates)
        return DeletePattern(
            predicate,
            tuple(
                random.choice(
                    [v for v in variables if v.type.is_subtype_of(kind)]
                    + 2 * [Wildcard(_subtype(kind, types, random))]
                )
                for kind in predicate.types
            ),
        )

    needs = atoms(random.randint(0, 2))
    return Operator(
        name,
        tuple(random.sample(variables, len(variables))),
        needs,
        atoms(random.randint(0, 3)),
        atoms(random.randint(0, 2)),
        frozenset(pattern() for _ in range(random.randint(0, 2))),
        controller,
        tuple(variables[: len(controller.types)]),
        atoms(random.choice((0, 0, 1, 2))) - needs,
    )


def _subtype(kind: Type, types: list[Type], random: Random) -> Type:
    return random.choice([one for one in types if one.is_subtype_of(kind)])
