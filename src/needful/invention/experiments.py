"""Execute plans of a model in the simulator, and record which steps have the predicted effects.

For each task, only the first abstract plan that the planner finds is executed. The parameters of a step are
sampled until the step makes all atoms true that the rest of the plan needs. If no sample achieves this, but
only atoms of invented predicates are missing, the bounds in their definitions may be too strict. The
experiment then continues with the next step. If the next step succeeds, this is evidence for looser bounds.

A use is an operator with its objects in a state. A use is true if the action has the predicted effects, and
false otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Execute, GroundController, Parameters
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Budget, Deadline
from needful.core.objects import Object
from needful.core.operators import GroundOperator, OperatorData
from needful.core.plans import necessary_atoms
from needful.core.state import State
from needful.core.tasks import AbstractTask, Task
from needful.invention.proposals import Use
from needful.invention.scoring import MAX_GROUND_OPERATORS, Suffix
from needful.planning.interfaces import Planner
from needful.planning.planners import generate_abstract_plans
from needful.sampler_learning.datasets import SamplerExamples, sampler_examples
from needful.sampler_learning.sampling import anchor_values, input_vector
from needful.seeding import rng_for

# Each failed step reduces `Trials.score` by this number; a solved task increases it by 1.
FAILED_STEP = 0.25


@dataclass(frozen=True, slots=True)
class ReplaySampler:
    """Samples parameters for an operator's controller, with the offsets of a random demonstrated use.

    The anchor of a parameter is a feature that is usually close to it (see `sampler_learning.sampling`).
    The offset is the difference between the parameter and its anchor.
    """

    examples: SamplerExamples

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the anchors' values in `state` plus the offsets of a random demonstrated use."""
        vector = input_vector(self.examples.operator, state, objects)
        offsets = self.examples.offsets
        chosen = offsets[rng.integers(len(offsets))]
        return tuple((anchor_values(vector, self.examples.anchors) + chosen).tolist())


@dataclass(frozen=True, slots=True)
class Trials:
    """The results of experiments.

    Attributes:
        progress: for each task, the fraction of the plan's steps before the first failed step; 0 if there
            is no plan.
        planned: the number of tasks for which there is a plan.
        true: for each operator's name, uses in which its effects came true.
        false: for each operator's name, uses in which its effects did not come true.
    """

    progress: tuple[float, ...]
    planned: int
    true: Mapping[str, Sequence[Use]]
    false: Mapping[str, Sequence[Use]]

    @property
    def solved(self) -> int:
        """The number of tasks that were solved by the first plan that the planner found."""
        return sum(share == 1.0 for share in self.progress)

    @property
    def score(self) -> float:
        """The total progress, minus `FAILED_STEP` for each failed step."""
        return sum(self.progress) - FAILED_STEP * sum(map(len, self.false.values()))

    def better_than(self, other: Trials, least: float) -> bool:
        """Return whether these results are better than `other`.

        They are better if more tasks were solved. If the numbers of solved tasks are equal, the score must
        be higher by at least `least`.
        """
        if self.solved != other.solved:
            return self.solved > other.solved
        return self.score >= other.score + least


@dataclass(frozen=True, slots=True)
class Simulator:
    """Executes plans in training tasks: for each task, the first plan that the planner finds.

    Attributes:
        execute: executes an action in the simulator.
        tasks: training tasks.
        planner: finds the plans.
        max_nodes: the limit of the search for each plan.
        seed: the seed of all random numbers.
        deadline: raises once the time is up.
        samples: the maximum number of times that a step is executed, each time with other parameters.
        draws: the maximum number of samples of parameters that are drawn for a step. Unlike `samples`, this
            includes samples with which the action cannot start, such as a position inside a wall.
    """

    execute: Execute
    tasks: Sequence[Task]
    planner: Planner
    max_nodes: int
    seed: int
    deadline: Deadline = NO_DEADLINE
    samples: int = 10
    draws: int = 100

    def run(
        self,
        data: Sequence[OperatorData],
        demonstrations: Sequence[Demonstration],
        predicates: Sequence[Predicate],
        least_solved: int = 0,
    ) -> Trials:
        """Execute the first abstract plan for each task, and return the results.

        The planner uses the operators in `data`. Parameters are sampled from those in `demonstrations` (see
        `ReplaySampler`). The run stops early once it is impossible to solve `least_solved` tasks.
        """
        samplers = self.samplers(data, demonstrations)
        operators = [one.operator for one in data]
        true: dict[str, list[Use]] = defaultdict(list)
        false: dict[str, list[Use]] = defaultdict(list)
        progress: list[float] = []
        planned = 0
        for index, task in enumerate(self.tasks):
            if sum(share == 1.0 for share in progress) + len(self.tasks) - index < least_solved:
                break
            initial = abstract(task.initial_state, predicates)
            budget = Budget(float("inf"), self.max_nodes, max_ground_operators=MAX_GROUND_OPERATORS)
            abstract_task = AbstractTask(task.objects, initial, task.goal)
            plan = next(generate_abstract_plans(operators, abstract_task, self.planner, budget), None)
            planned += plan is not None
            progress.append(0.0 if plan is None else self._follow(plan, task, samplers, index, true, false))
        return Trials(tuple(progress), planned, true, false)

    def blame(
        self,
        data: Sequence[OperatorData],
        training: Sequence[Demonstration],
        suffixes: Sequence[Suffix],
        demonstrations: Sequence[Demonstration],
    ) -> tuple[dict[str, list[Use]], dict[str, list[Use]]]:
        """Execute suspicious plans from demonstrated states; return the operators' true and false uses.

        A use is true if the operator's action had the predicted effects, otherwise false. The weight of a
        false use is the cost of its plan. `Suffix.suspicious` defines which plans in `suffixes` are
        suspicious. `training` contains the demonstrations from which `data` was learned.
        """
        samplers = self.samplers(data, training)
        true: dict[str, list[Use]] = defaultdict(list)
        false: dict[str, list[Use]] = defaultdict(list)
        for suffix in suffixes:
            demonstration = demonstrations[suffix.demonstration]
            if not suffix.suspicious(demonstration) or not suffix.plan:
                continue
            assert demonstration.states is not None
            task = Task(demonstration.states[suffix.step], demonstration.goal)
            failed: dict[str, list[Use]] = defaultdict(list)
            self._follow(suffix.plan, task, samplers, suffix.step, true, failed)
            for name, uses in failed.items():
                false[name] += (replace(use, weight=suffix.cost) for use in uses)
        return true, false

    def samplers(
        self, data: Sequence[OperatorData], demonstrations: Sequence[Demonstration]
    ) -> dict[str, ReplaySampler]:
        """Return a `ReplaySampler` for each operator, by the operator's name."""
        examples = sampler_examples(data, demonstrations, self.seed)
        return {one.operator.name: ReplaySampler(one) for one in examples}

    def works(self, step: GroundOperator, state: State, samplers: Mapping[str, ReplaySampler]) -> bool:
        """Return whether all add effects of a step are true after its execution in a state."""
        rng = rng_for(self.seed, "experiments", "probe")
        after, missing = self._best_sample(step, state, step.add_effects, samplers, rng)
        return after is not None and not missing

    def _follow(
        self,
        plan: Sequence[GroundOperator],
        task: Task,
        samplers: Mapping[str, ReplaySampler],
        index: int,
        true: dict[str, list[Use]],
        false: dict[str, list[Use]],
    ) -> float:
        """Execute a plan as far as possible, record true and false uses, and return the progress.

        A use is true if the step had the predicted effects, otherwise false. The progress is the fraction
        of the plan's steps before the first failed step.
        """
        state, reached, strict = task.initial_state, 0, True
        subgoals = necessary_atoms(plan, task.goal)
        rng = rng_for(self.seed, "experiments", index)
        for step, subgoal in zip(plan, subgoals[1:], strict=True):
            after, missing = self._best_sample(step, state, subgoal, samplers, rng)
            name = step.operator.name
            use = Use(state, step.objects)
            effects = step.add_effects & subgoal
            # The atoms of given (not invented) predicates that the plan needs, and that became false in the
            # step although the operator does not predict this.
            lost = {one for one in missing if one.predicate.definition is None and one.holds(state)}
            if after is not None and not missing & effects and not lost:
                # If all effects held before the step, its success proves nothing.
                if not all(atom.holds(state) for atom in effects):
                    true[name].append(use)
            elif all(atom.holds(state) for atom in step.preconditions):
                # The preconditions held before the step, so the failure is not due to an earlier step.
                false[name].append(use)
            if after is None or any(atom.predicate.definition is None for atom in missing):
                break
            strict = strict and not missing
            reached += strict
            state = after
        return reached / len(plan) if plan else 1.0

    def _best_sample(
        self,
        step: GroundOperator,
        state: State,
        subgoal: AbstractState,
        samplers: Mapping[str, ReplaySampler],
        rng: np.random.Generator,
    ) -> tuple[State | None, AbstractState]:
        """Execute a step with several samples of its parameters, and return the result of the best sample.

        The best sample is the one after which the fewest atoms of the subgoal are missing. The result is
        the state after it, and the missing atoms. The state is None if no sample could be executed.
        """
        controller = step.operator.controller
        best: tuple[State | None, AbstractState] = (None, subgoal)
        executed = 0
        for _ in range(self.draws if controller.dimension else 1):
            parameters: Parameters = ()
            if controller.dimension:
                drawn = samplers[step.operator.name].sample(state, step.objects, rng)
                parameters = controller.clip(drawn)
            action = GroundController(controller, step.controller_objects, parameters)
            if not action.initiable(state):
                continue
            self.deadline.check()
            execution = self.execute(state, action)
            executed += 1
            if execution.steps > 0:
                missing = frozenset(atom for atom in subgoal if not atom.holds(execution.state))
                if best[0] is None or len(missing) < len(best[1]):
                    best = execution.state, missing
            if not best[1] or executed == self.samples:
                break
        return best
