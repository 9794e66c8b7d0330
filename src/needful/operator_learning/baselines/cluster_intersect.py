"""Cluster and Intersect (CI), a baseline of the paper: one operator per set of lifted effects.

Two transitions belong to the same cluster if they have the same controller and the same lifted effects
(added and deleted atoms). This means that their objects can be renamed, without changing types, so that the
two actions have the same arguments and the same effects. The operator of a cluster has these effects. Its
preconditions are the lifted atoms that held before all transitions of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from needful.abstraction.atom_table import bits
from needful.core.canonical import canonical_form
from needful.core.demonstrations import Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.encoding import (
    EncodedDemonstration,
    EncodedTransition,
    encode_demonstrations,
)
from needful.operator_learning.induction import Datum, common_preconditions, lift
from needful.operator_learning.learned_operators import (
    EncodedOperatorData,
    LearnedOperators,
    evaluate_by_backchaining,
)


def cluster_and_intersect(
    demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
) -> LearnedOperators:
    """Learn one operator per set of effects.

    Replays (actions tried in simulation) are used like demonstrations.
    """
    encoded = encode_demonstrations((*demonstrations, *replays))
    found = [with_common_preconditions(cluster) for cluster in cluster_by_effects(encoded, deadline)]
    return evaluate_by_backchaining(found, encoded, len(demonstrations), deadline)


def cluster_by_effects(
    demonstrations: Iterable[EncodedDemonstration], deadline: Deadline
) -> tuple[EncodedOperatorData, ...]:
    """Return one cluster per set of effects: an operator without preconditions, and its transitions.

    Clusters are sorted by the operator's text. If effects are symmetric, the variables can be bound to the
    objects in several ways. The objects are then bound in the order of their names.
    """
    found: dict[str, tuple[Operator, list[Datum]]] = {}
    for demonstration in demonstrations:
        for transition in demonstration.transitions:
            deadline.check()
            operator, objects = operator_for_effects(transition)
            _, data = found.setdefault(operator.text, (operator, []))
            data.append((transition, objects))
    return tuple(
        EncodedOperatorData(operator, tuple(data)) for _, (operator, data) in sorted(found.items())
    )


def operator_for_effects(transition: EncodedTransition) -> tuple[Operator, tuple[int, ...]]:
    """Return an operator whose effects are all atoms that changed in a transition, and its grounding.

    The operator has no preconditions, and its variables have canonical names. The grounding has, for each
    parameter, the index of its object in `transition.table.objects`.
    """
    table = transition.table
    changed = bits(transition.added | transition.deleted)
    others = {number for atom in changed for number in table.arguments[atom]}
    numbers = tuple(dict.fromkeys((*transition.arguments, *sorted(others))))
    variables = tuple(
        Variable(f"?v{index}", table.objects[number].type) for index, number in enumerate(numbers)
    )
    lifting = {table.objects[number]: variable for number, variable in zip(numbers, variables, strict=True)}
    operator = Operator(
        name=transition.controller.name,
        parameters=variables,
        preconditions=frozenset(),
        add_effects=lift(transition, transition.added, lifting),
        delete_effects=lift(transition, transition.deleted, lifting),
        delete_patterns=frozenset(),
        controller=transition.controller,
        controller_arguments=tuple(lifting[table.objects[number]] for number in transition.arguments),
    )
    canonical, renaming = canonical_form(operator)
    number_of = dict(zip(variables, numbers, strict=True))
    return canonical, tuple(number_of[variable] for variable in renaming)


def with_common_preconditions(cluster: EncodedOperatorData) -> EncodedOperatorData:
    """Return the cluster with new preconditions: the lifted atoms that held before all its transitions."""
    preconditions = common_preconditions(cluster.operator, cluster.data)
    return EncodedOperatorData(replace(cluster.operator, preconditions=preconditions), cluster.data)
