"""`needful learn`: a model from a demonstrations file; needs no environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from needful.cli.console import check_spared, complain, progress_bars, reporting_errors, say, say_json
from needful.cli.describe import describe_learned
from needful.cli.options import AsJson, Force, LearnerName, Seed
from needful.evaluation.learning import learn_model, provenance
from needful.evaluation.model_files import save_learned_model
from needful.evaluation.summary import learning_summary
from needful.operator_learning.catalogue import find_learner
from needful.sampler_learning.config import SamplerConfig
from needful.storage.atomic import check_output_directory
from needful.storage.demonstrations import read_demonstrations


@reporting_errors
def learn(
    demonstrations: Annotated[
        Path, typer.Argument(metavar="DEMOS", help="A needful-demos file, plain or gzip.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The model directory to write.")],
    learner: LearnerName = "necessary",
    seed: Seed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn operators, and samplers where states and parameters are present."""
    chosen = find_learner(learner)
    check_output_directory(out, force)
    data = read_demonstrations(demonstrations)
    check_spared(demonstrations, out)
    with progress_bars() as progress:
        progress.stage("Learning operators and samplers")
        learned = learn_model(data.vocabulary, data.demonstrations, chosen, SamplerConfig(), seed)
    save_learned_model(out, learned, provenance(chosen, SamplerConfig(), seed), force)
    for name in learned.model.missing_samplers():
        complain(f"warning: no sampler for {name}: its demonstrations have no states")
    if as_json:
        say_json(learning_summary(learned, learner, seed, len(data.demonstrations)))
        return
    say(describe_learned(learned))
    say(f"Wrote {out}.")
