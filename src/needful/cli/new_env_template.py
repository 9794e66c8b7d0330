"""The files that `needful new-env` writes: a small environment that works, to be edited.

They are templates of `string.Template` with the places $module, $class_name and $domain. Lines are short
enough for ruff's own line length, so that the files pass its defaults.
"""

from __future__ import annotations

ENVIRONMENT = '''\
"""The $domain domain: a robot on a line goes to lamps and switches them on.

Everything here is meant to be edited: the words of the domain (types, predicates,
controllers), what its controllers do (simulate), its tasks (sample_task) and how
they can be solved (oracle_model).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from needful import (
    AbstractState,
    ConstantSampler,
    Controller,
    Environment,
    GroundController,
    Object,
    PlanningModel,
    Predicate,
    Split,
    State,
    Task,
    Type,
    Variable,
    Vocabulary,
    oracle_operator,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LENGTH = 10.0
REACH = 0.5

# Types: what kinds of objects there are, and the features of each.
ROBOT = Type("robot", ("x",))
LAMP = Type("lamp", ("x", "on"))


# Predicates: what can be said of a state. They only read from it.
def _near(state: State, objects: Sequence[Object]) -> bool:
    robot, lamp = objects
    return abs(state.get(robot, "x") - state.get(lamp, "x")) < REACH


def _on(state: State, objects: Sequence[Object]) -> bool:
    (lamp,) = objects
    return state.get(lamp, "on") > 0.5


NEAR = Predicate("Near", (ROBOT, LAMP), _near)
ON = Predicate("On", (LAMP,), _on)

# Controllers: what can be done, to which objects, with which continuous parameters.
# GoTo has one, where to stop: so far to the right of the lamp.
GO_TO = Controller("GoTo", (ROBOT, LAMP), low=(-1.0,), high=(1.0,))
SWITCH_ON = Controller("SwitchOn", (ROBOT, LAMP))


class $class_name(Environment):
    """The domain; it keeps nothing between calls."""

    name = "$domain"
    description = "A robot on a line goes to lamps and switches them on."
    vocabulary = Vocabulary((ROBOT, LAMP), (NEAR, ON), (GO_TO, SWITCH_ON))
    picture_size = (6.0, 1.5)

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after an action; the same state if it cannot be done."""
        robot, lamp = action.objects
        if action.controller == GO_TO:
            (offset,) = action.parameters
            return state.replace({robot: {"x": state.get(lamp, "x") + offset}})
        if NEAR.holds(state, action.objects):
            return state.replace({lamp: {"on": 1.0}})
        return state

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Scatter the lamps, more of them in test tasks; two are to be on."""
        robot = ROBOT("robot")
        count = 3 if split is Split.TRAIN else 5
        lamps = [LAMP(f"lamp{number}") for number in range(count)]
        vectors = {lamp: (rng.uniform(0.0, LENGTH), 0.0) for lamp in lamps}
        state = State({robot: (rng.uniform(0.0, LENGTH),), **vectors})
        return Task(state, frozenset(ON(lamp) for lamp in lamps[:2]))

    def oracle_model(self) -> PlanningModel:
        """Return operators and samplers that solve the tasks, for demonstrations."""
        robot, lamp = Variable("?robot", ROBOT), Variable("?lamp", LAMP)
        near, on = NEAR.lifted(robot, lamp), ON.lifted(lamp)
        go_to = oracle_operator(
            "GoTo",
            (robot, lamp),
            (GO_TO, (robot, lamp)),
            adds=[near],
            forgets=[NEAR],
        )
        switch_on = oracle_operator(
            "SwitchOn",
            (robot, lamp),
            (SWITCH_ON, (robot, lamp)),
            needs=[near],
            adds=[on],
        )
        samplers = {"GoTo": ConstantSampler((0.0,))}
        return PlanningModel(self.vocabulary, (go_to, switch_on), samplers)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the lamps yellow if they are on; those of the goal have an edge."""
        wanted = {obj for atom in goal for obj in atom.objects}
        for lamp in state.of_type(LAMP):
            colour = "gold" if ON.holds(state, (lamp,)) else "lightgrey"
            edge = "black" if lamp in wanted else colour
            axes.scatter(state.get(lamp, "x"), 0.0, s=80, color=colour, edgecolors=edge)
        for robot in state.of_type(ROBOT):
            axes.scatter(state.get(robot, "x"), 0.5, s=80, color="tab:blue")
        axes.set(xlim=(-1.0, LENGTH + 1.0), ylim=(-0.5, 1.0))
        axes.axis("off")
'''

TESTS = '''\
"""What must be true of the $domain domain."""

from __future__ import annotations

from needful import (
    Environment,
    OracleDemonstrator,
    PlanningResult,
    RunConfig,
    State,
    Task,
    check_environment,
    run,
)

from $module import (
    GO_TO,
    LAMP,
    ON,
    ROBOT,
    SWITCH_ON,
    $class_name,
)


def solve(environment: Environment, task: Task) -> PlanningResult:
    return OracleDemonstrator(environment).demonstrate(task, seed=0)


def test_the_contract_is_kept_and_the_oracle_solves_its_tasks() -> None:
    assert check_environment($class_name(), solve=solve) == ()


def test_a_lamp_is_switched_on_from_near() -> None:
    environment, robot, lamp = $class_name(), ROBOT("robot"), LAMP("lamp")
    start = State({robot: (0.0,), lamp: (3.0, 0.0)})
    assert environment.simulate(start, SWITCH_ON(robot, lamp)) == start
    near = environment.simulate(start, GO_TO(robot, lamp, parameters=(0.25,)))
    assert near.get(robot, "x") == 3.25
    assert ON.holds(environment.simulate(near, SWITCH_ON(robot, lamp)), (lamp,))


def test_what_is_learned_from_demonstrations_solves_unseen_tasks() -> None:
    result = run($class_name(), RunConfig(demos=10, tasks=5))
    assert result.summary["solved"] == 5
'''

README = """\
# $domain

An environment for `needful`. Edit `$module.py`: types, predicates and controllers first, then `simulate`,
`sample_task` and `oracle_model`; `draw` is for pictures. Then see what is wrong, where, and how to mend it:

    needful check-env $module.py:$class_name
    pytest

To learn from demonstrations and solve unseen tasks:

    from needful import RunConfig, run
    from $module import $class_name

    print(run($class_name(), RunConfig(demos=50, tasks=50)).summary)
"""
