"""The result of operator learning: named operators, and how well they explain the demonstrations.

Every learner ends with `evaluate_operators`. This function names the operators and lists the ground
operators by which backchaining explains each demonstration. If backchaining leaves some steps of a
demonstration unexplained, `reproduces_demonstration` checks whether a plan with the operators can follow
the demonstration's actions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from needful.abstraction.atom_table import bits
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom
from needful.core.cards import operator_cards
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Object, counted
from needful.core.operators import GroundedTransition, GroundOperator, Operator, OperatorData
from needful.operator_learning.backchaining import Backchain, Coverage, cover
from needful.operator_learning.encoding import EncodedDemonstration, TransitionId
from needful.operator_learning.hill_climbing import ClimbStep
from needful.operator_learning.induction import Datum
from needful.operator_learning.matching import SKIPPED, Matcher
from needful.operator_learning.wrong_atoms import Repairs

# `reproduces_demonstration` gives up after this number of predicted states.
MAX_PREDICTED_STATES = 10_000


@dataclass(frozen=True, slots=True)
class LearnedOperators:
    """Learned operators, and how well they explain the demonstrations.

    Some learners also receive replays: transitions from the simulator without a goal. Replays are numbered
    after the demonstrations. Backchaining needs a goal, so `necessary` and `chains` hold None for them.

    Attributes:
        data: the operators, each with the transitions it was induced from.
        necessary: for each demonstration the atoms that must hold in each state (α_0..α_n of the paper);
            None for states that backchaining did not reach.
        forbidden: for each demonstration the atoms that must not hold in each state, because of negative
            preconditions; None as in `necessary`. Empty if no operator has negative preconditions.
        chains: for each demonstration, a list with the ground operator that explains each step; None for
            steps that backchaining does not explain.
        transitions: N, the number of transitions in the demonstrations.
        uncovered: U, the number of transitions that backchaining does not explain.
        not_reproduced: the indices of demonstrations for which `reproduces_demonstration` is False.
        steps: the accepted moves of hill climbing.
        noop_names: the names of operators that change nothing and are excluded from planning.
        repairs: the demonstrations with repaired atoms; None if the learner repairs none.
        idle_steps: the steps that backchaining skipped, and those that it could have skipped because they
            add no atom. A step is given by the index of its demonstration, and its index within the
            demonstration. Empty if the learner skips no steps.
        skips_idle_steps: whether backchaining may skip steps that add nothing necessary.
        search_was_limited: whether the search for preconditions on objects that are not arguments of the
            controller stopped at its work limit.
    """

    data: tuple[OperatorData, ...]
    necessary: tuple[tuple[AbstractState | None, ...], ...]
    chains: tuple[tuple[GroundOperator | None, ...], ...]
    transitions: int
    uncovered: int
    not_reproduced: tuple[int, ...]
    steps: tuple[ClimbStep, ...]
    noop_names: frozenset[str] = frozenset()
    repairs: Repairs | None = None
    idle_steps: frozenset[TransitionId] = frozenset()
    skips_idle_steps: bool = False
    forbidden: tuple[tuple[AbstractState | None, ...], ...] = ()
    search_was_limited: bool = False

    def __repr__(self) -> str:
        counts = f"operators={len(self.data)}, transitions={self.transitions}, uncovered={self.uncovered}"
        return f"LearnedOperators({counts}, not_reproduced={len(self.not_reproduced)})"

    def _repr_html_(self) -> str:
        covered = f"{self.transitions - self.uncovered} of {self.transitions} transitions"
        title = f"{counted(self.data, 'operator')}, {covered} covered"
        return operator_cards(title, [one.operator for one in self.data])

    def with_operators(self, operators: Iterable[Operator]) -> LearnedOperators:
        """Return a copy in which each given operator replaces the learned operator with the same name."""
        by_name = {operator.name: operator for operator in operators}
        data = (replace(one, operator=by_name.get(one.operator.name, one.operator)) for one in self.data)
        return replace(self, data=tuple(data))

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The learned operators, sorted by name."""
        return tuple(one.operator for one in self.data)

    @property
    def planning_data(self) -> tuple[OperatorData, ...]:
        """The operators to plan with, each with the transitions it was induced from."""
        return tuple(one for one in self.data if one.operator.name not in self.noop_names)

    @property
    def unnecessary_effects(self) -> Mapping[str, frozenset[LiftedAtom]]:
        """For each operator's name, its add effects that were never necessary after its transitions."""
        found = {}
        for one in self.data:
            effects = set(one.operator.add_effects)
            for grounded in one.groundings:
                after = self.necessary[grounded.demonstration][grounded.step + 1] or frozenset()
                binding = dict(zip(one.operator.parameters, grounded.objects, strict=True))
                effects = {atom for atom in effects if atom.ground(binding) not in after}
            found[one.operator.name] = frozenset(effects)
        return found

    @property
    def sampler_data(self) -> tuple[OperatorData, ...]:
        """The operators, each with the transitions from which a sampler can learn continuous parameters.

        The steps in `idle_steps` may be detours or failed attempts, so they are left out. An operator keeps
        them only if all its transitions are such steps.
        """
        return tuple(
            replace(one, groundings=self._without_idle(one.groundings) or one.groundings)
            for one in self.data
        )

    def _without_idle(self, groundings: Sequence[GroundedTransition]) -> tuple[GroundedTransition, ...]:
        return tuple(one for one in groundings if (one.demonstration, one.step) not in self.idle_steps)

    def forbidden_after(self, demonstration: int, step: int) -> AbstractState:
        """Return the atoms that must not hold after a step, because of later negative preconditions."""
        states = self.forbidden[demonstration] if self.forbidden else ()
        return (states[step + 1] if states else None) or frozenset()

    @property
    def coverage(self) -> float:
        """The share of transitions that are covered (η in the paper)."""
        return 1.0 - self.uncovered / self.transitions if self.transitions else 1.0


class EncodedOperatorData(NamedTuple):
    """An operator ω, named after its controller, with the transitions that it explains (D_ω).

    The transitions are encoded: objects and atoms are numbers, and states are bit masks.
    """

    operator: Operator
    data: tuple[Datum, ...]

    def __repr__(self) -> str:
        return f"EncodedOperatorData({self.operator.name!r}, transitions={len(self.data)})"


class DecodedOperator(NamedTuple):
    """An operator with the user's names, and the transitions that it was induced from.

    During learning, the same operator has canonical names. That form is called the encoded operator here.

    Attributes:
        operator: the operator with the user's names.
        groundings: the transitions that it was induced from.
        text: the text of the encoded operator; the results of backchaining refer to it by this text.
        order: for each parameter, its index among the parameters of the encoded operator.
    """

    operator: Operator
    groundings: tuple[GroundedTransition, ...]
    text: str
    order: Sequence[int]

    def __repr__(self) -> str:
        return f"DecodedOperator({self.operator.name!r}, transitions={len(self.groundings)})"


class UserNames(NamedTuple):
    """The user's objects and atoms that the numbers in one encoded demonstration stand for.

    Attributes:
        demonstration: the index of the demonstration among the user's demonstrations.
        objects: the user's objects, in the order of their numbers.
        atoms: the user's atoms, in the order of their numbers.
    """

    demonstration: int
    objects: Sequence[Object]
    atoms: Sequence[GroundAtom]

    def __repr__(self) -> str:
        counts = f"objects={len(self.objects)}, atoms={len(self.atoms)}"
        return f"UserNames(demonstration={self.demonstration}, {counts})"


def evaluate_operators(
    found: Iterable[DecodedOperator],
    coverage: Coverage,
    names: Iterable[UserNames],
    matcher: Matcher,
    steps: tuple[ClimbStep, ...] = (),
    replays: Sequence[EncodedDemonstration] = (),
) -> LearnedOperators:
    """Name the operators and report how well they explain the demonstrations.

    `coverage` is the result of backchaining through the encoded demonstrations with the encoded operators.
    `names` has one item per demonstration, in the order of `coverage.chains`. `replays` are transitions
    from the simulator without a goal.
    """
    named = _with_names(tuple(found))
    by_text = {one.text: one for one in named}
    chains = sorted(zip(names, coverage.chains, strict=True), key=lambda one: one[0].demonstration)
    unreached = [(None,) * len(replay.transitions) for replay in replays]
    return LearnedOperators(
        data=tuple(OperatorData(one.operator, one.groundings) for one in named),
        necessary=(
            *(_necessary_atoms(chain, user.atoms) for user, chain in chains),
            *((None, *replay) for replay in unreached),
        ),
        chains=(*(_ground_chain(chain, user.objects, by_text) for user, chain in chains), *unreached),
        transitions=sum(len(chain.demonstration.transitions) for _, chain in chains),
        uncovered=coverage.uncovered,
        not_reproduced=tuple(
            user.demonstration
            for user, chain in chains
            if chain.failing is not None
            and not reproduces_demonstration(coverage.operators, chain.demonstration, matcher)
        ),
        steps=steps,
        idle_steps=frozenset(
            (user.demonstration, transition.step)
            for user, chain in chains
            for transition, link in zip(
                chain.demonstration.transitions[chain.uncovered :], chain.links, strict=True
            )
            if transition.skippable and (link.match is SKIPPED or not transition.added)
        ),
    )


def evaluate_by_backchaining(
    found: Sequence[EncodedOperatorData],
    encoded: Sequence[EncodedDemonstration],
    demonstrations: int,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Name operators that were learned without backchaining, and evaluate them by backchaining.

    The first items of `encoded` are the demonstrations; `demonstrations` is their number. The other items
    are replays: transitions from the simulator without a goal.
    """
    matcher = Matcher(deadline)
    uncovered = Coverage.empty(encoded[:demonstrations])
    coverage = cover((one.operator for one in found), uncovered, matcher)
    names = [UserNames(one.index, one.table.objects, one.table.atoms) for one in encoded[:demonstrations]]
    decoded = map(_decode, found)
    return evaluate_operators(decoded, coverage, names, matcher, replays=encoded[demonstrations:])


def reproduces_demonstration(
    operators: Sequence[Operator], demonstration: EncodedDemonstration, matcher: Matcher
) -> bool:
    """Return whether some abstract plan that follows the demonstration's actions reaches the goal.

    The plan has one ground operator per action, with the action's controller and objects. Each operator
    must be applicable in the state that the previous operators predict, which may differ from the observed
    state. If backchaining covers the whole demonstration, such a plan always exists, so callers skip this
    check.

    The search is depth-first. It first tries the predicted states that agree most with the observed state.
    Predicted states contain only atoms that occur in the demonstration.
    """
    transitions = demonstration.transitions
    start = transitions[0].before if transitions else demonstration.goal
    stack, seen = [(0, start)], set[tuple[int, int]]()
    while stack and len(seen) < MAX_PREDICTED_STATES:
        step, state = stack.pop()
        if step == len(transitions):
            if not demonstration.goal & ~state:
                return True
            continue
        if (step, state) in seen:
            continue
        seen.add((step, state))
        observed = transitions[step].after
        hypothetical = replace(transitions[step], before=state, after=(1 << len(demonstration.table)) - 1)
        reached = {
            prediction
            for operator in operators
            if operator.controller.name == hypothetical.controller.name
            for prediction in matcher.predictions(operator, hypothetical)
        }
        # The last item of the stack is expanded first, so the best prediction is put last. It has the most
        # observed atoms and, among equals, the fewest atoms that were not observed.
        order = sorted(reached, key=lambda s: ((s & observed).bit_count(), -(s & ~observed).bit_count(), s))
        stack += [(step + 1, prediction) for prediction in order]
    return False


def _with_names(found: Sequence[DecodedOperator]) -> list[DecodedOperator]:
    """Name each operator after its controller, with a number if the controller has several operators."""
    controllers = [one.operator.controller.name for one in found]
    names: list[str] = []
    for controller in controllers:
        numbered = (f"{controller}-{number}" for number in itertools.count(1))
        free = (name for name in numbered if name not in names and name not in controllers)
        names.append(next(free) if controllers.count(controller) > 1 else controller)
    named = (
        one._replace(operator=replace(one.operator, name=name))
        for one, name in zip(found, names, strict=True)
    )
    return sorted(named, key=lambda one: one.operator.name)


def _decode(encoded: EncodedOperatorData) -> DecodedOperator:
    """Decode the transitions of an operator that already has the user's names, not canonical ones."""
    operator = encoded.operator
    groundings = tuple(
        GroundedTransition(
            transition.demonstration,
            transition.step,
            tuple([transition.table.objects[number] for number in objects]),
        )
        for transition, objects in encoded.data
    )
    return DecodedOperator(operator, groundings, operator.text, range(len(operator.parameters)))


def _ground_chain(
    chain: Backchain, objects: Sequence[Object], by_text: Mapping[str, DecodedOperator]
) -> tuple[GroundOperator | None, ...]:
    found: list[GroundOperator | None] = [None] * chain.uncovered
    for match, _ in chain.links:
        if match is SKIPPED:
            found.append(None)
        else:
            operator, _, _, order = by_text[match.text]
            found.append(GroundOperator(operator, tuple([objects[match.objects[i]] for i in order])))
    return tuple(found)


def _necessary_atoms(chain: Backchain, atoms: Sequence[GroundAtom]) -> tuple[AbstractState | None, ...]:
    """Return the atoms that must hold in each state of a demonstration; None where they are unknown.

    Consecutive states share most of these atoms. To save time, only differences of bit masks are decoded.
    """
    found: list[AbstractState | None] = []
    decoded, earlier = AbstractState(), 0
    for mask in chain.necessary:
        if mask is not None:
            decoded, earlier = decoded ^ {atoms[number] for number in bits(mask ^ earlier)}, mask
        found.append(None if mask is None else decoded)
    return tuple(found)
