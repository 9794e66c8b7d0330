"""Costs of ground operators, which rise if simulated steps fail or do not have the predicted effects.

Every ground operator costs 1 at first. A step misses its subgoal if its controller ran but an atom of the
subgoal does not hold afterwards. If no try of a step reached the subgoal, its ground operator is a suspect.
Its cost is raised for the rest of the task, so that the next abstract plan avoids it if possible. The same
holds for a ground operator whose controller could not start in any try.

- The increase, called surcharge, is `SURCHARGE` if one atom was missed in all tries, else 1. It doubles
  each time the ground operator fails again. After a few failures, even a long plan without the operator is
  cheaper. Surcharges start small, because the operator may be needed in every plan. Then a large surcharge
  would only make the search slow.
- The lifted operator itself is doubtful if none of its groundings reached its subgoal so far, and n > 1 of
  them failed in the same way: they missed the same add effect, or could not start. Then the costs of all
  its groundings, tried or not, rise by n - 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from needful.core.atoms import GroundAtom
from needful.core.operators import GroundOperator
from needful.core.plans import Failure, Outcome, Suspect
from needful.errors import InvalidInputError, UnknownNameError

# The first surcharge of a ground operator if all its tries missed the same subgoal atom.
SURCHARGE = 4
# The outcomes of failed tries in which the controller of the step ran and the simulator named no object.
_RAN = (Outcome.CONTROLLER_FAILED, Outcome.SUBGOAL_MISSED, Outcome.SAMPLER_EXHAUSTED)
# The maximum surcharge. The sums of costs in the C++ engine are 32-bit integers.
MAX_SURCHARGE = 512


@dataclass(frozen=True, slots=True)
class OperatorCosts:
    """The costs of ground operators: 1 plus the surcharges.

    Attributes:
        ground: the surcharges of single ground operators, as pairs: index and surcharge.
        lifted: the surcharges of all groundings of an operator, as pairs: the operator's name and the
            surcharge.
    """

    ground: tuple[tuple[int, int], ...] = ()
    lifted: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        for key, surcharge in (*self.ground, *self.lifted):
            if not 0 <= surcharge <= MAX_SURCHARGE:
                raise InvalidInputError(
                    f"The surcharge of operator {key!r} must be between 0 and {MAX_SURCHARGE}, "
                    f"got {surcharge}."
                )

    def __bool__(self) -> bool:
        return bool(self.ground or self.lifted)

    def by_operator(self, names: Sequence[str]) -> list[int]:
        """Return the cost of each operator in `names`, without the surcharges of single groundings."""
        costs = dict.fromkeys(names, 1)
        for name, surcharge in self.lifted:
            if name not in costs:
                raise UnknownNameError("operator", name, names)
            costs[name] += surcharge
        return [costs[name] for name in names]

    def by_ground_operator(self, names: Sequence[str], operators: Iterable[int]) -> list[int]:
        """Return the cost of each ground operator.

        `operators` has, for each ground operator, the index of its lifted operator's name in `names`.
        """
        lifted = self.by_operator(names)
        costs = [lifted[index] for index in operators]
        for step, surcharge in self.ground:
            costs[step] += surcharge
        return costs


UNIT_COSTS = OperatorCosts()


@dataclass(slots=True)
class StepMisses:
    """Counts the failed tries of one step during the refinement of a plan.

    This step is the first one that has not reached its subgoal in any try. The steps before it have
    reached theirs at least once, even if refinement has backtracked to them since.

    Attributes:
        step: the index of this step.
        operator: its ground operator; None before the first try in which the controller ran.
        missing: the subgoal atoms that were missed in every try in which the controller ran.
        tries: the number of tries in which the controller ran, since the last call of `take_suspect`.
        unstarted: the number of tries in which it could not start, since the last call of `take_suspect`.
    """

    step: int = 0
    operator: GroundOperator | None = None
    missing: frozenset[GroundAtom] = frozenset()
    tries: int = 0
    unstarted: int = 0

    def reach(self, step: int) -> None:
        """Record that a step reached its subgoal; if it is `self.step`, move on to the next step."""
        if step == self.step:
            self.step, self.operator, self.missing, self.tries = step + 1, None, frozenset(), 0
            self.unstarted = 0

    def add(self, failure: Failure) -> None:
        """Count a failed try if it is a try of `self.step`; ignore it otherwise."""
        if failure.step != self.step:
            return
        self.unstarted += failure.outcome is Outcome.NOT_INITIABLE
        if failure.outcome in _RAN:
            missing = frozenset(failure.missing)
            self.missing = missing if self.operator is None else self.missing & missing
            self.operator = failure.operator
            self.tries += 1

    def take_suspect(self) -> Suspect | None:
        """Return the ground operator with the atoms it missed, and set the numbers of tries to 0.

        Returns None if its controller has not run since the last call.
        """
        tries, self.tries, self.unstarted = self.tries, 0, 0
        if self.operator is None or not tries:
            return None
        return Suspect(self.operator, tuple(sorted(self.missing)), tries)


@dataclass(frozen=True, slots=True)
class Suspicions:
    """What the refinements of a task found out about ground operators.

    Attributes:
        suspects: the ground operators that never reached their subgoals, by their indices, in the order of
            discovery.
        unstarted: the ground operators whose controllers could not start, by their indices.
        surcharges: the surcharges of both kinds of ground operators, by their indices.
        working: the names of the operators with a grounding that reached its subgoal.
    """

    suspects: Mapping[int, Suspect] = field(default_factory=dict)
    unstarted: Mapping[int, GroundOperator] = field(default_factory=dict)
    surcharges: Mapping[int, int] = field(default_factory=dict)
    working: frozenset[str] = frozenset()

    def with_success(self, operators: Iterable[GroundOperator]) -> Suspicions:
        """Return the suspicions, updated with ground operators whose steps reached their subgoals."""
        return replace(self, working=self.working.union(one.operator.name for one in operators))

    def with_suspect(self, step: int, suspect: Suspect) -> Suspicions:
        """Return the suspicions, updated with a suspect; `step` is the index of its ground operator."""
        known = self.suspects.get(step)
        if known is not None:
            missing = tuple(atom for atom in suspect.missing if atom in known.missing)
            suspect = Suspect(suspect.operator, missing, known.tries + suspect.tries)
        surcharges = self._raised(step, SURCHARGE if suspect.missing else 1)
        return replace(self, suspects={**self.suspects, step: suspect}, surcharges=surcharges)

    def with_unstarted(self, step: int, operator: GroundOperator) -> Suspicions:
        """Return the suspicions, updated with a ground operator, of index `step`, that could not start."""
        return replace(self, unstarted={**self.unstarted, step: operator}, surcharges=self._raised(step, 1))

    def _raised(self, step: int, least: int) -> dict[int, int]:
        surcharge = max(least, 2 * self.surcharges.get(step, 0))
        return {**self.surcharges, step: min(surcharge, MAX_SURCHARGE)}

    def costs(self) -> OperatorCosts:
        """Return the costs of ground operators that follow from the suspicions."""
        # Counts, per operator, the groundings that missed each add effect. The effect "" stands for the
        # groundings that could not start.
        misses = Counter((one.operator.name, "") for one in self.unstarted.values())
        for suspect in self.suspects.values():
            operator, binding = suspect.operator.operator, suspect.operator.binding
            for effect in operator.add_effects:
                misses[operator.name, str(effect)] += effect.ground(binding) in suspect.missing
        doubtful: dict[str, int] = {}
        for (name, _), groundings in misses.items():
            if groundings > 1 and name not in self.working:
                doubtful[name] = min(max(doubtful.get(name, 0), groundings - 1), MAX_SURCHARGE)
        return OperatorCosts(tuple(sorted(self.surcharges.items())), tuple(sorted(doubtful.items())))
