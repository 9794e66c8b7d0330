"""Explain in words why a task was not solved, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.plans import Draw, Failure, Outcome, PlanningResult, Suspect

EXPLAIN = "See why it was learned with `needful explain`"
_SAMPLER = "The sampler may miss the parameters that work, or the operator lacks a precondition."
_PRECONDITION = "The operator may lack a precondition."


@dataclass(frozen=True, slots=True)
class FailureCause:
    """The cause of a failure in one sentence, and advice in one or two sentences."""

    cause: str
    advice: str


_WITHOUT_ATTEMPT = {
    Outcome.NO_ABSTRACT_PLAN: FailureCause(
        "No sequence of the operators reaches the goal.",
        "A change that the goal needs may not be among the operators' effects, or a precondition is too "
        "strict. Add demonstrations that reach such a goal.",
    ),
    Outcome.TIMEOUT: FailureCause(
        "Time ran out before the first abstract plan was found.",
        "Increase the time limit, or try another planner.",
    ),
    Outcome.OUT_OF_NODES: FailureCause(
        "The task has more ground operators or search nodes than the limits allow.",
        "Operators with fewer parameters need fewer nodes. Check whether each parameter is needed.",
    ),
    Outcome.NOT_LEARNED: FailureCause(
        "Learning ran out of time, so there is no model.", "Increase the time limit of learning."
    ),
    Outcome.GOAL_MISSED: FailureCause(
        "The plan reached the goal in simulation, but not when it was executed.",
        "Check that the simulator is deterministic with `needful check-env`.",
    ),
}


def explain_failure(result: PlanningResult) -> FailureCause | None:
    """Return the cause of the failure of a planning result; None if the task was solved."""
    if result.solved:
        return None
    failure = result.failure
    if failure is None and result.unreachable:
        return _unreachable_goal(result.unreachable)
    if failure is None:
        unknown = FailureCause(f"The task ended with {result.outcome.value.replace('_', ' ')}.", "")
        return _WITHOUT_ATTEMPT.get(result.outcome, unknown)
    return _doubtful_operator(failure, result.suspects) or _failed_step(failure)


def _unreachable_goal(atoms: Sequence[GroundAtom]) -> FailureCause:
    return FailureCause(
        f"No sequence of the operators makes {_listed(frozenset(atoms))} true.",
        _WITHOUT_ATTEMPT[Outcome.NO_ABSTRACT_PLAN].advice,
    )


def _doubtful_operator(failure: Failure, suspects: Sequence[Suspect]) -> FailureCause | None:
    """Blame the failed operator if the same add effect did not come true for several of its groundings.

    Returns None if there is no such add effect.
    """
    if failure.operator is None:
        return None
    operator = failure.operator.operator
    same = [one for one in suspects if one.operator.operator == operator]
    missed = Counter(
        effect
        for one in same
        for effect in operator.add_effects
        if effect.ground(one.operator.binding) in one.missing
    )
    if not missed:
        return None
    effect, groundings = min(missed.items(), key=lambda item: (-item[1], item[0]))
    if groundings < 2:
        return None
    tries = sum(one.tries for one in same)
    return FailureCause(
        f"Operator {operator.name} predicts {effect}, but it did not hold after any of {tries} tries with "
        f"{groundings} choices of objects.",
        f"The operator is suspect, not the parameters: a precondition is missing, or the effect is false. "
        f"{EXPLAIN}, and add demonstrations in which it fails or is avoided.",
    )


def _failed_step(failure: Failure) -> FailureCause:
    step, draws = f"Step {failure.step + 1}, {failure.operator or 'an action'}", failure.draws
    ran = [draw for draw in draws if draw.outcome is Outcome.SUBGOAL_MISSED]
    if ran and any(draw.missing for draw in ran):
        return _missed_atoms(step, failure, ran)
    if draws and all(draw.outcome is Outcome.NOT_INITIABLE for draw in draws):
        return FailureCause(
            f"{step}, could not start: {_rejections(failure)}.",
            "A precondition is missing, or the sampler proposes parameters that do not fit this state. "
            "Demonstrate this step in similar states.",
        )
    if failure.outcome is Outcome.HORIZON_EXCEEDED:
        return FailureCause(
            f"{step}, would exceed the limit on low-level actions.", "Increase the horizon."
        )
    advice = {
        Outcome.TIMEOUT: "Increase the time limit.",
        Outcome.ENVIRONMENT_FAILURE: "The simulator names the objects in the way. Planning handles them "
        "if an operator moves or changes them and more than one abstract plan is allowed.",
    }.get(failure.outcome, "The controller reports the problem; a precondition may be missing.")
    return FailureCause(f"Step {failure.step + 1}: {failure.detail}", advice)


def _rejections(failure: Failure) -> str:
    reason, draws = failure.detail.partition(": ")[2].rstrip("."), len(failure.draws) + failure.unlisted
    rejected = "it was rejected in this state" if draws == 1 else f"all of {draws} draws were rejected"
    return (f"{rejected} ({reason})" if reason else rejected) + _listed_rejections(failure)


def _listed_rejections(failure: Failure) -> str:
    """Return a note such as "; the first 5 are shown", or "" if `failure.draws` has all rejected draws."""
    listed = sum(draw.outcome is Outcome.NOT_INITIABLE for draw in failure.draws)
    return f"; the first {listed} are shown" if failure.unlisted else ""


def _missed_atoms(step: str, failure: Failure, ran: Sequence[Draw]) -> FailureCause:
    """Explain a step whose controller ran, but after which atoms that the plan needs did not hold."""
    always = frozenset[GroundAtom](ran[0].missing).intersection(*(draw.missing for draw in ran))
    tries = "its only try" if len(ran) == 1 else f"each of {len(ran)} tries"
    others = sum(draw.outcome is Outcome.NOT_INITIABLE for draw in failure.draws) + failure.unlisted
    limit = _listed_rejections(failure)
    rejected = f" (the controller could not start with {others} of the draws{limit})" if others else ""
    effects: AbstractState = failure.operator.add_effects if failure.operator else frozenset()
    if not always:
        fewest = min(len(draw.missing) for draw in ran)
        return FailureCause(
            f"{step}, ran {len(ran)} times and missed different atoms, "
            f"at least {fewest} each time{rejected}.",
            "The sampler is too imprecise here. Learn from more demonstrations, or allow more samples per "
            "step.",
        )
    if always & effects:
        return FailureCause(
            f"{step}, ran, but {_listed(always & effects)} did not hold after {tries}{rejected}.",
            f"{_SAMPLER if ran[0].parameters else _PRECONDITION} {EXPLAIN}.",
        )
    return FailureCause(
        f"{step}, destroyed {_listed(always)}, which the rest of the plan needs, in {tries}{rejected}.",
        "The operator does not predict this change, because no demonstration showed that it matters. "
        "Demonstrate a task in which it does.",
    )


def _listed(atoms: AbstractState) -> str:
    return ", ".join(map(str, sorted(atoms)))
