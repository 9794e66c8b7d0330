"""A plan in the tiny house: put a can into the bucket and open the package."""

from __future__ import annotations

from needful.core.plans import Failure, Outcome, PlanningResult, necessary_atoms
from needful.envs.household.environment import make_vocabulary
from needful.envs.household.oracle import make_oracle
from needful.envs.household.simulation.world import World, WorldCache
from tiny_house import named, tiny_scene

# The operator, its objects, and the parameters of its controller, whose target is the last object.
ERRAND = (
    ("NavigateTo", ("can_1",), (0.0, -0.6)),
    ("Grasp", ("can_1",), (0.05, -0.1, 0.15)),
    ("NavigateTo", ("bucket",), (0.0, -0.7)),
    ("PlaceInside", ("can_1", "bucket"), (0.03, 0.02, 0.4)),
    ("NavigateTo", ("package",), (0.1, 0.7)),
    ("Open", ("package",), (0.0, 0.05, 0.05)),
)


def run_errand() -> tuple[World, PlanningResult]:
    """Return the world and the result of the plan; its last subgoal is the goal."""
    worlds, world = WorldCache(), World(tiny_scene())
    worlds.add(world)
    vocabulary = make_vocabulary(worlds)
    operators = {operator.name: operator for operator in make_oracle(vocabulary, worlds).operators}
    predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
    states = [world.settled()]
    objects = named(states[0])
    plan, actions = [], []
    for name, arguments, theta in ERRAND:
        step = operators[name].ground(tuple(objects[argument] for argument in arguments))
        action = step.operator.controller(objects[arguments[-1]], parameters=theta)
        states.append(world.run(states[-1], action.controller.name, action.objects[0], theta))
        plan.append(step)
        actions.append(action)
    goal = frozenset(
        {predicates["Inside"](objects["can_1"], objects["bucket"]), predicates["Open"](objects["package"])}
    )
    subgoals = necessary_atoms(plan, goal)
    return world, PlanningResult(Outcome.SOLVED, tuple(plan), tuple(actions), tuple(states), subgoals)


def cut_short(result: PlanningResult, steps: int) -> PlanningResult:
    """Return a plan that failed after some of its steps."""
    why = "no <path> & no way"
    failure = Failure(steps, result.abstract_plan[steps], Outcome.CONTROLLER_FAILED, detail=why)
    return PlanningResult(
        Outcome.CONTROLLER_FAILED,
        result.abstract_plan,
        result.actions[:steps],
        result.states[: steps + 1],
        result.subgoals,
        failure,
    )
