"""Learn samplers for the continuous parameters of controllers, from ten demonstrations.

A sampler learns which parameters must be exact, and how much the others may vary.

    python examples/03_learn_samplers.py
"""

from __future__ import annotations

import numpy as np

import needful


def main() -> None:
    """Print samples for each step of a plan, then count the samples that unseen tasks need."""
    env = needful.make_environment("painting")
    oracle = needful.OracleDemonstrator(env)
    demos = needful.collect_demonstrations(env, oracle, count=10, seed=0).demonstrations
    learned = needful.learn_model(env.vocabulary, demos)

    tasks = env.tasks(needful.Split.TEST, count=5, seed=0)
    results = [needful.plan(task, learned.model, env.execute) for task in tasks]
    print("Three samples per step of a plan. Parameters that must be exact have no spread:")
    for step, state in zip(results[0].abstract_plan, results[0].states, strict=False):
        sampler = learned.model.samplers.get(step.operator.name)
        if sampler is not None:
            samples = [
                sampler.sample(state, step.objects, np.random.default_rng(seed)) for seed in range(3)
            ]
            print(f"{step}: {np.round(samples, 2).tolist()}")

    sample_count = sum(result.statistics.samples for result in results)
    actions = sum(len(result.actions) for result in results)
    solved = sum(result.solved for result in results)
    print(f"Solved {solved} of {len(tasks)} unseen tasks: {sample_count} samples for {actions} actions.")


if __name__ == "__main__":
    main()
