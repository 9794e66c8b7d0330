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

# The name of a controller, and the numbers of its arguments.
_Call: TypeAlias = tuple[str, tuple[int, ...]]
# Identifies a transition: the index of its demonstration, and its index in this demonstration, both from 0.
TransitionId: TypeAlias = tuple[int, int]
# A controller is effective if at least this share of its transitions adds an atom. If the share is smaller,
# the added atoms may be detection errors.
EFFECTIVE = 0.25
# A controller is rare if fewer than this share of the demonstrations use it. Transitions of a controller
# that is rare and not effective are incidental (see `EncodedTransition`).
REGULAR = 0.5


@dataclass(slots=True, eq=False)  # not frozen: frozen dataclasses take twice as long to construct
class EncodedTransition:
    """One transition: `controller`, executed on `arguments`, led from the state `before` to `after`.

    Attributes:
        number: the index of the transition among the transitions of all demonstrations.
        demonstration: the index of the demonstration.
        step: the index of the transition in its demonstration.
        table: the objects and atoms of the demonstration, with their numbers.
        controller: the executed controller.
        arguments: the numbers of the objects on which the controller was executed.
        before: the atoms that hold before the transition, as a mask (s_{i-1} in the paper).
        after: the atoms that hold after the transition, as a mask (s_i in the paper).
        skippable: whether backchaining may leave the transition unexplained if it adds nothing necessary.
        idle: whether the transition is skippable and adds no atom, and the step before or after it has the
            same action. The action was probably repeated, or it failed and was tried again.
        ignored: whether the learner ignores the transition. Either the transition repeats the action of the
            step before it and changes nothing, or it is an outlier (see `outliers`).
        redone: whether a later step uses the same controller but adds no atom, and all atoms that this
            transition adds hold until that step. The demonstrator probably executed the controller again
            because the effect of this transition was not sufficient.
        incidental: whether the controller rarely adds an atom, and few demonstrations use it. The
            transition is probably a detour. If it adds nothing necessary, earlier steps need not achieve
            the preconditions of its operator.
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
        """The index of the demonstration, and the index of the transition in this demonstration."""
        return (self.demonstration, self.step)

    @property
    def added(self) -> int:
        """The atoms that became true, as a mask."""
        return self.after & ~self.before

    @property
    def deleted(self) -> int:
        """The atoms that became false, as a mask."""
        return self.before & ~self.after


@dataclass(frozen=True, slots=True, eq=False)
class EncodedDemonstration:
    """The transitions and the goal of one demonstration, with numbered objects and atoms.

    `goal` is a mask of atoms; `table` contains the numbers of objects and atoms.
    """

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
        table: the objects and atoms with their numbers.
        goal: the atoms of the goal, as a mask.
        states: for each state, the atoms that hold, as a mask.
        actions: for each action, the controller and the numbers of its arguments.
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

    With `skip_idle_steps`, the transitions of effective controllers are skippable (see `EFFECTIVE` and
    `EncodedTransition.skippable`). A controller that rarely adds an atom is not effective: perhaps the
    predicates do not describe its effects. If its transitions were skippable, the learner would find no
    operator for it.
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
    """Return the demonstrations with the given transitions marked as ignored.

    The other transitions are unchanged.
    """

    def marked(transition: EncodedTransition) -> EncodedTransition:
        return replace(transition, ignored=True) if transition.transition_id in ignored else transition

    return tuple(
        replace(demonstration, transitions=tuple(map(marked, demonstration.transitions)))
        for demonstration in demonstrations
    )


def _effective_controllers(demonstrations: Sequence[NumberedDemonstration]) -> frozenset[str]:
    """Return the names of the controllers that add an atom often enough; see `EFFECTIVE`."""
    uses, adding = Counter[str](), Counter[str]()
    for demonstration in demonstrations:
        steps = zip(demonstration.actions, itertools.pairwise(demonstration.states), strict=True)
        for (controller, _), (before, after) in steps:
            uses[controller.name] += 1
            adding[controller.name] += bool(after & ~before)
    return frozenset(name for name, count in adding.items() if count >= max(1, EFFECTIVE * uses[name]))


def _rare_controllers(demonstrations: Sequence[NumberedDemonstration]) -> frozenset[str]:
    """Return the names of the controllers that few demonstrations use; see `REGULAR`."""
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
    """Return each state as a mask of atoms.

    Consecutive states share most atoms. To save time, only the differences are encoded.
    """
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
    """Encode one demonstration.

    The transitions of the controllers named in `skippable` are marked as skippable, and those of the
    controllers named in `incidental` as incidental. `numbers` yields the numbers of the transitions.
    """
    table, goal, states, actions = demonstration
    calls = [("", ()), *((controller.name, arguments) for controller, arguments in actions), ("", ())]
    redone = _redone_steps(calls[1:-1], states, skippable)
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
                step in redone,
                controller.name in incidental,
            )
        )
    return EncodedDemonstration(index, table, goal, tuple(transitions))


def _redone_steps(calls: Sequence[_Call], states: Sequence[int], skippable: frozenset[str]) -> set[int]:
    """Return the steps of a demonstration for which `EncodedTransition.redone` is true.

    `calls` contains the name of the controller and the arguments of each step.
    """
    redone = set[int]()
    added = [after & ~before for before, after in itertools.pairwise(states)]
    if all(added):
        return redone
    for (name, _), group in itertools.groupby(range(len(calls)), key=calls.__getitem__):
        run = list(group)
        if name not in skippable or any(added[step] for step in run):
            continue
        held = states[run[0]]
        for earlier in range(run[0] - 1, -1, -1):
            if calls[earlier][0] == name and added[earlier] and not added[earlier] & ~held:
                redone.add(earlier)
            held &= states[earlier]
    return redone
