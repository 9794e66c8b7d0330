"""The result of learning operators and samplers: a planning model, and doubts about its operators.

With `with_oracle_samplers`, tasks can be solved with the hand-written samplers of a domain instead of the
learned samplers, to evaluate learned operators independently of learned samplers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from needful.approaches.base import Learned, learning_summary
from needful.core.atoms import LiftedAtom
from needful.core.controllers import Execute, World
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Variable, counted
from needful.core.operators import Operator
from needful.core.plans import AgentResult, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.errors import InvalidInputError
from needful.invention.result import Invention
from needful.operator_learning.accidental_preconditions import AccidentalPrecondition
from needful.operator_learning.cross_validation import Validation, validation_doubts
from needful.operator_learning.doubts import Doubt, DoubtKind, Doubts, list_doubts
from needful.operator_learning.explanation import TransitionEvidence
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.side_effects import SideEffect
from needful.planning.agent import Agent, AgentConfig
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.pddl.writer import write_pddl
from needful.storage.evidence import (
    CLIMB_FILE,
    DOUBTS_FILE,
    EVIDENCE_FILE,
    RecordedClimb,
    climb_to_json,
    doubts_to_json,
    evidence_to_json,
)
from needful.storage.json_fields import JsonValue
from needful.storage.model_directory import save_model

DROPPED = "dropped_preconditions"
INVENTED = "invention"
# The kinds of doubts that are also warnings: they show that demonstrations or operators have defects.
# Doubts of the other kinds also occur with correct operators.
WARNED_KINDS = (DoubtKind.UNCOVERED, DoubtKind.REPAIRED)


@dataclass(frozen=True, slots=True)
class BilevelSolver:
    """Solves tasks by bilevel planning with a model.

    The model must have the environment's own predicates and controllers; see `PlanningModel.bound_to`.
    """

    model: PlanningModel
    execute: Execute
    config: PlanningConfig = field(default_factory=PlanningConfig)
    approach: str = "unknown"

    @property
    def operator_count(self) -> int:
        """The number of operators."""
        return len(self.model.operators)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model."""
        return self.model.vocabulary

    def solve(self, task: Task, seed: int) -> PlanningResult:
        """Search for abstract plans and refine them."""
        return plan(task, self.model, self.execute, self.config, seed)

    def act(self, task: Task, world: World, seed: int) -> AgentResult:
        """Plan and act: after each controller, observe, and then continue the plan or change it."""
        return Agent(self.model, self.execute, AgentConfig(self.config)).run(task, world, seed)


@dataclass(frozen=True, slots=True, repr=False)
class LearnedModel:
    """A planning model, with the data and the settings that it was learned from.

    Attributes:
        model: the planning model.
        demonstrations: the demonstrations used for learning, followed by the replays (random actions).
        operators: the result of operator learning, before experiments changed the operators.
        evidence: for each operator's name, the transitions that it was learned from.
        seconds: the duration of learning by stage.
        approach: the name of the approach.
        provenance: the settings, as stored in model.json.
        dropped: the preconditions that experiments in the simulator showed to be unnecessary.
        side_effects: the deletes that experiments added to operators.
        practised: the demonstrations that the learner found itself by solving tasks in the simulator;
            `demonstrations` contains them too.
        doubts: signs in the demonstrations that an operator may be wrong.
        validation: the result of cross-validation; None if there was no cross-validation.
        validation_skipped: the reason why cross-validation was skipped; empty if it was not skipped.
        invention: the invented predicates; None if the predicates of the domain were used.
    """

    model: PlanningModel
    demonstrations: tuple[Demonstration, ...]
    operators: LearnedOperators
    evidence: Mapping[str, tuple[TransitionEvidence, ...]]
    seconds: Mapping[str, float]
    approach: str
    provenance: Mapping[str, JsonValue]
    dropped: tuple[AccidentalPrecondition, ...] = ()
    side_effects: tuple[SideEffect, ...] = ()
    practised: tuple[Demonstration, ...] = ()
    doubts: Doubts = field(default_factory=Doubts)
    validation: Validation | None = None
    validation_skipped: str = ""
    invention: Invention | None = None

    def __repr__(self) -> str:
        return (
            f"LearnedModel(approach={self.approach!r}, {len(self.model.operators)} operators, "
            f"{len(self.model.samplers)} samplers, {len(self.demonstrations)} demonstrations)"
        )

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    def solver(
        self, environment: Environment, config: PlanningConfig, oracle_samplers: bool = False
    ) -> BilevelSolver:
        """Return the solver that plans with the model."""
        model = self.model
        if self.invention is not None:
            # Goals of test tasks may contain predicates that no demonstration has, so add all predicates of
            # the environment.
            model = model.bound_to(environment.vocabulary)
        if oracle_samplers:
            model = with_oracle_samplers(model, environment.oracle_model())
        config = config.with_horizon(environment.horizon)
        return BilevelSolver(model, environment.execute, config, self.approach)

    def save(self, path: str | Path, domain: str | None = None, force: bool = False) -> None:
        """Write a model directory.

        The directory contains the model, its PDDL, the transitions that each operator was learned from, the
        doubts, and the accepted moves of hill climbing, if the operator learner uses hill climbing. The
        result of cross-validation is not stored, because the files must not depend on the speed of the
        machine: on a slow machine, cross-validation may be skipped.
        """
        provenance = {
            **({} if domain is None else {"domain": domain}),
            **self.provenance,
            "transitions": self.operators.transitions,
            "coverage": self.operators.coverage,
            DROPPED: self._dropped_to_json(),
            **({} if self.invention is None else {INVENTED: self.invention.to_json(with_examples=True)}),
        }
        documents = {
            EVIDENCE_FILE: evidence_to_json(self.evidence, self.demonstrations),
            CLIMB_FILE: climb_to_json(RecordedClimb(self.operators.transitions, self.operators.steps)),
            DOUBTS_FILE: doubts_to_json(self.doubts),
        }
        pddl = write_pddl(self.model.vocabulary, self.model.operators).domain
        save_model(path, self.model, provenance, pddl, documents, force)

    def _dropped_to_json(self) -> dict[str, JsonValue]:
        names = sorted({one.operator for one in self.dropped})
        return {
            name: {str(one.atom): one.experiments for one in self.dropped if one.operator == name}
            for name in names
        }

    def all_doubts(self) -> tuple[Doubt, ...]:
        """Return all doubts, including those of cross-validation, in the order in which to list them."""
        found: tuple[Doubt, ...] = ()
        if self.validation is not None:
            found = validation_doubts(self.validation, self.doubts, "experiments" not in self.seconds)
        return tuple(sorted((*self.doubts.items, *found), key=lambda one: one.rank))

    def summary(self) -> dict[str, Any]:
        """Return the entries of summary.json that describe learning, and the doubts about the operators.

        The entry `false_claims_validated` is None if there was no cross-validation.
        """
        found, doubts, validation = self.operators, self.doubts, self.validation
        invention = self.invention
        return {
            **({} if invention is None else {INVENTED: invention.to_json(with_examples=False)}),
            **learning_summary(found.transitions, len(found.operators), found.coverage, self.seconds),
            "false_claims": doubts.false_claims,
            "false_claim_share": doubts.false_share,
            "false_claims_validated": None if validation is None else validation.false_claims,
            "purposeless_steps": doubts.purposeless_steps,
            "idle_steps": doubts.idle_steps,
            "repaired_atoms": doubts.repaired_atoms,
            "validation": self._validation_to_json(),
            "doubts": [
                {"operator": one.operator, "kind": one.kind.value, "text": one.text}
                for one in self.all_doubts()
            ],
        }

    def _validation_to_json(self) -> dict[str, Any]:
        """Return the entry of summary.json about cross-validation; empty if it was not requested."""
        if self.validation is None:
            return {"skipped": self.validation_skipped} if self.validation_skipped else {}
        return {
            "folds": self.validation.folds,
            "transitions": self.validation.transitions,
            "uncovered": self.validation.uncovered,
            "false_claims": self.validation.false_claims,
            "false_claim_share": self.validation.false_share,
        }

    def describe(self) -> str:
        """Return a text that lists the operators and how many transitions they explain."""
        operators, seconds = self.operators, self.seconds
        covered = operators.transitions - operators.uncovered
        lines = [] if self.invention is None else self.invention.lines()
        lines += [
            f"Learned {counted(len(operators.operators), 'operator')} in {seconds['operators']:.2f} s: "
            f"coverage {round(operators.coverage, 3)} ({covered} of {operators.transitions} transitions).",
            f"Learned {counted(len(self.model.samplers), 'sampler')} in {seconds['samplers']:.2f} s.",
        ]
        if operators.noop_names:
            count = counted(len(operators.noop_names), "operator")
            lines.append(f"{count} without predicted changes will not be used in planning.")
        if operators.not_reproduced:
            numbers = ", ".join(map(str, operators.not_reproduced))
            lines.append(f"The operators cannot reproduce these demonstrations: {numbers}.")
        if "experiments" in seconds:
            lines.append(
                f"Dropped {counted(len(self.dropped), 'accidental precondition')} by experiment "
                f"in {seconds['experiments']:.2f} s."
            )
            lines += [f"  {one.operator} does not need {one.atom}" for one in self.dropped]
            lines += [f"  {one.operator} can make {one.delete} false" for one in self.side_effects]
            if self.practised:
                lines.append(f"Learned from {counted(len(self.practised), 'task')} solved in practice.")
        lines += self._claim_lines()
        lines += self._change_lines()
        texts = [*lines, "", *(f"{operator}\n" for operator in self.model.operators)]
        doubts = self.all_doubts()
        if doubts:
            texts += ["Doubts:", *(f"  {line}" for line in list_doubts(doubts)), ""]
        return "\n".join(texts)

    def predicted_changes(self) -> tuple[int, int]:
        """Return how many atoms changed in the demonstrations, and how many of these changes are predicted.

        Only the transitions from which operators were learned count. An atom that a delete pattern matches
        may become false or stay true, so its deletion does not count as predicted.
        """
        by_name = {operator.name: operator for operator in self.model.operators}
        changed = predicted = 0
        for name, transitions in self.evidence.items():
            for one in transitions if name in by_name else ():
                step = by_name[name].ground(one.objects)
                changed += len(one.added) + len(one.deleted)
                predicted += len(one.added & step.add_effects) + len(one.deleted & step.delete_effects)
        return changed, predicted

    def _change_lines(self) -> list[str]:
        """Return sentences about how many changed atoms the operators predict, and why not all of them."""
        changed, predicted = self.predicted_changes()
        if not changed:
            return []
        if predicted == changed:
            return [f"In the demonstrations {changed:,} atoms changed. The operators predict all of them."]
        return [
            f"In the demonstrations {changed:,} atoms changed. The operators predict {predicted:,} of them "
            f"({predicted / changed:.0%}).",
            "No goal and no later step needed the other changes, so plans do not rely on them.",
        ]

    def _claim_lines(self) -> list[str]:
        """Return lines about false claims (predicted atoms that did not hold) and doubtful steps.

        A step is doubtful if it adds nothing that is necessary for the goal or a later step.
        """
        doubts, validation = self.doubts, self.validation
        lines = [
            f"False claims: {doubts.false_claims} in {doubts.false_transitions} of "
            f"{counted(doubts.transitions, 'transition')}."
        ]
        if validation is not None:
            lines.append(
                f"On left-out demonstrations: {validation.false_claims} in "
                f"{validation.false_transitions} of {counted(validation.transitions, 'transition')}, and "
                f"{validation.uncovered} not covered ({validation.folds} folds in "
                f"{self.seconds['validation']:.2f} s)."
            )
        elif self.validation_skipped:
            lines.append(f"Skipped cross-validation: {self.validation_skipped}.")
        steps = {
            "purposeless step": doubts.purposeless_steps,
            "idle step": doubts.idle_steps,
            "repaired atom": doubts.repaired_atoms,
        }
        found = ", ".join(counted(number, noun) for noun, number in steps.items() if number)
        return [*lines, f"In the demonstrations: {found}."] if found else lines

    def warnings(self) -> tuple[str, ...]:
        """Return one line per operator without a sampler, and one per doubt of a kind in `WARNED_KINDS`.

        `describe` and `summary` list the doubts of all kinds, with advice.
        """
        return (
            *(
                f"no sampler for {name}: its demonstrations have no states"
                for name in self.model.missing_samplers()
            ),
            *(one.fact for one in self.doubts.items if one.kind in WARNED_KINDS),
        )


@dataclass(frozen=True, slots=True)
class RemappedSampler:
    """The sampler of an oracle (hand-written) operator, adapted to a learned operator.

    The oracle operator may have fewer parameters than the learned one, or another order of parameters. Its
    parameter i corresponds to parameter `indices[i]` of the learned operator.
    """

    sampler: Sampler
    indices: tuple[int, ...]

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        """Draw the controller's parameters; `objects` are bound to the learned operator's parameters."""
        return self.sampler.sample(state, [objects[index] for index in self.indices], rng)


def with_oracle_samplers(model: PlanningModel, oracle: PlanningModel) -> PlanningModel:
    """Return a learned model with the samplers of the oracle (the hand-written model) instead of its own.

    Each learned operator gets the sampler of the most similar oracle operator: the operator with the same
    controller that shares the most preconditions and add effects. Raises if no oracle operator has the
    same controller, or if the learned operator lacks a parameter that the sampler needs.
    """
    samplers = {o.name: _best_oracle_sampler(o, oracle) for o in model.operators if o.controller.dimension}
    return replace(model, samplers=samplers)


def _best_oracle_sampler(operator: Operator, oracle: PlanningModel) -> Sampler:
    best: RemappedSampler | None = None
    best_score = -1
    for source in oracle.operators:
        if source.controller.name != operator.controller.name or source.name not in oracle.samplers:
            continue
        for binding in _bindings(source, operator):
            shared = len(_renamed(source.preconditions, binding) & operator.preconditions)
            shared += len(_renamed(source.add_effects, binding) & operator.add_effects)
            if shared > best_score:
                indices = tuple(operator.parameters.index(binding[v]) for v in source.parameters)
                best, best_score = RemappedSampler(oracle.samplers[source.name], indices), shared
    if best is None:
        raise InvalidInputError(
            f"The oracle has no sampler that fits {operator.name}. Use learned samplers for this domain."
        )
    return best


def _renamed(atoms: Iterable[LiftedAtom], binding: Mapping[Variable, Variable]) -> set[LiftedAtom]:
    return {LiftedAtom(atom.predicate, tuple(binding[v] for v in atom.variables)) for atom in atoms}


def _bindings(source: Operator, operator: Operator) -> list[dict[Variable, Variable]]:
    """Return all ways to map the parameters of the oracle operator `source` to those of `operator`.

    Each mapping is injective, and maps the controller arguments of `source` to those of `operator`, in
    order. The other parameters are mapped to parameters of the same type or a subtype.
    """
    fixed = dict(zip(source.controller_arguments, operator.controller_arguments, strict=True))
    unbound = [variable for variable in source.parameters if variable not in fixed]
    free = [variable for variable in operator.parameters if variable not in fixed.values()]
    return [
        fixed | dict(zip(unbound, chosen, strict=True))
        for chosen in itertools.permutations(free, len(unbound))
        if all(one.type.is_subtype_of(v.type) for v, one in zip(unbound, chosen, strict=True))
    ]


def operators_of(learned: Learned | None) -> tuple[Operator, ...]:
    """Return the operators of a learned model; there are none if learning failed or gave a policy."""
    return learned.model.operators if isinstance(learned, LearnedModel) else ()
