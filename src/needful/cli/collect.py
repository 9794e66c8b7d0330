"""`needful collect`: demonstrations by the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from needful.cli.console import complain, progress_bars, reporting_errors, say, say_json
from needful.cli.options import AsJson, Demos, Domain, Force, Seed
from needful.demos.collect import collect_demonstrations
from needful.demos.oracle import OracleDemonstrator
from needful.envs.catalogue import make_environment
from needful.errors import DemonstrationError
from needful.storage.atomic import check_output
from needful.storage.demonstrations import write_demonstrations


@reporting_errors
def collect(
    domain: Domain,
    out: Annotated[Path, typer.Option("--out", help="The file to write; compressed if it ends in .gz.")],
    demos: Demos = 50,
    seed: Seed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Collect demonstrations of training tasks."""
    environment = make_environment(domain)
    check_output(out, force)
    with progress_bars() as progress:
        watch = progress.stage("Collecting demonstrations", demos)
        collected = collect_demonstrations(environment, OracleDemonstrator(environment), demos, seed, watch)
    for index, outcome in collected.skipped:
        complain(f"warning: training task {index} went without a demonstration: {outcome.value}")
    if not collected.demonstrations:
        raise DemonstrationError(f"The oracle solved none of {demos} training tasks of {domain!r}.")
    write_demonstrations(out, environment.vocabulary, collected.demonstrations, force)
    transitions = sum(map(len, collected.demonstrations))
    if as_json:
        say_json(
            {
                "domain": domain,
                "seed": seed,
                "demos": len(collected.demonstrations),
                "transitions": transitions,
                "skipped": len(collected.skipped),
                "file": str(out),
            }
        )
    else:
        say(f"Wrote {len(collected.demonstrations)} demonstrations ({transitions} transitions) to {out}.")
