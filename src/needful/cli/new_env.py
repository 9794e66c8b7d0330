"""`needful new-env`: write a small working environment to start from.

ENVIRONMENT, TESTS and README are `string.Template` texts with the placeholders $module, $class_name and
$domain. Their lines are at most 88 characters long, so that the files pass ruff with its defaults.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from needful.cli import console
from needful.cli.options import AsJson, Force
from needful.storage.outputs import FileKind, FolderKind, staged_directory, write_text

ENVIRONMENT = '''\
"""The $domain domain: a robot on a line goes to lamps and switches them on.

This is a template. Replace the vocabulary (types, predicates, controllers), the effects
of the controllers (simulate), the tasks (sample_task), the operators and samplers that
solve them (oracle_model), and the pictures (draw).
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

# Types: the kinds of objects, each with the names of its features.
ROBOT = Type("robot", ("x",))
LAMP = Type("lamp", ("x", "on"))


# Predicates: functions of a state and objects that return True or False.
def _near(state: State, objects: Sequence[Object]) -> bool:
    robot, lamp = objects
    return abs(state.get(robot, "x") - state.get(lamp, "x")) < REACH


def _on(state: State, objects: Sequence[Object]) -> bool:
    (lamp,) = objects
    return state.get(lamp, "on") > 0.5


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

TESTS = '''\
"""Tests of the $domain domain."""

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


def test_environment_keeps_the_contract_and_oracle_solves_tasks() -> None:
    assert check_environment($class_name(), solve=solve) == ()


def test_lamp_is_switched_on_only_from_nearby() -> None:
    environment, robot, lamp = $class_name(), ROBOT("robot"), LAMP("lamp")
    start = State({robot: (0.0,), lamp: (3.0, 0.0)})
    assert environment.simulate(start, SWITCH_ON(robot, lamp)) == start
    near = environment.simulate(start, GO_TO(robot, lamp, parameters=(0.25,)))
    assert near.get(robot, "x") == 3.25
    assert ON.holds(environment.simulate(near, SWITCH_ON(robot, lamp)), (lamp,))


def test_learned_model_solves_unseen_tasks() -> None:
    result = run($class_name(), RunConfig(demos=10, tasks=5))
    assert result.summary["solved"] == 5
'''

README = """\
# $domain

An environment for `needful`. Edit `$module.py`: first the types, predicates and controllers, then
`simulate`, `sample_task` and `oracle_model`, and `draw` for pictures. Then check it; each problem is
reported with its location and a remedy:

    needful check-env $module.py:$class_name
    pytest

Learn from demonstrations and solve unseen tasks:

    from needful import RunConfig, run
    from $module import $class_name

    print(run($class_name(), RunConfig(demos=50, tasks=50)).summary)
"""


@console.reporting_errors
def new_env(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the module, for example cup_stacking.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write; default: NAME in the current folder.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a small working environment with tests, to start from."""
    reason = _invalid_name_reason(name)
    if reason is not None:
        raise typer.BadParameter(f"{reason} Try {_suggestion(name)!r}.", param_hint="NAME")
    class_name = _class_name(name)
    folder = out or Path(name)
    files = {f"{name}.py": ENVIRONMENT, f"test_{name}.py": TESTS, "README.md": README}
    values = {"module": name, "class_name": class_name, "domain": name.replace("_", "-")}
    texts = {file: Template(text).substitute(values) for file, text in files.items()}
    with staged_directory(folder, _unedited(texts), force) as staged:
        for file, text in texts.items():
            write_text(staged / file, text)
    reference = f"{folder / name}.py:{class_name}"
    if as_json:
        console.print_json({"files": [str(folder / file) for file in files], "environment": reference})
        return
    console.print_result(f"Wrote {folder}/ ({', '.join(files)}).")
    console.print_result(f"Edit {folder / name}.py, then check it with: needful check-env {reference}")


def _unedited(texts: Mapping[str, str]) -> FolderKind:
    """Return the kind of folders that `--force` may replace: those in which the user edited no file.

    `texts` maps the name of each generated file to its text. If a file has another text, the user has
    edited it, and the folder is not replaced.
    """
    marker_files = {
        file: FileKind(file, re.compile(re.escape(text.encode()) + rb"\Z")) for file, text in texts.items()
    }
    return FolderKind("an unedited environment", marker_files)


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _invalid_name_reason(name: str) -> str | None:
    """Return why the new module and its class cannot have this name, or None if they can."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return f"{name!r} is not a module name: use lower case letters, digits and underscores."
    if keyword.iskeyword(name):
        return f"{name!r} is a Python keyword."
    spec = importlib.util.find_spec(name)
    # `find_spec` also finds folders without `__init__.py`, which are not modules. Their `origin` is None.
    if spec is not None and spec.origin is not None:
        return f"A module {name!r} exists already, and yours would hide it."
    if re.search(rf"\b{_class_name(name)}\b", ENVIRONMENT + TESTS):
        return f"The class name {_class_name(name)!r} has another meaning in the written files."
    return None


def _suggestion(name: str) -> str:
    """Return a valid module name that resembles the invalid `name`."""
    words = re.findall("[A-Z]?[a-z0-9]+|[A-Z0-9]+", name)
    snake = "_".join(["env", *words] if not words or words[0][0].isdigit() else words).lower()
    return snake if _invalid_name_reason(snake) is None else f"{snake}_domain"
