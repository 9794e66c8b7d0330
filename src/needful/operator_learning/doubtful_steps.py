"""Doubts about demonstrated steps: not covered, purposeless, idle, or with repaired atoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.doubt import Doubt, DoubtKind, example, location
from needful.operator_learning.encoding import TransitionId
from needful.operator_learning.false_claims import lift_pattern, specificity
from needful.operator_learning.learned_operators import LearnedOperators


@dataclass(frozen=True, slots=True)
class ReachedStep:
    """A step for which backchaining knows the atoms that must hold afterwards.

    Attributes:
        demonstration: the demonstration.
        transition: the index of the demonstration and of the step.
        skipped: whether no operator explains the step, because it adds nothing necessary.
        purposeless: whether the step adds atoms, none of them necessary.
    """

    demonstration: Demonstration
    transition: TransitionId
    skipped: bool
    purposeless: bool

    @property
    def controller(self) -> Controller:
        """The controller of the step's action."""
        return self.demonstration.actions[self.transition[1]].controller


def reached_steps(
    learned: LearnedOperators, demonstrations: Sequence[Demonstration]
) -> Iterator[ReachedStep]:
    """Yield the steps that backchaining reached."""
    for index, demonstration in enumerate(demonstrations):
        necessary, chain = learned.necessary[index], learned.chains[index]
        for step in range(len(demonstration)):
            before, after = demonstration.abstract_states[step : step + 2]
            needed = necessary[step + 1]
            if needed is not None:
                skipped = chain[step] is None and necessary[step] is not None
                purposeless = not after <= before and needed <= before
                yield ReachedStep(demonstration, (index, step), skipped, purposeless)


def doubt_uncovered(learned: LearnedOperators, demonstrations: Sequence[Demonstration]) -> Iterator[Doubt]:
    """Yield one doubt per controller at which backchaining stopped."""
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


def doubt_wasted(steps: Iterable[ReachedStep], learned: LearnedOperators) -> Iterator[Doubt]:
    """Yield doubts about the purposeless steps and about the idle steps of each controller."""
    by_controller: dict[str, list[ReachedStep]] = {}
    for step in steps:
        by_controller.setdefault(step.controller.name, []).append(step)
    for name, found in sorted(by_controller.items()):
        operator = _only_operator(name, learned)
        yield from _purposeless(name, found, operator)
        yield from _idle(name, found, operator)


def _purposeless(name: str, steps: Sequence[ReachedStep], operator: Operator | None) -> Iterator[Doubt]:
    patterns = _added_patterns([step for step in steps if step.purposeless], operator)
    if patterns:
        pattern = min(patterns, key=lambda one: (-len(patterns[one]), specificity(one)))
        count = len(patterns[pattern])
        yield Doubt(
            DoubtKind.PURPOSELESS,
            None if operator is None else operator.name,
            name,
            count,
            f"{name if operator is None else operator.name} made {pattern} true, but nothing needed it in "
            f"{count} of {len(steps)} steps",
            example(patterns[pattern][0]),
            "The condition that it serves may be missing from the predicates, or the steps were detours.",
        )


def _idle(name: str, steps: Sequence[ReachedStep], operator: Operator | None) -> Iterator[Doubt]:
    idle = [step.transition for step in steps if step.skipped and not step.purposeless]
    if idle:
        yield Doubt(
            DoubtKind.IDLE,
            None if operator is None else operator.name,
            name,
            len(idle),
            f"{name if operator is None else operator.name} added no atom in {len(idle)} of {len(steps)} "
            "steps, which learning skipped",
            example(idle[0]),
            "Repeated and failed actions look like this, and so do effects that no predicate describes.",
        )


def _added_patterns(
    steps: Sequence[ReachedStep], operator: Operator | None
) -> Mapping[DeletePattern, list[TransitionId]]:
    """Return the steps of a controller by the atoms that they add, lifted to the controller's arguments."""
    found: dict[DeletePattern, list[TransitionId]] = {}
    for step in steps:
        index, types = step.transition[1], step.controller.types
        arguments = tuple(Variable(f"?x{number}", kind) for number, kind in enumerate(types))
        if operator is not None:
            arguments = operator.controller_arguments
        before, after = step.demonstration.abstract_states[index : index + 2]
        lifting = dict(zip(step.demonstration.actions[index].objects, arguments, strict=True))
        for pattern in {lift_pattern(atom, lifting) for atom in after - before}:
            found.setdefault(pattern, []).append(step.transition)
    return found


def _only_operator(controller: str, learned: LearnedOperators) -> Operator | None:
    """Return the operator of a controller; None if it has none or several."""
    found = [one for one in learned.operators if one.controller.name == controller]
    return found[0] if len(found) == 1 else None


def doubt_repaired(recorded: Sequence[Demonstration], repaired: Sequence[Demonstration]) -> Iterator[Doubt]:
    """Yield one doubt per predicate with repaired atoms."""
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
