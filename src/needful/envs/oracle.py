"""The words in which oracle models are written down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard


def oracle_operator(
    name: str,
    parameters: Sequence[Variable],
    call: tuple[Controller, Sequence[Variable]],
    *,
    needs: Iterable[LiftedAtom] = (),
    adds: Iterable[LiftedAtom] = (),
    deletes: Iterable[LiftedAtom] = (),
    forgets: Iterable[Predicate | DeletePattern] = (),
) -> Operator:
    """Return an operator written as one row of a domain's table: name | call | P | E+ | E- | Q.

    `call` is the controller with its arguments. Of each predicate in `forgets` (Q) all atoms become
    unknown, as in the paper; of a pattern, those that match it.
    """
    controller, arguments = call
    return Operator(
        name,
        tuple(parameters),
        preconditions=frozenset(needs),
        add_effects=frozenset(adds),
        delete_effects=frozenset(deletes),
        delete_patterns=frozenset(map(_pattern, forgets)),
        controller=controller,
        controller_arguments=tuple(arguments),
    )


def _pattern(forgotten: Predicate | DeletePattern) -> DeletePattern:
    if isinstance(forgotten, DeletePattern):
        return forgotten
    return DeletePattern(forgotten, tuple(map(Wildcard, forgotten.types)))
