"""Runs abstract plans with the samplers of the oracle, without a planner."""

from __future__ import annotations

from needful.core.plans import AbstractPlan
from needful.core.state import State
from needful.envs.contract import Environment
from needful.seeding import rng_for


def follow(env: Environment, start: State, plan: AbstractPlan) -> list[State]:
    """Return the states of a plan, including the initial one."""
    samplers = env.oracle_model().samplers
    states = [start]
    for number, step in enumerate(plan):
        parameters = ()
        if step.operator.name in samplers:
            sampler = samplers[step.operator.name]
            parameters = sampler.sample(states[-1], step.objects, rng_for(0, "follow", number))
        action = step.operator.controller(*step.controller_objects, parameters=parameters)
        states.append(env.execute(states[-1], action).state)
    return states
