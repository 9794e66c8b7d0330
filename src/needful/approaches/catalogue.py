"""The approaches by name; a new approach needs an entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from types import MappingProxyType

from needful.approaches.base import Approach, ClimbObserver
from needful.approaches.bilevel import BilevelApproach, LearnOperators
from needful.approaches.gnn import GnnApproach
from needful.core.demonstrations import Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.errors import MissingExtraError, UnknownNameError
from needful.operator_learning.baselines.cluster_intersect import cluster_and_intersect
from needful.operator_learning.baselines.loft import loft, loft_with_replays
from needful.operator_learning.baselines.quantified_search import cluster_and_quantify
from needful.operator_learning.hill_climbing import (
    keep_all_operators,
    reduce_complexity,
    stay_where_stuck,
)
from needful.operator_learning.induction import whole_typed_predicate
from needful.operator_learning.learn_operators import AS_IN_PAPER, OperatorLearningConfig, learn_operators
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.wrong_atoms import keep_atoms
from needful.policies.graph_policy import follow, shoot


def necessary_approach(name: str, description: str, config: OperatorLearningConfig) -> BilevelApproach:
    """Return an approach that learns operators as in the CoRL 2023 paper, with the settings in `config`."""

    def learn(
        demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
    ) -> LearnedOperators:
        # Ignore replays (random actions): they have no goal, so none of their changes is needed for one.
        return learn_operators(demonstrations, config, deadline)

    def watched(observer: ClimbObserver) -> LearnOperators:
        def reduce(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
            # Hill climbing calls `reduce` with each set of operators that it reaches, so report it here.
            objective = start.objective
            observer.observe_hypothesis(objective.uncovered, objective.operators, problem.size)
            return config.reduce(start, problem)

        return necessary_approach(name, description, replace(config, reduce=reduce)).learn_operators

    return BilevelApproach(name, description, learn, MappingProxyType(config.describe()), watched=watched)


NECESSARY = necessary_approach(
    "necessary", "operators that predict only necessary changes", OperatorLearningConfig()
)

# The learner of the paper. The type of a parameter is the type of the demonstrated objects, never a
# supertype. A quantified delete has only wildcards, such as On(*:block, *:block), and no parameters.
PAPER_CONFIG = replace(
    AS_IN_PAPER,
    generalise=whole_typed_predicate,
    reduce=reduce_complexity,
    repair=keep_atoms,
    escape=stay_where_stuck,
)

BILEVEL_APPROACHES: Mapping[str, BilevelApproach] = MappingProxyType(
    {
        approach.name: approach
        for approach in (
            NECESSARY,
            necessary_approach(
                "necessary-paper",
                "the same with types as seen and quantified deletes of whole predicates, as in the paper",
                PAPER_CONFIG,
            ),
            necessary_approach(
                "necessary-no-complexity",
                "the same as `necessary`, without deleting or merging operators",
                replace(AS_IN_PAPER, reduce=keep_all_operators),
            ),
            necessary_approach(
                "necessary-paper-no-complexity",
                "the same as `necessary-paper`, without deleting operators",
                replace(PAPER_CONFIG, reduce=keep_all_operators),
            ),
            BilevelApproach(
                "ci", "cluster and intersect: one operator per set of effects", cluster_and_intersect
            ),
            BilevelApproach(
                "ci-qe",
                "cluster and intersect, then quantified deletes by prediction error",
                cluster_and_quantify,
            ),
            BilevelApproach("loft", "clusters of effects with preconditions found by search", loft),
            BilevelApproach(
                "loft-replay",
                "the same with 2,500 more transitions, tried out in the simulator",
                loft_with_replays,
                replay_count=2_500,
            ),
        )
    }
)

GNN_APPROACHES: Mapping[str, GnnApproach] = MappingProxyType(
    {
        approach.name: approach
        for approach in (
            GnnApproach("gnn-shooting", "a graph network policy, rolled out until a plan is found", shoot),
            GnnApproach("gnn-model-free", "the same policy, executed without look-ahead", follow),
        )
    }
)

APPROACHES: Mapping[str, Approach] = MappingProxyType({**BILEVEL_APPROACHES, **GNN_APPROACHES})


def find_approach(name: str) -> Approach:
    """Return the approach with this name, after checking that its dependencies are installed.

    Raises `UnknownNameError` for an unknown name, and `MissingExtraError` if the approach needs torch and
    torch is not installed.
    """
    if name not in APPROACHES:
        raise UnknownNameError("learner", name, APPROACHES)
    if name in GNN_APPROACHES and find_spec("torch") is None:
        raise MissingExtraError(f"The learner {name!r}", "torch", "gnn")
    return APPROACHES[name]
