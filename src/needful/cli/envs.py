"""`needful envs`: list the domains."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from needful.cli import console
from needful.cli.options import AsJson
from needful.envs.catalogue import CATALOGUE, CatalogueEntry, Sizes, make_environment
from needful.envs.contract import Split
from needful.errors import install_command

SAMPLED_TASKS = 12


@console.reporting_errors
def envs(as_json: AsJson = False) -> None:
    """List the domains with their sizes."""
    rows = {name: _row(name, entry) for name, entry in CATALOGUE.items()}
    if as_json:
        console.print_json(rows)
        return
    for name, row in rows.items():
        console.print_result(name)
        console.print_result(f"  {row['description']}")
        console.print_result(
            f"  types: {row['types']}, predicates: {row['predicates']}, controllers: {row['controllers']}, "
            f"objects: {row['objects']['train']} in training tasks, {row['objects']['test']} in test tasks"
        )
        if not CATALOGUE[name].installed:
            console.print_result(f"  to install, run in the checkout: {install_command(row['extra'])}")


def _row(name: str, entry: CatalogueEntry) -> dict[str, Any]:
    row = asdict(entry.sizes or _sizes(name)) | {"description": entry.description}
    return row if entry.extra is None else row | {"extra": entry.extra}


def _sizes(name: str) -> Sizes:
    environment = make_environment(name)
    vocabulary = environment.vocabulary
    objects = {
        split.value: _range([len(task.objects) for task in environment.tasks(split, SAMPLED_TASKS, seed=0)])
        for split in Split
    }
    return Sizes(len(vocabulary.types), len(vocabulary.predicates), len(vocabulary.controllers), objects)


def _range(counts: list[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"
