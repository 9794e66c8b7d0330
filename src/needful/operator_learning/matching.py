"""Find the groundings under which an operator fits a transition, and score them.

There are two functions with different conditions. In both, the operator must have the transition's
controller, and its controller arguments are bound to the objects of the action. s_{i-1} and s_i are the
abstract states before and after the transition; α_i are the atoms that must hold after it.

`best_consistent_link` is for backchaining. The preconditions P must hold before: P ⊆ s_{i-1}. The
prediction F(s_{i-1}, ω) must contain all necessary atoms and no atom that is false afterwards:
α_i ⊆ F(s_{i-1}, ω) ⊆ s_i.

`explaining_matches` is for assigning transitions to operators. Here an operator has only add effects E+ and
required preconditions K; the rest is induced later. An atom in both K and E+ is a keep effect, predicted to
stay true. K must hold before and E+ afterwards: K ⊆ s_{i-1}, E+ ⊆ s_i. Where α_i is known, the operator
must add the necessary atoms that did not hold before: α_i \\ s_{i-1} ⊆ E+.

Groundings are found in three steps. The controller arguments are bound first, and atoms that mention only
these are looked up. Then each necessary atom that became true is matched with an add effect, which binds
further variables. Finally, a join over the other atoms binds the remaining variables. Groundings that
differ only by swapping interchangeable variables have the same score. The join yields only the best of them
according to `Match`: the one with its objects in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, AtomTable, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, is_allowed, join
from needful.core.atoms import LiftedAtom
from needful.core.canonical import interchangeable
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.encoding import EncodedTransition


class Match(NamedTuple):
    """A grounding of an operator that fits a transition; the smallest match is the best.

    Matches are compared by score, then by number of parameters, by the operator's text, and by the objects
    (numbered in the order of their names). Two different matches on a transition always differ in one of
    these fields, so the best match does not depend on the order in which matches are found. `adds` is a bit
    mask of the add effects, and `changes` a bit mask of those add effects that are not also preconditions.
    """

    score: int
    arity: int
    text: str
    objects: tuple[int, ...]
    adds: int
    changes: int


# The match of a skipped transition, which no operator explains because it adds nothing necessary.
SKIPPED = Match(0, 0, "", (), 0, 0)


class ChainLink(NamedTuple):
    """How backchaining explains one transition: by a grounded operator (`match`), or not (`SKIPPED`).

    `necessary` contains the atoms that must hold before the transition: α_{i-1} = P ∪ (α_i \\ E+). These
    are the operator's preconditions P, and the atoms α_i that must hold afterwards, except the add effects
    E+. Among several links for a transition, the one with the smallest match is the best.
    """

    match: Match
    necessary: int


class LiftedAtoms(NamedTuple):
    """Some lifted atoms of an operator, such as its preconditions, sorted and divided into two groups.

    `all` contains all of them. Those in `argument_atoms` mention only controller arguments, and those in
    `other_atoms` also mention other parameters.
    """

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
    negative_preconditions: tuple[AtomKey, ...] = ()

    def forbidden(self, transition: EncodedTransition, objects: tuple[int, ...]) -> bool:
        """Return whether the atom of a negative precondition holds for `objects` before a transition."""
        negative = self.negative_preconditions
        return bool(negative and transition.table.ground(negative, objects) & transition.before)


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
        lifted(operator.negative_preconditions).all,
    )


class Matcher:
    """Matches operators with transitions and caches the results.

    A result depends only on the operator and the other arguments of a method. So if a step of hill climbing
    changes one operator, only this operator is matched again. Most of the learning time is spent here, so
    this class checks the deadline.
    """

    def __init__(self, deadline: Deadline = NO_DEADLINE) -> None:
        self._check = deadline.check
        # Three caches. The key of `_compiled` is the operator's text. The other keys are the arguments of
        # `best_consistent_link` and of `explaining_matches`, with the operator's text for the operator.
        self._compiled: dict[str, CompiledOperator] = {}
        self._consistent: dict[tuple[str, EncodedTransition, int, bool], ChainLink | None] = {}
        self._explaining: dict[tuple[str, EncodedTransition, int], tuple[Match, ...]] = {}

    def best_consistent_link(
        self, operator: Operator, transition: EncodedTransition, necessary: int, with_purpose: bool = False
    ) -> ChainLink | None:
        """Return the best grounding of an operator that explains a transition in backchaining, or None.

        The grounding must predict all necessary atoms, and all atoms that it predicts must hold after the
        transition. With `with_purpose`, an add effect that is not also a precondition must be necessary.
        """
        key = (operator.text, transition, necessary, with_purpose)
        if key not in self._consistent:
            links = _consistent(self._compile(operator), transition, necessary, self._check)
            if with_purpose:
                links = (link for link in links if link.match.changes & necessary)
            self._consistent[key] = min(links, default=None)
        return self._consistent[key]

    def is_consistent(self, operator: Operator, transition: EncodedTransition) -> bool:
        """Return whether some grounding of an operator is applicable and predicts nothing false."""
        return self.best_consistent_link(operator, transition, 0) is not None

    def explaining_matches(
        self, operator: Operator, transition: EncodedTransition, needed: int
    ) -> tuple[Match, ...]:
        """Return the groundings of an operator that add all atoms of the mask `needed`, best first.

        The given preconditions must hold before the transition, the add effects after it. The operator's
        delete effects and its other preconditions are induced later, from the transitions assigned to it.
        """
        key = (operator.text, transition, needed)
        if key not in self._explaining:
            matches = _explaining(self._compile(operator), transition, needed, self._check)
            self._explaining[key] = tuple(sorted(matches))
        return self._explaining[key]

    def predict(self, operator: Operator, transition: EncodedTransition, objects: tuple[int, ...]) -> int:
        """Return the mask of the atoms that an operator on `objects` predicts after a transition.

        The preconditions must hold before the transition; this is not checked.
        """
        return _effects(self._compile(operator), transition, objects).predicted

    def predictions(self, operator: Operator, transition: EncodedTransition) -> Iterator[int]:
        """Yield the mask of predicted atoms for each grounding that is applicable before a transition.

        The controller arguments are bound to the objects of the transition's action. Groundings with an add
        effect that does not hold after the transition are left out.
        """
        compiled = self._compile(operator)
        for objects in _groundings(compiled, compiled.preconditions, transition, 0, self._check):
            yield _effects(compiled, transition, objects).predicted

    def applicable(self, operator: Operator, transition: EncodedTransition) -> Iterator[tuple[int, ...]]:
        """Yield the groundings whose preconditions hold before a transition, as object numbers.

        The controller arguments are bound to the objects of the transition's action.
        """
        compiled = self._compile(operator)
        return _applicable(compiled, transition, self._check)

    def false_predictions(
        self, operator: Operator, transition: EncodedTransition, objects: tuple[int, ...]
    ) -> tuple[int, frozenset[AtomKey]]:
        """Return the atoms that an operator on `objects` predicts, but that do not hold after a transition.

        The first item is a bit mask of the atoms that hold in some state of the demonstration; only these
        have numbers. The second contains the other atoms, as predicate names with object numbers.
        """
        compiled = self._compile(operator)
        effects = _effects(compiled, transition, objects)
        unknown = frozenset[AtomKey]()
        if effects.adds.bit_count() < len(compiled.adds.all):
            unknown = transition.table.without_number(compiled.adds.all, objects)
        return effects.predicted & ~transition.after, unknown

    def _compile(self, operator: Operator) -> CompiledOperator:
        compiled = self._compiled.get(operator.text)
        if compiled is None:
            compiled = self._compiled[operator.text] = compile_operator(operator)
        return compiled


class _Effects(NamedTuple):
    """The effects of a grounded operator on a transition, and the atoms that it predicts, as masks."""

    adds: int
    keeps: int
    deletes: int
    predicted: int


def _effects(
    operator: CompiledOperator, transition: EncodedTransition, objects: tuple[int, ...]
) -> _Effects:
    table = transition.table
    adds = table.ground(operator.adds.all, objects)
    deletes = removed = table.ground(operator.deletes.all, objects) if operator.deletes.all else 0
    for pattern in operator.patterns:
        removed |= table.matching(pattern, operator.numbers, objects)
    predicted = (transition.before & ~removed) | adds
    keeps = table.ground(operator.keeps.all, objects) if operator.keeps.all else 0
    return _Effects(adds, keeps, deletes, predicted)


def _consistent(
    operator: CompiledOperator, transition: EncodedTransition, necessary: int, check: Callable[[], bool]
) -> Iterator[ChainLink]:
    needed = necessary & ~transition.before
    for objects in _groundings(operator, operator.preconditions, transition, needed, check):
        effects = _effects(operator, transition, objects)
        if necessary & ~effects.predicted or effects.predicted & ~transition.after:
            continue
        deleted = transition.deleted
        # The number of delete effects whose atoms did not become false. Lifted effects are counted, because
        # atoms that never hold in the demonstration have no bit in `effects.deletes`.
        wrong_deletes = len(operator.deletes.all) - (effects.deletes & deleted).bit_count()
        unexplained = (deleted & ~effects.deletes).bit_count()
        errors = wrong_deletes + unexplained
        match = _match(operator, transition, objects, effects.adds, effects.keeps, errors)
        needs = transition.table.ground(operator.preconditions.all, objects)
        yield ChainLink(match, needs | (necessary & ~effects.adds))


def _explaining(
    operator: CompiledOperator, transition: EncodedTransition, needed: int, check: Callable[[], bool]
) -> Iterator[Match]:
    for objects in _groundings(operator, operator.preconditions, transition, needed, check):
        adds = transition.table.ground(operator.adds.all, objects)
        keeps = transition.table.ground(operator.keeps.all, objects)
        yield _match(operator, transition, objects, adds, keeps, transition.deleted.bit_count())


def _match(
    operator: CompiledOperator,
    transition: EncodedTransition,
    objects: tuple[int, ...],
    adds: int,
    keeps: int,
    delete_errors: int,
) -> Match:
    """Return the match of a grounding, with its score (lower is better).

    `adds` and `keeps` are bit masks of the add effects and of the keep effects (the add effects that are
    also preconditions). The score counts the differences between the operator's effects and the observed
    changes: each atom that became true but is no add effect, each add effect (except keep effects) that did
    not become true, and `delete_errors`, the differences in the deletes. The score is reduced by one for
    each keep effect.
    """
    changes = adds & ~keeps
    add_errors = (changes ^ transition.added).bit_count()
    score = add_errors + delete_errors - len(operator.keeps.all)
    return Match(score, len(objects), operator.text, objects, adds, changes)


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
    if UNBOUND not in binding:
        if not needed & ~added:
            yield from _complete(operator, transition, binding, check)
        return
    before = [Constraint(name, variables, transition.before) for name, variables in needs.other_atoms]
    for pinned, adds in _pins(operator.adds.other_atoms, list(bits(needed & ~added)), binding, table):
        after = [Constraint(name, variables, transition.after) for name, variables in adds]
        domains = table.domains(operator.text, operator.numbers)
        for objects in join(table, after + before, domains, pinned, check, operator.interchangeable):
            if not operator.forbidden(transition, objects):
                yield objects


def _applicable(
    operator: CompiledOperator, transition: EncodedTransition, check: Callable[[], bool]
) -> Iterator[tuple[int, ...]]:
    table, needs = transition.table, operator.preconditions
    unbound = [UNBOUND] * len(operator.numbers)
    binding = _bound(unbound, operator.controller_arguments, transition.arguments)
    if binding is None:
        return
    held = table.ground(needs.argument_atoms, binding) & transition.before
    if held.bit_count() < len(needs.argument_atoms):
        return
    if UNBOUND not in binding:
        yield from _complete(operator, transition, binding, check)
        return
    before = [Constraint(name, variables, transition.before) for name, variables in needs.other_atoms]
    domains = table.domains(operator.text, operator.numbers)
    for objects in join(table, before, domains, binding, check, operator.interchangeable):
        if not operator.forbidden(transition, objects):
            yield objects


def _complete(
    operator: CompiledOperator, transition: EncodedTransition, binding: list[int], check: Callable[[], bool]
) -> Iterable[tuple[int, ...]]:
    """Return the only grounding of an operator whose parameters are all arguments of its controller.

    Callers check the positive preconditions. The result is empty if a negative precondition, the types of
    the objects or the order of interchangeable variables forbids the grounding.
    """
    domains = transition.table.domains(operator.text, operator.numbers)
    allowed = is_allowed(binding, domains, operator.interchangeable)
    objects = tuple(binding)
    return () if not allowed or check() or operator.forbidden(transition, objects) else (objects,)


def _pins(
    adds: tuple[AtomKey, ...], needed: list[int], binding: list[int], table: AtomTable
) -> Iterator[tuple[list[int], tuple[AtomKey, ...]]]:
    """Yield each way to match every needed atom with a different add effect.

    Each result is a copy of `binding` that also binds the variables of the matched add effects, and a tuple
    of the add effects that were not matched. A grounding binds different variables to different objects, so
    its add effects are different atoms. Therefore two results never lead to the same grounding.
    """
    if not needed:
        yield binding, adds
        return
    number, rest = needed[0], needed[1:]
    name = table.predicate_of[number].name
    for index, (predicate, variables) in enumerate(adds):
        if predicate == name:
            pinned = _bound(binding, variables, table.arguments[number])
            if pinned is not None:
                yield from _pins(adds[:index] + adds[index + 1 :], rest, pinned, table)


def _bound(binding: list[int], variables: Sequence[int], objects: Sequence[int]) -> list[int] | None:
    """Return a copy of `binding` in which each of the variables is bound to its object in `objects`.

    Return None if one of the variables is already bound to a different object.
    """
    extended = binding.copy()
    for variable, number in zip(variables, objects, strict=True):
        if extended[variable] not in (UNBOUND, number):
            return None
        extended[variable] = number
    return extended
