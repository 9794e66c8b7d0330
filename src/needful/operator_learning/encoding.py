"""Encode demonstrations as integers: numbered objects and atoms, and states as bit masks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomTable
from needful.core.atoms import AbstractState
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration

# A transition, identified by the index of its demonstration and its step, both from 0.
TransitionId: TypeAlias = tuple[int, int]
# A controller is effective if at least this share of its uses adds an atom. A smaller share may be due to
# wrong atoms in the demonstrations.
EFFECTIVE = 0.25
# A controller that is not effective is incidental if less than this share of the demonstrations uses it.
REGULAR = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTransition:
    """One transition: `controller`, executed on `arguments`, led from the state `before` to `after`.

    `number` is the index of the transition among those of all demonstrations. `demonstration` is the index
    of its demonstration, and `step` is its index in this demonstration. `arguments` are object numbers.
    `before` (s_{i-1} in the paper) and `after` (s_i) are masks of atoms. The numbers of objects and atoms
    are defined by the demonstration's `table`.

    If `skippable` is true, backchaining may leave the transition unexplained if it adds nothing necessary.
    If `idle` is true, the transition adds no atom, and the step before or after it has the same action: the
    action was repeated, or it failed and was tried again. If `ignored` is true, the learner ignores the
    transition: either the transition repeats the step before it and changed nothing, or it is an outlier
    (see `noise`). If `redone` is true, a later step of the same controller adds no atom, although all atoms
    that this transition adds have held since. So the demonstrator did not consider this transition enough.
    If `incidental` is true, the controller hardly ever adds an atom, and few demonstrations use it. The
    transition is probably a detour, so the preconditions of its operator are not necessary.
    """

    number: int
    demonstration: int
    step: int
    table: AtomTable
    controller: Controller
    arguments: tuple[int, ...]
    before: int
    after: int
    skippable: bool = False
    idle: bool = False
    ignored: bool = False
    redone: bool = False
    incidental: bool = False

    def __repr__(self) -> str:
        name = self.controller.name
        return f"EncodedTransition({name!r}, demonstration={self.demonstration}, step={self.step})"

    @property
    def transition_id(self) -> TransitionId:
        """The index of the demonstration, and the transition's step in this demonstration."""
        return (self.demonstration, self.step)

    @property
    def added(self) -> int:
        """The atoms that became true."""
        return self.after & ~self.before

    @property
    def deleted(self) -> int:
        """The atoms that became false."""
        return self.before & ~self.after


@dataclass(frozen=True, slots=True, eq=False)
class EncodedDemonstration:
    """The transitions of one demonstration and its goal."""

    index: int
    table: AtomTable
    goal: int
    transitions: tuple[EncodedTransition, ...]

    def __repr__(self) -> str:
        counts = f"transitions={len(self.transitions)}, objects={len(self.table.objects)}"
        return f"EncodedDemonstration(index={self.index}, {counts})"


@dataclass(frozen=True, slots=True, eq=False)
class TransitionIndex:
    """The transitions of all demonstrations, by number and by the name of their controller.

    `by_controller` contains only the transitions to learn from. It leaves out ignored transitions, and idle
    transitions that changed nothing (see `EncodedTransition`).
    """

    by_number: tuple[EncodedTransition, ...]
    by_controller: Mapping[str, Sequence[EncodedTransition]]

    def __repr__(self) -> str:
        counts = f"transitions={len(self.by_number)}, controllers={len(self.by_controller)}"
        return f"TransitionIndex({counts})"

    @classmethod
    def of(cls, demonstrations: Iterable[EncodedDemonstration]) -> TransitionIndex:
        """Collect the transitions of encoded demonstrations."""
        by_number = tuple(transition for demo in demonstrations for transition in demo.transitions)
        by_controller: dict[str, list[EncodedTransition]] = {}
        for transition in by_number:
            unchanged = transition.before == transition.after
            if transition.ignored or (transition.idle and unchanged):
                continue
            by_controller.setdefault(transition.controller.name, []).append(transition)
        return cls(by_number, by_controller)


class NumberedDemonstration(NamedTuple):
    """A demonstration with numbered objects and atoms.

    Attributes:
        table: the numbers of objects and atoms.
        goal: the mask of the goal.
        states: the mask of each state.
        actions: the controller and the numbers of its arguments for each action.
    """

    table: AtomTable
    goal: int
    states: Sequence[int]
    actions: Sequence[tuple[Controller, tuple[int, ...]]]


def encode_demonstrations(
    demonstrations: Sequence[Demonstration], skip_idle_steps: bool = False
) -> tuple[EncodedDemonstration, ...]:
    """Return the demonstrations with numbered transitions, objects and atoms.

    Objects are numbered in the order of their names. `number_transitions` describes `skip_idle_steps`.
    """
    return number_transitions([_numbered(demo) for demo in demonstrations], skip_idle_steps)


def number_transitions(
    demonstrations: Sequence[NumberedDemonstration], skip_idle_steps: bool = False
) -> tuple[EncodedDemonstration, ...]:
    """Return the demonstrations with numbered transitions.

    With `skip_idle_steps`, backchaining may skip a transition (see `EncodedTransition.skippable`), unless
    its controller hardly ever adds an atom. Without this exception, the learner would find no operator for
    a controller whose effects the predicates do not describe.
    """
    numbers = itertools.count()
    effective = _effective_controllers(demonstrations) if skip_idle_steps else frozenset[str]()
    incidental = _rare_controllers(demonstrations) - effective if skip_idle_steps else frozenset[str]()
    return tuple(
        _encode(index, demo, numbers, effective, incidental) for index, demo in enumerate(demonstrations)
    )


def ignore_transitions(
    demonstrations: Iterable[EncodedDemonstration], ignored: Set[TransitionId]
) -> tuple[EncodedDemonstration, ...]:
    """Return the demonstrations with the given transitions marked as ignored; the others are the same."""

    def marked(transition: EncodedTransition) -> EncodedTransition:
        return replace(transition, ignored=True) if transition.transition_id in ignored else transition

    return tuple(
        replace(demonstration, transitions=tuple(map(marked, demonstration.transitions)))
        for demonstration in demonstrations
    )


def _effective_controllers(demonstrations: Sequence[NumberedDemonstration]) -> frozenset[str]:
    """Return the names of the controllers of which at least the share `EFFECTIVE` of uses adds an atom."""
    uses, adding = Counter[str](), Counter[str]()
    for demonstration in demonstrations:
        steps = zip(demonstration.actions, itertools.pairwise(demonstration.states), strict=True)
        for (controller, _), (before, after) in steps:
            uses[controller.name] += 1
            adding[controller.name] += bool(after & ~before)
    return frozenset(name for name, count in adding.items() if count >= max(1, EFFECTIVE * uses[name]))


def _rare_controllers(demonstrations: Sequence[NumberedDemonstration]) -> frozenset[str]:
    """Return the names of the controllers that less than the share `REGULAR` of demonstrations use."""
    used_in = Counter(
        name for demo in demonstrations for name in {controller.name for controller, _ in demo.actions}
    )
    return frozenset(name for name, count in used_in.items() if count < REGULAR * len(demonstrations))


def _numbered(demonstration: Demonstration) -> NumberedDemonstration:
    table = AtomTable(demonstration.objects)
    states = _encode_states(demonstration.abstract_states, table)
    actions = [
        (action.controller, tuple(table.object_number[obj] for obj in action.objects))
        for action in demonstration.actions
    ]
    return NumberedDemonstration(table, table.encode(demonstration.goal), states, actions)


def _encode_states(states: Sequence[AbstractState], table: AtomTable) -> list[int]:
    """Encode each state; consecutive states share most atoms, so only the differences are encoded."""
    masks = [table.encode(states[0])]
    for before, after in itertools.pairwise(states):
        masks.append(masks[-1] & ~table.encode(before - after) | table.encode(after - before))
    return masks


def _encode(
    index: int,
    demonstration: NumberedDemonstration,
    numbers: Iterator[int],
    skippable: frozenset[str],
    incidental: frozenset[str],
) -> EncodedDemonstration:
    """Encode one demonstration; `skippable` and `incidental` contain the names of such controllers."""
    table, goal, states, actions = demonstration
    calls = [("", ()), *((controller.name, arguments) for controller, arguments in actions), ("", ())]
    transitions: list[EncodedTransition] = []
    for step, (controller, arguments) in enumerate(actions):
        before, after = states[step], states[step + 1]
        may_skip = controller.name in skippable
        beside_same = calls[step + 1] in (calls[step], calls[step + 2])
        idle = may_skip and beside_same and not after & ~before
        repeated = idle and before == after and calls[step + 1] == calls[step]
        transitions.append(
            EncodedTransition(
                next(numbers),
                index,
                step,
                table,
                controller,
                arguments,
                before,
                after,
                may_skip,
                idle,
                repeated,
                incidental=controller.name in incidental,
            )
        )
    return EncodedDemonstration(index, table, goal, _mark_redone(transitions))


def _mark_redone(transitions: Sequence[EncodedTransition]) -> tuple[EncodedTransition, ...]:
    """Mark the transitions that were done again; see `EncodedTransition.redone`."""
    redone: set[int] = set()
    for _, group in itertools.groupby(transitions, key=_call):
        run = list(group)
        if any(one.added for one in run) or not run[0].skippable:
            continue
        held = run[0].before
        for earlier in reversed(transitions[: run[0].step]):
            if earlier.controller == run[0].controller and earlier.added and not earlier.added & ~held:
                redone.add(earlier.step)
            held &= earlier.before
    return tuple(replace(one, redone=True) if one.step in redone else one for one in transitions)


def _call(transition: EncodedTransition) -> tuple[str, tuple[int, ...]]:
    return transition.controller.name, transition.arguments
