"""Learn samplers: how to choose the continuous parameters of controllers, from ten demonstrations.

python examples/03_learn_samplers.py
"""

from __future__ import annotations

import numpy as np

import needful


def main() -> None:
    """Ask the sampler of each step of a plan for parameters, then solve unseen tasks with all of them."""
    env = needful.make_environment("painting")
    oracle = needful.OracleDemonstrator(env)
    demos = needful.collect_demonstrations(env, oracle, count=10, seed=0).demonstrations
    learned = needful.learn_model(env.vocabulary, demos)

    tasks = env.tasks(needful.Split.TEST, count=5, seed=0)
    results = [needful.plan(task, learned.model, env.execute) for task in tasks]
    print("Three draws for each step of a plan. What must be exact is; what may vary does:")
    for step, state in zip(results[0].abstract_plan, results[0].states, strict=False):
        sampler = learned.model.samplers.get(step.operator.name)
        if sampler is not None:
            draws = [sampler.sample(state, step.objects, np.random.default_rng(seed)) for seed in range(3)]
            print(f"{step}: {np.round(draws, 2).tolist()}")

    samples = sum(result.statistics.samples for result in results)
    actions = sum(len(result.actions) for result in results)
    solved = sum(result.solved for result in results)
    print(f"Solved {solved} of {len(tasks)} unseen tasks: {samples} samples for {actions} actions.")


if __name__ == "__main__":
    main()
