"""Files of demonstrations: round trips, and errors that name the line and the field."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from json_damage import container_of, positions
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import DemonstrationError, OutputError
from needful.storage.demonstrations import DemonstrationSet, read_demonstrations, write_demonstrations

RECORDED = sorted((Path(__file__).parents[1] / "data" / "independent_demos").glob("*.jsonl.gz"))

HEADER: dict[str, Any] = {
    "format": "needful-demos",
    "version": 1,
    "types": [
        {"name": "cup", "parent": "thing", "features": ["x", "full"]},
        {"name": "thing", "parent": None, "features": ["x"]},
        {"name": "robot", "parent": None, "features": []},
    ],
    "predicates": [
        {"name": "Near", "types": ["robot", "thing"]},
        {"name": "Full", "types": ["cup"]},
        {"name": "Done", "types": []},
    ],
    "controllers": [
        {"name": "GoTo", "types": ["robot", "thing"], "low": [-1, -1], "high": [1, 1]},
        {"name": "Fill", "types": ["cup"], "low": [], "high": []},
    ],
}
DEMO: dict[str, Any] = {
    "objects": {"robby": "robot", "mug": "cup", "box": "thing"},
    "goal": [["Full", "mug"], ["Done"]],
    "atoms": [[], [["Near", "robby", "mug"]], [["Near", "robby", "mug"], ["Full", "mug"], ["Done"]]],
    "actions": [
        {"controller": "GoTo", "objects": ["robby", "mug"], "params": [0.1, -1]},
        {"controller": "Fill", "objects": ["mug"], "params": []},
    ],
    "states": [
        {"robby": [], "mug": [3, 0], "box": [1.5]},
        {"robby": [], "mug": [3, 0], "box": [1.5]},
        {"robby": [], "mug": [3, 1], "box": [1.5]},
    ],
}


def document(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def read_bytes(folder: Path, data: bytes) -> DemonstrationSet:
    path = folder / "demos.jsonl"
    path.write_bytes(data)
    return read_demonstrations(path)


def expected_demonstration() -> tuple[Vocabulary, Demonstration]:
    thing = Type("thing", ("x",))
    cup, robot = Type("cup", ("x", "full"), thing), Type("robot")
    near, full, done = Predicate("Near", (robot, thing)), Predicate("Full", (cup,)), Predicate("Done", ())
    go_to = Controller("GoTo", (robot, thing), (-1.0, -1.0), (1.0, 1.0))
    fill = Controller("Fill", (cup,))
    robby, mug, box = robot("robby"), cup("mug"), thing("box")
    before = State({robby: (), mug: (3.0, 0.0), box: (1.5,)})
    demo = Demonstration(
        objects=(box, mug, robby),
        goal=frozenset({full(mug), done()}),
        abstract_states=(
            frozenset(),
            frozenset({near(robby, mug)}),
            frozenset({near(robby, mug), full(mug), done()}),
        ),
        actions=(go_to(robby, mug, parameters=(0.1, -1.0)), fill(mug)),
        states=(before, before, before.replace({mug: {"full": 1.0}})),
    )
    return Vocabulary((cup, thing, robot), (near, full, done), (go_to, fill)), demo


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, document(HEADER, DEMO, DEMO))
    vocabulary, demo = expected_demonstration()
    assert found == DemonstrationSet(vocabulary, (demo, demo))
    assert all(predicate.classifier is None for predicate in found.vocabulary.predicates)


def test_states_are_optional_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    without = {name: value for name, value in DEMO.items() if name != "states"}
    data = document(HEADER) + b"\r\n\n" + document(without) + b"\n"
    (demo,) = read_bytes(tmp_path, data).demonstrations
    assert demo.states is None
    assert len(demo) == 2


def test_atoms_of_a_demonstration_are_built_once(tmp_path: Path) -> None:
    (demo,) = read_bytes(tmp_path, document(HEADER, DEMO)).demonstrations
    instances = {id(atom) for state in demo.abstract_states for atom in state} | {id(a) for a in demo.goal}
    assert len(instances) == 3


def test_other_line_breaks_of_unicode_do_not_end_a_line(tmp_path: Path) -> None:
    demo = json.loads(json.dumps(DEMO).replace("robby", "rob\u2028by"))
    lines = json.dumps(HEADER) + "\n" + json.dumps(demo, ensure_ascii=False)
    assert "rob\u2028by" in {o.name for o in read_bytes(tmp_path, lines.encode()).demonstrations[0].objects}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_demonstrations_survive_the_round_trip(path: Path, tmp_path: Path) -> None:
    recorded = read_demonstrations(path)
    assert len(recorded.demonstrations) == 50
    for name in ("plain.jsonl", "packed.jsonl.gz", "again.jsonl.gz"):
        write_demonstrations(tmp_path / name, recorded.vocabulary, recorded.demonstrations)
        assert read_demonstrations(tmp_path / name) == recorded
    packed = (tmp_path / "packed.jsonl.gz").read_bytes()
    assert packed == (tmp_path / "again.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "plain.jsonl").read_bytes()


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from needful.storage.demonstrations import read_demonstrations, write_demonstrations\n"
        "found = read_demonstrations(Path(sys.argv[1]))\n"
        "write_demonstrations(Path(sys.argv[2]), found.vocabulary, found.demonstrations)\n"
    )
    digests = set()
    for seed in ("0", "1", "2"):
        out = tmp_path / f"{seed}.jsonl.gz"
        command = [sys.executable, "-c", program, str(RECORDED[0]), str(out)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
    assert len(digests) == 1


def change(*path: str | int, to: Any) -> Callable[[list[Any]], None]:
    """Return a function that changes one value in [header, demonstration]; `to=KeyError` removes it."""

    def apply(lines: list[Any]) -> None:
        container = container_of(lines, list(path))
        if to is KeyError:
            del container[path[-1]]
        else:
            container[path[-1]] = to

    return apply


MALFORMED = [
    (change(0, "format", to="needful-model"), r'line 1: the field "format" is not "needful-demos"'),
    (change(0, "format", to=KeyError), r'line 1: the field "format" is not'),
    (change(0, "version", to=2), r"line 1, version: version 2 .* reads version 1"),
    (change(0, "version", to=KeyError), r"line 1: the field 'version' is missing"),
    (change(0, "version", to="1"), r"line 1, version: expected a whole number"),
    (change(0, "verison", to=1), r"line 1: unknown field 'verison'. Did you mean 'version'"),
    (change(0, "types", to=KeyError), r"line 1: the field 'types' is missing"),
    (change(0, "types", 0, "parent", to="thnig"), r"types\[0\].parent: Unknown type.*mean 'thing'"),
    (change(0, "types", 1, "parent", to="cup"), r"types\[\d\].parent: .* is its own ancestor"),
    (change(0, "types", 1, "parent", to="thing"), r"types\[1\].parent: .* is its own ancestor"),
    (change(0, "types", 2, "name", to="cup"), r"types\[2\].name: the type 'cup' is declared twice"),
    (change(0, "types", 0, "features", to=["full"]), r"types\[0\].features: .* lacks the features"),
    (change(0, "types", 0, "features", to=["x", "x"]), r"types\[0\].features: .* a feature twice"),
    (change(0, "types", 0, "colour", to=1), r"types\[0\]: unknown field 'colour'"),
    (change(0, "predicates", 1, "name", to="Near"), r"predicates\[1\].name: .* declared twice"),
    (change(0, "predicates", 0, "types", 1, to="mug"), r"predicates\[0\].types\[1\]: Unknown type 'mug'"),
    (change(0, "controllers", 1, "name", to="GoTo"), r"controllers\[1\].name: .* declared twice"),
    (change(0, "controllers", 0, "low", to=[-1]), r"controllers\[0\]: .* 1 lower and 2 upper bounds"),
    (change(0, "controllers", 0, "low", 0, to=2), r"controllers\[0\]: .* invalid bounds"),
    (change(1, to=[]), r"line 2: expected an object"),
    (change(1, "goal", to=KeyError), r"line 2: the field 'goal' is missing"),
    (change(1, "goal", to=[]), r"line 2, goal: the goal is empty"),
    (change(1, "goal", to={}), r"line 2, goal: expected an array"),
    (
        change(1, "goal", 0, to=["Near", "robby", "box"]),
        r"goal: Near\(robby, box\) does not hold in the last",
    ),
    (change(1, "objects", "mug", to="cupp"), r"objects.mug: Unknown type 'cupp'. Did you mean 'cup'"),
    (change(1, "objects", "", to="cup"), r"objects: a name must not be empty"),
    (change(1, "atoms", 1, 0, to=["near", "robby", "mug"]), r"atoms\[1\]\[0\]\[0\]: .* mean 'Near'"),
    (change(1, "atoms", 1, 0, to=["Near", "roby", "mug"]), r"atoms\[1\]\[0\]\[1\]: .* mean 'robby'"),
    (change(1, "atoms", 1, 0, to=["Near", "robby"]), r"atoms\[1\]\[0\]: .* takes 2 arguments, got 1"),
    (change(1, "atoms", 1, 0, to=["Near", "mug", "robby"]), r"atoms\[1\]\[0\]: .* does not take mug:cup"),
    (change(1, "atoms", 1, 0, to=["Near", ["robby"], "mug"]), r"atoms\[1\]\[0\]\[1\]: expected a string"),
    (change(1, "atoms", 1, 0, to="Done"), r"atoms\[1\]\[0\]: expected an array"),
    (change(1, "atoms", 1, 0, to=[]), r"atoms\[1\]\[0\]: an atom needs a predicate"),
    (change(1, "atoms", 0, to=KeyError), r"atoms: 2 actions need 3 entries, got 2"),
    (change(1, "states", 0, to=KeyError), r"states: 2 actions need 3 entries, got 2"),
    (change(1, "states", to=None), r"states: expected an array, got null"),
    (change(1, "states", 1, "box", to=KeyError), r"states\[1\]: the object 'box' is missing"),
    (change(1, "states", 1, "bux", to=[1]), r"states\[1\]: Unknown object 'bux'. Did you mean 'box'"),
    (change(1, "states", 1, "box", to=[1, 2]), r"states\[1\]: Object 'box' .* needs 1 values"),
    (change(1, "states", 1, "box", 0, to="1"), r"states\[1\].box\[0\]: expected a number"),
    (change(1, "states", 1, "box", 0, to=10**400), r"states\[1\].box\[0\]: the number is too large"),
    (change(1, "states", 1, "box", 0, to=float("nan")), r"line 2: NaN is not a JSON number"),
    (change(1, "actions", 0, "controller", to="Goto"), r"actions\[0\].controller: .* mean 'GoTo'"),
    (change(1, "actions", 0, "objects", 1, to="mag"), r"actions\[0\].objects\[1\]: .* mean 'mug'"),
    (change(1, "actions", 0, "objects", to=["robby"]), r"actions\[0\]: .* takes 2 objects, got 1"),
    (change(1, "actions", 1, "objects", to=["box"]), r"actions\[1\]: .* asks for a cup, got box:thing"),
    (change(1, "actions", 0, "params", to=[0]), r"actions\[0\]: .* takes 2 parameters, got 1"),
    (change(1, "actions", 0, "params", 1, to=True), r"actions\[0\].params\[1\]: expected a number"),
    (
        change(1, "actions", 0, "params", 1, to=-1.1),
        r"actions\[0\].params\[1\]: -1.1 is outside of \[-1.0, 1.0\]",
    ),
]


@pytest.mark.parametrize(("damage", "message"), MALFORMED)
def test_malformed_files_are_rejected(
    damage: Callable[[list[Any]], None], message: str, tmp_path: Path
) -> None:
    lines = [copy.deepcopy(HEADER), copy.deepcopy(DEMO)]
    damage(lines)
    with pytest.raises(DemonstrationError, match=message) as caught:
        read_bytes(tmp_path, document(*lines))
    assert str(caught.value).startswith(str(tmp_path / "demos.jsonl"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (document(HEADER), "only a header"),
        (document(HEADER) + b"{", "line 2: not JSON"),
        (document(HEADER, DEMO)[:-20], "line 2: not JSON"),
        (document(HEADER) + b"\xff\n", "line 2: byte 0 is not UTF-8"),
        (document(HEADER) + b"[" * 100_000, "line 2: the JSON is nested too deeply"),
        (
            document(HEADER, DEMO).replace(b'"box": "thing"', b'"mug": "thing"'),
            "line 2: the key 'mug' .* twice",
        ),
        (
            document(HEADER, DEMO).replace(b"1.5", b"1e400"),
            r"states\[0\].box\[0\]: the number is too large",
        ),
        (gzip.compress(document(HEADER, DEMO), mtime=0)[:-30], "gzip data is broken or cut off"),
        (gzip.compress(document(HEADER, DEMO), mtime=0)[:40] + b"x" * 40, "gzip data is broken or cut off"),
        (b"\x1f\x8b", "gzip data is broken or cut off"),
    ],
)
def test_damaged_files_are_rejected(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DemonstrationError, match=message):
        read_bytes(tmp_path, data)


def test_unreadable_paths_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(DemonstrationError, match=r"absent.jsonl: cannot be read: No such file"):
        read_demonstrations(tmp_path / "absent.jsonl")
    with pytest.raises(DemonstrationError, match="cannot be read: Is a directory"):
        read_demonstrations(tmp_path)
    with pytest.raises(DemonstrationError, match="cannot be read"):
        read_demonstrations(tmp_path / "null\0byte")


@pytest.mark.parametrize(("value", "inside"), [(1 + 9e-7, True), (1 + 2e-6, False), (-1 - 9e-7, True)])
def test_rounding_at_the_bounds_is_tolerated(value: float, inside: bool, tmp_path: Path) -> None:
    lines = [HEADER, copy.deepcopy(DEMO)]
    lines[1]["actions"][0]["params"][0] = value
    if inside:
        (demo,) = read_bytes(tmp_path, document(*lines)).demonstrations
        assert demo.actions[0].parameters[0] == value
    else:
        with pytest.raises(DemonstrationError, match="is outside of"):
            read_bytes(tmp_path, document(*lines))


odd_values = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        10**400,
        "",
        "mug",
        "cup",
        "Near",
        "GoTo",
        [],
        [[]],
        ["mug"],
        {},
        {"mug": "cup"},
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_raises_no_other_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = [copy.deepcopy(HEADER), copy.deepcopy(DEMO)]
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        container, key = data.draw(st.sampled_from(positions(lines)), label="position")
        if data.draw(st.booleans(), label="remove") and container is not lines:
            del container[key]
        else:
            container[key] = copy.deepcopy(data.draw(odd_values, label="value"))
    text = bytearray(document(*lines))
    if data.draw(st.booleans(), label="flip"):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("fuzz")
    found, message = None, ""
    try:
        found = read_bytes(folder, bytes(text))
    except DemonstrationError as error:
        message = str(error)
    if found is None:
        assert message.startswith(str(folder / "demos.jsonl"))
    else:
        write_demonstrations(folder / "again.jsonl", found.vocabulary, found.demonstrations)
        assert read_demonstrations(folder / "again.jsonl") == found


def test_existing_files_are_only_replaced_with_force(tmp_path: Path) -> None:
    vocabulary, demo = expected_demonstration()
    path = tmp_path / "demos.jsonl"
    path.write_text("mine")
    for force, reason in ((False, "--force"), (True, "is not a file of demonstrations")):
        with pytest.raises(OutputError, match=reason):
            write_demonstrations(path, vocabulary, [demo], force)
    assert path.read_text() == "mine"
    write_demonstrations(tmp_path / "old.gz", vocabulary, [demo, demo])
    (tmp_path / "old.gz").replace(path)
    write_demonstrations(path, vocabulary, [demo], force=True)
    assert read_demonstrations(path).demonstrations == (demo,)


def test_invalid_demonstrations_are_not_written(tmp_path: Path) -> None:
    vocabulary, demo = expected_demonstration()
    poor = Vocabulary(vocabulary.types, vocabulary.predicates[:1], vocabulary.controllers)
    path = tmp_path / "demos.jsonl"
    with pytest.raises(DemonstrationError, match=r"line 2, goal.*Unknown predicate"):
        write_demonstrations(path, poor, [demo])
    with pytest.raises(DemonstrationError, match="only a header"):
        write_demonstrations(path, vocabulary, [])
    assert not path.exists()
