"""The public names of `needful.planning` with their home modules; `__init__.py` loads them on first use."""

from needful.core.limits import Budget as Budget
from needful.planning.costs import OperatorCosts as OperatorCosts
from needful.planning.engines.python_planner import PythonPlanner as PythonPlanner
from needful.planning.engines.searches import AStar as AStar
from needful.planning.engines.searches import Greedy as Greedy
from needful.planning.interfaces import HeuristicEstimate as HeuristicEstimate
from needful.planning.interfaces import Planner as Planner
from needful.planning.planners import AutoPlanner as AutoPlanner
from needful.planning.planners import make_planner as make_planner
from needful.planning.planners import planner_names as planner_names
from needful.planning.portfolio import Portfolio as Portfolio
from needful.planning.portfolio import Stage as Stage

__all__: list[str]
