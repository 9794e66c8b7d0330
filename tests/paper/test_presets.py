"""The preset `paper`: its settings, domain by domain, and how changes of them are recorded."""

from __future__ import annotations

import time

import pytest

from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.envs.catalogue import make_environment
from needful.errors import UnknownNameError
from needful.evaluation.pipeline import RunConfig, run
from needful.paper.domains import ANALYTIC, DOMAINS, HOUSEHOLD
from needful.paper.experiments import RequestedOutputs, SweepSettings, jobs_for
from needful.paper.methods import DOWN_EVAL, NO_COMPLEXITY, OURS, POLICIES, method_of
from needful.paper.presets import paper_preset, preset_job
from needful.planning.bilevel import PlanningConfig, necessary_subgoals
from needful.planning.planners import make_planner
from needful.sampler_learning.learn_samplers import SamplerConfig
from needful.sampler_learning.training import TrainingSchedule
from needful.sweeps.jobs import run_config

SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=1_000, patience=1_000, tolerance=0.0, folds=0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, folds=0),
    anchors=False,
)


@pytest.mark.parametrize("domain", ANALYTIC)
def test_settings_of_the_six_analytic_domains(domain: str) -> None:
    assert paper_preset(domain) == RunConfig(
        learner="necessary-paper",
        demos=50,
        tasks=50,
        seed=0,
        planning=PlanningConfig(
            timeout=10.0,
            max_abstract_plans=8,
            samples_per_step=10,
            horizon=100,
            allow_noops=True,
            subgoals=necessary_subgoals,
            planner=make_planner("paper"),
            adaptive=False,
        ),
        samplers=SAMPLERS,
        experiments=None,
        oracle_samplers=False,
        preset="paper",
    )


@pytest.mark.parametrize("domain", HOUSEHOLD)
def test_settings_of_the_four_household_domains(domain: str) -> None:
    assert paper_preset(domain) == RunConfig(
        learner="necessary-paper",
        demos=10,
        tasks=10,
        seed=0,
        planning=PlanningConfig(
            timeout=1500.0 if domain == "sorting-books" else 500.0,
            max_abstract_plans=1,
            samples_per_step=10,
            horizon=1000,
            allow_noops=True,
            subgoals=necessary_subgoals,
            planner=make_planner("greedy"),
            adaptive=False,
        ),
        samplers=SAMPLERS,
        experiments=None,
        oracle_samplers=True,
        preset="paper",
    )


def test_settings_of_the_learner() -> None:
    assert BILEVEL_APPROACHES["necessary-paper"].operator_config == {
        "generalise": "whole_typed_predicate",
        "reduce": "reduce_complexity",
        "schedule": "alternate",
        "types": "keep_types",
        "conditions": "named_objects_only",
        "divide": "keep_mixed_operators",
        "effects": "necessary_effects_only",
        "skip_idle_steps": "false",
        "repair": "keep_atoms",
        "escape": "stay_where_stuck",
        "negatives": "positive_preconditions_only",
    }


def test_changes_are_named_except_the_choice_of_the_run() -> None:
    assert paper_preset("screws", seed=7, tasks=3, learner="ci").preset == "paper"
    assert paper_preset("screws", timeout=10.0, demos=50).preset == "paper"
    changed = paper_preset("screws", timeout=5.0, demos=10, max_abstract_plans=8)
    assert changed.preset == "paper, except demos, timeout"
    assert (changed.demos, changed.planning.timeout) == (10, 5.0)


def test_every_preset_has_its_own_hash() -> None:
    hashes = {paper_preset(domain).identity(domain).config_hash for domain in DOMAINS}
    assert len(hashes) == len(DOMAINS)
    preset = paper_preset("screws").identity("screws")
    changed = paper_preset("screws", timeout=5.0).identity("screws")
    assert len({preset.config_hash, changed.config_hash, RunConfig().identity("screws").config_hash}) == 3


def test_unknown_domains_and_settings_are_rejected() -> None:
    with pytest.raises(UnknownNameError, match="Unknown domain of the paper 'screw'"):
        paper_preset("screw")
    with pytest.raises(UnknownNameError, match="Unknown setting 'time_out'"):
        paper_preset("screws", time_out=5.0)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("method", ["necessary", "necessary-no-complexity", "ci", "loft-replay"])
def test_a_job_has_the_settings_of_the_preset(domain: str, method: str) -> None:
    job = preset_job(domain, method, 3)
    assert method_of(job) == method
    assert run_config(job) == paper_preset(domain, learner=job.learner, seed=3)


def test_a_job_records_changes_of_the_preset() -> None:
    settings = SweepSettings(("screws",), preset="paper", seeds=1, cpu_time=True, tasks=7)
    main, plain, one_plan = jobs_for(RequestedOutputs.of(["ablations"]), settings)
    assert (main.preset, main.learner, main.tasks) == ("paper", "necessary-paper", 7)
    assert (plain.preset, plain.learner) == ("paper", "necessary-paper-no-complexity")
    assert one_plan.preset == "paper, except max_abstract_plans"
    assert [method_of(job) for job in (main, plain, one_plan)] == [OURS, NO_COMPLEXITY, DOWN_EVAL]
    assert run_config(main).planning.clock is time.thread_time


def test_policies_have_no_preset() -> None:
    domains = ("screws", "sorting-books")
    jobs = {
        preset: jobs_for(RequestedOutputs.of(["main"]), SweepSettings(domains, POLICIES, 1, preset=preset))
        for preset in ("", "paper")
    }
    assert jobs[""] == jobs["paper"]


def test_a_run_records_its_preset() -> None:
    result = run(make_environment("screws"), paper_preset("screws", demos=5, tasks=2))
    assert result.summary["preset"] == "paper, except demos"
    assert {record.preset for record in result.evaluation.records} == {"paper, except demos"}
    default = run(make_environment("screws"), RunConfig(demos=5, tasks=1))
    assert "preset" not in default.summary
    assert "preset" not in default.evaluation.records[0].to_json()
