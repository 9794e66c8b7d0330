"""`needful learn`: a model or a policy from a demonstrations file; needs no environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from needful.cli.console import (
    check_paths_disjoint,
    complain,
    print_json,
    progress_bars,
    reporting_errors,
    say,
)
from needful.cli.describe import describe_learned
from needful.cli.options import AsJson, Force, LearnerName, LearningTimeout, Seed
from needful.core.deadline import Deadline
from needful.evaluation.learned_files import save_learned
from needful.evaluation.learning import LearnedModel, learn_model, provenance
from needful.evaluation.policy_learning import (
    LearnedPolicy,
    find_method,
    learn_policy,
    policy_provenance,
)
from needful.evaluation.records import learning_summary
from needful.policies.catalogue import PolicyKind
from needful.policies.graph_policy import PolicyConfig
from needful.sampler_learning.config import SamplerConfig
from needful.storage.atomic import check_output_directory
from needful.storage.demonstrations import read_demonstrations
from needful.storage.output_kinds import MODEL


@reporting_errors
def learn(
    demonstrations: Annotated[
        Path, typer.Argument(metavar="DEMOS", help="A needful-demos file, plain or gzip.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The model directory to write.")],
    learner: LearnerName = "necessary",
    seed: Seed = 0,
    learning_timeout: LearningTimeout = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn operators, and samplers where states and parameters are present; or a policy."""
    chosen = find_method(learner)
    data = read_demonstrations(demonstrations)
    check_paths_disjoint(demonstrations, out)
    check_output_directory(out, MODEL, force)
    deadline = Deadline.after(learning_timeout)
    learned: LearnedModel | LearnedPolicy
    with progress_bars() as progress:
        if isinstance(chosen, PolicyKind):
            config = PolicyConfig()
            watch = progress.stage("Training a policy", config.epochs)
            origin = policy_provenance(chosen, config, seed)
            learned = learn_policy(
                data.vocabulary, data.demonstrations, chosen, config, seed, deadline, watch
            )
        else:
            progress.stage("Learning operators and samplers")
            origin = provenance(chosen, SamplerConfig(), seed)
            learned = learn_model(
                data.vocabulary, data.demonstrations, chosen, None, seed, deadline=deadline
            )
    save_learned(out, learned, origin, force)
    for name in () if isinstance(learned, LearnedPolicy) else learned.model.missing_samplers():
        complain(f"warning: no sampler for {name}: its demonstrations have no states")
    if as_json:
        print_json(learning_summary(learned, learner, seed, len(data.demonstrations)))
        return
    say(describe_learned(learned))
    say(f"Wrote {out}.")
