"""Learn negative preconditions: atoms that must not hold before an operator is applied.

The paper's operators have positive preconditions only. If a robot may not enter a blocked room, its
demonstrations contain steps that clear rooms. Without the negative condition, these steps look redundant:
the state before them already satisfies everything that is necessary after them. Such steps, and false
claims at states in which an atom holds, are the evidence for a negative condition.

The method has three steps:

1. Find predicates that may be negated; see `predicates_to_negate`. If there are none, nothing changes.
2. Learn again, with a complement predicate `not P` for each of these predicates P. The complement is an
   ordinary predicate: `not P` holds of objects if P does not. So backchaining gives a purpose to the steps
   that make P false.
3. Keep the complements with evidence, and translate them: a precondition `not P` becomes a negative
   precondition, an add effect `not P` a delete effect, a delete effect `not P` an add effect.

The result is used if it covers as many transitions, has no more false claims, and fewer redundant steps or
false claims.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, permutations, product
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomKey, AtomTable, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object
from needful.core.operators import GroundOperator, Operator, OperatorData
from needful.operator_learning.backchaining import Backchain
from needful.operator_learning.encoding import TransitionId
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.induction import Datum
from needful.operator_learning.learned_operators import (
    EncodedOperatorData,
    LearnedOperators,
    evaluate_operators,
)
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem
from needful.operator_learning.matching import SKIPPED
from needful.operator_learning.objective import Coverage, cover
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.unnamed_conditions import (
    MAX_OPPORTUNITIES,
    Opportunities,
    evidence_bits,
)
from needful.operator_learning.unnamed_objects import ENOUGH_BITS, MIN_BITS
from needful.operator_learning.validity import MAX_GROUNDINGS

# The name of a complement starts with this text.
NOT = "not "
# Redundant steps are looked for in groups of at most this size.
MAX_REDUNDANT = 6
# The number of complement atoms that one predicate may have in a demonstration.
MAX_COMPLEMENTS = 1_000
# The share of demonstrations in which redundant steps must make atoms about unnamed objects false.
MANY = 0.25
# Two predicates are complements if exactly one of them holds in this share of the cases.
ALMOST_ALL = 0.95
# An operator offers no choice if it has no other grounding at its first transitions; this is their number.
SCREENING_TRANSITIONS = 16
# If more than this share of the steps that make an atom of a predicate false also make another atom of it
# true, the predicate is not negated.
MAX_REPLACED = 0.5


class CoveringOperators(NamedTuple):
    """Operators with their data, and the chains that they explain."""

    data: tuple[EncodedOperatorData, ...]
    coverage: Coverage

    @classmethod
    def of(cls, hypothesis: Hypothesis) -> CoveringOperators:
        """Return the operators of a hypothesis."""
        data = (EncodedOperatorData(one.operator, one.data) for one in hypothesis.fitted)
        return cls(tuple(data), hypothesis.coverage)

    @classmethod
    def cover(cls, data: Iterable[EncodedOperatorData], problem: LearningProblem) -> CoveringOperators:
        """Return operators with their chains, computed by backchaining."""
        data = tuple(data)
        empty = Coverage.empty(problem.demonstrations)
        operators = (one.operator for one in data)
        return cls(data, cover(operators, empty, problem.matcher, problem.skip_purposeless))


@dataclass(frozen=True, slots=True)
class LearningResult:
    """Operators that were learned from demonstrations, before they are evaluated.

    `outliers` are the transitions that learning ignored.
    """

    climb: Climb
    problem: LearningProblem
    outliers: frozenset[TransitionId] = frozenset()

    @property
    def hypothesis(self) -> Hypothesis:
        """The operators with their data."""
        return self.climb.hypothesis

    def evaluate(self, operators: CoveringOperators | None = None) -> LearnedOperators:
        """Name the operators and report how well they explain the demonstrations.

        `operators` are other operators for the same demonstrations. Outliers count as uncovered.
        """
        data, coverage = operators or CoveringOperators.of(self.hypothesis)
        learned = evaluate_operators(data, coverage, self.problem.matcher, self.climb.steps)
        skipped = sum(
            step >= coverage.chains[demonstration].uncovered for demonstration, step in self.outliers
        )
        return replace(learned, uncovered=learned.uncovered + skipped)


Learn: TypeAlias = Callable[[Sequence[Demonstration]], LearningResult]


def positive_preconditions_only(demonstrations: Sequence[Demonstration], learn: Learn) -> LearnedOperators:
    """Learn operators without negative preconditions, as in the paper."""
    return learn(demonstrations).evaluate()


def negative_preconditions(demonstrations: Sequence[Demonstration], learn: Learn) -> LearnedOperators:
    """Learn operators, with negative preconditions where there is evidence for them.

    `learn` learns operators without negative preconditions.
    """
    ordinary = learn(demonstrations)
    negated = predicates_to_negate(ordinary.hypothesis, ordinary.problem)
    rejected = rejected_predicates(ordinary.hypothesis, ordinary.problem)
    complements = _complements(negated | rejected, demonstrations)
    if complements:
        found = learn(with_complements(demonstrations, complements))
        names = {complement.name: predicate for predicate, complement in complements.items()}
        informative = {NOT + name for name in rejected}
        supported = _with_evidence(found, names, informative)
        if _is_better(supported, found.problem, ordinary, informative):
            supported = forbid_avoided_atoms(supported, found.problem)
            learned = found.evaluate(supported)
            return _Translator(names).translate(learned, demonstrations)
    supported = forbid_avoided_atoms(CoveringOperators.of(ordinary.hypothesis), ordinary.problem)
    return ordinary.evaluate(supported)


def redundant_steps(chain: Backchain) -> Iterator[tuple[int, int]]:
    """Yield the shortest groups of steps that a demonstration did not need, by their first step and length.

    The state before the group satisfies everything that is necessary after it. Groups may overlap.
    """
    transitions = chain.demonstration.transitions
    for end in range(chain.uncovered + 1, len(transitions) + 1):
        necessary = chain.necessary[end]
        assert necessary is not None
        for length in range(1, min(end, MAX_REDUNDANT) + 1):
            if not necessary & ~transitions[end - length].before:
                yield end - length, length
                break


def count_redundant_steps(coverage: Coverage) -> int:
    """Return the number of steps that are in a redundant group and made an atom false."""
    return sum(
        len(
            {
                step
                for first, length in redundant_steps(chain)
                for step in range(first, first + length)
                if chain.demonstration.transitions[step].deleted
            }
        )
        for chain in coverage.chains
    )


def predicates_to_negate(hypothesis: Hypothesis, problem: LearningProblem) -> frozenset[str]:
    """Return the names of the predicates that may occur in negative preconditions.

    An atom over the parameters of an operator is a candidate if it held before none of the operator's
    transitions, and one of two things happened: redundant steps made it false before the operator was used,
    or it held where the operator made a false claim and no operator explains the step, as if the action
    failed. The evidence is measured as for conditions on unnamed objects. In the first case `MIN_BITS` are
    required, in the second `ENOUGH_BITS`. A predicate is also negated if redundant steps made its atoms
    false in many demonstrations, and no operator has the objects: the condition may be about an unnamed
    object.

    Positions and counts are left out: their atoms are replaced by others of the same predicate, and
    positive conditions describe them.
    """
    removed = _removed_by_redundant_steps(hypothesis)
    many = max(ENOUGH_BITS, MANY * len(problem.demonstrations))
    found = {name for name, count in removed.unnamed.items() if count >= many}
    failed = _failed_steps(hypothesis)
    for fitted in hypothesis.fitted:
        required = dict.fromkeys(_held_at_false_claims(fitted, problem, failed), ENOUGH_BITS)
        required |= dict.fromkeys(removed.named.get(fitted.operator.text, ()), MIN_BITS)
        required = {key: enough for key, enough in required.items() if _never_held(key, fitted.data)}
        if required:
            opportunities = _opportunities(fitted.operator, fitted.data, problem)
            found |= {
                key[0] for key, enough in required.items() if opportunities.bits_against(key) >= enough
            }
    return frozenset(found - _replaced_predicates(problem) if found else found)


def _failed_steps(hypothesis: Hypothesis) -> set[int]:
    """Return the numbers of the transitions that backchaining skipped."""
    return {
        transition.number
        for chain in hypothesis.coverage.chains
        for transition, link in zip(
            chain.demonstration.transitions[chain.uncovered :], chain.links, strict=True
        )
        if link.match is SKIPPED
    }


class _Removals(NamedTuple):
    """The atoms that redundant steps made false.

    Attributes:
        named: by the text of an operator, the atoms about its objects that were made false before its use.
        unnamed: for each predicate, the number of demonstrations with an atom that was made false and
            whose objects no later operator has together.
    """

    named: dict[str, set[AtomKey]]
    unnamed: Counter[str]


def _removed_by_redundant_steps(hypothesis: Hypothesis) -> _Removals:
    found = _Removals({}, Counter())
    for chain in hypothesis.coverage.chains:
        table, transitions = chain.demonstration.table, chain.demonstration.transitions
        unnamed: set[str] = set()
        for first, length in redundant_steps(chain):
            removed = transitions[first].before & ~transitions[first + length - 1].after
            if not removed:
                continue
            later = [one.match for one in chain.links[first + length - chain.uncovered :]]
            used = [match for match in later if match is not SKIPPED]
            for match in used:
                keys = _keys_over(removed, table, match.objects)
                found.named.setdefault(match.text, set()).update(keys)
            unnamed |= {
                table.atoms[atom].predicate.name
                for atom in bits(removed)
                if not any(set(table.arguments[atom]) <= set(match.objects) for match in used)
            }
        found.unnamed.update(unnamed)
    return found


def _held_at_false_claims(
    fitted: FittedOperator, problem: LearningProblem, failed: Set[int]
) -> set[AtomKey]:
    """Return the atoms over an operator's parameters that held where it made a false claim.

    Only the transitions whose numbers are in `failed` are considered.
    """
    found: set[AtomKey] = set()
    for number in sorted(failed & problem.validity.of_operator(fitted.operator).keys()):
        transition = problem.transitions.by_number[number]
        groundings = problem.matcher.applicable(fitted.operator, transition)
        for objects in islice(groundings, MAX_GROUNDINGS):
            found |= _keys_over(transition.before, transition.table, objects)
    return found


def _keys_over(atoms: int, table: AtomTable, objects: Sequence[int]) -> set[AtomKey]:
    """Return the atoms of a mask that are about the given objects only, with indices for the objects."""
    index_of = {number: index for index, number in enumerate(objects)}
    return {
        (table.atoms[atom].predicate.name, tuple(index_of[number] for number in table.arguments[atom]))
        for atom in bits(atoms)
        if all(number in index_of for number in table.arguments[atom])
    }


def rejected_predicates(hypothesis: Hypothesis, problem: LearningProblem) -> frozenset[str]:
    """Return the predicates that may explain why the demonstrator rejected equally good groundings.

    If an item may be put on any shelf, and the demonstrator never chooses an occupied one, this is evidence
    that the shelf must not be occupied. The atom must hold for none of the groundings that were used.
    `ENOUGH_BITS` are required, and more if there are several atoms to choose from.
    """
    found: set[str] = set()
    for fitted in hypothesis.fitted:
        alternatives = _equally_good_groundings(fitted, hypothesis.coverage, problem)
        keys = {
            key
            for data in alternatives.values()
            for transition, objects in data
            for key in _keys_over(transition.before, transition.table, objects)
            if key[0] not in found
        }
        keys = {key for key in keys if _never_held(key, fitted.data)}
        enough = ENOUGH_BITS + math.log2(len(keys) or 1)
        found |= {key[0] for key in keys if _evidence_against(key, alternatives) >= enough}
    return frozenset(found - _replaced_predicates(problem) if found else found)


def _equally_good_groundings(
    fitted: FittedOperator, coverage: Coverage, problem: LearningProblem
) -> dict[int, list[Datum]]:
    """Return the groundings that an operator's transitions could have used, by demonstration.

    They have the same objects in the add effects, and all necessary atoms hold afterwards. Transitions that
    add nothing necessary are left out. The result contains the groundings that were used. It is empty if
    the add effects mention all arguments of the controller, or if the first transitions offer no choice.
    """
    operator, parameters = fitted.operator, fitted.operator.parameters
    fixed = {variable for atom in operator.add_effects for variable in atom.variables}
    if fixed.issuperset(operator.controller_arguments):
        return {}
    index_of = {variable: index for index, variable in enumerate(parameters)}
    needs = [lifted_key(atom, index_of) for atom in sorted(operator.preconditions)]
    found: dict[int, list[Datum]] = {}
    count = 0
    for transition, objects in fitted.data:
        necessary = coverage.necessary_after(transition)
        if necessary is None or not necessary & ~transition.before:
            continue
        if count == SCREENING_TRANSITIONS and sum(map(len, found.values())) == count:
            return {}
        count += 1
        table = transition.table
        constraints = [Constraint(name, variables, transition.before) for name, variables in needs]
        domains = [table.of_type(variable.type) for variable in parameters]
        binding = [
            number if variable in fixed else UNBOUND
            for variable, number in zip(parameters, objects, strict=True)
        ]
        found.setdefault(transition.demonstration, []).extend(
            (transition, other)
            for other in islice(join(table, constraints, domains, binding), MAX_OPPORTUNITIES)
            if not necessary & ~problem.matcher.predict(operator, transition, other)
        )
    return found


def _evidence_against(key: AtomKey, alternatives: Mapping[int, Sequence[Datum]]) -> float:
    """Return the evidence that an atom must not hold, in bits, added up over the demonstrations."""
    return sum(
        evidence_bits(sum(not _held(key, datum) for datum in data), len(data))
        for data in alternatives.values()
    )


def _replaced_predicates(problem: LearningProblem) -> frozenset[str]:
    """Return the predicates of which most steps that make an atom false make another atom true."""
    removals, replacements = Counter[str](), Counter[str]()
    for transition in problem.transitions.by_number:
        atoms = transition.table.atoms
        added = {atoms[atom].predicate.name for atom in bits(transition.added)}
        deleted = {atoms[atom].predicate.name for atom in bits(transition.deleted)}
        removals.update(deleted)
        replacements.update(deleted & added)
    return frozenset(name for name in removals if replacements[name] > MAX_REPLACED * removals[name])


def _never_held(key: AtomKey, data: Sequence[Datum]) -> bool:
    return not any(_held(key, datum) for datum in data)


def _held(key: AtomKey, datum: Datum) -> bool:
    transition, objects = datum
    return bool(transition.table.ground((key,), objects) & transition.before)


def _opportunities(operator: Operator, data: Sequence[Datum], problem: LearningProblem) -> Opportunities:
    used = {transition.demonstration for transition, _ in data}
    return Opportunities(operator, [one for one in problem.demonstrations if one.index in used])


def _complements(negated: Set[str], demonstrations: Sequence[Demonstration]) -> dict[Predicate, Predicate]:
    """Return the predicates to negate, each with its complement.

    A predicate is left out if it would have too many complement atoms, if its complement's name is taken,
    or if another predicate already is its complement, as `Open` is for `Closed`.
    """
    if not negated:
        return {}
    predicates = {
        atom.predicate.name: atom.predicate
        for demonstration in demonstrations
        for atom in frozenset[GroundAtom]().union(*demonstration.abstract_states)
    }
    return {
        predicate: Predicate(NOT + name, predicate.types)
        for name, predicate in sorted(predicates.items())
        if name in negated
        and NOT + name not in predicates
        and all(_count_atoms(predicate, one.objects) <= MAX_COMPLEMENTS for one in demonstrations)
        and not any(
            _are_complements(predicate, other, demonstrations)
            for other in predicates.values()
            if other.name != name and other.types == predicate.types
        )
    }


def _are_complements(one: Predicate, other: Predicate, demonstrations: Sequence[Demonstration]) -> bool:
    """Return whether exactly one of two predicates holds of any objects, in almost all cases."""
    exclusive = total = 0
    for demonstration in demonstrations:
        count = sum(1 for _ in _tuples(one, demonstration.objects))
        for state in demonstration.abstract_states:
            held = [
                {atom.objects for atom in state if atom.predicate == predicate}
                for predicate in (one, other)
            ]
            exclusive += len(held[0] ^ held[1])
            total += count
    return exclusive >= ALMOST_ALL * total


def _count_atoms(predicate: Predicate, objects: Sequence[Object]) -> int:
    return math.prod(sum(obj.type.is_subtype_of(kind) for obj in objects) for kind in predicate.types)


def with_complements(
    demonstrations: Sequence[Demonstration], complements: Mapping[Predicate, Predicate]
) -> tuple[Demonstration, ...]:
    """Return the demonstrations with complement atoms: each holds exactly if its atom does not hold.

    `complements` maps predicates to their complements. The objects of a complement atom are distinct, like
    those of parameters.
    """
    return tuple(_with_complements(one, complements) for one in demonstrations)


def _tuples(predicate: Predicate, objects: Sequence[Object]) -> Iterator[tuple[Object, ...]]:
    """Yield the tuples of distinct objects of which a predicate may hold."""
    domains = ([obj for obj in objects if obj.type.is_subtype_of(kind)] for kind in predicate.types)
    return (chosen for chosen in product(*domains) if len(set(chosen)) == len(chosen))


def _with_complements(
    demonstration: Demonstration, complements: Mapping[Predicate, Predicate]
) -> Demonstration:
    pairs = [
        (predicate(*objects), complement(*objects))
        for predicate, complement in complements.items()
        for objects in _tuples(predicate, demonstration.objects)
    ]
    states = tuple(
        state.union(complement for atom, complement in pairs if atom not in state)
        for state in demonstration.abstract_states
    )
    return replace(demonstration, abstract_states=states)


def _with_evidence(
    found: LearningResult, negated: Mapping[str, Predicate], informative: Set[str]
) -> CoveringOperators:
    """Drop the complements without evidence from the preconditions of the operators.

    `negated` contains the names of the complements. Those in `informative` explain the choice among equally
    good groundings.
    """
    problem = found.problem
    data = (
        EncodedOperatorData(_supported(fitted, problem, negated, informative), fitted.data)
        for fitted in found.hypothesis.fitted
    )
    return CoveringOperators.cover(data, problem)


def _supported(
    fitted: FittedOperator, problem: LearningProblem, negated: Container[str], informative: Container[str]
) -> Operator:
    """Return an operator without the complements that have no evidence.

    Complements are tried in turn. Those that the demonstrator made true before it used the operator come
    first, and need `MIN_BITS`. Informative ones need `ENOUGH_BITS`. Other complements may be habits. They
    are only kept if they exclude false claims. Keep effects are kept, and so are complements about
    parameters that nothing else mentions.
    """
    operator = fitted.operator
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    others = {atom for atom in operator.preconditions if atom.predicate.name not in negated}
    bound = {variable for atom in others | operator.add_effects for variable in atom.variables}
    bound |= set(operator.controller_arguments)
    keys = {
        atom: lifted_key(atom, index_of)
        for atom in operator.preconditions - others - operator.keep_effects
        if bound.issuperset(atom.variables)
    }
    chosen = replace(operator, preconditions=operator.preconditions - set(keys))
    made_true = {atom for atom, key in keys.items() if _was_made_true(key, fitted, problem)}
    while keys:
        opportunities = _opportunities(chosen, fitted.data, problem)
        evidence = {atom: opportunities.bits(frozenset({key})) for atom, key in keys.items()}
        best = min(keys, key=lambda atom: (atom not in made_true, -evidence[atom], atom))
        enough = MIN_BITS if best in made_true else ENOUGH_BITS
        eligible = best in made_true or best.predicate.name in informative
        extended = replace(chosen, preconditions=chosen.preconditions | {best})
        if (eligible and evidence[best] >= enough) or _excludes_false_claims(extended, chosen, problem):
            chosen = extended
        del keys[best]
    return chosen


def _was_made_true(key: AtomKey, fitted: FittedOperator, problem: LearningProblem) -> bool:
    """Return whether an atom was false earlier in a demonstration that uses the operator."""
    return any(
        not transition.table.ground((key,), objects) & earlier.before
        for transition, objects in fitted.data
        for earlier in problem.demonstrations[transition.demonstration].transitions[: transition.step]
    )


def _excludes_false_claims(one: Operator, other: Operator, problem: LearningProblem) -> bool:
    return problem.validity.count([one]) < problem.validity.count([other])


def forbid_avoided_atoms(found: CoveringOperators, problem: LearningProblem) -> CoveringOperators:
    """Add negative preconditions that no step had to establish, because the demonstrator avoided the atoms.

    For example, a robot that cannot clear blocked rooms walks around them. This looks like a habit, such as
    not to touch finished things. So only predicates are considered that no demonstrated step makes true,
    and that neither a goal nor a precondition needs. `ENOUGH_BITS` are required, and more if there are
    several atoms to choose from.
    """
    avoidable = _avoidable_predicates(found, problem)
    if not avoidable:
        return found
    data = [EncodedOperatorData(_forbid_avoided(one, avoidable, problem), one.data) for one in found.data]
    if all(new.operator is old.operator for new, old in zip(data, found.data, strict=True)):
        return found
    extended = CoveringOperators.cover(data, problem)
    return extended if extended.coverage.uncovered <= found.coverage.uncovered else found


def _avoidable_predicates(found: CoveringOperators, problem: LearningProblem) -> list[Predicate]:
    known: dict[str, Predicate] = {}
    excluded = {atom.predicate.name for one in found.data for atom in one.operator.preconditions}
    for demonstration in problem.demonstrations:
        table, changed = demonstration.table, demonstration.goal
        for transition in demonstration.transitions:
            changed |= transition.added
        excluded |= {table.atoms[atom].predicate.name for atom in bits(changed)}
        known |= {atom.predicate.name: atom.predicate for atom in table.atoms}
    return [predicate for name, predicate in sorted(known.items()) if name not in excluded]


def _forbid_avoided(
    one: EncodedOperatorData, avoidable: Sequence[Predicate], problem: LearningProblem
) -> Operator:
    operator, parameters = one.operator, one.operator.parameters
    keys = {
        (predicate.name, indices): predicate.lifted(*(parameters[index] for index in indices))
        for predicate in avoidable
        for indices in permutations(range(len(parameters)), len(predicate.types))
        if predicate.fits([parameters[index] for index in indices])
    }
    keys = {key: atom for key, atom in keys.items() if _never_held(key, one.data)}
    enough = ENOUGH_BITS + math.log2(len(keys)) if keys else 0.0
    while keys:
        opportunities = _opportunities(operator, one.data, problem)
        evidence = {key: opportunities.bits_against(key) for key in keys}
        best = min(keys, key=lambda key: (-evidence[key], key))
        if evidence[best] < enough:
            break
        negative = operator.negative_preconditions | {keys.pop(best)}
        operator = replace(operator, negative_preconditions=negative)
    return operator


def _is_better(
    found: CoveringOperators, problem: LearningProblem, ordinary: LearningResult, informative: Set[str]
) -> bool:
    """Return whether operators with complements explain the demonstrations better than those without.

    A precondition whose predicate is in `informative` explains the choice among equally good groundings.
    """
    new, old = found.coverage, ordinary.hypothesis.coverage
    redundant, old_redundant = count_redundant_steps(new), count_redundant_steps(old)
    claims = problem.validity.count(new.operators)
    old_claims = ordinary.problem.validity.count(old.operators)
    if new.uncovered > old.uncovered or redundant > old_redundant or claims > old_claims:
        return False
    required = {atom.predicate.name for one in new.operators for atom in one.preconditions}
    return redundant < old_redundant or claims < old_claims or not required.isdisjoint(informative)


@dataclass(frozen=True, slots=True)
class _Translator:
    """Translates complements; `negated` maps the names of complements to their predicates."""

    negated: Mapping[str, Predicate]

    def translate(
        self, learned: LearnedOperators, demonstrations: Sequence[Demonstration]
    ) -> LearnedOperators:
        """Return learned operators with negative preconditions instead of complements."""
        data = tuple(replace(one, operator=self._operator(one, demonstrations)) for one in learned.data)
        operators = {one.operator.name: one.operator for one in data}
        return replace(
            learned,
            data=data,
            chains=tuple(
                tuple(
                    None if step is None else GroundOperator(operators[step.operator.name], step.objects)
                    for step in chain
                )
                for chain in learned.chains
            ),
            necessary=tuple(tuple(map(self._positive, one)) for one in learned.necessary),
            forbidden=tuple(tuple(map(self._forbidden, one)) for one in learned.necessary),
        )

    def _operator(self, data: OperatorData, demonstrations: Sequence[Demonstration]) -> Operator:
        """Translate one operator.

        A delete effect `not P` means that P may become true. It becomes an add effect if P held after all
        transitions of the operator. Quantified deletes of complements are dropped.
        """
        operator = data.operator
        made_true = frozenset(
            atom
            for atom in self._negations(operator.delete_effects)
            if all(
                atom.ground(dict(zip(operator.parameters, one.objects, strict=True)))
                in demonstrations[one.demonstration].abstract_states[one.step + 1]
                for one in data.groundings
            )
        )
        made_false = self._negations(operator.add_effects)
        return replace(
            operator,
            preconditions=self._others(operator.preconditions),
            negative_preconditions=self._negations(operator.preconditions),
            add_effects=self._others(operator.add_effects) | made_true,
            delete_effects=self._others(operator.delete_effects) | made_false,
            delete_patterns=frozenset(
                one for one in operator.delete_patterns if one.predicate.name not in self.negated
            ),
        )

    def _negations(self, atoms: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(
            LiftedAtom(self.negated[atom.predicate.name], atom.variables)
            for atom in atoms
            if atom.predicate.name in self.negated
        )

    def _others(self, atoms: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(atom for atom in atoms if atom.predicate.name not in self.negated)

    def _positive(self, atoms: AbstractState | None) -> AbstractState | None:
        if atoms is None:
            return None
        return frozenset(atom for atom in atoms if atom.predicate.name not in self.negated)

    def _forbidden(self, atoms: AbstractState | None) -> AbstractState | None:
        if atoms is None:
            return None
        return frozenset(
            GroundAtom(self.negated[atom.predicate.name], atom.objects)
            for atom in atoms
            if atom.predicate.name in self.negated
        )
