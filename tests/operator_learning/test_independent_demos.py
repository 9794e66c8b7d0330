"""The learner on demonstrations that were recorded with other software."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.core.atoms import AbstractState
from needful.core.canonical import canonical_form
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.operator_learning.hill_climbing import steepest_descent
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.merge_types import keep_types
from needful.storage.demonstrations import DemonstrationSet, read_demonstrations

FOLDER = Path(__file__).parents[1] / "data" / "independent_demos"
COUNTS = {
    "cluttered-1d": 2,
    "screws": 4,
    "painting": 10,
    "cluttered-satellites": 7,
    "cluttered-painting": 13,
    "satellites": 7,
}


@functools.cache
def recorded(name: str) -> DemonstrationSet:
    return read_demonstrations(FOLDER / f"{name}.jsonl.gz")


@functools.cache
def learned_by(learner: str, name: str) -> LearnedOperators:
    return BILEVEL_APPROACHES[learner].learn_operators(recorded(name).demonstrations)


def canonical(operators) -> set[Operator]:
    """Return the operators without the names of their variables and their own names."""
    return {canonical_form(replace(operator, name=operator.controller.name))[0] for operator in operators}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("learner", ["necessary", "necessary-paper"])
def test_counts_and_full_coverage(learner, name):
    learned = learned_by(learner, name)
    assert len(learned.operators) == COUNTS[name]
    assert (learned.uncovered, learned.coverage, learned.not_reproduced) == (0, 1.0, ())
    assert learned.transitions == sum(map(len, recorded(name).demonstrations))


@pytest.mark.parametrize("name", COUNTS)
def test_only_satellites_has_more_operators_without_deletions(name):
    learned = learned_by("necessary-no-complexity", name)
    assert len(learned.operators) == (10 if name == "satellites" else COUNTS[name])


@pytest.mark.parametrize("name", COUNTS)
def test_steepest_descent_finds_as_many_operators(name):
    config = OperatorLearningConfig(schedule=steepest_descent)
    learned = learn_operators(recorded(name).demonstrations, config)
    assert (len(learned.operators), learned.uncovered) == (COUNTS[name], 0)


@pytest.mark.parametrize("name", COUNTS)
def test_types_without_ancestors_are_not_merged(name):
    narrow = learn_operators(recorded(name).demonstrations, OperatorLearningConfig(types=keep_types))
    assert learned_by("necessary", name) == narrow


class Writer:
    """Builds operators from strings, over the vocabulary of a file."""

    def __init__(self, name: str) -> None:
        vocabulary = recorded(name).vocabulary
        self.types = {kind.name: kind for kind in vocabulary.types}
        self.predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
        self.controllers = {controller.name: controller for controller in vocabulary.controllers}

    def operator(self, call: str, **parts: str) -> Operator:
        """Build an operator: `call` names the controller and its arguments, `parts` list atoms.

        Variables are named after their types: ?robot, ?dot. `free` names further parameters.
        """
        name, *arguments = call.split()
        atoms = {part: [text.split() for text in parts.get(part, "").split(",") if text] for part in parts}
        names = list(dict.fromkeys([*arguments, *parts.get("free", "").split()]))

        def lifted(part: str):
            found = atoms.get(part, [])
            return frozenset(self.predicates[p].lifted(*map(self.variable, args)) for p, *args in found)

        return Operator(
            name,
            tuple(map(self.variable, names)),
            lifted("needs"),
            lifted("adds"),
            lifted("deletes"),
            frozenset(
                DeletePattern(self.predicates[p], tuple(map(self.argument, args)))
                for p, *args in atoms.get("forgets", [])
            ),
            self.controllers[name],
            tuple(map(self.variable, arguments)),
        )

    def variable(self, name: str) -> Variable:
        return Variable(name, self.types[name.removeprefix("?")])

    def argument(self, text: str) -> Variable | Wildcard:
        return Wildcard(self.types[text[2:]]) if text.startswith("*:") else self.variable(text)


def test_operators_of_cluttered_1d():
    writer = Writer("cluttered-1d")
    move = writer.operator(
        "MoveGrasp ?robot ?dot",
        adds="NextTo ?robot ?dot",
        deletes="NextToNothing ?robot",
        forgets="NextTo ?robot *:dot",
    )
    grasp = writer.operator(
        "MoveGrasp ?robot ?dot",
        needs="NextTo ?robot ?dot",
        adds="Grasped ?robot ?dot",
        deletes="NextTo ?robot ?dot",
    )
    assert canonical(learned_by("necessary", "cluttered-1d").operators) == canonical([move, grasp])


def test_operators_of_screws():
    writer = Writer("screws")
    expected = [
        writer.operator("MoveToScrew ?gripper ?screw", adds="GripperCanPickScrew ?gripper ?screw"),
        writer.operator(
            "MagnetizeGripper ?gripper",
            free="?screw",
            needs="GripperCanPickScrew ?gripper ?screw",
            adds="HoldingScrew ?gripper ?screw",
        ),
        writer.operator(
            "MoveToReceptacle ?gripper ?receptacle ?screw",
            needs="GripperCanPickScrew ?gripper ?screw, HoldingScrew ?gripper ?screw",
            adds="AboveReceptacle ?gripper ?receptacle",
        ),
        writer.operator(
            "DemagnetizeGripper ?gripper",
            free="?screw ?receptacle",
            needs=(
                "AboveReceptacle ?gripper ?receptacle, GripperCanPickScrew ?gripper ?screw,"
                "HoldingScrew ?gripper ?screw"
            ),
            adds="ScrewInReceptacle ?screw ?receptacle",
            deletes="HoldingScrew ?gripper ?screw",
            forgets="HoldingScrew ?gripper *:screw",
        ),
    ]
    assert canonical(learned_by("necessary", "screws").operators) == canonical(expected)


def test_the_paper_deletes_whole_predicates():
    forgotten = {
        str(pattern)
        for operator in learned_by("necessary-paper", "cluttered-1d").operators
        for pattern in operator.delete_patterns
    }
    assert forgotten == {"NextTo(*:robot, *:dot)"}


def renamed(demonstration: Demonstration, rng: random.Random) -> Demonstration:
    """Return the demonstration with its objects' names drawn anew, so that they sort differently."""
    names = [f"thing{number:03d}" for number in range(len(demonstration.objects))]
    rng.shuffle(names)
    new = {old: Object(name, old.type) for old, name in zip(demonstration.objects, names, strict=True)}

    def atoms(state: AbstractState) -> AbstractState:
        return frozenset(atom.predicate(*(new[obj] for obj in atom.objects)) for atom in state)

    return Demonstration(
        tuple(new.values()),
        atoms(demonstration.goal),
        tuple(map(atoms, demonstration.abstract_states)),
        tuple(
            replace(action, objects=tuple(new[o] for o in action.objects))
            for action in demonstration.actions
        ),
    )


@pytest.mark.parametrize("name", ["cluttered-1d", "screws"])
@pytest.mark.parametrize("seed", [1, 2])
def test_names_of_objects_and_order_of_demonstrations_do_not_matter(name, seed):
    rng = random.Random(seed)
    demonstrations = [renamed(demonstration, rng) for demonstration in recorded(name).demonstrations]
    rng.shuffle(demonstrations)
    expected = canonical(learned_by("necessary", name).operators)
    assert canonical(learn_operators(demonstrations).operators) == expected


@pytest.mark.parametrize("seed", [1, 2])
def test_order_of_demonstrations_does_not_change_the_count_of_painting(seed):
    demonstrations = list(recorded("painting").demonstrations)
    random.Random(seed).shuffle(demonstrations)
    learned = learn_operators(demonstrations)
    assert (len(learned.operators), learned.uncovered) == (COUNTS["painting"], 0)


def test_same_bytes_in_every_process():
    names = ("cluttered-1d", "screws", "satellites", "painting")
    code = (
        "import sys; from pathlib import Path\n"
        "from needful.operator_learning.learn_operators import learn_operators\n"
        "from needful.storage.demonstrations import read_demonstrations\n"
        "for path in sys.argv[1:]:\n"
        "    learned = learn_operators(read_demonstrations(Path(path)).demonstrations)\n"
        "    steps = [(step.move, step.objective, step.added, step.removed) for step in learned.steps]\n"
        "    print(*learned.operators, *steps, sep='\\n')\n"
    )
    paths = [str(FOLDER / f"{name}.jsonl.gz") for name in names]
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, *paths],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    (output,) = printed
    assert output.count(b"\n  controller: ") == sum(COUNTS[name] for name in names)
