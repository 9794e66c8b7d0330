"""The methods of the paper's tables and figures: learners and ablations, with label, colour and marker.

A method looks the same in all figures. The colours are Paul Tol's "muted" scheme, which is safe for
colour-blind readers. Methods on shared axes also differ in their markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from needful.paper.domains import HOUSEHOLD
from needful.sweeps.jobs import Job

ONE_PLAN = ", one abstract plan"
OURS = "necessary"
NO_COMPLEXITY = "necessary-no-complexity"
DOWN_EVAL = OURS + ONE_PLAN
# With the preset `paper`, these two methods run other learners, which follow the paper more closely. The
# map goes from the method to the learner.
PAPER_LEARNERS: Mapping[str, str] = MappingProxyType(
    {OURS: "necessary-paper", NO_COMPLEXITY: "necessary-paper-no-complexity"}
)
_METHODS_OF_PAPER_LEARNERS = {learner: method for method, learner in PAPER_LEARNERS.items()}
# Learners that are not run in household domains, as in the paper. LOFT+Replay needs thousands of
# simulations, which are slow in these domains.
NOT_IN_HOUSEHOLDS = frozenset({"loft-replay"})


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """The label, colour and marker of a method."""

    label: str
    colour: str
    marker: str


_OPERATOR_LEARNERS = {
    OURS: MethodStyle("Necessary", "#332288", "o"),
    "loft": MethodStyle("LOFT", "#ddcc77", "^"),
    "loft-replay": MethodStyle("LOFT+Replay", "#999933", "v"),
    "ci": MethodStyle("CI", "#44aa99", "s"),
    "ci-qe": MethodStyle("CI+QE", "#117733", "D"),
}
# Learned policies have no operators, so they do not search for abstract plans and create no nodes.
_POLICIES = {
    "gnn-shooting": MethodStyle("GNN Shoot", "#cc6677", "P"),
    "gnn-model-free": MethodStyle("GNN MF", "#882255", "X"),
}
_ABLATIONS = {
    NO_COMPLEXITY: MethodStyle("No complexity", "#88ccee", "p"),
    DOWN_EVAL: MethodStyle("Down Eval", "#aa4499", "d"),
}
_VARIANTS = {"necessary-paper": MethodStyle("Necessary, paper", "#661100", "h")}

# All methods, in the order of the columns in the paper's tables.
METHODS: Mapping[str, MethodStyle] = MappingProxyType(
    {**_OPERATOR_LEARNERS, **_POLICIES, **_ABLATIONS, **_VARIANTS}
)
OPERATOR_LEARNERS = tuple(_OPERATOR_LEARNERS)
POLICIES = tuple(_POLICIES)
LEARNERS = OPERATOR_LEARNERS + POLICIES
ABLATIONS = tuple(_ABLATIONS)
UNKNOWN_METHOD_COLOUR = "#777777"
UNKNOWN_METHOD_MARKER = "8"


def method_of(job: Job) -> str:
    """Return the method of a job: its learner, with a suffix if only one abstract plan is allowed.

    Policies use no abstract plans, so they get no suffix. With the preset `paper`, two things differ. The
    learner `necessary-paper` counts as the method `necessary`, and so on (see `PAPER_LEARNERS`). Jobs in
    household domains get no suffix, because the preset allows only one abstract plan in these domains.
    """
    learner = _METHODS_OF_PAPER_LEARNERS.get(job.learner, job.learner) if job.preset else job.learner
    usual = job.learner in POLICIES or (bool(job.preset) and job.domain in HOUSEHOLD)
    return learner + ONE_PLAN if job.abstract_plans == 1 and not usual else learner


def method_style(method: str) -> MethodStyle:
    """Return the style of a method; a method that is not in the paper is grey and keeps its name."""
    return METHODS.get(method) or MethodStyle(method, UNKNOWN_METHOD_COLOUR, UNKNOWN_METHOD_MARKER)


def in_column_order(methods: Iterable[str]) -> tuple[str, ...]:
    """Return distinct methods in the order of the paper's columns, then other methods by name."""
    found = set(methods)
    return (*(name for name in METHODS if name in found), *sorted(found - set(METHODS)))
