"""Try a model in the simulator: which steps of its first plans come true.

Each task gets one abstract plan. If no sample of a step reaches the atoms that the rest of the plan needs,
and only atoms of invented predicates are missing, their bounds may be too strict. The experiment then
continues anyway: if the next step succeeds, the bound was wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Execute, GroundController, Parameters
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object
from needful.core.operators import GroundOperator, OperatorData
from needful.core.plans import necessary_atoms
from needful.core.state import State
from needful.core.tasks import AbstractTask, Task
from needful.invention.objective import MAX_GROUND_OPERATORS
from needful.invention.proposals import Use
from needful.planning.budget import Budget
from needful.planning.interfaces import Planner
from needful.planning.planners import generate_abstract_plans
from needful.sampler_learning.datasets import SamplerExamples, sampler_examples
from needful.sampler_learning.sampling import anchor_values, input_vector
from needful.seeding import rng_for


@dataclass(frozen=True, slots=True)
class ReplaySampler:
    """Draws the parameters of a demonstrated use of an operator, relative to the objects' features."""

    examples: SamplerExamples

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the values of the anchors plus the offsets of a random example."""
        vector = input_vector(self.examples.operator, state, objects)
        offsets = self.examples.offsets
        chosen = offsets[rng.integers(len(offsets))]
        return tuple((anchor_values(vector, self.examples.anchors) + chosen).tolist())


@dataclass(frozen=True, slots=True)
class Trials:
    """The results of experiments.

    Attributes:
        solved: the indices of the tasks that the first plan solved.
        true: for each operator's name, uses in which its effects came true.
        false: for each operator's name, uses in which they did not.
    """

    solved: frozenset[int]
    true: Mapping[str, Sequence[Use]]
    false: Mapping[str, Sequence[Use]]


@dataclass(frozen=True, slots=True)
class Simulator:
    """Executes first plans of models in training tasks.

    Attributes:
        execute: executes an action in the simulator.
        tasks: training tasks.
        planner: finds the plans.
        max_nodes: the limit of the search for each plan.
        seed: the seed of all random numbers.
        deadline: raises once the time is up.
        samples: how many parameters are drawn per step.
    """

    execute: Execute
    tasks: Sequence[Task]
    planner: Planner
    max_nodes: int
    seed: int
    deadline: Deadline = NO_DEADLINE
    samples: int = 10

    def run(
        self,
        data: Sequence[OperatorData],
        demonstrations: Sequence[Demonstration],
        predicates: Sequence[Predicate],
    ) -> Trials:
        """Solve each task with the first abstract plan of the operators."""
        samplers = {
            one.operator.name: ReplaySampler(one)
            for one in sampler_examples(data, demonstrations, self.seed)
        }
        operators = [one.operator for one in data]
        true: dict[str, list[Use]] = defaultdict(list)
        false: dict[str, list[Use]] = defaultdict(list)
        solved = set()
        for index, task in enumerate(self.tasks):
            initial = abstract(task.initial_state, predicates)
            budget = Budget(float("inf"), self.max_nodes, max_ground_operators=MAX_GROUND_OPERATORS)
            abstract_task = AbstractTask(task.objects, initial, task.goal)
            plan = next(generate_abstract_plans(operators, abstract_task, self.planner, budget), None)
            if plan is not None and self._follow(plan, task, samplers, index, true, false):
                solved.add(index)
        return Trials(frozenset(solved), true, false)

    def _follow(
        self,
        plan: Sequence[GroundOperator],
        task: Task,
        samplers: Mapping[str, ReplaySampler],
        index: int,
        true: dict[str, list[Use]],
        false: dict[str, list[Use]],
    ) -> bool:
        """Execute a plan as far as possible; record true and false uses; return whether it succeeded."""
        state, strict = task.initial_state, True
        subgoals = necessary_atoms(plan, task.goal)
        rng = rng_for(self.seed, "experiments", index)
        for step, subgoal in zip(plan, subgoals[1:], strict=True):
            after, missing = self._best_sample(step, state, subgoal, samplers, rng)
            name = step.operator.name
            use = Use(state, step.objects)
            effects = step.add_effects & subgoal
            failed = after is None or bool(missing & effects)
            if failed:
                false[name].append(use)
            else:
                true[name].append(use)
            if after is None or any(atom.predicate.definition is None for atom in missing):
                return False
            strict = strict and not missing
            state = after
        return strict

    def _best_sample(
        self,
        step: GroundOperator,
        state: State,
        subgoal: AbstractState,
        samplers: Mapping[str, ReplaySampler],
        rng: np.random.Generator,
    ) -> tuple[State | None, AbstractState]:
        """Return the state after the sample that misses the fewest atoms of a subgoal, and these atoms."""
        controller = step.operator.controller
        best: tuple[State | None, AbstractState] = (None, subgoal)
        for _ in range(self.samples if controller.dimension else 1):
            parameters: Parameters = ()
            if controller.dimension:
                drawn = samplers[step.operator.name].sample(state, step.objects, rng)
                parameters = controller.clip(drawn)
            action = GroundController(controller, step.controller_objects, parameters)
            if not action.initiable(state):
                continue
            self.deadline.check()
            execution = self.execute(state, action)
            if execution.steps == 0:
                continue
            missing = frozenset(atom for atom in subgoal if not atom.holds(execution.state))
            if best[0] is None or len(missing) < len(best[1]):
                best = execution.state, missing
            if not missing:
                break
        return best
