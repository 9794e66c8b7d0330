"""The oracle demonstrator: bilevel planning with a domain's hand-written operators and samplers."""

from __future__ import annotations

from dataclasses import dataclass, field

from needful.core.model import PlanningModel
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.planning.bilevel import PlanningConfig, plan


@dataclass(frozen=True, slots=True)
class OracleDemonstrator:
    """Solves tasks of one environment with its oracle model."""

    environment: Environment
    config: PlanningConfig = field(default_factory=PlanningConfig)
    model: PlanningModel = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", self.environment.oracle_model())

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        """Plan for a task."""
        return plan(task, self.model, self.environment.execute, self.config, seed)
