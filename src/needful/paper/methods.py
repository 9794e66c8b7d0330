"""What is compared: learners, and ways to plan with them, with a label, a colour and a marker each.

A method looks the same in all figures. The colours are Paul Tol's "muted" scheme, which can be told
apart by people who are colour-blind; where methods share axes, they have different markers as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from needful.sweeps.jobs import Job

ONE_PLAN = ", one abstract plan"
OURS = "necessary"
NO_COMPLEXITY = "necessary-no-complexity"
DOWN_EVAL = OURS + ONE_PLAN


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """How a method is shown."""

    label: str
    colour: str
    marker: str


METHODS: Mapping[str, MethodStyle] = MappingProxyType(
    {
        OURS: MethodStyle("Necessary", "#332288", "o"),
        "loft": MethodStyle("LOFT", "#ddcc77", "^"),
        "loft-replay": MethodStyle("LOFT+Replay", "#999933", "v"),
        "ci": MethodStyle("CI", "#44aa99", "s"),
        "ci-qe": MethodStyle("CI+QE", "#117733", "D"),
        "gnn-shooting": MethodStyle("GNN Shoot", "#cc6677", "P"),
        "gnn-model-free": MethodStyle("GNN MF", "#882255", "X"),
        NO_COMPLEXITY: MethodStyle("No complexity", "#88ccee", "p"),
        DOWN_EVAL: MethodStyle("Down Eval", "#aa4499", "d"),
        "necessary-paper": MethodStyle("Necessary, paper", "#661100", "h"),
    }
)
UNKNOWN_METHOD_COLOUR = "#777777"

# Policies without operators: they search no abstract plans and create no nodes.
POLICIES = frozenset({"gnn-shooting", "gnn-model-free"})
ABLATIONS = frozenset({NO_COMPLEXITY, DOWN_EVAL})


def method_of(job: Job) -> str:
    """Return the method of a job: its learner, and whether only one abstract plan may be tried.

    That restriction changes nothing for policies, which try none.
    """
    one_plan = job.abstract_plans == 1 and job.learner not in POLICIES
    return job.learner + ONE_PLAN if one_plan else job.learner


def method_style(method: str) -> MethodStyle:
    """Return how a method is shown; one that the paper does not know is grey and keeps its name."""
    return METHODS.get(method) or MethodStyle(method, UNKNOWN_METHOD_COLOUR, "8")


def in_column_order(methods: Iterable[str]) -> tuple[str, ...]:
    """Return distinct methods in the order of the paper's columns; unknown ones follow by name."""
    found = set(methods)
    return (*(name for name in METHODS if name in found), *sorted(found - set(METHODS)))
