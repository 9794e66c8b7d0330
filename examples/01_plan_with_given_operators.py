"""Plan with hand-written operators, without learning.

A magnet picks up a screw and all other screws nearby. The operators do not predict which ones: a plan
relies on its necessary atoms only, and stays valid whatever else changes.

    python examples/01_plan_with_given_operators.py
"""

from __future__ import annotations

import needful


def main() -> None:
    """Plan for one task, and print how many atoms of each state the plan needs."""
    env = needful.make_environment("screws")
    model = env.oracle_model()
    print(*model.operators, sep="\n\n")

    task = env.task(needful.Split.TEST, index=0, seed=0)
    result = needful.plan(task, model, env.execute)
    print(f"\n{len(task.objects)} objects; goal: {', '.join(map(str, sorted(task.goal)))}")
    necessary = needful.necessary_atoms(result.abstract_plan, task.goal)
    for number, action in enumerate(result.actions, start=1):
        atoms = needful.abstract(result.states[number], env.vocabulary.predicates)
        print(
            f"{number}. {action}: of {len(atoms)} atoms that hold, {len(necessary[number])} are necessary"
        )
    print(result.outcome.value)


if __name__ == "__main__":
    main()
