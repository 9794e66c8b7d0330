"""Find the groundings under which an operator fits a transition, and how well each one fits.

This is BEST of the specification, in two modes. `consistent` asks for all of (a)–(d): the controller
and its objects, P ⊆ s_{i-1}, and α_i ⊆ F(s_{i-1}, ω) ⊆ s_i. `explaining` is for partitioning, where an
operator has only add effects and keep effects: K ⊆ s_{i-1}, E+ ⊆ s_i and, where α_i is known,
α_i \\ s_{i-1} ⊆ E+.

Groundings come from a join: controller arguments are bound first; then each necessary add, which must
be one of the add effects, binds its objects; the other atoms follow, fewest candidates first. Of the
groundings that differ by an exchange of interchangeable variables only the one with the objects in
order is listed: the others have the same atoms, and lose the tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, AtomTable, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import LiftedAtom
from needful.core.canonical import interchangeable
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.encoding import EncodedTransition


class Match(NamedTuple):
    """An operator grounded on a transition; the smallest match is the best.

    The order is that of the fields: score, number of parameters, the operator's text, the objects
    (which are numbered by name). It is total, so no choice depends on the order of enumeration.
    """

    score: int
    arity: int
    text: str
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledOperator:
    """An operator with its variables numbered and its atoms in order."""

    operator: Operator
    text: str
    numbers: dict[Variable, int]
    controller_arguments: tuple[int, ...]
    preconditions: tuple[AtomKey, ...]
    adds: tuple[AtomKey, ...]
    keeps: tuple[AtomKey, ...]
    deletes: tuple[AtomKey, ...]
    patterns: tuple[DeletePattern, ...]
    interchangeable: tuple[tuple[int, ...], ...]


def compile_operator(operator: Operator) -> CompiledOperator:
    """Number the variables of an operator."""
    numbers = {variable: index for index, variable in enumerate(operator.parameters)}

    def keys(atoms: Iterable[LiftedAtom]) -> tuple[AtomKey, ...]:
        return tuple(lifted_key(atom, numbers) for atom in sorted(atoms))

    return CompiledOperator(
        operator,
        str(operator),
        numbers,
        tuple(numbers[variable] for variable in operator.controller_arguments),
        keys(operator.preconditions),
        keys(operator.add_effects),
        keys(operator.keep_effects),
        keys(operator.delete_effects),
        tuple(sorted(operator.delete_patterns)),
        tuple(tuple(numbers[variable] for variable in group) for group in interchangeable(operator)),
    )


class Matcher:
    """Matches operators with transitions and remembers every answer.

    An answer depends on nothing but its arguments, so hill climbing pays only for what it changes.
    """

    def __init__(self) -> None:
        self._compiled: dict[Operator, CompiledOperator] = {}
        self._consistent: dict[tuple[CompiledOperator, EncodedTransition, int], Match | None] = {}
        self._explaining: dict[tuple[CompiledOperator, EncodedTransition, int], tuple[Match, ...]] = {}

    def consistent(self, operator: Operator, transition: EncodedTransition, necessary: int) -> Match | None:
        """Return the best grounding that is consistent with the transition and with α_i, if any."""
        key = (self._compile(operator), transition, necessary)
        if key not in self._consistent:
            self._consistent[key] = min(_consistent(*key), default=None)
        return self._consistent[key]

    def explaining(
        self, operator: Operator, transition: EncodedTransition, needed: int
    ) -> tuple[Match, ...]:
        """Return the groundings of a stripped operator that explain the needed adds, best first."""
        key = (self._compile(operator), transition, needed)
        if key not in self._explaining:
            self._explaining[key] = tuple(sorted(_explaining(*key)))
        return self._explaining[key]

    def predict(self, operator: Operator, transition: EncodedTransition, objects: tuple[int, ...]) -> int:
        """Return F(s_{i-1}, ω) for one grounding whose preconditions hold."""
        return _effects(self._compile(operator), transition, objects).predicted

    def predictions(self, operator: Operator, transition: EncodedTransition) -> Iterator[int]:
        """Yield F(s_{i-1}, ω) for every grounding on the transition's action, whatever came of it.

        Groundings whose add effects lie outside `transition.after` are left out.
        """
        compiled = self._compile(operator)
        for objects in _groundings(compiled, compiled.preconditions, transition, 0):
            yield _effects(compiled, transition, objects).predicted

    def regress(
        self, operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], necessary: int
    ) -> int:
        """Return α_{i-1} = P ∪ (α_i \\ E+) of a grounded operator."""
        compiled = self._compile(operator)
        adds = ground_mask(transition.table, compiled.adds, objects)
        return ground_mask(transition.table, compiled.preconditions, objects) | (necessary & ~adds)

    def _compile(self, operator: Operator) -> CompiledOperator:
        compiled = self._compiled.get(operator)
        if compiled is None:
            compiled = self._compiled[operator] = compile_operator(operator)
        return compiled


class _Effects(NamedTuple):
    """The ground effects of an operator on a transition, as masks."""

    adds: int
    keeps: int
    deletes: int
    predicted: int


def _effects(
    operator: CompiledOperator, transition: EncodedTransition, objects: tuple[int, ...]
) -> _Effects:
    table = transition.table
    adds = ground_mask(table, operator.adds, objects)
    deletes = ground_mask(table, operator.deletes, objects)
    forgotten = deletes
    for pattern in operator.patterns:
        forgotten |= table.matching(pattern, operator.numbers, objects)
    predicted = (transition.before & ~forgotten) | adds
    return _Effects(adds, ground_mask(table, operator.keeps, objects), deletes, predicted)


def _consistent(
    operator: CompiledOperator, transition: EncodedTransition, necessary: int
) -> Iterator[Match]:
    needed = necessary & ~transition.before
    for objects in _groundings(operator, operator.preconditions, transition, needed):
        effects = _effects(operator, transition, objects)
        if necessary & ~effects.predicted or effects.predicted & ~transition.after:
            continue
        # Deletes that name an atom which never occurs in the demonstration have no number, yet count.
        wrong_deletes = len(operator.deletes) - (effects.deletes & transition.deleted).bit_count()
        unexplained = (transition.deleted & ~effects.deletes).bit_count()
        yield _match(operator, transition, objects, effects, wrong_deletes + unexplained)


def _explaining(operator: CompiledOperator, transition: EncodedTransition, needed: int) -> Iterator[Match]:
    for objects in _groundings(operator, operator.keeps, transition, needed):
        effects = _effects(operator, transition, objects)
        yield _match(operator, transition, objects, effects, transition.deleted.bit_count())


def _match(
    operator: CompiledOperator,
    transition: EncodedTransition,
    objects: tuple[int, ...],
    effects: _Effects,
    delete_errors: int,
) -> Match:
    """Score a grounding: |Cn \\ add| + |add \\ Cn| + |E- \\ del| + |del \\ E-| − |K|, Cn = E+ \\ K."""
    changes = effects.adds & ~effects.keeps
    add_errors = (changes ^ transition.added).bit_count()
    score = add_errors + delete_errors - len(operator.keeps)
    return Match(score, len(objects), operator.text, objects)


def _groundings(
    operator: CompiledOperator,
    needs: Sequence[AtomKey],
    transition: EncodedTransition,
    needed: int,
) -> Iterator[tuple[int, ...]]:
    """Yield the groundings with `needs` in s_{i-1}, E+ in s_i, and the needed atoms among E+."""
    binding = [UNBOUND] * len(operator.numbers)
    for place, argument in zip(operator.controller_arguments, transition.arguments, strict=True):
        if binding[place] not in (UNBOUND, argument):
            return
        binding[place] = argument
    table = transition.table
    domains = [table.of_type(variable.type) for variable in operator.numbers]
    before = [Constraint(name, variables, transition.before) for name, variables in needs]
    for pinned in _pins(operator.adds, {}, list(bits(needed)), table):
        after = [
            Constraint(name, variables, pinned.get(index, transition.after))
            for index, (name, variables) in enumerate(operator.adds)
        ]
        yield from join(table, after + before, domains, binding, ascending=operator.interchangeable)


def _pins(
    adds: Sequence[AtomKey], pinned: dict[int, int], needed: list[int], table: AtomTable
) -> Iterator[dict[int, int]]:
    """Yield each way to make the needed atoms add effects: index of the add effect -> atom (a mask).

    Injective groundings take different add effects to different atoms, so no grounding comes twice.
    """
    if not needed:
        yield pinned
        return
    number, rest = needed[0], needed[1:]
    name = table.atoms[number].predicate.name
    for index, (predicate, _) in enumerate(adds):
        if predicate == name and index not in pinned:
            yield from _pins(adds, {**pinned, index: 1 << number}, rest, table)


def ground_mask(table: AtomTable, keys: Iterable[AtomKey], objects: Sequence[int]) -> int:
    """Return the mask of lifted atoms under a grounding; atoms without a number are left out."""
    mask = 0
    for name, variables in keys:
        number = table.find((name, tuple(objects[variable] for variable in variables)))
        if number is not None:
            mask |= 1 << number
    return mask
