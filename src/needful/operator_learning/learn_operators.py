"""Learn operators from demonstrations with the paper's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.demonstrations import Demonstration, check_declarations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.operator_learning.canonical_encoding import encode_canonically
from needful.operator_learning.canonical_names import CanonicalNames
from needful.operator_learning.encoding import TransitionId, number_transitions
from needful.operator_learning.hill_climbing import (
    Climb,
    Move,
    Resume,
    alternate,
    climb_where_stuck,
    necessary_effects_only,
    reduce_truthfully,
    reliable_effects,
)
from needful.operator_learning.induction import Generalise, partly_bound
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.matching import SKIPPED
from needful.operator_learning.merge_types import keep_types, merge_types
from needful.operator_learning.mixed_operators import divide_mixed_operators, keep_mixed_operators
from needful.operator_learning.negative_preconditions import (
    Learn,
    LearningResult,
    negative_preconditions,
    positive_preconditions_only,
)
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.outliers import find_outliers, ignoring_pays
from needful.operator_learning.unnamed_objects import conditions_on_unnamed_objects, named_objects_only
from needful.operator_learning.wrong_atoms import Repairs, repair_wrong_atoms

# Outliers are transitions that differ from almost all others of their controller. These are the maximum
# number of times that learning is repeated without outliers, and their maximum share of the transitions.
MAX_OUTLIER_ROUNDS = 4
MAX_OUTLIERS = 0.1
# Backchaining may skip steps that add nothing necessary. The operators should still predict nothing false
# about these steps. If the number of false predictions at skipped steps, divided by the number of all
# transitions, exceeds this limit, too many steps were skipped. Learning then starts again, and skips only
# steps that add no atom. Then hill climbing continues from the result, and may skip the other steps again.
MAX_SKIPPED_CLAIMS = 0.1

Schedule: TypeAlias = Callable[[LearningProblem, Move, Climb], Climb]
TypeMerger: TypeAlias = Callable[[Climb, LearningProblem], Climb]
NoiseRepair: TypeAlias = Callable[[Sequence[Demonstration], Deadline], Repairs]
EffectFinder: TypeAlias = Callable[[Climb, LearningProblem], Climb]
ConditionFinder: TypeAlias = Callable[[Climb, LearningProblem, Resume], Climb]
Escape: TypeAlias = Callable[[Climb, LearningProblem, Resume], Climb]
NegativeLearner: TypeAlias = Callable[[Sequence[Demonstration], Learn], LearnedOperators]


@dataclass(frozen=True, slots=True)
class OperatorLearningConfig:
    """The functions that implement the exchangeable parts of the learner.

    All functions except `repair` and `negatives` receive demonstrations with canonical names, which do not
    depend on the user's names (see `canonical_names`).

    Attributes:
        generalise: makes a quantified delete (an atom with wildcards) for an atom that became false,
            although the operator would predict that it stays true.
        reduce: deletes one operator if the others can explain its transitions.
        schedule: the hill climbing. It decides when operators are added, and when `reduce` is called.
        types: merges operators and quantified deletes that differ only in types, after hill climbing.
        conditions: gives operators preconditions on objects that are not arguments of their controllers.
        divide: divides an operator in two if it explains transitions of two kinds and therefore predicts
            false atoms (see `mixed_operators`). It is called after `conditions`.
        effects: adds effects that no demonstration needs, but that tasks with more objects may need.
        skip_idle_steps: whether backchaining may skip steps that add nothing necessary.
        repair: repairs atoms that look like detection errors in the demonstrations, before learning.
        escape: covers transitions that are still uncovered after hill climbing.
        negatives: learns negative preconditions, atoms that must not hold before an operator is applied.
    """

    generalise: Generalise = partly_bound
    reduce: Move = reduce_truthfully
    schedule: Schedule = alternate
    types: TypeMerger = merge_types
    conditions: ConditionFinder = conditions_on_unnamed_objects
    divide: ConditionFinder = divide_mixed_operators
    effects: EffectFinder = reliable_effects
    skip_idle_steps: bool = True
    repair: NoiseRepair = repair_wrong_atoms
    escape: Escape = climb_where_stuck
    negatives: NegativeLearner = negative_preconditions

    def describe(self) -> dict[str, str]:
        """Return the name of the function chosen for each part, to be stored with the learned model."""
        return {
            "generalise": self.generalise.__name__,
            "reduce": self.reduce.__name__,
            "schedule": self.schedule.__name__,
            "types": self.types.__name__,
            "conditions": self.conditions.__name__,
            "divide": self.divide.__name__,
            "effects": self.effects.__name__,
            "skip_idle_steps": str(self.skip_idle_steps).lower(),
            "repair": self.repair.__name__,
            "escape": self.escape.__name__,
            "negatives": self.negatives.__name__,
        }


# The paper's choices for `types`, `conditions`, `divide`, `effects`, `skip_idle_steps` and `negatives`. The
# other parts have their defaults.
AS_IN_PAPER = OperatorLearningConfig(
    types=keep_types,
    conditions=named_objects_only,
    divide=keep_mixed_operators,
    effects=necessary_effects_only,
    skip_idle_steps=False,
    negatives=positive_preconditions_only,
)


def learn_operators(
    demonstrations: Sequence[Demonstration],
    config: OperatorLearningConfig | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn operators that model only the changes necessary for the demonstrations' goals.

    The same demonstrations and configuration always give the same result. The order of the demonstrations
    and the names that occur in them do not affect the result; see `canonical_names`. Raises
    `LearningTimeoutError` if the deadline passes.
    """
    check_declarations(demonstrations)
    config = config or OperatorLearningConfig()
    repairs = config.repair(demonstrations, deadline)

    def learn(demonstrations: Sequence[Demonstration], limit: int | None = None) -> LearningResult:
        limited = deadline if limit is None else deadline.with_check_limit(limit)
        return _learn_without_outliers(demonstrations, config, limited, noisy=repairs.total > 0)

    learned = config.negatives(repairs.demonstrations, learn)
    return replace(learned, repairs=repairs, skips_idle_steps=config.skip_idle_steps)


def _learn_without_outliers(
    demonstrations: Sequence[Demonstration], config: OperatorLearningConfig, deadline: Deadline, noisy: bool
) -> LearningResult:
    """Learn operators; learn again without outliers as long as this gives better operators.

    Outliers are transitions that differ from almost all others of their controller (see `outliers`). If the
    demonstrations are `noisy` (atoms were repaired), more transitions can count as outliers.
    """
    names = encode_canonically(demonstrations, deadline)
    encoded = number_transitions(names.demonstrations, config.skip_idle_steps)
    everything = LearningProblem.of_encoded(encoded, config.generalise, deadline)
    outliers: frozenset[TransitionId] = frozenset()
    simpler = replace(config, conditions=named_objects_only, divide=keep_mixed_operators)
    if noisy and config.skip_idle_steps and simpler != config:
        # For speed, find outliers with simpler operators first, and add further ones below. Wrong atoms
        # lead to many operators, and searching for conditions of all of them would take long.
        outliers = _without_outliers(everything, outliers, simpler, names, noisy, purposes_known=False)[2]
    climb, problem, outliers = _without_outliers(everything, outliers, config, names, noisy)

    def resume(start: Climb, problem: LearningProblem) -> Climb:
        return config.types(config.schedule(problem, config.reduce, start), problem)

    climb = config.effects(config.escape(climb, problem, resume), problem)
    return LearningResult(climb, problem, names, outliers)


def _without_outliers(
    everything: LearningProblem,
    outliers: frozenset[TransitionId],
    config: OperatorLearningConfig,
    names: CanonicalNames,
    noisy: bool,
    purposes_known: bool = True,
) -> tuple[Climb, LearningProblem, frozenset[TransitionId]]:
    """Learn operators without the given outliers, and without further ones if this gives better operators.

    Returns the operators, the problem without outliers, and the outliers. For `noisy` and `purposes_known`,
    see `find_outliers`.
    """
    start = everything.ignoring(outliers) if outliers else everything
    climb, problem = _learn(start, config, names)
    for _ in range(MAX_OUTLIER_ROUNDS if config.skip_idle_steps else 0):
        more = outliers | find_outliers(climb.hypothesis, problem, noisy, purposes_known)
        if more == outliers or len(more) > MAX_OUTLIERS * problem.size:
            break
        reached, without = _learn(everything.ignoring(more), config, names)
        ignored = len(more) - len(outliers)
        saved = problem.false_claims(climb.hypothesis) - without.false_claims(reached.hypothesis)
        if not ignoring_pays(reached.hypothesis, climb.hypothesis, ignored, saved, noisy=noisy):
            break
        climb, problem, outliers = reached, without, more
    return climb, problem, outliers


def _learn(
    problem: LearningProblem, config: OperatorLearningConfig, names: CanonicalNames
) -> tuple[Climb, LearningProblem]:
    """Learn operators; return them and `problem`, in which steps may be skipped if `config` allows it."""

    def resume(start: Climb, problem: LearningProblem) -> Climb:
        return config.schedule(problem, config.reduce, start)

    def resume_and_merge(start: Climb, problem: LearningProblem) -> Climb:
        return config.types(resume(start, problem), problem)

    if not config.skip_idle_steps:
        climb = resume(Climb(problem.empty_hypothesis(), describe=names.describe), problem)
    else:
        skipping = problem.skipping_purposeless_steps()
        climb = resume(Climb(skipping.empty_hypothesis(), describe=names.describe), skipping)
        if _claims_at_skipped_steps(climb.hypothesis, skipping) > MAX_SKIPPED_CLAIMS * problem.size:
            climb = resume(Climb(problem.empty_hypothesis(), describe=names.describe), problem)
            start = replace(climb, hypothesis=skipping.cover_again(climb.hypothesis))
            climb = resume(start, skipping)
        problem = skipping
    climb = config.conditions(climb, problem, resume)
    merged = config.types(climb, problem)
    if merged is not climb:  # merging may have made other operators superfluous
        climb = config.conditions(resume_and_merge(merged, problem), problem, resume_and_merge)
    divided = config.divide(climb, problem, resume_and_merge)
    if divided is not climb:
        climb = config.conditions(divided, problem, resume_and_merge)
    return climb, problem


def _claims_at_skipped_steps(hypothesis: Hypothesis, problem: LearningProblem) -> int:
    """Return the number of false claims at transitions that backchaining skipped.

    A false claim is an atom that an operator predicts, but that does not hold after the transition. Many of
    them mean that too many steps were skipped: the operators of a controller then describe only those of
    its uses that were not skipped.
    """
    skipped = {
        transition.number
        for chain in hypothesis.coverage.chains
        for transition, link in zip(
            chain.demonstration.transitions[chain.uncovered :], chain.links, strict=True
        )
        if link.match is SKIPPED
    }
    if not skipped:
        return 0
    claims = problem.validity.by_transition(hypothesis.coverage.operators, skipped)
    return sum(one.count() for one in claims.values())
