"""Act closed loop in a Gymnasium environment in which a third of all skills fail.

The agent plans with a simulator. After each step it compares what it observes with the necessary atoms of
its plan. Then it continues, repeats the step, repairs the rest of the plan or plans again.

    python examples/07_closed_loop.py
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import needful

SKILL_FAILURES = 1 / 3


class GymWorld:
    """A Gymnasium environment as a world: something to observe and to act in."""

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int) -> None:
        self.env = env
        _, self.info = env.reset(seed=seed)
        self.rng = np.random.default_rng(seed)

    def observe(self) -> needful.State:
        """Return the current state; on a robot this is the result of perception."""
        state: needful.State = self.info["state"]
        return state

    def act(self, action: needful.GroundController) -> needful.Execution:
        """Execute one skill, which may fail without effect."""
        if self.rng.random() < SKILL_FAILURES:
            return needful.Execution(self.observe())
        *_, self.info = self.env.step(self.env.unwrapped.encode_action(action))  # type: ignore[attr-defined]
        return needful.Execution(self.observe())


def main() -> None:
    """Solve one task, and print each decision of the agent with its reason."""
    needful.register_all()
    world = GymWorld(gymnasium.make("needful/Satellites-v0"), seed=3)
    simulator = needful.make_environment("satellites")
    agent = needful.Agent(simulator.oracle_model(), simulator.execute)
    result = agent.run(world.info["task"], world, seed=0)
    print(*result.events, sep="\n")
    print(result)


if __name__ == "__main__":
    main()
