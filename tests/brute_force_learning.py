"""Direct implementations of the learner's definitions, over sets of atoms and all groundings."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from needful.core.atoms import AbstractState
from needful.core.demonstrations import Demonstration, Transition
from needful.core.objects import Object
from needful.core.operators import GroundOperator, Operator
from needful.operator_learning.candidates import Candidate
from needful.operator_learning.hill_climbing import (
    necessary_effects_only,
    reduce_complexity,
    stay_where_stuck,
)
from needful.operator_learning.induction import partly_bound, whole_typed_predicate
from needful.operator_learning.learn_operators import OperatorLearningConfig
from needful.operator_learning.merge_types import keep_types, merge_types
from needful.operator_learning.negative_preconditions import positive_preconditions_only
from needful.operator_learning.unnamed_objects import named_objects_only
from needful.operator_learning.wrong_atoms import keep_atoms

# The paper's procedure, as in the approach `necessary-paper`, and the same with narrower quantified deletes
# and wider types.
PAPER = OperatorLearningConfig(
    generalise=whole_typed_predicate,
    reduce=reduce_complexity,
    types=keep_types,
    conditions=named_objects_only,
    effects=necessary_effects_only,
    skip_idle_steps=False,
    repair=keep_atoms,
    escape=stay_where_stuck,
    negatives=positive_preconditions_only,
)
PAPER_WITH_PATTERNS_AND_TYPES = replace(PAPER, generalise=partly_bound, types=merge_types)
PAPER_CONFIGS = (PAPER, PAPER_WITH_PATTERNS_AND_TYPES)


def groundings(
    operator: Operator, objects: Sequence[Object], transition: Transition
) -> Iterator[GroundOperator]:
    """Yield all injective, type-correct groundings whose controller call is the transition's."""
    if operator.controller != transition.action.controller:
        return
    for chosen in itertools.permutations(sorted(objects), len(operator.parameters)):
        pairs = zip(chosen, operator.parameters, strict=True)
        if all(obj.type.is_subtype_of(variable.type) for obj, variable in pairs):
            ground = operator.ground(chosen)
            if ground.controller_objects == transition.action.objects:
                yield ground


def is_consistent(ground: GroundOperator, transition: Transition, necessary: AbstractState) -> bool:
    """Return whether conditions (a), (b) and (c) hold."""
    if not ground.preconditions <= transition.before:
        return False
    predicted = ground.apply(transition.before)
    return necessary <= predicted <= transition.after


def is_explaining(ground: GroundOperator, transition: Transition, necessary: AbstractState | None) -> bool:
    """Return whether a candidate's operator is eligible for a transition in partitioning."""
    needed = frozenset() if necessary is None else necessary - transition.before
    return (
        ground.preconditions <= transition.before
        and ground.add_effects <= transition.after
        and needed <= ground.add_effects
    )


def score(ground: GroundOperator, transition: Transition) -> int:
    keeps = ground.preconditions & ground.add_effects
    changes = ground.add_effects - keeps
    return len(changes ^ transition.added) + len(ground.delete_effects ^ transition.deleted) - len(keeps)


def best_consistent(
    operators: Sequence[Operator],
    objects: Sequence[Object],
    transition: Transition,
    necessary: AbstractState,
    with_purpose: bool = False,
) -> GroundOperator | None:
    """Return the best consistent ground operator.

    An operator with a purpose must add a necessary atom that is no keep effect.
    """
    eligible = [
        ground
        for operator in operators
        for ground in groundings(operator, objects, transition)
        if is_consistent(ground, transition, necessary)
        and (not with_purpose or (ground.add_effects - ground.preconditions) & necessary)
    ]
    return min(eligible, key=lambda g: preference(g, transition), default=None)


def preference(ground: GroundOperator, transition: Transition) -> tuple[int, int, str, tuple[str, ...]]:
    return (
        score(ground, transition),
        len(ground.objects),
        str(ground.operator),
        tuple(obj.name for obj in ground.objects),
    )


def adding_controllers(demonstrations: Sequence[Demonstration]) -> set[str]:
    """Return the names of the controllers that add an atom in a quarter of their uses.

    Only their steps are skipped.
    """
    steps = [step for demonstration in demonstrations for step in demonstration.transitions()]
    names = {step.action.controller.name for step in steps}
    added = {name: [bool(s.added) for s in steps if s.action.controller.name == name] for name in names}
    return {name for name in names if any(added[name]) and 4 * sum(added[name]) >= len(added[name])}


def incidental_controllers(demonstrations: Sequence[Demonstration]) -> set[str]:
    """Return the names of the controllers that hardly ever add an atom and few demonstrations use."""
    used = [{action.controller.name for action in demo.actions} for demo in demonstrations]
    names = set[str]().union(*used) - adding_controllers(demonstrations)
    return {name for name in names if 2 * sum(name in one for one in used) < len(used)}


def backchain(
    operators: Sequence[Operator],
    demonstration: Demonstration,
    skippable: Collection[str] = (),
    skip_purposeless: bool = False,
    incidental: Collection[str] = (),
) -> tuple[list[GroundOperator | None], dict[int, AbstractState]]:
    """Return the greedy consistent suffix, and α by state number; skipped steps are None.

    A step of a skippable controller is skipped if no necessary atom became true and no operator adds one
    again; keep effects do not count. Without `skip_purposeless`, it must also add no atom at all. A
    repeated step of a skippable controller that changed nothing is always skipped. A step of an incidental
    controller that adds nothing necessary makes nothing necessary.
    """
    necessary = demonstration.goal
    known = {len(demonstration): necessary}
    chain: list[GroundOperator | None] = []
    for step, transition in reversed(list(enumerate(demonstration.transitions()))):
        may_skip = (
            transition.action.controller.name in skippable
            and necessary <= transition.before
            and (skip_purposeless or not transition.added)
        )
        if is_ignored(demonstration, step, skippable):
            chain.insert(0, None)
            known[step] = necessary
            continue
        ground = best_consistent(operators, demonstration.objects, transition, necessary, may_skip)
        if ground is None and not may_skip:
            break
        chain.insert(0, ground)
        aside = transition.action.controller.name in incidental and necessary <= transition.before
        if ground is not None and not (
            aside and necessary.isdisjoint(ground.add_effects - ground.preconditions)
        ):
            necessary = ground.preconditions | (necessary - ground.add_effects)
        known[step] = necessary
    return chain, known


def best_explanation(
    candidates: Sequence[Candidate],
    objects: Sequence[Object],
    transition: Transition,
    necessary: AbstractState | None,
    transition_id: tuple[int, int],
) -> tuple[Candidate, GroundOperator] | None:
    """Return the candidate and grounding that partitioning assigns a transition to.

    The candidates must be sorted by text.
    """
    number = {obj: index for index, obj in enumerate(sorted(objects))}
    entries = []
    for candidate in candidates:
        eligible = sorted(
            (
                ground
                for ground in groundings(candidate.operator, objects, transition)
                if is_explaining(ground, transition, necessary)
            ),
            key=lambda ground: preference(ground, transition),
        )
        hinted = [
            g for g in eligible if candidate.agrees([number[obj] for obj in g.objects], transition_id)
        ]
        if eligible:
            entries.append((candidate, (hinted or eligible)[0]))
    pinned = [entry for entry in entries if transition_id in entry[0].pinned]
    return pinned[0] if pinned else min(entries, key=lambda e: preference(e[1], transition), default=None)


def partition(
    candidates: Sequence[Candidate],
    demonstrations: Sequence[Demonstration],
    necessary: Sequence[Sequence[AbstractState | None]],
    skippable: Collection[str] = (),
) -> dict[str, list[tuple[int, int, tuple[Object, ...]]]]:
    """Return the transitions of each candidate that has any, by text; `necessary` holds α.

    Idle steps of skippable controllers that changed nothing are left out.
    """
    shares: dict[str, list[tuple[int, int, tuple[Object, ...]]]] = {}
    for index, demonstration in enumerate(demonstrations):
        for step, transition in enumerate(demonstration.transitions()):
            name = transition.action.controller.name
            if name in skippable and is_idle(demonstration, step) and transition.before == transition.after:
                continue
            alpha = necessary[index][step + 1]
            best = best_explanation(candidates, demonstration.objects, transition, alpha, (index, step))
            if best is not None:
                shares.setdefault(best[0].text, []).append((index, step, best[1].objects))
    return shares


def ineffective(
    candidate: Candidate,
    data: Sequence[tuple[int, int, tuple[Object, ...]]],
    demonstrations: Sequence[Demonstration],
    necessary: Sequence[Sequence[AbstractState | None]],
) -> list[tuple[int, int, tuple[Object, ...]]]:
    """Return the transitions of a candidate that made no needed change and lack a precondition.

    A transition makes no needed change if all changes of the candidate held before, or if it is known that
    nothing that became true is necessary. A precondition is an atom over the parameters that held before
    all other transitions. It is ignored if more than a quarter of all transitions lack it. Idle transitions
    and redone ones do not count there.
    """
    skippable = adding_controllers(demonstrations)
    changing, unchanging = [], []
    for index, step, objects in data:
        transition = list(demonstrations[index].transitions())[step]
        ground = candidate.operator.ground(objects)
        alpha = necessary[index][step + 1]
        passive = transition.action.controller.name in skippable and (
            ground.add_effects - ground.preconditions <= transition.before
            or (alpha is not None and alpha <= transition.before)
        )
        (unchanging if passive else changing).append((index, step, objects))
    if not changing:
        return []

    def lifted_before(
        index: int, step: int, objects: tuple[Object, ...]
    ) -> set[tuple[str, tuple[int, ...]]]:
        return {
            (atom.predicate.name, tuple(map(objects.index, atom.objects)))
            for atom in demonstrations[index].abstract_states[step]
            if set(atom.objects) <= set(objects)
            and atom.predicate.fits([candidate.operator.parameters[objects.index(o)] for o in atom.objects])
        }

    def superfluous(index: int, step: int, objects: tuple[Object, ...]) -> bool:
        demonstration = demonstrations[index]
        return is_idle(demonstration, step) or is_redone(demonstration, step, skippable)

    needs = set.intersection(*(lifted_before(*datum) for datum in changing))
    found = []
    for datum in unchanging:
        for need in needs - lifted_before(*datum):
            lacking = [
                other
                for other in unchanging
                if need not in lifted_before(*other) and not superfluous(*other)
            ]
            if superfluous(*datum) or len(lacking) <= len(data) / 4:
                found.append(datum)
                break
    return found


def is_idle(demonstration: Demonstration, step: int) -> bool:
    """Return whether a step adds nothing, and the step before or after it has the same action."""
    before, after = demonstration.abstract_states[step : step + 2]
    calls = [(one.controller, one.objects) for one in demonstration.actions]
    return after <= before and calls[step] in (calls[:step][-1:] + calls[step + 1 : step + 2])


def is_redone(demonstration: Demonstration, step: int, skippable: Collection[str]) -> bool:
    """Return whether a later step of the controller adds nothing while the atoms added here still hold.

    If the same action is executed several times in succession, none of these executions may add an atom.
    """
    transitions = list(demonstration.transitions())
    calls = [(one.controller.name, one.objects) for one in demonstration.actions]
    added, name = transitions[step].added, calls[step][0]
    for later in range(step + 1, len(calls)):
        if not added or not added <= transitions[later].before:
            return False
        run = [later]
        while run[0] and calls[run[0] - 1] == calls[later]:
            run.insert(0, run[0] - 1)
        while run[-1] + 1 < len(calls) and calls[run[-1] + 1] == calls[later]:
            run.append(run[-1] + 1)
        if calls[later][0] == name in skippable and not any(transitions[one].added for one in run):
            return True
    return False


def is_ignored(demonstration: Demonstration, step: int, skippable: Collection[str]) -> bool:
    """Return whether a step of a skippable controller repeats the step before it and changed nothing."""
    transition, actions = list(demonstration.transitions())[step], demonstration.actions
    return (
        transition.action.controller.name in skippable
        and transition.before == transition.after
        and step > 0
        and actions[step].controller == actions[step - 1].controller
        and actions[step].objects == actions[step - 1].objects
    )
