"""Repair a vocabulary with experiments in the simulator: move bounds, and add predicates.

Without a simulator, only demonstrated states are known. The simulator shows where plans really fail. If the
use of an operator fails (a false use), a bound must be stricter or a further predicate is needed. If a use
succeeds (a true use) although a bound forbids it, the bound must be looser. Many expressions separate a few
true uses from a few false ones by chance, so a change needs evidence (`Proposal.evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from needful.core.atoms import Predicate
from needful.core.definitions import Definition
from needful.core.expressions import Expression
from needful.core.operators import Operator
from needful.invention.experiments import Simulator, Trials
from needful.invention.probing import needs_fixed, probe_elsewhere, widen_bounds
from needful.invention.proposals import MOST, Proposal, Use, UseFeatures, enough_evidence, propose
from needful.invention.revise import Uses, add_proposal, refit, without_part
from needful.invention.scoring import Scored, Scorer
from needful.invention.search import UsesByName, true_uses

# A change that does not solve more tasks must increase `Trials.score` by at least this number.
MIN_IMPROVEMENT = 0.25
# Of all proposals that exclude the same failed uses, at most this number are tried.
MAX_EQUIVALENT = 2
# The maximum number of times that bounds are widened (see `widen_bounds`). A precondition with a wider
# bound holds in more states. So next, bounds of other preconditions can be tested in more states.
WIDENINGS = 3


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of experiments with a vocabulary.

    Attributes:
        scored: the predicates, and the operators learned with them from all demonstrations.
        accepted: the proposals that were accepted.
        solved: the number of practice tasks that were solved by the planner's first plan, at the start and
            after each change.
    """

    scored: Scored
    accepted: tuple[Proposal, ...]
    solved: tuple[int, ...]


@dataclass(slots=True)
class Experience:
    """The uses of operators in all experiments so far, including those with other vocabularies.

    Operators of two vocabularies count as the same operator if they have the same controller, controller
    arguments, parameters and add effects.
    """

    uses: dict[object, tuple[dict[Use, None], dict[Use, None]]] = field(default_factory=dict)

    def add(self, operators: Sequence[Operator], true: UsesByName, false: UsesByName) -> None:
        """Remember true and false uses of operators."""
        for operator in operators:
            known = self.uses.setdefault(_identity(operator), ({}, {}))
            for some, found in zip(known, (true, false), strict=True):
                some.update(dict.fromkeys(found.get(operator.name, ())))

    def of(self, operator: Operator) -> tuple[Sequence[Use], Sequence[Use]]:
        """Return the uses in which an operator worked, and the failures in which its preconditions held."""
        true, false = self.uses.get(_identity(operator), ({}, {}))
        return tuple(true), tuple(use for use in false if _applicable(operator, use))


def _identity(operator: Operator) -> object:
    return operator.controller, operator.controller_arguments, operator.parameters, operator.add_effects


def _applicable(operator: Operator, use: Use) -> bool:
    bound = dict(zip(operator.parameters, use.objects, strict=True))
    return all(
        atom.predicate.holds(use.state, tuple(bound[v] for v in atom.variables))
        for atom in operator.preconditions
    )


def repair(bench: Bench, predicates: Sequence[Predicate], rounds: int, least_solved: int = 0) -> Repair:
    """Change a set of predicates as long as plans get further in the simulator.

    There are at most `rounds` rounds. Each round tries the changes that `bench` proposes, and accepts the
    first change that improves the results. A change can move several bounds and add several predicates.
    Finally, added predicates that do not help are removed. If fewer than `least_solved` tasks are solved at
    the start, nothing is changed.
    """
    scored, trials = bench.attempt(predicates, least_solved)
    if trials.solved < least_solved:
        return Repair(scored, (), (trials.solved,))
    accepted: list[Proposal] = []
    solved = [trials.solved]
    for _ in range(rounds):
        if trials.solved == len(bench.simulator.tasks):
            break
        for change in bench.changes(scored):
            tried = bench.attempt(change.predicates, trials.solved)
            if tried[1].better_than(trials, MIN_IMPROVEMENT) or _solves_failures(
                change.proposals, (scored, trials), tried
            ):
                scored, trials = tried
                accepted += change.proposals
                solved.append(trials.solved)
                break
        else:
            break
    for proposal in reversed(accepted):
        without = without_part(scored.predicates, proposal.definition)
        if without == scored.predicates:  # a later change moved its bound, so the predicate is useful
            continue
        tried = bench.attempt(without, trials.solved)
        if tried[1].better_than(trials, 0.0):
            scored, trials = tried
            solved.append(trials.solved)
    probed, trials, proposals = bench.probe(scored, trials)
    if probed is not scored:
        scored = probed
        accepted += proposals
        solved.append(trials.solved)
    return Repair(scored, tuple(accepted), tuple(solved))


@dataclass(slots=True)
class Bench:
    """Tries sets of predicates in the simulator, and proposes changes based on the results so far.

    Attributes:
        scorer: learns operators.
        simulator: executes plans in training tasks.
        given: the predicates that are not invented.
        expressions: the expressions of new predicates.
        limit: the maximum number of changes that are proposed for a set of predicates.
        experience: the uses in all experiments so far.
    """

    scorer: Scorer
    simulator: Simulator
    given: Sequence[Predicate]
    expressions: Sequence[Expression]
    limit: int
    experience: Experience = field(default_factory=Experience)

    def attempt(self, predicates: Sequence[Predicate], least_solved: int = 0) -> tuple[Scored, Trials]:
        """Learn operators with a set of predicates, and execute plans; see `Simulator.run`."""
        scored = self.scorer.learn(predicates)
        demonstrations = self.scorer.abstractor.with_predicates(predicates)
        trials = self.simulator.run(scored.data, demonstrations, (*self.given, *predicates), least_solved)
        self._remember(scored, trials.true, trials.false)
        return scored, trials

    def changes(self, scored: Scored) -> Iterator[_Change]:
        """Yield changes that all experiments so far suggest; see `_changes`."""
        return _changes(self.scorer, scored, self.experience, self.expressions, self.limit)

    def probe(self, scored: Scored, trials: Trials) -> tuple[Scored, Trials, tuple[Proposal, ...]]:
        """Correct bounds and add predicates with experiments outside of plans, if results do not get worse.

        First, bounds are widened as far as operators still work (`widen_bounds`). The old, stricter bounds
        may have excluded some false uses (failures) by chance. So if a bound has moved, operators are
        executed in further states (`probe_elsewhere`), and changes that exclude the false uses are tried.
        Return the predicates with their operators, the results, and the proposals of the accepted change.
        """
        widened = scored
        for _ in range(WIDENINGS):
            demonstrations = self.scorer.abstractor.with_predicates(widened.predicates)
            wider = widen_bounds(widened.predicates, widened.data, demonstrations, self.simulator)
            self._remember(widened, wider.true, wider.false)
            if wider.predicates == widened.predicates:
                break
            widened = self.scorer.learn(wider.predicates)
        if widened is scored:
            return scored, trials, ()
        demonstrations = self.scorer.abstractor.with_predicates(widened.predicates)
        failed = False
        for one in widened.data:
            if needs_fixed(one.operator, widened.data):
                true, false = probe_elsewhere(one, demonstrations, self.simulator)
                self._remember(widened, {one.operator.name: true}, {one.operator.name: false})
                failed = failed or bool(false)
        changes = (*(self.changes(widened) if failed else ()), _Change(widened.predicates))
        for change in changes:
            changed, results = self.attempt(change.predicates, trials.solved)
            if results.better_than(trials, 0.0):
                return changed, results, change.proposals
        return scored, trials, ()

    def _remember(self, scored: Scored, true: UsesByName, false: UsesByName) -> None:
        self.experience.add([one.operator for one in scored.data], true, false)


def _solves_failures(
    proposals: Sequence[Proposal], before: tuple[Scored, Trials], after: tuple[Scored, Trials]
) -> bool:
    """Return whether proposals prevent at least half of the failures of their controllers, without harm.

    Failures are false uses of operators with these controllers. Harm means that fewer tasks have a plan, or
    that fewer are solved. The score need not increase: plans now reach later steps, and these may fail.
    """
    controllers = {one.controller for one in proposals}
    failures = [
        sum(
            len(trials.false.get(one.operator.name, ()))
            for one in scored.data
            if one.operator.controller.name in controllers
        )
        for scored, trials in (before, after)
    ]
    harmless = after[1].solved >= before[1].solved and after[1].planned >= before[1].planned
    return harmless and failures[0] > 0 and 2 * failures[1] <= failures[0]


@dataclass(frozen=True, slots=True)
class _Change:
    """A changed set of predicates, and the proposals that led to it."""

    predicates: tuple[Predicate, ...]
    proposals: tuple[Proposal, ...] = ()


def _changes(
    scorer: Scorer,
    scored: Scored,
    experience: Experience,
    expressions: Sequence[Expression],
    limit: int,
) -> Iterator[_Change]:
    """Yield at most `limit` changes that the experiments suggest.

    The first change moves all bounds, and adds for each operator the proposal with the most evidence. Each
    of the next changes moves the bounds of one predicate. The other changes add one proposal each. Each
    proposal is tried twice: with `usual` True and with `usual` False (see `add_proposal`).
    """
    demonstrations = scorer.abstractor.demonstrations
    uses: dict[str, Uses] = {}
    for one in scored.data:
        true, false = experience.of(one.operator)
        shown = true_uses(one, range(len(demonstrations)), demonstrations)
        uses[one.operator.name] = UseFeatures((*shown, *true)), UseFeatures(false)
    operators = [one.operator for one in scored.data]
    known = [(one, uses[one.name][0]) for one in operators]
    by_name = {one.name: one for one in operators}
    moved = tuple(refit(one, operators, uses) for one in scored.predicates)
    proposals: list[Proposal] = []
    best: dict[tuple[Expression, str], Proposal] = {}
    needed = enough_evidence(expressions)
    for operator in operators:
        scorer.deadline.check()
        found = propose(expressions, operator, *uses[operator.name], known, needed)
        ordered = _known_first(sorted(found, key=_by_evidence), scored.predicates)
        proposals += _clearest(ordered)
        for proposal in ordered[:1]:
            best.setdefault(proposal.definition.without_bound, proposal)
    proposals.sort(key=_by_evidence)
    combined = moved
    for proposal in best.values():
        combined = add_proposal(combined, proposal, scorer, by_name[proposal.operator])
    changes = [_Change(combined, tuple(best.values()))]
    changes += [
        _Change(tuple(after if i == j else one for j, one in enumerate(scored.predicates)))
        for i, after in enumerate(moved)
    ]
    for proposal in proposals:
        for usual in (True, False):
            changed = add_proposal(scored.predicates, proposal, scorer, by_name[proposal.operator], usual)
            changes.append(_Change(changed, (proposal,)))
    seen = {scored.predicates}
    for change in changes:
        if change.predicates not in seen and len(seen) <= limit:
            seen.add(change.predicates)
            yield change


def _known_first(proposals: Sequence[Proposal], predicates: Sequence[Predicate]) -> list[Proposal]:
    """Return the proposals, with those first that only change the bound of an existing predicate.

    Such a proposal is moved to the front only if it excludes at least `MOST` times as many false uses
    (failures) as the first proposal. A new bound for an expression that is already used is a simpler
    explanation than a new expression.
    """
    used = {part.without_bound for one in predicates if one.definition for part, _ in one.definition.parts}
    enough = MOST * len(proposals[0].which) if proposals else 0
    return sorted(
        proposals, key=lambda one: one.definition.without_bound not in used or len(one.which) < enough
    )


def _by_evidence(proposal: Proposal) -> tuple[float, int, Definition]:
    return -proposal.evidence, proposal.complexity, proposal.definition


def _clearest(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """Yield, of all proposals that exclude the same false uses, only the first `MAX_EQUIVALENT`."""
    groups: dict[tuple[int, ...], list[Proposal]] = {}
    for proposal in proposals:
        groups.setdefault(proposal.which, []).append(proposal)
    for group in groups.values():
        yield from group[:MAX_EQUIVALENT]
