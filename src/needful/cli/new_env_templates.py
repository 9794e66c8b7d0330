"""The texts of the files that `needful new-env` writes.

Environments get their demonstrations in one of three ways: an oracle model, a scripted policy or a file of
recorded demonstrations. The texts are `string.Template` texts with the placeholders $module, $class_name
and $domain. Their lines are at most 88 characters long, so that the files pass ruff with its defaults.
"""

from __future__ import annotations

from enum import Enum
from string import Template


class DemonstrationSource(Enum):
    """Where the demonstrations of a new environment come from."""

    ORACLE = "oracle"
    SCRIPT = "script"
    FILE = "file"


def environment_files(source: DemonstrationSource, module: str, class_name: str) -> dict[str, str]:
    """Return the files of a new environment: a map from file names to texts."""
    names = {"module": module, "class_name": class_name, "domain": module.replace("_", "-")}
    recorded = source is DemonstrationSource.FILE
    files = {
        f"{module}.py": Template(ENVIRONMENT).safe_substitute(_environment_parts(source)),
        f"test_{module}.py": TESTS_OF_RECORDINGS if recorded else TESTS_OF_DEMONSTRATOR,
        **({f"{module}_recordings.py": RECORDINGS} if recorded else {}),
        "README.md": README.replace("$usage", USAGE_OF_FILE if recorded else USAGE),
    }
    shared = {"import_of_names": IMPORT_OF_NAMES, "test_of_lamp": TEST_OF_LAMP}
    texts = {file: Template(text).safe_substitute(shared) for file, text in files.items()}
    return {file: Template(text).substitute(names) for file, text in texts.items()}


def _environment_parts(source: DemonstrationSource) -> dict[str, str]:
    """Return the placeholders in `ENVIRONMENT` that depend on the source, with their values."""
    names, collections = set(COMMON_NAMES), "Sequence"
    text, demonstrator = "the demonstrations (${module}_recordings.py).", ""
    if source is DemonstrationSource.ORACLE:
        names |= {"ConstantSampler", "PlanningModel", "Variable", "oracle_operator"}
        text, demonstrator = "the operators and samplers that solve the tasks (oracle_model).", ORACLE
    elif source is DemonstrationSource.SCRIPT:
        collections = "Generator, Sequence"
        text, demonstrator = "the scripted policy that solves the tasks (demonstrate).", SCRIPT
    return {
        "names": "".join(f"    {name},\n" for name in sorted(names)),
        "collections": collections,
        "source": text,
        "demonstrator": demonstrator,
    }


COMMON_NAMES = (
    "AbstractState",
    "Controller",
    "Environment",
    "GroundController",
    "Object",
    "Predicate",
    "Split",
    "State",
    "Task",
    "Type",
    "Vocabulary",
)

ENVIRONMENT = '''\
"""The $domain domain: a robot on a line goes to lamps and switches them on.

This is a template. Replace the vocabulary (types, predicates, controllers), the effects
of the controllers (simulate), the tasks (sample_task), the pictures (draw) and
$source
"""

from __future__ import annotations

from collections.abc import $collections
from typing import TYPE_CHECKING

import numpy as np
from needful import (
$names)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LENGTH = 10.0
REACH = 0.5

# Types: the kinds of objects, each with the names of its features.
ROBOT = Type("robot", ("x",))
LAMP = Type("lamp", ("x", "on"))


# Predicates: functions of a state and objects that return True or False.
def _near(state: State, objects: Sequence[Object]) -> bool:
    robot, lamp = objects
    return abs(state.get(robot, "x") - state.get(lamp, "x")) < REACH


def _on(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[0], "on") > 0.5


NEAR = Predicate("Near", (ROBOT, LAMP), _near)
ON = Predicate("On", (LAMP,), _on)

# Controllers: the actions, with the types of their objects and the bounds of their
# continuous parameters. GoTo has one parameter: the offset from the lamp.
GO_TO = Controller("GoTo", (ROBOT, LAMP), low=(-1.0,), high=(1.0,))
SWITCH_ON = Controller("SwitchOn", (ROBOT, LAMP))


class $class_name(Environment):
    """The domain. It is stateless: results depend on the arguments only."""

    name = "$domain"
    description = "A robot on a line goes to lamps and switches them on."
    vocabulary = Vocabulary((ROBOT, LAMP), (NEAR, ON), (GO_TO, SWITCH_ON))
    picture_size = (6.0, 1.5)

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after an action, or the same state if it is not possible."""
        robot, lamp = action.objects
        if action.controller == GO_TO:
            (offset,) = action.parameters
            return state.replace({robot: {"x": state.get(lamp, "x") + offset}})
        if NEAR.holds(state, action.objects):
            return state.replace({lamp: {"on": 1.0}})
        return state

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Return a random task: switch on two of 3 lamps (train) or 5 lamps (test)."""
        robot = ROBOT("robot")
        count = 3 if split is Split.TRAIN else 5
        lamps = [LAMP(f"lamp{number}") for number in range(count)]
        vectors = {lamp: (rng.uniform(0.0, LENGTH), 0.0) for lamp in lamps}
        state = State({robot: (rng.uniform(0.0, LENGTH),), **vectors})
        return Task(state, frozenset(ON(lamp) for lamp in lamps[:2]))

$demonstrator    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw lamps (gold if on, with an edge if in the goal) and the robot."""
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

ORACLE = '''\
    def oracle_model(self) -> PlanningModel:
        """Return operators and samplers that solve the tasks, for demonstrations."""
        robot, lamp = Variable("?robot", ROBOT), Variable("?lamp", LAMP)
        both, near, on = (robot, lamp), NEAR.lifted(robot, lamp), ON.lifted(lamp)
        go_to, switch_on = (GO_TO, both), (SWITCH_ON, both)
        operators = (
            oracle_operator("GoTo", both, go_to, adds=[near], forgets=[NEAR]),
            oracle_operator("SwitchOn", both, switch_on, needs=[near], adds=[on]),
        )
        samplers = {"GoTo": ConstantSampler((0.0,))}
        return PlanningModel(self.vocabulary, operators, samplers)

'''

SCRIPT = '''\
    def demonstrate(
        self, task: Task, rng: np.random.Generator
    ) -> Generator[GroundController, State, None]:
        """Yield actions that solve a task; each `yield` returns the state after it."""
        robot = ROBOT("robot")
        for (lamp,) in sorted(atom.objects for atom in task.goal):
            near = False
            while not near:
                offset = rng.uniform(-REACH, REACH)
                state = yield GO_TO(robot, lamp, parameters=(offset,))
                near = NEAR.holds(state, (robot, lamp))
            yield SWITCH_ON(robot, lamp)

'''

# Texts that occur in more than one of the written files.
IMPORT_OF_NAMES = """\
from $module import (
    GO_TO,
    LAMP,
    ON,
    ROBOT,
    SWITCH_ON,
    $class_name,
)"""

TEST_OF_LAMP = """\
def test_lamp_is_switched_on_only_from_nearby() -> None:
    environment, robot, lamp = $class_name(), ROBOT("robot"), LAMP("lamp")
    start = State({robot: (0.0,), lamp: (3.0, 0.0)})
    assert environment.simulate(start, SWITCH_ON(robot, lamp)) == start
    near = environment.simulate(start, GO_TO(robot, lamp, parameters=(0.25,)))
    assert near.get(robot, "x") == 3.25
    assert ON.holds(environment.simulate(near, SWITCH_ON(robot, lamp)), (lamp,))"""

TESTS_OF_DEMONSTRATOR = '''\
"""Tests of the $domain domain."""

from __future__ import annotations

from needful import (
    Environment,
    PlanningResult,
    RunConfig,
    State,
    Task,
    check_environment,
    make_demonstrator,
    run,
)

$import_of_names


def solve(environment: Environment, task: Task) -> PlanningResult:
    return make_demonstrator(environment).demonstrate(task, seed=0)


def test_environment_keeps_the_contract_and_its_demonstrator_solves_tasks() -> None:
    assert check_environment($class_name(), solve=solve) == ()


$test_of_lamp


def test_learned_model_solves_unseen_tasks() -> None:
    result = run($class_name(), RunConfig(demos=10, tasks=5))
    assert result.summary["solved"] == 5
'''

TESTS_OF_RECORDINGS = '''\
"""Tests of the $domain domain."""

from __future__ import annotations

from needful import RunConfig, State, check_environment, run

$import_of_names
from ${module}_recordings import demonstrations


def test_environment_keeps_the_contract_and_repeats_the_demonstrations() -> None:
    assert check_environment($class_name(), demonstrations=demonstrations()) == ()


$test_of_lamp


def test_learned_model_solves_unseen_tasks() -> None:
    result = run($class_name(), RunConfig(tasks=5), recorded=demonstrations())
    assert result.summary["solved"] == 5
'''

RECORDINGS = '''\
"""Convert recorded episodes to demonstrations, and write them to demos.jsonl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from needful import (
    AbstractState,
    Demonstration,
    Episode,
    GroundController,
    State,
    demonstrations_from_episodes,
    segment_by_step,
    write_demonstrations,
)

$import_of_names

# An observation maps the name of each object to its features.
Observation = Mapping[str, Sequence[float]]


def recorded_episodes() -> Iterator[Episode]:
    """Yield recorded episodes. Replace this: read the recordings of your robot.

    Here, they come from the simulator: the robot goes to two lamps and switches them on.
    """
    environment = $class_name()
    for number in range(20):
        state = environment.task("train", number, seed=0).initial_state
        actions: list[GroundController] = []
        states = [state]
        for lamp in state.of_type(LAMP)[:2]:
            offset = 0.02 * (number - 10)
            actions.append(GO_TO(ROBOT("robot"), lamp, parameters=(offset,)))
            actions.append(SWITCH_ON(ROBOT("robot"), lamp))
            for action in actions[-2:]:
                states.append(environment.simulate(states[-1], action))
        yield Episode([{obj.name: one[obj] for obj in one} for one in states], actions)


def state_of(observation: Observation) -> State:
    """Return the state that an observation describes."""
    return State(
        {
            (ROBOT if name == "robot" else LAMP)(name): features
            for name, features in observation.items()
        }
    )


def goal_of(observation: Observation, state: State) -> AbstractState:
    """Return the goal of an episode."""
    return frozenset(ON(lamp) for lamp in state.of_type(LAMP)[:2])


def demonstrations() -> tuple[Demonstration, ...]:
    """Return the recorded episodes as demonstrations."""
    return demonstrations_from_episodes(
        recorded_episodes(),
        $class_name.vocabulary,
        state_of=state_of,
        goal_of=goal_of,
        segment=segment_by_step(lambda action, state: action),
    )


if __name__ == "__main__":
    vocabulary = $class_name.vocabulary
    write_demonstrations("demos.jsonl", vocabulary, demonstrations(), force=True)
'''

README = """\
# $domain

An environment for `needful`. Edit `$module.py`: first the types, predicates and controllers, then
`simulate`, `sample_task`, the demonstrations, and `draw` for pictures. Then check it; each problem is
reported with its location and a remedy:

$usage"""

USAGE = """\
    needful check-env $module.py:$class_name
    pytest

Learn from demonstrations and solve unseen tasks:

    needful run $module.py:$class_name --demos 50 --tasks 50
"""

USAGE_OF_FILE = """\
    python ${module}_recordings.py
    needful check-env $module.py:$class_name --demonstrations demos.jsonl
    pytest

Learn from the recorded demonstrations and solve unseen tasks:

    needful run $module.py:$class_name --demonstrations demos.jsonl --tasks 50
"""
