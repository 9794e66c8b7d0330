"""Explain a learned operator by its demonstrations, and export a model as PDDL for other planners.

The explanation counts the transitions behind each effect and names the first one.

    python examples/05_explain_and_export.py
"""

from __future__ import annotations

import needful


def main() -> None:
    """Learn the domain Screws, explain an operator, and print PDDL."""
    env = needful.make_environment("screws")
    oracle = needful.OracleDemonstrator(env)
    demos = needful.collect_demonstrations(env, oracle, count=10, seed=0).demonstrations
    learned = needful.learn_model(env.vocabulary, demos)

    operator = learned.model.operators[0]
    explanation = needful.explain_operator(operator, learned.evidence[operator.name])
    print(operator)
    print(
        f"comes from {explanation.transitions} transitions of {explanation.demonstrations} demonstrations."
    )
    for atom, reason in explanation.adds.items():
        print(f"adds {atom}: {reason.count} times, first {reason.first}")
    for pattern, reason in explanation.patterns.items():
        print(f"forgets {pattern}: {reason.count} times, first {reason.first}")
    for predicate, count in explanation.not_predicted.items():
        print(f"does not predict {predicate}: {count} times it became true without being necessary")

    task = env.task(needful.Split.TEST, index=0, seed=0)
    initial = needful.abstract(task.initial_state, env.vocabulary.predicates)
    pddl = needful.write_pddl(
        env.vocabulary, learned.model.operators, needful.AbstractTask(task.objects, initial, task.goal)
    )
    print("\n" + pddl.domain)
    print(f"The problem file has {len((pddl.problem or '').splitlines())} lines.")


if __name__ == "__main__":
    main()
