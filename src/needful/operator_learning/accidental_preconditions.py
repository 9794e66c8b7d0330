"""Find accidental preconditions by experiments in the simulator, and drop them.

With few demonstrations, atoms that happened to hold before all of an operator's transitions become
preconditions. Demonstrations alone cannot refute them, because they contain no counter-examples. The
simulator can: an experiment executes the controller in a state where all other preconditions hold and the
atom does not. If the operator's prediction holds in every experiment, the precondition is accidental and is
dropped. If the operator's add effects fail in every experiment, the precondition is needed and stays. In
all other cases the precondition stays too, but is reported as doubtful.

Experiments start in states of the demonstrations, and in states that the simulator reaches by executing a
demonstration again with one action left out. The latter states lack the effects of the left-out action.
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
from needful.core.objects import Abbreviated, Object
from needful.core.operators import GroundOperator, Operator
from needful.core.state import State
from needful.errors import CheckedSettings, DemonstrationError, at_least
from needful.seeding import rng_for

# An experiment may make an atom false that should have stayed true. The atom can become a delete effect if
# it holds in no state in which the operator, still with the tested precondition, is applicable. At most
# this number of these states is checked.
MAX_USUAL_SITUATIONS = 500


@dataclass(frozen=True, slots=True)
class ExperimentConfig(CheckedSettings):
    """The limits of experiments and practice, which correct learned operators in the simulator.

    Attributes:
        experiments: the maximum number of experiments per precondition. Each starts in a different state
            if there are enough states.
        tries: the maximum number of samples of the controller's parameters in one experiment. If all of
            them fail, the experiment counts as failed.
        practice_tasks: the number of training tasks without a demonstration that the learner tries to
            solve. If the learned model cannot solve a task, the learner tries again with fewer
            preconditions or other samples of parameters. A solution found in this way becomes a
            demonstration. 0 means that no tasks are tried.
        practice_rounds: the maximum number of rounds in which the tasks that are still unsolved are tried.
            Each round uses the model that was learned in the round before.
        practice_executions: the maximum number of actions that one attempt at a task may simulate.
    """

    experiments: int = at_least(1, 20)
    tries: int = at_least(1, 10)
    practice_tasks: int = at_least(0, 45)
    practice_rounds: int = at_least(1, 3)
    practice_executions: int = at_least(1, 1_000)


@dataclass(frozen=True, slots=True, repr=False)
class AccidentalPrecondition(Abbreviated):
    """A dropped precondition, and the number of experiments that succeeded without it."""

    operator: str
    atom: LiftedAtom
    experiments: int


@dataclass(frozen=True, slots=True, repr=False)
class ExaminedPreconditions(Abbreviated):
    """The result of examining the preconditions of a model.

    Attributes:
        model: the model without accidental preconditions.
        dropped: the accidental preconditions.
        doubtful: for each operator's name, the preconditions that stay, although they may be accidental.
            For such a precondition, there was no experiment, or the add effects held after at least one
            experiment in which the precondition did not hold.
    """

    model: PlanningModel
    dropped: tuple[AccidentalPrecondition, ...]
    doubtful: Mapping[str, frozenset[LiftedAtom]]


def drop_accidental_preconditions(
    model: PlanningModel,
    demonstrations: Sequence[Demonstration],
    execute: Execute,
    seed: int = 0,
    config: ExperimentConfig | None = None,
) -> tuple[PlanningModel, tuple[AccidentalPrecondition, ...]]:
    """Return the model without accidental preconditions, and the dropped preconditions.

    To examine a precondition, experiments execute the operator's controller in states in which only this
    precondition does not hold. The precondition is dropped if there was at least one experiment, and all
    predicted atoms held after each experiment. There is one exception: an experiment may make an atom false
    that should have stayed true, if the atom holds in no state in which the operator, still with the
    precondition, is applicable. No demonstration could show that the operator deletes this atom, so it
    becomes a delete effect.

    Preconditions that are also add effects (keep effects) are never dropped. Operators that add nothing
    keep all their preconditions, because their experiments would succeed even if the controller did
    nothing. The model's predicates need classifiers, and its operators need samplers.
    """
    situations = find_situations(model, demonstrations, execute)
    examined = examine_preconditions(model, situations, execute, seed, config or ExperimentConfig())
    return examined.model, examined.dropped


def examine_preconditions(
    model: PlanningModel,
    situations: Sequence[Situation],
    execute: Execute,
    seed: int,
    config: ExperimentConfig,
) -> ExaminedPreconditions:
    """Examine all preconditions of a model by experiments; see `drop_accidental_preconditions`."""
    runner = ExperimentRunner(model.samplers, execute, config.tries)
    operators: list[Operator] = []
    dropped: list[AccidentalPrecondition] = []
    doubtful: dict[str, frozenset[LiftedAtom]] = {}
    for operator in model.operators:
        rng = rng_for(seed, "experiments", operator.name)
        order = [situations[index] for index in rng.permutation(len(situations))]
        examination = _OperatorExamination(runner, order, config.experiments, rng)
        needed, found, doubts = examination.run(operator)
        operators.append(needed)
        dropped += found
        doubtful[operator.name] = doubts
    return ExaminedPreconditions(replace(model, operators=tuple(operators)), tuple(dropped), doubtful)


@dataclass(frozen=True, slots=True)
class _OperatorExamination:
    """Runs the experiments that examine the preconditions of one operator."""

    runner: ExperimentRunner
    situations: Sequence[Situation]
    limit: int
    rng: np.random.Generator

    def run(
        self, operator: Operator
    ) -> tuple[Operator, tuple[AccidentalPrecondition, ...], frozenset[LiftedAtom]]:
        """Return the operator without accidental preconditions, the dropped ones, and the doubtful ones.

        When a precondition is dropped, the operator is applicable in more situations, so there may be more
        experiments for the other preconditions. Therefore the other preconditions are tested again, until
        no more preconditions are dropped.
        """
        if not operator.add_effects - operator.keep_effects:
            return operator, (), operator.preconditions - operator.keep_effects
        needed, dropped, proven, ended = operator, [], set[LiftedAtom](), False
        while not ended:
            ended = True
            for atom in sorted(needed.preconditions - operator.keep_effects - proven):
                without = replace(needed, preconditions=needed.preconditions - {atom})
                results = self._results(without, atom)
                weaker = self._weakened(needed, without, results)
                if weaker is not None:
                    needed, ended = weaker, False
                    dropped.append(AccidentalPrecondition(operator.name, atom, len(results)))
                elif results and not any(one.changed for one in results):
                    proven.add(atom)
        return needed, tuple(dropped), needed.preconditions - operator.keep_effects - proven

    def _weakened(
        self, operator: Operator, without: Operator, results: Sequence[ExperimentResult]
    ) -> Operator | None:
        """Return the operator without the tested precondition, or None if the precondition must stay.

        `without` is `operator` without this precondition. The precondition can be dropped only if the add
        effects held after all experiments. An atom that is predicted but became false is tolerated if it
        holds in no situation in which `operator` is applicable. It becomes a delete effect of the result.
        For example, releasing an object was only demonstrated with objects held from the side. After an
        experiment with an object held from the top, HeldFromTop is false, so it becomes a delete effect.
        """
        if not results or not all(one.changed for one in results):
            return None
        missed = {atom for one in results for atom in one.missed_lifted or ()}
        if any(one.missed_lifted is None for one in results):
            return None
        if missed:
            usual = islice(situations_lacking(None, operator, self.situations), MAX_USUAL_SITUATIONS)
            for situation, objects in usual:
                binding = dict(zip(operator.parameters, objects, strict=True))
                if any(atom.ground(binding) in situation.atoms for atom in missed):
                    return None
        return replace(without, delete_effects=without.delete_effects | missed)

    def _results(self, without: Operator, atom: LiftedAtom) -> list[ExperimentResult]:
        chosen = islice(situations_lacking(atom, without, self.situations), self.limit)
        return [self.runner.run(without.ground(objects), one, self.rng) for one, objects in chosen]


@dataclass(frozen=True, slots=True)
class Situation:
    """A state for experiments, and the atoms that hold in it.

    `mask` contains the same atoms as `atoms`, as one bit per atom; `table` numbers the bits.
    """

    state: State
    atoms: AbstractState
    table: AtomTable
    mask: int


def find_situations(
    model: PlanningModel, demonstrations: Sequence[Demonstration], execute: Execute
) -> list[Situation]:
    """Return the states for experiments (see `_states`), without duplicates within a demonstration."""
    found = []
    for index, demonstration in enumerate(demonstrations):
        table = AtomTable(demonstration.objects)
        for state in dict.fromkeys(_states(index, demonstration, execute)):
            atoms = abstract(state, model.vocabulary.predicates)
            found.append(Situation(state, atoms, table, table.encode(atoms)))
    return found


def _states(index: int, demonstration: Demonstration, execute: Execute) -> Iterator[State]:
    """Yield the states of a demonstration, and the states reached if one of its actions is left out."""
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


def situations_lacking(
    atom: LiftedAtom | None, operator: Operator, situations: Sequence[Situation]
) -> Iterator[tuple[Situation, tuple[Object, ...]]]:
    """Yield the situations in which an operator is applicable and `atom` does not hold, with the objects.

    The objects are those to which the operator's parameters are bound. `operator` no longer has `atom` as a
    precondition. If `atom` is None, all situations in which the operator is applicable are yielded. Objects
    for which all add effects already hold are skipped, because an experiment with them would prove nothing.
    A situation is yielded once per choice of objects: first all situations with their first choice, then
    all situations with their second choice, and so on.
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
    operator: Operator, atom: LiftedAtom | None, situation: Situation
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
        lacking = atom is None or atom.ground(binding) not in situation.atoms
        if not done and lacking:
            yield objects


@dataclass(frozen=True, slots=True, repr=False)
class ExperimentResult(Abbreviated):
    """The result of one experiment: the result of its best try.

    The best try is the first one after which all predicted atoms hold. If there is none, the best try is
    the first one for which `changed` is true, or else the last executed one.

    Attributes:
        changed: whether all add effects hold after the action, not counting those in `may_fail` (see
            `ExperimentRunner.run`).
        predicted: whether everything that the operator predicts holds after the action.
        missed: the atoms that were predicted but do not hold after the action.
        missed_lifted: the atoms of `missed` as lifted atoms over the operator's parameters; None if an atom
            cannot be lifted, for example because no parameter is bound to one of its objects.
    """

    changed: bool
    predicted: bool
    missed: AbstractState = frozenset()
    missed_lifted: frozenset[LiftedAtom] | None = frozenset()


@dataclass(frozen=True, slots=True)
class ExperimentRunner:
    """Runs experiments; all use the same samplers, simulator (`execute`) and number of tries."""

    samplers: Mapping[str, Sampler]
    execute: Execute
    tries: int

    def run(
        self,
        ground: GroundOperator,
        situation: Situation,
        rng: np.random.Generator,
        may_fail: AbstractState = frozenset(),
    ) -> ExperimentResult:
        """Run one experiment with a grounded operator; return the result of its best try.

        The controller is executed with up to `tries` samples of its parameters, until all predicted atoms
        hold after a try. `ExperimentResult.changed` is true even if add effects in `may_fail` do not hold,
        provided that all others do.
        """
        predicted = ground.apply(situation.atoms)
        controller = ground.operator.controller
        best = ExperimentResult(False, False)
        for _ in range(self.tries if controller.dimension else 1):
            parameters: Sequence[float] = ()
            if controller.dimension:
                drawn = self.samplers[ground.operator.name].sample(situation.state, ground.objects, rng)
                parameters = controller.clip(drawn)
            action = controller(*ground.controller_objects, parameters=parameters)
            if not action.initiable(situation.state):
                continue
            execution = self.execute(situation.state, action)
            if not execution.steps:
                continue
            missed = frozenset(atom for atom in predicted if not atom.holds(execution.state))
            if not missed:
                return ExperimentResult(True, True)
            if not best.changed:
                changed = missed.isdisjoint(ground.add_effects - may_fail)
                best = ExperimentResult(changed, False, missed, _lifted(missed, ground))
        return best


def _lifted(atoms: AbstractState, ground: GroundOperator) -> frozenset[LiftedAtom] | None:
    """Return the atoms as lifted atoms over the operator's parameters.

    Return None if an atom mentions an object to which no parameter is bound, or if the type of a parameter
    does not fit the atom's predicate.
    """
    lifting = dict(zip(ground.objects, ground.operator.parameters, strict=True))
    found = set()
    for atom in atoms:
        variables = tuple(lifting[obj] for obj in atom.objects if obj in lifting)
        if len(variables) < len(atom.objects) or not atom.predicate.fits(variables):
            return None
        found.add(LiftedAtom(atom.predicate, variables))
    return frozenset(found)
