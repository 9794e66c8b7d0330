"""Generate one page per domain: film, sizes, vocabulary, learned operators and success on unseen tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from needful.cli.envs import domain_sizes
from needful.core.model import Vocabulary
from needful.envs.catalogue import CATALOGUE, make_environment
from needful.paper.published import DOMAINS, domain_title, protocol_of
from needful.reports.paper_tables import fill_table
from needful.reports.runs import group_runs
from needful.reports.table import Table
from needful.sweeps.jobs import read_results

DOCS = Path(__file__).parent
OPERATORS = DOCS / "domain_operators"


def domain_pages() -> dict[str, str]:
    """Return the text of each page by its path below docs/, and a page that lists the domains."""
    groups = group_runs(read_results(DOCS.parent / "results").results)
    tables = {name: fill_table(name, groups) for name in ("main", "operators", "times")}
    pages = {f"domains/{name}.md": "\n\n".join(_page(name, tables)) + "\n" for name in DOMAINS}
    return pages | {"domains/index.md": "\n\n".join(_index()) + "\n"}


def _index() -> Iterator[str]:
    yield "# Domains"
    yield "The ten domains of the paper. `needful envs` lists them, `needful run DOMAIN` runs one."
    for name in DOMAINS:
        film = f"[![{domain_title(name)}: a plan of a learned model](../images/{name}.webp)]({name}.md)"
        yield f"## [{domain_title(name)}]({name}.md)\n\n{CATALOGUE[name].description}\n\n{film}"


def _page(name: str, tables: dict[str, Table]) -> Iterator[str]:
    entry, protocol = CATALOGUE[name], protocol_of(name)
    assert protocol is not None
    yield f"# {domain_title(name)}"
    yield entry.description
    yield f"![A learned model solves a task of {domain_title(name)}](../images/{name}.webp)"
    options = f" --demos {protocol.demos} --tasks {protocol.tasks} --timeout {protocol.timeout:g}"
    setting = options if entry.extra else ""
    yield f"```console\n$ needful run {name}{setting}\n```"
    if entry.extra:
        yield f"This domain needs the extra `{entry.extra}`; see [the household domains](../household.md)."
    sizes = domain_sizes(name)
    yield "## Facts"
    yield "\n".join(
        [
            "| Fact | Value |",
            "|---|---|",
            f"| Types, predicates, controllers | {sizes.types}, {sizes.predicates}, {sizes.controllers} |",
            f"| Objects per training task | {sizes.objects['train']} |",
            f"| Objects per test task | {sizes.objects['test']} |",
            f"| Demonstrations, seconds per task | {protocol.demos}, {protocol.timeout:g} |",
            f"| Module | `{entry.module}` |",
        ]
    )
    if entry.installed:
        yield from _vocabulary(make_environment(name).vocabulary)
    if not (OPERATORS / f"{name}.txt").exists():
        return
    yield "## Learned operators"
    yield f"Learned from {protocol.demos} demonstrations with seed 0. *Forgets* means: afterwards unknown."
    yield f"```text\n{(OPERATORS / f'{name}.txt').read_text('utf-8').strip()}\n```"
    yield from _results(name, tables)


def _vocabulary(vocabulary: Vocabulary) -> Iterator[str]:
    yield "## Predicates and controllers"
    predicates = (
        f"`{one.name}({', '.join(kind.name for kind in one.types)})`" for one in vocabulary.predicates
    )
    controllers = (
        f"`{one.name}({', '.join(kind.name for kind in one.types)})` with {len(one.low)} parameters"
        for one in vocabulary.controllers
    )
    yield f"Predicates: {', '.join(predicates)}."
    yield f"Controllers: {', '.join(controllers)}."


def _results(name: str, tables: dict[str, Table]) -> Iterator[str]:
    yield "## Success and size"
    lines = ["| Measure | Learner | Here | Published |", "|---|---|---:|---:|"]
    titles = {"main": "Tasks solved (%)", "operators": "Operators", "times": "Seconds of learning"}
    for key, table in tables.items():
        (row,) = (row for row in table.rows if row.domain == name)
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.measured is not None:
                here, published = table.estimate_text(cell.measured), table.estimate_text(cell.published)
                lines.append(f"| {titles[key]} | {column} | {here} | {published} |")
    yield "\n".join(lines)
    yield (
        "Means over seeds, with the standard error (of success) or deviation in brackets. "
        "[All results](../results/report.md) states the numbers of seeds and tasks."
    )
