"""Third-party tools read the exported PDDL of every analytic domain and find plans of the same length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pddl.parser.domain import DomainParser
from pddl.parser.problem import ProblemParser

from command_line import succeed
from needful.abstraction import abstract
from needful.core.limits import Budget
from needful.core.model import PlanningModel
from needful.core.plans import SearchStatistics
from needful.core.tasks import AbstractTask
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.operator_learning.learn_operators import learn_operators
from needful.planning.engines.searches import AStar
from needful.planning.grounding import ground
from needful.planning.pddl.reader import read_pddl_domain
from needful.planning.pddl.writer import PddlStyle
from needful.storage.model_directory import save_model
from pddl_tools import UnifiedPlanning, fast_downward_plan, k_star_plan, pyperplan_plan

DOMAINS = ("painting", "satellites", "cluttered-1d", "screws", "cluttered-satellites", "cluttered-painting")
STYLES = [style.value for style in PddlStyle]
TASK, SEED, DEMOS = 0, 0, 10
# Unified Planning takes seconds for files with one action per ground operator.
MAX_CHARACTERS = 10_000

every_domain = pytest.mark.parametrize("domain", DOMAINS)
every_style = pytest.mark.parametrize("style", STYLES)


@dataclass(frozen=True)
class Exported:
    """The PDDL of a domain and a task in one style, and the length of the shortest plan by A*."""

    domain: str
    problem: str
    cost: int


class Exporter:
    """Learns each domain and exports it in each style, both at most once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = cache(self._model)
        self.export = cache(self._export)

    def _model(self, domain: str) -> tuple[Path, int]:
        """Return a model without samplers, which export does not need, and the cost of the task."""
        environment = make_environment(domain)
        oracle = OracleDemonstrator(environment)
        demonstrations = collect_demonstrations(environment, oracle, DEMOS, SEED).demonstrations
        model = PlanningModel(environment.vocabulary, learn_operators(demonstrations).operators)
        path = self.folder / domain
        save_model(path, model, {}, "")
        task = environment.task(Split.TEST, TASK, SEED)
        initial = abstract(task.initial_state, environment.vocabulary.predicates)
        problem = ground(
            model.operators, AbstractTask(task.objects, initial, task.goal), Budget.unlimited()
        )
        assert problem is not None
        return path, len(next(iter(AStar()(problem, 0, Budget.unlimited(), SearchStatistics()))))

    def _export(self, domain: str, style: str) -> Exported:
        model, cost = self.model(domain)
        out = self.folder / f"{domain}-{style}"
        options = ("--style", style, "--problem", f"{domain}:{TASK}", "--seed", SEED)
        succeed("export", model, "--pddl", out, *options)
        return Exported((out / "domain.pddl").read_text(), (out / "problem.pddl").read_text(), cost)


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Exporter:
    return Exporter(tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module")
def unified_planning() -> UnifiedPlanning:
    return UnifiedPlanning()


def length(plan: str | None) -> int:
    """Return the number of steps in a plan file: one line per step, and comments."""
    assert plan is not None
    return len([line for line in plan.splitlines() if line.strip() and not line.startswith(";")])


@every_style
@every_domain
def test_fast_downward_solves_and_unified_planning_validates(
    domain: str, style: str, exporter: Exporter, unified_planning: UnifiedPlanning, tmp_path: Path
) -> None:
    files = exporter.export(domain, style)
    plan = fast_downward_plan(files.domain, files.problem, tmp_path)
    assert plan is not None
    assert length(plan) == files.cost
    if len(files.domain) > MAX_CHARACTERS:
        return
    problem = unified_planning.read(files.domain, files.problem)
    assert unified_planning.accepts(problem, plan)
    assert not unified_planning.accepts(problem, plan.partition("\n")[2])  # without its first step


# Without the painting domains: Unified Planning writes actions without effects in a syntax that Fast
# Downward does not read.
@pytest.mark.parametrize("domain", [name for name in DOMAINS if "painting" not in name])
def test_unified_planning_solves(
    domain: str, exporter: Exporter, unified_planning: UnifiedPlanning
) -> None:
    files = exporter.export(domain, "forall")
    assert unified_planning.optimal_length(unified_planning.read(files.domain, files.problem)) == files.cost


@every_style
@every_domain
def test_k_star_solves(domain: str, style: str, exporter: Exporter, tmp_path: Path) -> None:
    files = exporter.export(domain, style)
    assert length(k_star_plan(files.domain, files.problem, tmp_path)) == files.cost


@every_domain
def test_pyperplan_solves(domain: str, exporter: Exporter, tmp_path: Path) -> None:
    files = exporter.export(domain, "strips")
    assert length(pyperplan_plan(files.domain, files.problem, tmp_path)) == files.cost


def test_pddl_package_parses(exporter: Exporter) -> None:
    read_domain, read_problem = DomainParser(), ProblemParser()
    for domain in DOMAINS:
        predicates = {one.name for one in make_environment(domain).vocabulary.predicates}
        for style in STYLES:
            files = exporter.export(domain, style)
            read, task = read_domain(files.domain), read_problem(files.problem)
            assert read.name == task.domain_name
            assert {str(one.name) for one in read.predicates} == predicates
            assert bool(task.objects) == (style != "strips")
            assert bool(read.constants) == (style == "strips")


@every_domain
def test_exported_domain_is_read_back(domain: str, exporter: Exporter) -> None:
    vocabulary = make_environment(domain).vocabulary
    forall, paper, strips = (
        read_pddl_domain(exporter.export(domain, style).domain, vocabulary) for style in STYLES
    )
    assert forall == paper
    assert len(strips.operators) > len(forall.operators)
    assert {len(operator.delete_patterns) for operator in strips.operators} == {0}
