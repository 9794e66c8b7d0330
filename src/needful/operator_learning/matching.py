"""Find the groundings under which an operator fits a transition, and score them.

This is the function BEST of the specification, in two modes. In both, the operator must have the
transition's controller and the controller's arguments. s_{i-1} and s_i are the abstract states before and
after the transition; α_i are the atoms that must hold after it.

`best_consistent_link` is for backchaining. The preconditions P must hold before: P ⊆ s_{i-1}. The
prediction F(s_{i-1}, ω) must contain all necessary atoms and no atom that is false afterwards:
α_i ⊆ F(s_{i-1}, ω) ⊆ s_i.

`explaining_matches` is for partitioning, where an operator has only add effects E+ and keep effects K. Keep
effects must hold before and add effects afterwards: K ⊆ s_{i-1}, E+ ⊆ s_i. Where α_i is known, the operator
must add the necessary atoms that did not hold before: α_i \\ s_{i-1} ⊆ E+.

Controller arguments are bound first, and atoms that mention only these are looked up. Then each necessary
atom that became true is matched with an add effect, which binds further variables. A join over the other
atoms binds all remaining variables. Groundings that differ only by swapping interchangeable variables have
the same atoms and thus the same score. The join yields only one of them, with its objects in ascending
order, because this one is the best by the order of `Match`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, AtomTable, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import LiftedAtom
from needful.core.canonical import interchangeable
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.encoding import EncodedTransition


class Match(NamedTuple):
    """An operator grounded on a transition; the smallest match is the best.

    Matches compare by their fields in order: score, number of parameters, the operator's text, the objects
    (numbered in the order of their names). This order is total, so no choice depends on the order of
    enumeration or on the last field, the mask of the added atoms.
    """

    score: int
    arity: int
    text: str
    objects: tuple[int, ...]
    adds: int


class ChainLink(NamedTuple):
    """A grounded operator that explains one transition in backchaining.

    `necessary` contains the atoms that must hold before the transition: the operator's preconditions P, and
    the atoms that must hold afterwards (α_i) and are not add effects (E+): α_{i-1} = P ∪ (α_i \\ E+). The
    link with the smallest match is the best.
    """

    match: Match
    necessary: int


class LiftedAtoms(NamedTuple):
    """Sorted atoms of an operator; `argument_atoms` are those that mention only controller arguments."""

    all: tuple[AtomKey, ...]
    argument_atoms: tuple[AtomKey, ...]
    other_atoms: tuple[AtomKey, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledOperator:
    """An operator prepared for matching: its variables are numbered and its atoms are sorted."""

    text: str
    numbers: dict[Variable, int]
    controller_arguments: tuple[int, ...]
    preconditions: LiftedAtoms
    adds: LiftedAtoms
    keeps: LiftedAtoms
    deletes: LiftedAtoms
    patterns: tuple[DeletePattern, ...]
    interchangeable: tuple[tuple[int, ...], ...]


def compile_operator(operator: Operator) -> CompiledOperator:
    """Prepare an operator for matching: number its variables and sort its atoms."""
    numbers = {variable: index for index, variable in enumerate(operator.parameters)}
    arguments = tuple(numbers[variable] for variable in operator.controller_arguments)

    def lifted(atoms: Iterable[LiftedAtom]) -> LiftedAtoms:
        keys = tuple(lifted_key(atom, numbers) for atom in sorted(atoms))
        argument_atoms = tuple(key for key in keys if set(key[1]) <= set(arguments))
        return LiftedAtoms(keys, argument_atoms, tuple(key for key in keys if key not in argument_atoms))

    return CompiledOperator(
        operator.text,
        numbers,
        arguments,
        lifted(operator.preconditions),
        lifted(operator.add_effects),
        lifted(operator.keep_effects),
        lifted(operator.delete_effects),
        tuple(sorted(operator.delete_patterns)),
        tuple(tuple(numbers[variable] for variable in group) for group in interchangeable(operator)),
    )


class Matcher:
    """Matches operators with transitions and caches every result.

    A result depends only on the arguments, so hill climbing matches only the operators that it changes.
    Most of the learning time is spent here, so this class checks the deadline.
    """

    def __init__(self, deadline: Deadline = NO_DEADLINE) -> None:
        self._check = deadline.check
        # Caches. The keys of all contain the operator's text. Keys of `_consistent` also contain the
        # transition and the necessary atoms, and keys of `_explaining` the transition and the needed atoms.
        self._compiled: dict[str, CompiledOperator] = {}
        self._consistent: dict[tuple[str, EncodedTransition, int], ChainLink | None] = {}
        self._explaining: dict[tuple[str, EncodedTransition, int], tuple[Match, ...]] = {}

    def best_consistent_link(
        self, operator: Operator, transition: EncodedTransition, necessary: int
    ) -> ChainLink | None:
        """Return the best grounding that backchaining can use, as a link of its chain, or None.

        Its prediction contains all necessary atoms, and all predicted atoms hold after the transition.
        """
        key = (operator.text, transition, necessary)
        if key not in self._consistent:
            links = _consistent(self._compile(operator), transition, necessary, self._check)
            self._consistent[key] = min(links, default=None)
        return self._consistent[key]

    def explaining_matches(
        self, operator: Operator, transition: EncodedTransition, needed: int
    ) -> tuple[Match, ...]:
        """Return the groundings of an operator whose add effects include `needed`, best first.

        The operator is stripped: it has only add effects, keep effects and widened quantified deletes.
        """
        key = (operator.text, transition, needed)
        if key not in self._explaining:
            matches = _explaining(self._compile(operator), transition, needed, self._check)
            self._explaining[key] = tuple(sorted(matches))
        return self._explaining[key]

    def predict(self, operator: Operator, transition: EncodedTransition, objects: tuple[int, ...]) -> int:
        """Return the mask of atoms predicted by an operator on objects for which its preconditions hold."""
        return _effects(self._compile(operator), transition, objects).predicted

    def predictions(self, operator: Operator, transition: EncodedTransition) -> Iterator[int]:
        """Yield the mask of predicted atoms for each applicable grounding on the action's objects.

        Groundings with an add effect that does not hold after the transition are left out.
        """
        compiled = self._compile(operator)
        for objects in _groundings(compiled, compiled.preconditions, transition, 0, self._check):
            yield _effects(compiled, transition, objects).predicted

    def _compile(self, operator: Operator) -> CompiledOperator:
        compiled = self._compiled.get(operator.text)
        if compiled is None:
            compiled = self._compiled[operator.text] = compile_operator(operator)
        return compiled


class _Effects(NamedTuple):
    """The ground effects of an operator on a transition, and the atoms predicted after it, as masks."""

    adds: int
    keeps: int
    deletes: int
    predicted: int


def _effects(
    operator: CompiledOperator, transition: EncodedTransition, objects: tuple[int, ...]
) -> _Effects:
    table = transition.table
    adds = table.ground(operator.adds.all, objects)
    deletes = table.ground(operator.deletes.all, objects)
    removed = deletes
    for pattern in operator.patterns:
        removed |= table.matching(pattern, operator.numbers, objects)
    predicted = (transition.before & ~removed) | adds
    return _Effects(adds, table.ground(operator.keeps.all, objects), deletes, predicted)


def _consistent(
    operator: CompiledOperator, transition: EncodedTransition, necessary: int, check: Callable[[], bool]
) -> Iterator[ChainLink]:
    needed = necessary & ~transition.before
    for objects in _groundings(operator, operator.preconditions, transition, needed, check):
        effects = _effects(operator, transition, objects)
        if necessary & ~effects.predicted or effects.predicted & ~transition.after:
            continue
        deleted = transition.deleted
        # The number of delete effects that did not happen. Atoms that never occur in the demonstration have
        # no bit in the mask, so lifted effects are counted.
        wrong_deletes = len(operator.deletes.all) - (effects.deletes & deleted).bit_count()
        unexplained = (deleted & ~effects.deletes).bit_count()
        match = _match(operator, transition, objects, effects, wrong_deletes + unexplained)
        needs = transition.table.ground(operator.preconditions.all, objects)
        yield ChainLink(match, needs | (necessary & ~effects.adds))


def _explaining(
    operator: CompiledOperator, transition: EncodedTransition, needed: int, check: Callable[[], bool]
) -> Iterator[Match]:
    for objects in _groundings(operator, operator.keeps, transition, needed, check):
        effects = _effects(operator, transition, objects)
        yield _match(operator, transition, objects, effects, transition.deleted.bit_count())


def _match(
    operator: CompiledOperator,
    transition: EncodedTransition,
    objects: tuple[int, ...],
    effects: _Effects,
    delete_errors: int,
) -> Match:
    """Return the match of a grounding; its score is the number of errors minus that of keep effects.

    An add effect (except a keep effect) that did not become true is an error. So is an atom that became
    true but is no add effect. `delete_errors` is the number of errors about atoms that become false.
    """
    changes = effects.adds & ~effects.keeps
    add_errors = (changes ^ transition.added).bit_count()
    score = add_errors + delete_errors - len(operator.keeps.all)
    return Match(score, len(objects), operator.text, objects, effects.adds)


def _groundings(
    operator: CompiledOperator,
    needs: LiftedAtoms,
    transition: EncodedTransition,
    needed: int,
    check: Callable[[], bool],
) -> Iterator[tuple[int, ...]]:
    """Yield the groundings of an operator that fit a transition, as object numbers.

    A grounding fits if the lifted atoms `needs` hold before the transition, the add effects hold after it,
    and the add effects include all ground atoms of the mask `needed`.
    """
    table = transition.table
    unbound = [UNBOUND] * len(operator.numbers)
    binding = _bound(unbound, operator.controller_arguments, transition.arguments)
    if binding is None:
        return
    added = table.ground(operator.adds.argument_atoms, binding) & transition.after
    if added.bit_count() < len(operator.adds.argument_atoms):
        return
    held = table.ground(needs.argument_atoms, binding) & transition.before
    if held.bit_count() < len(needs.argument_atoms):
        return
    before = [Constraint(name, variables, transition.before) for name, variables in needs.other_atoms]
    for pinned, adds in _pins(operator.adds.other_atoms, list(bits(needed & ~added)), binding, table):
        after = [Constraint(name, variables, transition.after) for name, variables in adds]
        domains = [table.of_type(variable.type) for variable in operator.numbers]
        yield from join(table, after + before, domains, pinned, check, operator.interchangeable)


def _pins(
    adds: tuple[AtomKey, ...], needed: list[int], binding: list[int], table: AtomTable
) -> Iterator[tuple[list[int], tuple[AtomKey, ...]]]:
    """Yield each way to match every needed atom with a different add effect.

    A result has two parts: a copy of `binding` that also binds the variables of the matched add effects,
    and the add effects that were not matched with a needed atom. Variables are bound to different
    objects, so different add effects become different atoms. Therefore no two results lead to the same
    grounding.
    """
    if not needed:
        yield binding, adds
        return
    number, rest = needed[0], needed[1:]
    name = table.atoms[number].predicate.name
    for index, (predicate, variables) in enumerate(adds):
        if predicate == name:
            pinned = _bound(binding, variables, table.arguments[number])
            if pinned is not None:
                yield from _pins(adds[:index] + adds[index + 1 :], rest, pinned, table)


def _bound(binding: list[int], variables: Sequence[int], objects: Sequence[int]) -> list[int] | None:
    """Return a copy of `binding` that binds variables to objects; None if one has another object."""
    extended = binding.copy()
    for variable, number in zip(variables, objects, strict=True):
        if extended[variable] not in (UNBOUND, number):
            return None
        extended[variable] = number
    return extended
