"""The paper's experiments: the jobs, the settings of the preset `paper`, and the examples of operators."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from needful.approaches.catalogue import APPROACHES, BILEVEL_APPROACHES
from needful.envs.catalogue import CATALOGUE, environment_names, make_environment
from needful.errors import InvalidInputError, UnknownNameError
from needful.evaluation.pipeline import RunConfig, run
from needful.paper.experiments import (
    EXAMPLES,
    FIGURES,
    TABLES,
    OperatorExample,
    RequestedOutputs,
    SweepSettings,
    jobs_for,
    operator_examples,
    paper_preset,
    preset_job,
)
from needful.paper.published import (
    ANALYTIC,
    DOMAINS,
    DOWN_EVAL,
    HOUSEHOLD,
    LEARNERS,
    NO_COMPLEXITY,
    OURS,
    PAPER_LEARNERS,
    POLICIES,
    method_of,
)
from needful.planning.bilevel import PlanningConfig, necessary_subgoals
from needful.planning.planners import make_planner
from needful.sampler_learning.learn_samplers import SamplerConfig
from needful.sampler_learning.training import TrainingSchedule
from needful.sweeps.jobs import Job, run_config

ALL_DOMAINS = SweepSettings(ANALYTIC + HOUSEHOLD, seeds=1)
SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=1_000, patience=1_000, tolerance=0.0, folds=0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, folds=0),
    anchors=False,
)


def test_the_domains_are_those_of_the_catalogue() -> None:
    own = [name for name in environment_names() if not name.startswith("kinder/")]
    assert sorted(ANALYTIC + HOUSEHOLD) == own
    assert {name for name in CATALOGUE if CATALOGUE[name].extra == "household"} == set(HOUSEHOLD)


@pytest.mark.parametrize("learner", [*LEARNERS, NO_COMPLEXITY])
def test_every_learner_is_in_the_catalogue(learner: str) -> None:
    assert run_config(Job("screws", learner)).learner == learner


@pytest.mark.parametrize("name", ["main", "times", "operators"])
def test_seven_learners_are_compared(name: str) -> None:
    jobs = jobs_for(RequestedOutputs.of([name]), ALL_DOMAINS)
    assert len(jobs) == 6 * 7 + 4 * 6
    assert Counter(job.learner for job in jobs) == dict.fromkeys(LEARNERS, 10) | {"loft-replay": 6}
    assert {job.abstract_plans for job in jobs} == {8}
    assert jobs == jobs_for(RequestedOutputs.of(figures=["nodes"]), ALL_DOMAINS)


def test_the_protocol_is_the_papers() -> None:
    for job in jobs_for(RequestedOutputs.of(), ALL_DOMAINS):
        expected = (10, 60.0) if job.domain in HOUSEHOLD else (50, 10.0)
        assert (job.tasks, job.timeout) == expected
    painting, presents = (
        jobs_for(RequestedOutputs.of(["main"]), SweepSettings((domain,), ("necessary",), seeds=1))[0]
        for domain in ("painting", "opening-presents")
    )
    assert painting == Job("painting", "necessary", 0, 50, 50, 10.0, 8, None, "anytime")
    assert presents == Job("opening-presents", "necessary", 0, 10, 10, 60.0, 8, None, "anytime")


def test_ablations() -> None:
    jobs = jobs_for(RequestedOutputs.of(["ablations"]), SweepSettings(("screws",), seeds=1))
    assert [(job.learner, job.abstract_plans) for job in jobs] == [
        ("necessary", 8),
        ("necessary-no-complexity", 8),
        ("necessary", 1),
    ]


@pytest.mark.parametrize(
    ("domain", "demos", "expected"),
    [
        ("screws", None, [5, 10, 25, 50]),
        ("sorting-books", None, [5, 10]),
        ("screws", 12, [5, 10, 12]),
        ("screws", 25, [5, 10, 25]),
        ("screws", 2, [2]),
    ],
)
def test_data_efficiency(domain: str, demos: int | None, expected: list[int]) -> None:
    jobs = jobs_for(RequestedOutputs.of(figures=["data"]), SweepSettings((domain,), seeds=1, demos=demos))
    assert [job.demos for job in jobs] == expected
    assert {job.learner for job in jobs} == {"necessary"}


def test_everything_together_has_no_job_twice() -> None:
    jobs = jobs_for(RequestedOutputs.of(), SweepSettings())
    assert len(jobs) == len(set(jobs)) == 10 * 6 * (7 + 2 + 3)
    assert set(jobs_for(RequestedOutputs.of(["main"], ["data"]), SweepSettings())) < set(jobs)


def test_one_seed_is_finished_before_the_next() -> None:
    seeds = [job.seed for job in jobs_for(RequestedOutputs.of(), SweepSettings(seeds=3))]
    assert seeds == sorted(seeds)
    assert set(seeds) == {0, 1, 2}


def test_settings_reach_the_jobs() -> None:
    settings = SweepSettings(("screws",), ("ci",), 1, 7, 3, 2.5, 90.0, "paper")
    assert jobs_for(RequestedOutputs.of(["main"]), settings) == (
        Job("screws", "ci", 0, 7, 3, 2.5, 8, 90.0, "paper"),
    )


def test_learners_are_chosen() -> None:
    settings = SweepSettings(("screws", "sorting-books"), ("necessary-paper", "loft-replay"), seeds=1)
    chosen = [(job.domain, job.learner) for job in jobs_for(RequestedOutputs.of(["main"]), settings)]
    # Learners named by the user run in households, too.
    assert chosen == [
        ("screws", "necessary-paper"),
        ("screws", "loft-replay"),
        ("sorting-books", "necessary-paper"),
        ("sorting-books", "loft-replay"),
    ]
    only = SweepSettings(("screws",), ("necessary-no-complexity",), seeds=1)
    assert [job.learner for job in jobs_for(RequestedOutputs.of(["ablations"], ["data"]), only)] == [
        "necessary-no-complexity"
    ]


def test_nothing_to_run_is_an_error() -> None:
    settings = SweepSettings(learners=("ci",))
    with pytest.raises(InvalidInputError, match=r"ablations, data.*ci"):
        jobs_for(RequestedOutputs.of(["ablations"], ["data"]), settings)


def test_tables_and_figures_are_asked_for_by_name() -> None:
    assert RequestedOutputs.of() == RequestedOutputs(tuple(TABLES), tuple(FIGURES))
    assert RequestedOutputs.of(["times", "main", "times"]) == RequestedOutputs(("times", "main"), ())
    assert RequestedOutputs.of(figures=["data"]) == RequestedOutputs((), ("data",))
    with pytest.raises(UnknownNameError, match=r"table 'mian'.*'main'"):
        RequestedOutputs.of(["mian"])
    with pytest.raises(UnknownNameError, match=r"figure 'node'.*'nodes'"):
        RequestedOutputs.of(figures=["node"])


def test_bad_settings_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"'screw'.*'screws'"):
        SweepSettings(("screw",))
    with pytest.raises(InvalidInputError, match=r"seed.*got 0"):
        SweepSettings(seeds=0)


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


def test_examples_name_known_domains_and_methods() -> None:
    for example in EXAMPLES:
        assert example.domain in CATALOGUE
        assert {PAPER_LEARNERS.get(one, one) for one in example.methods} <= set(APPROACHES)


def test_a_page_shows_the_operators_of_a_skill_beside_the_published_number() -> None:
    example = OperatorExample("screws", "MoveToScrew", ("necessary", "ci"), "one operator")
    page = operator_examples([example])
    assert "## Screws: MoveToScrew" in page
    assert "Published: one operator." in page
    assert "### Necessary: 1 of 4 operators (published 4, deviation 0)" in page
    assert "### CI: " in page
    assert "controller: MoveToScrew(" in page
    assert "controller: MagnetizeGripper(" not in page
