"""Doubts in the result of learning: numbers, text, warnings, and cross-validation on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from carrying_world import AT, BOX, CUP, GO, HELD, IN, NEAR, PUT, ROBOT, A, B, C, D, carrying
from command_line import files_below
from fake_clock import FakeClock
from needful.approaches.base import LearningConfig
from needful.approaches.bilevel import learn_model, with_experiments, with_validation
from needful.approaches.catalogue import NECESSARY, BilevelApproach
from needful.approaches.learned_model import LearnedModel
from needful.core.demonstrations import Demonstration
from needful.core.limits import Deadline
from needful.core.model import Vocabulary
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.catalogue import make_environment
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.operator_learning.doubts import Doubt, DoubtKind
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.learned_operators import LearnedOperators

VOCABULARY = Vocabulary((ROBOT, CUP, BOX), (NEAR, AT, HELD, IN), (GO, PUT))
DEMOS = (carrying(B, (A, B, C), (A, B)), carrying(A, (A,), (A, D)), carrying(C, (C, D), (C,)))


def learn(folds: int, demos: Sequence[Demonstration] = DEMOS, limit: float = 60.0) -> LearnedModel:
    config = LearningConfig(validation_folds=folds, validation_limit=limit)
    return NECESSARY.learn(VOCABULARY, tuple(demos), config)


def test_cross_validation_only_on_request() -> None:
    plain = learn(0)
    assert (plain.validation, plain.validation_skipped) == (None, "")
    assert plain.summary()["false_claims_validated"] is None
    assert plain.summary()["validation"] == {}
    validated = learn(5)
    assert validated.validation is not None
    assert (validated.validation.folds, validated.validation.transitions) == (3, 6)
    assert validated.summary()["validation"]["folds"] == 3
    assert validated.summary()["false_claims_validated"] == validated.validation.false_claims
    assert validated.seconds["validation"] > plain.seconds["validation"] > 0
    assert "(3 folds in " in validated.describe()
    assert validated.model == plain.model


def test_the_time_of_folds_is_not_time_of_learning() -> None:
    calls: list[int] = []

    def counting(demos: Sequence[Demonstration], *_: object) -> LearnedOperators:
        calls.append(len(demos))
        return learn_operators(demos)

    approach = BilevelApproach("counting", "counts its calls", counting)
    learned = approach.learn(VOCABULARY, DEMOS, LearningConfig(validation_folds=5, validation_limit=60.0))
    assert calls == [3, 2, 2, 2]
    assert set(learned.seconds) == {"operators", "samplers", "validation"}


@pytest.mark.parametrize(
    ("demos", "limit", "reason"),
    [
        (DEMOS[:1], 60.0, "it needs at least two demonstrations"),
        (DEMOS, 0.0, "it would take about 0 s, and its limit is 0 s"),
    ],
)
def test_the_reason_why_it_was_skipped(demos: Sequence[Demonstration], limit: float, reason: str) -> None:
    learned = learn(5, demos, limit)
    assert learned.validation is None
    assert learned.summary()["validation"] == {"skipped": reason}
    assert f"Skipped cross-validation: {reason}.\n" in learned.describe()


def test_a_deadline_skips_cross_validation_and_keeps_the_model() -> None:
    learned = learn_model(VOCABULARY, DEMOS)
    config = LearningConfig(validation_folds=5, validation_limit=60.0)
    deadline = Deadline.after(3.0, FakeClock(tick=1.0))
    late = with_validation(learned, NECESSARY, DEMOS, config, deadline)
    assert (late.validation, late.model) == (None, learned.model)
    assert late.validation_skipped == "the time limit of 3 s was reached"
    assert late.seconds["validation"] > learned.seconds["validation"]


def test_validation_does_not_change_the_files(tmp_path: Path) -> None:
    learn(0).save(tmp_path / "plain")
    learn(5).save(tmp_path / "validated")
    assert files_below(tmp_path / "plain") == files_below(tmp_path / "validated")
    assert "doubts.json" in files_below(tmp_path / "plain")


def test_all_doubts_are_in_the_summary_and_ten_in_the_text() -> None:
    learned = learn(0)
    many = tuple(Doubt(DoubtKind.IDLE, "Go", "Go", 99 - i, f"Fact {i:02}", "", "Look.") for i in range(12))
    doubtful = replace(learned, doubts=replace(learned.doubts, items=many))
    assert [one["text"] for one in doubtful.summary()["doubts"]] == [
        f"Fact {i:02}. Look." for i in range(12)
    ]
    lines = doubtful.describe().splitlines()
    first = lines.index("Doubts:") + 1
    assert lines[first] == "  - Fact 00. Look."
    assert lines[first + 10] == "  and 2 more"


def test_only_defects_are_warnings() -> None:
    learned = learn(0)
    kinds = {
        kind: Doubt(kind, None, None, 1, f"Fact of {kind.value}", "for example here", "Look.")
        for kind in DoubtKind
    }
    doubtful = replace(learned, doubts=replace(learned.doubts, items=tuple(kinds.values())))
    assert doubtful.warnings() == ("Fact of uncovered", "Fact of repaired")


def test_the_doubts_of_cluttered_1d() -> None:
    """Moving to a dot and grasping it are one controller; its parameters decide."""
    environment = make_environment("cluttered-1d")
    demos = collect_demonstrations(environment, OracleDemonstrator(environment), 6, 0).demonstrations
    learned = learn_model(environment.vocabulary, demos)
    (doubt,) = learned.doubts.items
    assert doubt.fact == "MoveGrasp-2 predicts NextTo(?x0, ?x1), which did not hold in 12 of 24 transitions"
    assert doubt.advice.startswith("MoveGrasp-1 explains these transitions: the parameters of MoveGrasp ")
    assert f"False claims: {learned.doubts.false_claims} in 12 of 24 transitions." in learned.describe()
    # Experiments only drop preconditions, so there cannot be fewer false claims afterwards.
    tested = with_experiments(learned, environment.execute, ExperimentConfig())
    assert tested.doubts.false_claims >= learned.doubts.false_claims
    assert cast(int, tested.summary()["false_claims"]) == tested.doubts.false_claims
