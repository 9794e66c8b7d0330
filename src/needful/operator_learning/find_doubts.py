"""Find doubts about learned operators: signs in the demonstrations that an operator may be wrong.

Even operators that explain all demonstrations can be wrong. The signs are false claims (an operator
predicts an atom that does not hold), operators with few transitions, add effects that rarely became true,
steps whose changes are not needed later, steps that learning ignored, recorded atoms that looked like
detection errors and were repaired, and transitions that no operator explains. All these doubts follow from
the demonstrations alone, so they are stored with the model. Doubts from cross-validation are found
separately (`cross_validation.validation_doubts`), because cross-validation may be skipped to save time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from needful.core.atoms import LiftedAtom
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, GroundedTransition, Operator, OperatorData
from needful.operator_learning.doubts import (
    EXPERIMENT_ADVICE,
    INVENTION_ADVICE,
    Doubt,
    DoubtKind,
    Doubts,
    example,
    limited_search_doubt,
    location,
)
from needful.operator_learning.encoding import TransitionId, encode_demonstrations
from needful.operator_learning.false_claims import (
    LiftedClaim,
    lift_pattern,
    report_false_claims,
    specificity,
)
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.matching import Matcher

# An operator that was learned from fewer transitions than this is doubtful.
MIN_TRANSITIONS = 2
# An add effect is doubtful if its atom became true in less than this share of the operator's transitions.
# In the other transitions, the atom already held before.
MIN_EFFECT_SHARE = 0.5


def find_doubts(
    learned: LearnedOperators, recorded: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE
) -> Doubts:
    """Find the doubts about learned operators.

    `recorded` contains the demonstrations before atoms were repaired. It must not contain replays (random
    actions executed in the simulator). Raises `LearningTimeoutError` if the deadline passes.
    """
    repaired = recorded if learned.repairs is None else learned.repairs.demonstrations
    steps = tuple(_reached_steps(learned, repaired))
    items = [
        *_doubt_uncovered(learned, repaired),
        *([limited_search_doubt(learned.transitions)] if learned.search_was_limited else []),
        *(doubt for data in learned.planning_data for doubt in _doubt_data(data, repaired)),
        *_doubt_wasted(steps, learned),
        *_doubt_repaired(recorded, repaired),
    ]
    found = Doubts(
        transitions=learned.transitions,
        uncovered=learned.uncovered,
        purposeless_steps=sum(step.purposeless for step in steps),
        idle_steps=sum(step.skipped for step in steps),
        repaired_atoms=0 if learned.repairs is None else learned.repairs.total,
        items=tuple(items),
    )
    operators = tuple(one.operator for one in learned.planning_data)
    return with_false_claims(found, operators, learned, repaired, deadline)


def with_false_claims(
    doubts: Doubts,
    operators: Sequence[Operator],
    learned: LearnedOperators,
    demonstrations: Sequence[Demonstration],
    deadline: Deadline = NO_DEADLINE,
) -> Doubts:
    """Replace the false claims in `doubts` by the false claims of `operators`; return the new doubts.

    An operator makes a false claim if it predicts an atom that does not hold. Experiments in the simulator
    may drop preconditions of learned operators, which can cause further false claims. `learned` shows
    which operator explains a transition. `demonstrations` contains the demonstrations with repaired atoms.
    Replays (random actions executed in the simulator) may follow them, and are ignored.
    """
    # Leave out replays. They have no goal, so the atoms that must hold at their end are unknown (None).
    with_goal = [
        demonstration
        for index, demonstration in enumerate(demonstrations)
        if learned.necessary[index][-1] is not None
    ]
    report = report_false_claims(operators, encode_demonstrations(with_goal), Matcher(deadline))
    others = (one for one in doubts.items if one.kind is not DoubtKind.FALSE_CLAIM)
    items = [*others, *(_doubt_claim(claim, learned) for claim in report.claims)]
    found = replace(
        doubts,
        false_claims=report.count,
        false_transitions=report.transitions,
        items=tuple(sorted(items, key=lambda one: one.rank)),
    )
    # Predicates are invented from recorded low-level states. Do not advise it if states are missing.
    has_states = all(one.states is not None for one in with_goal)
    return found if has_states else found.without_advice(INVENTION_ADVICE)


def _doubt_claim(claim: LiftedClaim, learned: LearnedOperators) -> Doubt:
    """Return the doubt that describes a false claim (a predicted atom that does not hold)."""
    operator, count = claim.operator, len(claim.transitions)
    if isinstance(claim.atom, LiftedAtom):
        chosen = f" for some {' and '.join(claim.unnamed)}" if claim.unnamed else ""
        fact = f"predicts {claim.atom}, which did not hold{chosen} in"
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
    """Return the advice about a false claim (a predicted atom that does not hold).

    The advice depends on whether other operators explain all transitions in which the claim is false, and
    on whether the atom mentions an object that is not an argument of the controller.
    """
    operator, controller = claim.operator, claim.operator.controller
    links = [learned.chains[demonstration][step] for demonstration, step in claim.transitions]
    names = {None if link is None else link.operator.name for link in links}
    others = sorted(name for name in names if name is not None)
    if None not in names and operator.name not in names:
        explained = f"{' or '.join(others)} explains these transitions"
        if controller.dimension:
            return (
                f"{explained}: the parameters of {controller.name} may decide which operator applies, or a "
                f"predicate that distinguishes the two cases is missing.{INVENTION_ADVICE}"
            )
        return (
            f"{explained}: a predicate that distinguishes the two cases may be missing.{INVENTION_ADVICE}"
        )
    if claim.unnamed:
        cause = "The controller may choose among several objects, or a predicate is missing."
    else:
        cause = "The action may sometimes fail, or a predicate for the condition is missing."
    return f"{cause}{INVENTION_ADVICE}"


def _doubt_data(data: OperatorData, demonstrations: Sequence[Demonstration]) -> Iterator[Doubt]:
    """Yield a doubt if an operator has too few transitions, or an add effect that rarely became true.

    `data` may also contain transitions of replays (random actions executed in the simulator). Their states
    are not in `demonstrations`, so these transitions are counted, but their atoms are not examined.
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
            "Its preconditions may be accidental. Add demonstrations of the action with other objects"
            f"{EXPERIMENT_ADVICE}.",
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
            "The atom may have another cause. Add demonstrations of the action in states where the atom "
            "does not hold yet.",
        )


def _transitions_where_it_held(
    atom: LiftedAtom,
    data: OperatorData,
    groundings: Sequence[GroundedTransition],
    demonstrations: Sequence[Demonstration],
) -> list[TransitionId]:
    """Return those transitions in `groundings` before which the given lifted atom already held."""
    return [
        (one.demonstration, one.step)
        for one in groundings
        if atom.ground(dict(zip(data.operator.parameters, one.objects, strict=True)))
        in demonstrations[one.demonstration].abstract_states[one.step]
    ]


@dataclass(frozen=True, slots=True)
class _ReachedStep:
    """A step for which backchaining knows the atoms that must hold afterwards.

    Attributes:
        demonstration: the demonstration.
        transition: the index of the demonstration, and the index of the step.
        skipped: whether backchaining skipped the step: no operator explains it, because it adds nothing
            necessary or is an outlier.
        purposeless: whether the step changes atoms, but no change is needed later: no atom that it adds is
            necessary, and no atom that it makes false is a negative precondition of a later operator.
    """

    demonstration: Demonstration
    transition: TransitionId
    skipped: bool
    purposeless: bool

    @property
    def adds(self) -> bool:
        """Whether some atom becomes true in the step."""
        before, after = self.demonstration.abstract_states[self.transition[1] : self.transition[1] + 2]
        return not after <= before

    @property
    def controller(self) -> Controller:
        """The controller of the step's action."""
        return self.demonstration.actions[self.transition[1]].controller


def _reached_steps(
    learned: LearnedOperators, demonstrations: Sequence[Demonstration]
) -> Iterator[_ReachedStep]:
    """Yield the steps for which backchaining knows the atoms that must hold afterwards."""
    for index, demonstration in enumerate(demonstrations):
        necessary, chain = learned.necessary[index], learned.chains[index]
        for step in range(len(demonstration)):
            before, after = demonstration.abstract_states[step : step + 2]
            needed = necessary[step + 1]
            if needed is not None:
                skipped = chain[step] is None and necessary[step] is not None
                removes = not before.isdisjoint(learned.forbidden_after(index, step))
                purposeless = after != before and needed <= before and not removes
                yield _ReachedStep(demonstration, (index, step), skipped, purposeless)


def _doubt_uncovered(learned: LearnedOperators, demonstrations: Sequence[Demonstration]) -> Iterator[Doubt]:
    """Yield one doubt per controller with a step that no operator explains (there, backchaining stops)."""
    counts: Counter[str] = Counter()
    where: dict[str, str] = {}
    for index, demonstration in enumerate(demonstrations):
        necessary = learned.necessary[index]
        count = sum(one is None for one in necessary)
        if count:
            name = demonstration.actions[count - 1].controller.name
            counts[name] += count
            missing = (necessary[count] or frozenset()) - demonstration.abstract_states[count - 1]
            atom = f"{min(missing)} in " if missing else ""
            where.setdefault(name, f"for example {atom}{location((index, count - 1))}")
    for name, count in sorted(counts.items()):
        operator = _only_operator(name, learned)
        yield Doubt(
            DoubtKind.UNCOVERED,
            None if operator is None else operator.name,
            name,
            count,
            f"No operator explains some step of {name}, so {count} of {learned.transitions} transitions "
            "are not covered",
            where[name],
            "Add demonstrations with this step, or a predicate for the condition under which it works.",
        )


def _doubt_wasted(steps: Iterable[_ReachedStep], learned: LearnedOperators) -> Iterator[Doubt]:
    """Yield doubts about steps that learning ignored, and about changes that were not needed later."""
    by_controller: dict[str, list[_ReachedStep]] = {}
    for step in steps:
        by_controller.setdefault(step.controller.name, []).append(step)
    for name, found in sorted(by_controller.items()):
        operator = _only_operator(name, learned)
        yield from _purposeless(name, found, operator)
        yield from _idle(name, found, operator)


def _purposeless(name: str, steps: Sequence[_ReachedStep], operator: Operator | None) -> Iterator[Doubt]:
    changes = _changed_patterns([step for step in steps if step.purposeless], operator)
    if changes:
        chosen = min(changes, key=lambda one: (-len(changes[one]), not one[1], specificity(one[0])))
        (pattern, became_true), count = chosen, len(changes[chosen])
        yield Doubt(
            DoubtKind.PURPOSELESS,
            None if operator is None else operator.name,
            name,
            count,
            f"{name if operator is None else operator.name} made {pattern} "
            f"{'true' if became_true else 'false'}, but nothing needed it in {count} of {len(steps)} steps",
            example(changes[chosen][0]),
            "A predicate for the condition that needs it may be missing, or the steps were detours."
            f"{INVENTION_ADVICE}",
        )


def _idle(name: str, steps: Sequence[_ReachedStep], operator: Operator | None) -> Iterator[Doubt]:
    """Yield at most two doubts about the steps of a controller that learning ignored.

    One is about outliers: these steps add necessary atoms, but differ from the controller's other steps.
    The other doubt is about steps in which no atom became true.
    """
    skipped = [step for step in steps if step.skipped and not step.purposeless]
    outliers = [step.transition for step in skipped if step.adds]
    idle = [step.transition for step in skipped if not step.adds]
    shown = name if operator is None else operator.name
    for found, what, advice in (
        (
            outliers,
            f"was unlike its other uses in {len(outliers)} of {len(steps)} steps, which learning ignored",
            "The recorded atoms may be wrong there.",
        ),
        (
            idle,
            f"added no atom in {len(idle)} of {len(steps)} steps, which learning skipped",
            "The actions may be repeated or failed ones, or no predicate describes their effects.",
        ),
    ):
        if found:
            about = None if operator is None else operator.name
            text = f"{shown} {what}"
            yield Doubt(DoubtKind.IDLE, about, name, len(found), text, example(found[0]), advice)


def _changed_patterns(
    steps: Sequence[_ReachedStep], operator: Operator | None
) -> Mapping[tuple[DeletePattern, bool], list[TransitionId]]:
    """Group the steps of a controller by the atoms that they change.

    For example, the steps in which Holding became true for the action's object are found under the key
    (Holding(?x), True). Objects that are not arguments of the action become wildcards. If a step makes some
    atoms true, the atoms that it makes false are left out.
    """
    found: dict[tuple[DeletePattern, bool], list[TransitionId]] = {}
    for step in steps:
        index, types = step.transition[1], step.controller.types
        arguments = tuple(Variable(f"?x{number}", kind) for number, kind in enumerate(types))
        if operator is not None:
            arguments = operator.controller_arguments
        before, after = step.demonstration.abstract_states[index : index + 2]
        lifting = dict(zip(step.demonstration.actions[index].objects, arguments, strict=True))
        for pattern in {lift_pattern(atom, lifting) for atom in (after - before) or (before - after)}:
            found.setdefault((pattern, step.adds), []).append(step.transition)
    return found


def _only_operator(controller: str, learned: LearnedOperators) -> Operator | None:
    """Return the only operator of a controller; None if the controller has no or several operators."""
    found = [one for one in learned.operators if one.controller.name == controller]
    return found[0] if len(found) == 1 else None


def _doubt_repaired(
    recorded: Sequence[Demonstration], repaired: Sequence[Demonstration]
) -> Iterator[Doubt]:
    """Yield one doubt per predicate whose atoms in the demonstrations looked wrong and were repaired."""
    changed = [
        (index, step, atom)
        for index, (old, new) in enumerate(zip(recorded, repaired, strict=True))
        if old is not new
        for step, states in enumerate(zip(old.abstract_states, new.abstract_states, strict=True))
        for atom in sorted(states[0] ^ states[1])
    ]
    counts = Counter(atom.predicate.name for _, _, atom in changed)
    for name, count in sorted(counts.items()):
        index, step, atom = next(one for one in changed if one[2].predicate.name == name)
        state = f"after step {step}" if step else "in the first state"
        several = "looked like detection errors and were repaired"
        one = "looked like a detection error and was repaired"
        yield Doubt(
            DoubtKind.REPAIRED,
            None,
            None,
            count,
            f"{count} atom{'' if count == 1 else 's'} of {name} {one if count == 1 else several}",
            f"for example {atom} {state} of demonstration {index}",
            f"Check the classifier of {name}, or record the demonstrations again.",
        )
