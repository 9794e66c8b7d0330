"""Unpickled values are found in sets and maps, although another process hashes strings differently."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.objects import Type, Variable
from needful.core.operators import Operator
from needful.core.state import State

ROBOT = Type("robot", ("x",))
TIRED = Predicate("Tired", (ROBOT,))
REST = Controller("Rest", (ROBOT,))
R = Variable("?r", ROBOT)
RESTING = Operator(
    "Rest", (R,), frozenset({TIRED.lifted(R)}), frozenset(), frozenset(), frozenset(), REST, (R,)
)
ROBBY = ROBOT("robby")

PROGRAM = """
import pickle, sys
state, atoms, operators = pickle.load(open(sys.argv[1], "rb"))
(robby,) = [type(obj)(obj.name, obj.type) for obj in state]
assert state[robby] == (1.0,)
(atom,), (operator,) = atoms, operators
assert type(atom)(atom.predicate, (robby,)) in atoms
(need,) = operator.preconditions
assert type(need)(need.predicate, operator.parameters) in operator.preconditions
assert operator.ground([robby]).operator in operators
"""


def test_values_survive_a_change_of_the_hash_seed(tmp_path: Path) -> None:
    values = (State({ROBBY: (1.0,)}), frozenset({TIRED(ROBBY)}), frozenset({RESTING}))
    assert pickle.loads(pickle.dumps(values)) == values
    file = tmp_path / "values"
    file.write_bytes(pickle.dumps(values))
    for seed in ("1", "2"):
        command = [sys.executable, "-c", PROGRAM, str(file)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
