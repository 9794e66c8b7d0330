"""Learn operators from a file of demonstrations, without a simulator and without code for predicates.

This example writes the file itself; usually it comes from a robot (docs/demonstrations.md).

    python examples/02_learn_operators_from_a_file.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import needful


def record(file: Path) -> None:
    """Write demonstrations to a file, as a robot would."""
    env = needful.make_environment("screws")
    oracle = needful.OracleDemonstrator(env)
    collected = needful.collect_demonstrations(env, oracle, count=10, seed=0)
    needful.write_demonstrations(file, env.vocabulary, collected.demonstrations)


def main() -> None:
    """Compare operators that predict necessary changes with operators that predict every change."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "demos.jsonl.gz"
        record(file)
        recorded = needful.read_demonstrations(file)
    changes = [t.added | t.deleted for demo in recorded.demonstrations for t in demo.transitions()]
    print(f"{len(changes)} transitions; up to {max(map(len, changes))} atoms change in one of them")

    learned = needful.learn_operators(recorded.demonstrations)
    print(*learned.operators, sep="\n\n")
    every_change = needful.find_approach("ci").learn(recorded.vocabulary, recorded.demonstrations)
    print(f"\nnecessary: {len(learned.operators)} operators, coverage {learned.coverage:.0%}")
    print(f"ci, which predicts every change: {every_change.summary()['operators']} operators")


if __name__ == "__main__":
    main()
