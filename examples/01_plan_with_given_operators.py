"""Plan with operators that somebody wrote down: nothing is learned here.

A magnet picks up a screw, and whatever other screws are near. Which ones, no operator says: a plan relies
on its necessary atoms alone, and holds whatever else happens.

    python examples/01_plan_with_given_operators.py
"""

from __future__ import annotations

import needful


def main() -> None:
    """Plan for one task, and show what each step promises."""
    env = needful.make_environment("screws")
    model = env.oracle_model()
    print(*model.operators, sep="\n\n")

    task = env.task(needful.Split.TEST, index=0, seed=0)
    result = needful.plan(task, model, env.execute)
    print(f"\n{len(task.objects)} objects; goal: {', '.join(map(str, sorted(task.goal)))}")
    necessary = needful.necessary_atoms(result.abstract_plan, task.goal)
    for number, action in enumerate(result.actions, start=1):
        seen = needful.abstract(result.states[number], env.vocabulary.predicates)
        print(f"{number}. {action}: of {len(seen)} atoms that hold, {len(necessary[number])} matter")
    print(result.outcome.value)


if __name__ == "__main__":
    main()
