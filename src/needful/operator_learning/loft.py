"""LOFT: cluster by effects, then search for preconditions; a baseline of the paper.

The transitions of a cluster are positive examples, those of other clusters of the controller negative
ones. A search looks for preconditions that hold before many of the former and, under any grounding,
before few of the latter. What is covered becomes negative too, and the search is repeated for the
rest, so a cluster may end as several operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from needful.abstraction.atom_table import bits
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.operator_learning.cluster_intersect import clusters
from needful.operator_learning.encoding import EncodedTransition, encode_demonstrations
from needful.operator_learning.induction import Lifted, atoms_over, held_before
from needful.operator_learning.learned_operators import Explained, LearnedOperators, judged
from needful.operator_learning.precondition_search import Contrast, best_preconditions
from needful.operator_learning.readings import Reader


def loft(
    demonstrations: Sequence[Demonstration],
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn operators for every set of effects, with preconditions that tell it from the others."""
    encoded = encode_demonstrations((*demonstrations, *replays))
    found = clusters(encoded, deadline)
    operators: list[Explained] = []
    for cluster in found:
        controller = cluster.operator.controller
        others = [one for one in found if one is not cluster and one.operator.controller == controller]
        rivals = [transition for one in others for transition, _ in one.data]
        operators += told_apart(cluster, rivals, deadline)
    return judged(operators, encoded, len(demonstrations), deadline)


def loft_with_replays(
    demonstrations: Sequence[Demonstration],
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn as LOFT does; operators of what replays tried in vain are not to be planned with.

    Where a controller was never seen to change anything, its operator stays: it is all that there is
    to do about a failure that the simulator reports.
    """
    learned = loft(demonstrations, replays, deadline)
    effective = {one.controller for one in learned.operators if one.add_effects or one.delete_effects}
    idle = (
        one.name
        for one in learned.operators
        if one.controller in effective and not one.add_effects and not one.delete_effects
    )
    return replace(learned, idle=frozenset(idle))


def told_apart(
    cluster: Explained, rivals: Sequence[EncodedTransition], deadline: Deadline = NO_DEADLINE
) -> Iterator[Explained]:
    """Yield the operators of a cluster, each with the transitions that its preconditions cover.

    Where the search covers no transition it gives up; a cluster that got nothing at all needs nothing.
    """
    operator, data = cluster.operator, cluster.data
    lifted = [held_before(operator, datum) for datum in data]
    known: Lifted = {key: predicate for one in lifted for key, predicate in one.items()}
    atoms = sorted(known)
    held = [sum(1 << place for place, key in enumerate(atoms) if key in one) for one in lifted]
    variables = [sum(1 << place for place in set(places)) for _, places in atoms]
    reader = Reader(operator, atoms)
    negatives: list[tuple[int, ...] | None] = []
    fresh, remaining = rivals, list(range(len(data)))
    while remaining:
        for transition in fresh:
            deadline.check()
            negatives.append(reader.ways(transition))
        positives = [held[index] for index in remaining]
        contrast = Contrast.of(variables, positives, negatives)
        chosen = best_preconditions(contrast, reduce(or_, positives), deadline)
        covered = [index for index in remaining if not chosen & ~held[index]]
        if not covered:
            break
        needs = {atoms[place]: known[atoms[place]] for place in bits(chosen)}
        yield Explained(
            replace(operator, preconditions=atoms_over(operator.parameters, needs)),
            tuple(data[index] for index in covered),
        )
        remaining = [index for index in remaining if chosen & ~held[index]]
        fresh = [data[index][0] for index in covered]
    if len(remaining) == len(data):
        yield cluster
