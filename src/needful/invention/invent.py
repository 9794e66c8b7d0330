"""Invent predicates, given goals, demonstrations with states and, optionally, a simulator.

Predicates are comparisons of features with bounds (`core.definitions`). The search (`search`) adds
predicates until plans of the learned operators agree with the demonstrations. Experiments in a simulator
(`repair`) then correct bounds and add predicates that the demonstrations alone do not reveal.

The search compares the length of plans with that of demonstrations, so a superfluous step in a
demonstration makes a correct plan look too short. A step is superfluous if the later actions still reach
the goal without it. With a simulator, a demonstration with such a step is set aside. The step is not just
removed, because several steps may be superfluous, and the demonstrator may have needed some of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Execute, GroundController
from needful.core.definitions import AnyDefinition, Conjunction, Definition, defined_predicate
from needful.core.demonstrations import Demonstration
from needful.core.expressions import Expression, find_kind, parse_formula
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.model import Vocabulary
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import (
    CheckedSettings,
    DemonstrationError,
    UnknownNameError,
    at_least,
)
from needful.invention.experiments import Simulator
from needful.invention.grammar import enumerate_expressions
from needful.invention.proposals import Proposal, enough_evidence
from needful.invention.repair import Bench, repair
from needful.invention.result import MAX_EXAMPLES, Examples, InventedPredicate, Invention
from needful.invention.scoring import DemonstrationAbstractor, Scored, Scorer
from needful.invention.search import UsesByName, climb, first_steps, prune
from needful.planning.planners import make_planner

# With a simulator, the first search accepts only clear predicates: those that exclude many false steps
# (steps without the predicted effects) from plans. The costs of the plans with these steps (see `Suffix`)
# must add up to at least this share of the initial cost of all plans. Other predicates are left to
# experiments, which find them more reliably.
CLEAR_SHARE = 0.05
# The value of `InventionConfig.keep` that withholds no predicate.
KEEP_ALL = ("all",)
# If fewer demonstrations than this have no superfluous step, all demonstrations are used.
LEAST_REMAINING = 20


@dataclass(frozen=True, slots=True)
class InventionConfig(CheckedSettings):
    """The settings of predicate invention. Limits count nodes, rounds and tasks, never seconds.

    Attributes:
        keep: the names of given predicates that are used besides those of goals. All others are withheld:
            they are ignored, as if the domain did not have them. The name `all` keeps all of them.
        formulas: expressions that the grammar lacks, such as `gap: abs(a.x - b.x) - a.width`.
        scoring_demonstrations: the number of demonstrations that plans are compared with.
        max_nodes: the limit of the search for each plan.
        candidates: the maximum number of proposals that each round of the search considers.
        practice_tasks: the number of training tasks for experiments in the simulator; 0 for none.
        repair_rounds: the maximum number of rounds of `repair`. Each round accepts at most one change.
        repair_candidates: the maximum number of changes that each round of `repair` tries.
        seed: the seed of the experiments. A run sets it to its own seed.
    """

    keep: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    scoring_demonstrations: int = at_least(1, 12)
    max_nodes: int = at_least(1, 20_000)
    candidates: int = at_least(1, 60)
    practice_tasks: int = 20
    repair_rounds: int = 6
    repair_candidates: int = 12
    seed: int = 0

    def __post_init__(self) -> None:
        CheckedSettings.__post_init__(self)
        for text in self.formulas:
            parse_formula(text)


def invent_predicates(
    vocabulary: Vocabulary,
    demonstrations: Iterable[Demonstration],
    execute: Execute | None = None,
    tasks: Sequence[Task] = (),
    config: InventionConfig | None = None,
    deadline: Deadline = NO_DEADLINE,
    on_progress: Callable[[int], None] = lambda tried: None,
) -> Invention:
    """Invent the predicates that operators need besides those of goals.

    Args:
        vocabulary: the types, predicates and controllers of the domain. Predicates that occur neither in
            goals nor in `config.keep` are withheld.
        demonstrations: they must have states.
        execute: executes an action in the simulator; None for no experiments.
        tasks: training tasks for experiments; they need no demonstrations.
        config: the settings; none of them depends on the speed of the machine.
        deadline: if it passes, `LearningTimeoutError` is raised. Otherwise it has no effect.
        on_progress: is called with the number of vocabularies that were tried so far.
    """
    config = config or InventionConfig()
    given, known = _withhold(vocabulary, tuple(demonstrations), tasks, config.keep)
    if execute is not None:
        known = without_detours(known, execute, deadline)
    abstractor = DemonstrationAbstractor(known)
    expressions = enumerate_expressions(known, config.formulas)
    training, scoring = _split(len(known), config.scoring_demonstrations)
    planner = make_planner("paper")
    scorer = Scorer(abstractor, training, scoring, planner, config.max_nodes, deadline, on_progress)
    solved: tuple[int, ...] = ()
    if execute is None or not tasks:
        found = climb(scorer, expressions, config.candidates, lambda scored: first_steps(scored, known))
        predicates = prune(scorer, found.scored).predicates
        reasons = _reasons(found.accepted, in_simulator=False)
        costs = found.costs
    else:
        simulator = Simulator(execute, tasks, planner, config.max_nodes, config.seed, deadline)
        predicates, reasons, costs, solved = _with_experiments(
            scorer, expressions, simulator, given, config
        )
    definitions = [one.definition for one in predicates if one.definition is not None]
    names = readable_names(definitions, [one.name for one in vocabulary.predicates])
    invented = tuple(
        _invented(definition, name, reasons) for definition, name in zip(definitions, names, strict=True)
    )
    predicates = tuple(one.predicate for one in invented)
    return Invention(
        Vocabulary(vocabulary.types, (*given, *predicates), vocabulary.controllers),
        abstractor.with_predicates(predicates),
        invented,
        costs,
        solved,
        len(tasks) if solved else 0,
        scorer.tried,
    )


# Maps each invented definition to the reason for it: the accepted proposal, and whether `repair` accepted
# it (otherwise the search did). Definitions without their bounds are also keys, as bounds are moved later.
Reasons: TypeAlias = dict[Definition | tuple[Expression, str], tuple[Proposal, bool]]


def _with_experiments(
    scorer: Scorer,
    expressions: Sequence[Expression],
    simulator: Simulator,
    given: Sequence[Predicate],
    config: InventionConfig,
) -> tuple[tuple[Predicate, ...], Reasons, tuple[float, ...], tuple[int, ...]]:
    """Search for predicates, repair them by experiments, and do both once more if tasks remain unsolved.

    Return the predicates, the reasons for them, the costs of plans in the searches, and the numbers of
    tasks that were solved in the experiments. Both searches accept only predicates with enough evidence,
    and the first one only clear ones (see `CLEAR_SHARE`).
    """

    def blame(scored: Scored) -> tuple[UsesByName, UsesByName]:
        demonstrations = scorer.abstractor.with_predicates(scored.predicates)
        training = [demonstrations[i] for i in scorer.training]
        return simulator.blame(scored.data, training, scored.suffixes, demonstrations)

    predicates: tuple[Predicate, ...] = ()
    reasons: Reasons = {}
    costs: tuple[float, ...] = ()
    solved: tuple[int, ...] = ()
    for clear_share in (CLEAR_SHARE, 0.0):
        found = climb(
            scorer,
            expressions,
            config.candidates,
            blame,
            predicates,
            clear_share,
            enough_evidence(expressions),
        )
        costs += found.costs
        if solved and not found.accepted:
            break
        bench = Bench(scorer, simulator, given, expressions, config.repair_candidates)
        least_solved = solved[-1] if solved else 0
        repaired = repair(bench, found.scored.predicates, config.repair_rounds, least_solved)
        if solved and repaired.solved[-1] < solved[-1]:
            break
        predicates = repaired.scored.predicates
        reasons |= _reasons(found.accepted, in_simulator=False)
        reasons |= _reasons(repaired.accepted, in_simulator=True)
        solved += repaired.solved
        if solved[-1] == len(simulator.tasks):
            break
    return predicates, reasons, costs, solved


def _reasons(accepted: Sequence[Proposal], in_simulator: bool) -> Reasons:
    reasons: Reasons = {}
    for one in accepted:
        reasons[one.definition] = reasons[one.definition.without_bound] = (one, in_simulator)
    return reasons


def _withhold(
    vocabulary: Vocabulary,
    demonstrations: tuple[Demonstration, ...],
    tasks: Sequence[Task],
    keep: Sequence[str],
) -> tuple[tuple[Predicate, ...], tuple[Demonstration, ...]]:
    """Return the predicates that are not withheld, and the demonstrations with only their atoms."""
    if not demonstrations:
        raise DemonstrationError(
            "There are no demonstrations to invent predicates from. Collect at least one."
        )
    names = {one.name: one for one in vocabulary.predicates}
    if tuple(keep) == KEEP_ALL:
        keep = tuple(names)
    for name in keep:
        if name not in names:
            raise UnknownNameError("predicate to keep", name, names)
    goals = {atom.predicate.name for one in demonstrations for atom in one.goal}
    goals |= {atom.predicate.name for task in tasks for atom in task.goal}
    given = tuple(one for one in vocabulary.predicates if one.name in goals or one.name in keep)
    kept = set(given)
    stripped = tuple(
        replace(
            one,
            abstract_states=tuple(
                frozenset(atom for atom in atoms if atom.predicate in kept) for atoms in one.abstract_states
            ),
        )
        for one in demonstrations
    )
    return given, stripped


def _split(count: int, scoring: int) -> tuple[range, range]:
    """Split demonstrations in two groups, given by indices: for learning operators, and for scoring plans.

    If there is only one demonstration, it is in both groups.
    """
    half = (count + 1) // 2
    if count == 1:
        return range(1), range(1)
    return range(half), range(half, min(count, half + scoring))


def _invented(definition: AnyDefinition, name: str, reasons: Reasons) -> InventedPredicate:
    """Return an invented predicate with the reason for it.

    A conjunction gets the reason of one of its parts: the part that excludes the most false uses (steps of
    plans without the predicted effects).
    """
    found = [reasons.get(part) or reasons[part.without_bound] for part, _ in definition.parts]
    proposal, in_simulator = max(found, key=lambda reason: len(reason[0].which))
    return InventedPredicate(
        defined_predicate(definition, name),
        proposal.controller,
        len(proposal.which),
        in_simulator,
        proposal.alternatives if definition == proposal.definition else (),
        tuple(
            Examples(part, *(_spread_out(values) for values in one.values))
            for (part, _), (one, _) in zip(definition.parts, found, strict=True)
        ),
    )


def _spread_out(values: np.ndarray) -> tuple[float, ...]:
    """Return the finite values in increasing order, rounded to four significant digits.

    If there are more than `MAX_EXAMPLES` values, return `MAX_EXAMPLES` of them, at regular intervals.
    """
    ordered = np.sort(values[np.isfinite(values)])
    chosen = np.linspace(0, len(ordered) - 1, min(len(ordered), MAX_EXAMPLES)).round().astype(int)
    return tuple(float(f"{value:.4g}") for value in ordered[chosen])


def readable_names(definitions: Sequence[AnyDefinition], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a short name for each definition, such as `low-distance`.

    The names are legal in PDDL, which ignores case. They differ from each other and from the names in
    `taken`, even if case is ignored.
    """
    used = {name.lower() for name in taken}
    found = []
    for definition in definitions:
        name, number = _short_name(definition), 2
        unique = name
        while unique.lower() in used:
            unique, number = f"{name}-{number}", number + 1
        used.add(unique.lower())
        found.append(unique)
    return tuple(found)


_SHORT_KINDS: Mapping[str, str] = {"absolute difference": "{f}-difference", "difference": "{f}-minus-{g}"}


def _short_name(definition: AnyDefinition) -> str:
    """Return a name made of words, such as `high-held`, `low-distance` or `every-high-wetness`."""
    if isinstance(definition, Conjunction):
        simplest = min((part for part, _ in definition.parts), key=lambda one: one.expression.complexity)
        return f"{_short_name(simplest)}-and-more"
    expression = definition.expression
    level = "low" if definition.compare == "<=" else "high"
    words = [level]
    if expression.quantifier is not None:
        every = (expression.quantifier == "min") == (definition.compare == ">")
        words = ["every" if every else "some", level]
    if expression.kind == "feature":
        words.append(expression.features[0][0])
    else:
        named = find_kind(expression.kind).short_name or expression.kind
        template = _SHORT_KINDS.get(expression.kind, named)
        words.append(template.format(f=expression.features[0][0], g=expression.features[-1][0]))
    return re.sub(r"[^a-z0-9_]+", "-", "-".join(words).lower())[:40].strip("-")


def without_detours(
    demonstrations: Sequence[Demonstration], execute: Execute, deadline: Deadline = NO_DEADLINE
) -> tuple[Demonstration, ...]:
    """Return the demonstrations that have no superfluous step, or all if fewer than 20 would remain."""
    if len(demonstrations) <= LEAST_REMAINING:
        return tuple(demonstrations)
    remaining = []
    for one in demonstrations:
        deadline.check()
        if not has_superfluous_step(one, execute):
            remaining.append(one)
    return tuple(remaining if len(remaining) >= LEAST_REMAINING else demonstrations)


def has_superfluous_step(demonstration: Demonstration, execute: Execute) -> bool:
    """Return whether the goal is reached even if some step is left out; False if there are no states."""
    return demonstration.states is not None and any(
        _reaches(state, demonstration.actions[index + 1 :], demonstration.goal, execute)
        for index, state in enumerate(demonstration.states[:-1])
    )


def _reaches(
    state: State, actions: Sequence[GroundController], goal: AbstractState, execute: Execute
) -> bool:
    for action in actions:
        if not action.initiable(state):
            return False
        execution = execute(state, action)
        if execution.steps == 0:
            return False
        state = execution.state
    return all(atom.holds(state) for atom in goal)
