"""Doubts about single operators: false claims, few transitions, and effects that rarely happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needful.core.atoms import LiftedAtom
from needful.core.demonstrations import Demonstration
from needful.core.operators import GroundedTransition, OperatorData
from needful.operator_learning.doubt import Doubt, DoubtKind, example, location
from needful.operator_learning.encoding import TransitionId
from needful.operator_learning.false_claims import LiftedClaim
from needful.operator_learning.learned_operators import LearnedOperators

# An operator with fewer transitions than this is doubtful.
MIN_TRANSITIONS = 2
# An add effect that became true in a smaller share of the operator's transitions is doubtful.
MIN_EFFECT_SHARE = 0.5


def doubt_claim(claim: LiftedClaim, learned: LearnedOperators) -> Doubt:
    """Return the doubt about the most frequent false claim of an operator."""
    operator, count = claim.operator, len(claim.transitions)
    if isinstance(claim.atom, LiftedAtom):
        chosen = f" for some {' and '.join(claim.unnamed)}" if claim.unnamed else ""
        fact = f"claims {claim.atom}, which did not hold{chosen} in"
    else:
        fact = f"does not predict that {claim.atom} may become false, as it did in"
    return Doubt(
        DoubtKind.FALSE_CLAIM,
        operator.name,
        operator.controller.name,
        count,
        f"{operator.name} {fact} {count} of {claim.applicable} transitions",
        example(claim.transitions[0]),
        _claim_advice(claim, learned),
    )


def _claim_advice(claim: LiftedClaim, learned: LearnedOperators) -> str:
    """Return the advice about a false claim.

    It depends on whether other operators explain all transitions in which the claim is false, and on
    whether the claim is about an object that the controller does not name.
    """
    operator, controller = claim.operator, claim.operator.controller
    links = [learned.chains[demonstration][step] for demonstration, step in claim.transitions]
    names = {None if link is None else link.operator.name for link in links}
    others = sorted(name for name in names if name is not None)
    if None not in names and operator.name not in names:
        explained = f"{' or '.join(others)} explains these transitions"
        if controller.dimension:
            return (
                f"{explained}: the parameters of {controller.name} may decide which operator happens, or a "
                "predicate that tells them apart is missing."
            )
        return f"{explained}: a predicate that tells them apart may be missing."
    if claim.unnamed:
        return "The controller may choose among several objects, or a predicate is missing."
    return "The action may fail at times, or a predicate for the condition is missing."


def doubt_data(data: OperatorData, demonstrations: Sequence[Demonstration]) -> Iterator[Doubt]:
    """Yield a doubt if an operator has too few transitions, or an add effect that rarely became true.

    `demonstrations` may be fewer than those of the data: transitions of replays are only counted.
    """
    operator, total = data.operator, len(data.groundings)
    known = [one for one in data.groundings if one.demonstration < len(demonstrations)]
    if total < MIN_TRANSITIONS:
        yield Doubt(
            DoubtKind.FEW_TRANSITIONS,
            operator.name,
            operator.controller.name,
            total,
            f"{operator.name} was learned from {'one transition' if total else 'no transition'}",
            location((known[0].demonstration, known[0].step)) if known else "",
            "Its preconditions may be accidental. Add demonstrations of it with other objects, or test the "
            "preconditions with `needful run --experiments`.",
        )
        return
    rare = [
        (-len(held), str(atom), held[0])
        for atom in sorted(operator.add_effects - operator.keep_effects)
        for held in (_transitions_where_it_held(atom, data, known, demonstrations),)
        if len(known) - len(held) < MIN_EFFECT_SHARE * len(known)
    ]
    if rare:
        count, atom_text, first = min(rare)
        yield Doubt(
            DoubtKind.RARE_EFFECT,
            operator.name,
            operator.controller.name,
            -count,
            f"{operator.name} adds {atom_text}, but it held already before {-count} of {len(known)} "
            "transitions",
            example(first),
            "Another cause may make it true. Add demonstrations of the action where it does not hold yet.",
        )


def _transitions_where_it_held(
    atom: LiftedAtom,
    data: OperatorData,
    groundings: Sequence[GroundedTransition],
    demonstrations: Sequence[Demonstration],
) -> list[TransitionId]:
    """Return the transitions before which an atom of an operator already held."""
    return [
        (one.demonstration, one.step)
        for one in groundings
        if atom.ground(dict(zip(data.operator.parameters, one.objects, strict=True)))
        in demonstrations[one.demonstration].abstract_states[one.step]
    ]
