"""Find accidental preconditions by experiments in the simulator, and drop them.

With few demonstrations, atoms that happened to hold before all of an operator's transitions become
preconditions. Demonstrations alone cannot refute them, because they contain no counter-examples. The
simulator can: an experiment executes the controller in a state where all other preconditions hold and the
atom does not. If the operator's prediction holds in every experiment, the atom was accidental.

The states come from the demonstrations, and from replays of demonstrations in which one action is left out.
Such replays lead to states that lack the effects of this action.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from needful.abstraction import abstract
from needful.abstraction.atom_table import AtomTable
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import AbstractState, LiftedAtom
from needful.core.controllers import Execute
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel, Sampler
from needful.core.objects import Object
from needful.core.operators import GroundOperator, Operator
from needful.core.state import State
from needful.errors import DemonstrationError, InvalidInputError
from needful.seeding import rng_for


@dataclass(frozen=True, slots=True)
class ExperimentConfig:
    """The limits of the experiments.

    Attributes:
        experiments: the maximum number per precondition, each in a different state if there are enough.
        tries: how often parameters are sampled in one experiment before it counts as failed.
    """

    experiments: int = 20
    tries: int = 10

    def __post_init__(self) -> None:
        for name in ("experiments", "tries"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True)
class AccidentalPrecondition:
    """A dropped precondition, and the number of experiments that succeeded without it."""

    operator: str
    atom: LiftedAtom
    experiments: int

    def __repr__(self) -> str:
        return f"AccidentalPrecondition({self.operator!r}, {self.atom}, experiments={self.experiments})"


def drop_accidental_preconditions(
    model: PlanningModel,
    demonstrations: Sequence[Demonstration],
    execute: Execute,
    seed: int = 0,
    config: ExperimentConfig | None = None,
) -> tuple[PlanningModel, tuple[AccidentalPrecondition, ...]]:
    """Return the model without accidental preconditions, and the dropped preconditions.

    A precondition is dropped if there was at least one experiment and the prediction held in all of them.
    Preconditions that are also add effects (keep effects) are never dropped. Operators that add nothing
    keep all their preconditions, because their experiments would succeed even if the controller did
    nothing. The model's predicates need classifiers, and its operators need their samplers.
    """
    config = config or ExperimentConfig()
    runner = _ExperimentRunner(model.samplers, execute, config.tries)
    situations = _situations(model, demonstrations, execute)
    operators: list[Operator] = []
    dropped: list[AccidentalPrecondition] = []
    for operator in model.operators:
        rng = rng_for(seed, "experiments", operator.name)
        order = [situations[index] for index in rng.permutation(len(situations))]
        needed = operator
        for atom in sorted(operator.preconditions - operator.keep_effects):
            without = replace(needed, preconditions=needed.preconditions - {atom})
            chosen = islice(_situations_lacking(atom, without, order), config.experiments)
            results = [
                runner.prediction_holds(without.ground(objects), situation, rng)
                for situation, objects in chosen
            ]
            if results and all(results):
                needed = without
                dropped.append(AccidentalPrecondition(operator.name, atom, len(results)))
        operators.append(needed)
    return replace(model, operators=tuple(operators)), tuple(dropped)


@dataclass(frozen=True, slots=True)
class _Situation:
    """A state for experiments, and the atoms that hold in it.

    `mask` contains the same atoms as `atoms`, as one bit per atom; `table` numbers the bits.
    """

    state: State
    atoms: AbstractState
    table: AtomTable
    mask: int


def _situations(
    model: PlanningModel, demonstrations: Sequence[Demonstration], execute: Execute
) -> list[_Situation]:
    """Return the states for experiments (see `_states`); no state occurs twice for a demonstration."""
    found = []
    for index, demonstration in enumerate(demonstrations):
        table = AtomTable(demonstration.objects)
        for state in dict.fromkeys(_states(index, demonstration, execute)):
            atoms = abstract(state, model.vocabulary.predicates)
            found.append(_Situation(state, atoms, table, table.encode(atoms)))
    return found


def _states(index: int, demonstration: Demonstration, execute: Execute) -> Iterator[State]:
    """Yield the states of a demonstration, then those of its replays; each replay leaves out one action."""
    if demonstration.states is None:
        raise DemonstrationError(
            f"Experiments need states, but demonstration {index} has none. "
            "Record demonstrations with their states, or learn without experiments."
        )
    yield from demonstration.states
    for left_out, start in enumerate(demonstration.states[:-1]):
        state = start
        for action in demonstration.actions[left_out + 1 :]:
            state = execute(state, action).state
            yield state


def _situations_lacking(
    atom: LiftedAtom, operator: Operator, situations: Sequence[_Situation]
) -> Iterator[tuple[_Situation, tuple[Object, ...]]]:
    """Yield situations in which `atom` does not hold, with the objects to ground the operator.

    `atom` was removed from the operator's preconditions; the other preconditions hold, and no negative
    precondition does. Objects for which all add effects hold already are skipped, because an experiment
    would prove nothing. If there are several choices of objects per situation, the first choice in each
    situation comes first, then the second choice in each situation, and so on.
    """
    searches = [(one, _groundings(operator, atom, one)) for one in situations]
    while searches:
        unfinished = []
        for situation, groundings in searches:
            objects = next(groundings, None)
            if objects is not None:
                yield situation, objects
                unfinished.append((situation, groundings))
        searches = unfinished


def _groundings(
    operator: Operator, atom: LiftedAtom, situation: _Situation
) -> Iterator[tuple[Object, ...]]:
    table = situation.table
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    constraints = [
        Constraint(need.predicate.name, tuple(index_of[v] for v in need.variables), situation.mask)
        for need in sorted(operator.preconditions)
    ]
    domains = [table.of_type(variable.type) for variable in operator.parameters]
    changes = operator.add_effects - operator.keep_effects
    for numbers in join(table, constraints, domains, [UNBOUND] * len(domains)):
        objects = tuple(table.objects[number] for number in numbers)
        binding = dict(zip(operator.parameters, objects, strict=True))
        done = all(change.ground(binding) in situation.atoms for change in changes)
        if any(one.ground(binding) in situation.atoms for one in operator.negative_preconditions):
            continue
        if not done and atom.ground(binding) not in situation.atoms:
            yield objects


@dataclass(frozen=True, slots=True)
class _ExperimentRunner:
    """Runs experiments; all use the same samplers, simulator (`execute`) and number of tries."""

    samplers: Mapping[str, Sampler]
    execute: Execute
    tries: int

    def prediction_holds(
        self, ground: GroundOperator, situation: _Situation, rng: np.random.Generator
    ) -> bool:
        """Run one experiment; return whether the operator's prediction came true.

        The controller is executed with up to `tries` samples of its parameters. One success is enough.
        """
        predicted = ground.apply(situation.atoms)
        controller = ground.operator.controller
        for _ in range(self.tries if controller.dimension else 1):
            parameters: Sequence[float] = ()
            if controller.dimension:
                drawn = self.samplers[ground.operator.name].sample(situation.state, ground.objects, rng)
                parameters = controller.clip(drawn)
            action = controller(*ground.controller_objects, parameters=parameters)
            if not action.initiable(situation.state):
                continue
            execution = self.execute(situation.state, action)
            if execution.steps and all(atom.holds(execution.state) for atom in predicted):
                return True
        return False
