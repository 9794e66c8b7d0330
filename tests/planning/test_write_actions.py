"""Actions of single operators, as they stand in a whole domain."""

from __future__ import annotations

import toy_world
from needful.planning.pddl.writer import write_actions, write_pddl


def test_each_action_is_the_one_of_the_domain_file() -> None:
    domain = write_pddl(toy_world.VOCABULARY, toy_world.OPERATORS).domain
    actions = write_actions(toy_world.VOCABULARY, toy_world.OPERATORS)
    assert len(actions) == len(toy_world.OPERATORS)
    for operator, action in zip(toy_world.OPERATORS, actions, strict=True):
        assert f"(:action {operator.name}\n" in action
        assert "\n".join(f"  {line}" for line in action.split("\n")) in domain
