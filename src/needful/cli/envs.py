"""`needful envs`: the domains."""

from __future__ import annotations

from typing import Any

from needful.cli.console import reporting_errors, say, say_json
from needful.cli.options import AsJson
from needful.envs.catalogue import CATALOGUE, make_environment
from needful.envs.contract import Split


@reporting_errors
def envs(as_json: AsJson = False) -> None:
    """List the domains, with sizes and one line each."""
    rows = {name: _sizes(name) | {"description": entry.description} for name, entry in CATALOGUE.items()}
    if as_json:
        say_json(rows)
        return
    for name, row in rows.items():
        say(name)
        say(f"  {row['description']}")
        say(
            f"  {row['types']} types, {row['predicates']} predicates, {row['controllers']} controllers, "
            f"{row['objects']['train']} objects in training, {row['objects']['test']} in test tasks"
        )


def _sizes(name: str) -> dict[str, Any]:
    environment = make_environment(name)
    vocabulary = environment.vocabulary
    return {
        "types": len(vocabulary.types),
        "predicates": len(vocabulary.predicates),
        "controllers": len(vocabulary.controllers),
        "objects": {
            split.value: _range([len(task.objects) for task in environment.tasks(split, 12, seed=0)])
            for split in Split
        },
    }


def _range(counts: list[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"
