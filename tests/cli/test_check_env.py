"""`needful check-env` reports problems of an environment, and never prints a traceback."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from command_line import CommandResult, finish, needful, start

# The start of each module under test; its class derives from Cluttered 1D.
HEADER = """
import sys
from dataclasses import replace

import numpy as np

from needful import ConstantSampler, Environment, Predicate, State, Task
from needful.envs.cluttered_1d import DOT, GRASPED, ROBOT, Cluttered1D

GOOD = Cluttered1D()


def with_predicate(classifier):
    odd = Predicate("Odd", (ROBOT, DOT), classifier)
    return replace(GOOD.vocabulary, predicates=(*GOOD.vocabulary.predicates, odd))

"""

GOOD = """
class Mine(Cluttered1D):
    pass
"""

# The body of a module, the location of its finding, and a part of the problem.
BROKEN = {
    "a predicate that raises": (
        """
def odd(state, objects):
    return {}["lost"]

class Mine(Cluttered1D):
    vocabulary = with_predicate(odd)
""",
        "predicate Odd",
        "Odd(robby, dot0) raised KeyError: 'lost' (mine.py, line ",
    ),
    "a predicate that does not return a boolean": (
        """
class Mine(Cluttered1D):
    vocabulary = with_predicate(lambda state, objects: np.float64(state.get(objects[0], "x")))
""",
        "predicate Odd",
        "returned np.float64(",
    ),
    "a predicate with a memory": (
        """
calls = []

def odd(state, objects):
    calls.append(objects)
    return len(calls) % 3 == 0

class Mine(Cluttered1D):
    vocabulary = with_predicate(odd)
""",
        "predicate Odd",
        "the result differs from the first call",
    ),
    "a predicate that changes the state": (
        """
def odd(state, objects):
    state._vectors[objects[0]] = (0.0,)
    return True

class Mine(Cluttered1D):
    vocabulary = with_predicate(odd)
""",
        "predicate Odd",
        "modified the state passed in",
    ),
    "a random simulator": (
        """
rng = np.random.default_rng(0)

class Mine(Cluttered1D):
    def simulate(self, state, action):
        return state.replace({action.objects[0]: {"x": rng.uniform()}})
""",
        "simulate",
        "a second call gave a different result",
    ),
    "a goal of unknown objects": (
        """
class Mine(Cluttered1D):
    def sample_task(self, split, index, rng):
        task = super().sample_task(split, index, rng)
        return Task(task.initial_state, frozenset({GRASPED(ROBOT("robby"), DOT("dot99"))}))
""",
        "sample_task",
        "raised UnknownNameError: Unknown object in the goal atom Grasped(robby, dot99) 'dot99'.",
    ),
    "a sampler that leaves the bounds": (
        """
class Mine(Cluttered1D):
    def oracle_model(self):
        model = super().oracle_model()
        return replace(model, samplers={**model.samplers, "Move": ConstantSampler((-7.0, 0.0))})
""",
        "oracle operator Move",
        "outside the bounds (-1.0, -1.0) to (1.0, 1.0)",
    ),
    "an oracle that misses the goal": (
        """
class Mine(Cluttered1D):
    def oracle_model(self):
        model = super().oracle_model()
        return replace(model, samplers={**model.samplers, "Grasp": ConstantSampler((-1.0, 0.0))})
""",
        "oracle_model",
        "planning ended with ",
    ),
    "a constructor that raises": (
        """
class Mine(Cluttered1D):
    def __init__(self):
        raise RuntimeError("no licence")
""",
        "Mine",
        "making one raised RuntimeError: no licence (mine.py, line ",
    ),
    "a constructor with a required argument": (
        """
class Mine(Cluttered1D):
    def __init__(self, size):
        pass
""",
        "Mine",
        "missing 1 required positional argument: 'size'",
    ),
    "an abstract class": (
        """
class Mine(Environment):
    pass
""",
        "Mine",
        "abstract",
    ),
    "a module that raises": (
        "1 / 0\n",
        "mine.py",
        "importing it raised ZeroDivisionError: division by zero",
    ),
    "a module with a syntax error": ("class Mine(:\n", "mine.py", "importing it raised SyntaxError"),
    "a module with a missing import": ("import nowhere_to_be_found\n", "mine.py", "nowhere_to_be_found"),
    "a module that ends the program": ("sys.exit(0)\n", "mine.py", "importing it raised SystemExit: 0"),
    "a simulator that ends the program": (
        """
class Mine(Cluttered1D):
    def simulate(self, state, action):
        sys.exit("enough")
""",
        "simulate",
        "raised SystemExit: enough",
    ),
    "an error that does not derive from Exception": (
        """
class Doom(BaseException):
    pass

class Mine(Cluttered1D):
    def draw(self, state, axes, goal):
        raise Doom("now")
""",
        "draw",
        "raised Doom: now",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(folder: Path, body: str, *options: object) -> CommandResult:
    """Check the class `Mine` of a module; sys.path must stay unchanged and no traceback may appear."""
    (folder / "mine.py").write_text(HEADER + body)
    before = list(sys.path)
    result = needful("check-env", "mine.py:Mine", "--tasks", 1, *options)
    assert sys.path == before
    assert "Traceback" not in result.out + result.err
    return result


def test_valid_environment_has_no_findings(folder: Path) -> None:
    result = check(folder, GOOD)
    assert (result.code, result.err) == (0, "")
    assert "mine.py:Mine" in result.out
    assert "no findings" in result.out
    assert "Checked 1 task per split in " in result.out


@pytest.mark.parametrize("case", BROKEN)
def test_finding_names_the_problem_and_its_location(folder: Path, case: str) -> None:
    body, location, problem = BROKEN[case]
    result = check(folder, body)
    assert result.code == 1
    findings = result.out.split("\n\n")[1:]
    (finding,) = [one for one in findings if one.splitlines()[0].endswith(f". {location}")]
    number_and_location, described, remedy = finding.splitlines()
    assert number_and_location.split(".")[0].isdecimal()
    assert described.startswith("   problem: ")
    assert problem in described
    assert remedy.startswith("   remedy:  ")
    assert len(remedy) > len("   remedy:  ")


def test_findings_as_json(folder: Path) -> None:
    good = check(folder, GOOD, "--json")
    assert (good.code, good.json) == (0, {"environment": "mine.py:Mine", "findings": []})
    broken = check(folder, BROKEN["a constructor that raises"][0], "--json")
    (finding,) = broken.json["findings"]
    assert (broken.code, set(finding)) == (1, {"what", "where", "remedy"})


def test_output_of_the_environment_goes_to_stderr(folder: Path) -> None:
    body = """
print("imported")

class Mine(Cluttered1D):
    def __init__(self):
        print("constructed")
"""
    result = check(folder, body, "--json")
    assert json.loads(result.out)["findings"] == []
    assert result.err == "imported\nconstructed\n"


def test_environment_can_import_neighbouring_modules(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "beside_the_file.py").write_text("NAME = 'mine'\n")
    (folder / "in_the_current_folder.py").write_text("DESCRIPTION = 'Mine.'\n")
    (folder / "inner" / "mine.py").write_text(
        HEADER
        + "import beside_the_file, in_the_current_folder\n"
        + "class Mine(Cluttered1D):\n    name, description = (\n"
        + "        beside_the_file.NAME, in_the_current_folder.DESCRIPTION\n    )\n"
    )
    assert needful("check-env", "inner/mine.py:Mine").code == 0


def test_local_and_installed_modules_are_found(folder: Path) -> None:
    (folder / "package_of_mine" / "deep").mkdir(parents=True)
    (folder / "package_of_mine" / "__init__.py").touch()
    (folder / "package_of_mine" / "deep" / "mine.py").write_text(HEADER + GOOD)
    for module in ("package_of_mine.deep.mine:Mine", "needful.envs.cluttered_1d:Cluttered1D"):
        assert needful("check-env", module, "--tasks", 1).code == 0


def test_missing_import_is_a_finding_about_the_module(folder: Path) -> None:
    (folder / "misses_another.py").write_text("import nowhere_to_be_found\n")
    result = needful("check-env", "misses_another:Mine")
    assert result.code == 1
    assert "No module named 'nowhere_to_be_found' (misses_another.py, line 1)" in result.out


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("mime:Mine", "Unknown module 'mime'. Did you mean 'mine'? Known: mine."),
        ("mime.py:Mine", "Unknown file 'mime.py'. Did you mean 'mine.py'? Known: mine.py."),
        ("nowhere/mine.py:Mine", "Unknown file 'nowhere/mine.py'. Known: none."),
        ("mine.py:Mime", "Unknown environment class 'Mime'. Did you mean 'Mine'?"),
        ("mine.py:State", "Unknown environment class 'State'."),
        ("mine.py:State", "in mine.py must derive from Environment"),
        ("mine.py:Environment", "Known: Cluttered1D, Mine."),
        (
            "needful.envs.screw:Screws",
            "Unknown module 'needful.envs.screw'. Did you mean 'needful.envs.screws'?",
        ),
        ("needful.errors.deeper:Mine", "Unknown module 'needful.errors.deeper'. Known: none."),
        ("things:Mine", "Unknown module 'things'. Did you mean 'things.mine'? Known: things.mine."),
        ("nowhere_else:Mine", "path/file.py:Class"),
        ("nowhere_else:Mine", "current folder"),
        ("sys:Mine", "Unknown module 'sys'."),
        ("mine", "expected MODULE:CLASS, for example my_env:MyEnv"),
        (":Mine", "expected MODULE:CLASS"),
        ("mine:", "expected MODULE:CLASS"),
        ("inner/mine:Mine", "'inner/mine' is not a module name."),
        ("inner/mine:Mine", "must end in .py"),
    ],
)
def test_unknown_module_file_or_class_is_wrong_usage(folder: Path, reference: str, expected: str) -> None:
    (folder / "mine.py").write_text(HEADER + GOOD)
    (folder / "things").mkdir()
    (folder / "things" / "mine.py").write_text(HEADER + GOOD)
    result = needful("check-env", reference)
    assert (result.code, result.out) == (2, "")
    assert expected in result.error_text


def test_command_searches_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEADER + GOOD)
    result = finish(start("check-env", "mine:Mine", "--tasks", "1", folder=tmp_path))
    assert (result.code, result.err) == (0, "")
    assert "no findings" in result.out
