"""Plan with hand-written operators, without learning.

A magnet picks up a screw and all other screws nearby. The operators do not predict which ones: a plan
relies on its necessary atoms only, and stays valid if other atoms change.

    python examples/01_plan_with_given_operators.py
"""

from __future__ import annotations

import itertools

import needful


def main() -> None:
    """Search for abstract plans of one task, refine one, and count the necessary atoms after each step."""
    env = needful.make_environment("screws")
    model = env.oracle_model()
    print(*model.operators, sep="\n\n")

    task = env.task(needful.Split.TEST, index=0, seed=0)
    print(f"\n{len(task.objects)} objects; goal: {', '.join(map(str, sorted(task.goal)))}")
    initial = needful.abstract(task.initial_state, env.vocabulary.predicates)
    abstract_task = needful.AbstractTask(task.objects, initial, task.goal)
    plans = needful.generate_abstract_plans(model.operators, abstract_task)
    for abstract_plan in itertools.islice(plans, 2):
        print("Abstract plan:", *abstract_plan)

    result = needful.plan(task, model, env.execute)
    necessary = needful.necessary_atoms(result.abstract_plan, task.goal)
    for number, action in enumerate(result.actions, start=1):
        atoms = needful.abstract(result.states[number], env.vocabulary.predicates)
        print(
            f"{number}. {action}: of {len(atoms)} atoms that hold, {len(necessary[number])} are necessary"
        )
    print(result.outcome.value)


if __name__ == "__main__":
    main()
