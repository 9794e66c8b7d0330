"""`needful learn`: learn a model or a policy from a demonstrations file, without an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from needful.approaches.base import LearningConfig
from needful.approaches.catalogue import find_approach
from needful.cli import console
from needful.cli.options import (
    VALIDATION_FOLDS,
    AsJson,
    Force,
    Formulas,
    Invent,
    Keep,
    LearnerName,
    LearningTimeout,
    Seed,
    invention_config,
)
from needful.storage.demonstrations import read_demonstrations
from needful.storage.outputs import MODEL, check_output_directory


@console.reporting_errors
def learn(
    demonstrations: Annotated[
        Path, typer.Argument(metavar="DEMOS", help="A needful-demos file, plain or gzip.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Model directory to write.")],
    learner: LearnerName = "necessary",
    seed: Seed = 0,
    learning_timeout: LearningTimeout = None,
    invent: Invent = False,
    keep: Keep = "",
    formula: Formulas = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn operators, and samplers if the file has states and parameters; or train a policy."""
    approach = find_approach(learner)
    invention = invention_config(invent, keep, formula or ())
    data = read_demonstrations(demonstrations)
    console.check_paths_disjoint(demonstrations, out)
    check_output_directory(out, MODEL, force)
    with console.progress_bars() as progress:
        config = LearningConfig(
            seed,
            timeout=learning_timeout,
            progress=progress,
            validation_folds=VALIDATION_FOLDS,
            invention=invention,
        )
        learned = approach.learn(data.vocabulary, data.demonstrations, config)
    learned.save(out, force=force)
    for warning in learned.warnings():
        console.print_stderr(f"warning: {warning}")
    if as_json:
        demos = len(data.demonstrations)
        console.print_json({"learner": learner, "seed": seed, "demos": demos, **learned.summary()})
        return
    console.print_result(learned.describe())
    console.print_result(f"Wrote {out}.")
