"""The jobs that the paper's tables and figures need."""

from __future__ import annotations

from collections import Counter

import pytest

from needful.envs.catalogue import CATALOGUE, environment_names
from needful.errors import InvalidInputError, UnknownNameError
from needful.paper.domains import ANALYTIC, HOUSEHOLD
from needful.paper.experiments import FIGURES, TABLES, RequestedOutputs, SweepSettings, jobs_for
from needful.paper.methods import LEARNERS, NO_COMPLEXITY
from needful.sweeps.jobs import Job, run_config

ALL_DOMAINS = SweepSettings(ANALYTIC + HOUSEHOLD, seeds=1)


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
