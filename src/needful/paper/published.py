"""The paper's domains and methods, in the order of its tables, and its published numbers.

A domain has its title and its experiment settings. A method has a label, a colour and a marker, and looks
the same in all figures. The colours are Paul Tol's "muted" scheme, which is safe for colour-blind readers.
Methods on shared axes also differ in their markers.

The numbers are those of Tables 1 to 4, with their spreads: standard errors over ten seeds in Table 1, and
standard deviations over ten seeds in the other tables. Both are population statistics (divided by n, not
by n - 1): in Table 1, five seeds at 0 % and five at 100 % have a standard error of 15.81 = 50 / sqrt(10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from needful.sweeps.jobs import Job

SEEDS = 10


@dataclass(frozen=True, slots=True)
class PaperProtocol:
    """The settings of the paper's experiments in a domain.

    Attributes:
        demos, tasks: the numbers of demonstrations and of test tasks per seed.
        timeout: seconds of planning per task.
        failed_nodes: Figure 4 of the paper plots the number of created nodes per task. It shows unsolved
            tasks at `failed_nodes`.
        seeds: the number of seeds.
    """

    demos: int
    tasks: int
    timeout: float
    failed_nodes: int
    seeds: int = SEEDS


@dataclass(frozen=True, slots=True)
class PaperDomain:
    """The title of a domain in the paper, and the settings of its experiments."""

    title: str
    protocol: PaperProtocol


ANALYTIC_PROTOCOL = PaperProtocol(demos=50, tasks=50, timeout=10.0, failed_nodes=10**6)
HOUSEHOLD_PROTOCOL = PaperProtocol(demos=10, tasks=10, timeout=60.0, failed_nodes=10**3)

DOMAINS: Mapping[str, PaperDomain] = MappingProxyType(
    {
        "painting": PaperDomain("Painting", ANALYTIC_PROTOCOL),
        "satellites": PaperDomain("Satellites", ANALYTIC_PROTOCOL),
        "cluttered-1d": PaperDomain("Cluttered 1D", ANALYTIC_PROTOCOL),
        "screws": PaperDomain("Screws", ANALYTIC_PROTOCOL),
        "cluttered-satellites": PaperDomain("Cluttered Satellites", ANALYTIC_PROTOCOL),
        "cluttered-painting": PaperDomain("Cluttered Painting", ANALYTIC_PROTOCOL),
        "opening-presents": PaperDomain("Opening Presents", HOUSEHOLD_PROTOCOL),
        "locking-windows": PaperDomain("Locking Windows", HOUSEHOLD_PROTOCOL),
        "collecting-cans": PaperDomain("Collecting Cans", HOUSEHOLD_PROTOCOL),
        "sorting-books": PaperDomain("Sorting Books", HOUSEHOLD_PROTOCOL),
    }
)
ANALYTIC = tuple(name for name, domain in DOMAINS.items() if domain.protocol is ANALYTIC_PROTOCOL)
HOUSEHOLD = tuple(name for name, domain in DOMAINS.items() if domain.protocol is HOUSEHOLD_PROTOCOL)


def domain_title(domain: str) -> str:
    """Return the title of a domain; a domain that is not in the paper keeps its name."""
    return DOMAINS[domain].title if domain in DOMAINS else domain


def protocol_of(domain: str) -> PaperProtocol | None:
    """Return the settings of the paper's experiments in a domain; None for domains not in the paper."""
    return DOMAINS[domain].protocol if domain in DOMAINS else None


def in_paper_order(domains: Iterable[str]) -> tuple[str, ...]:
    """Return the domains without duplicates: first those of the paper in its order, then others by name."""
    found = set(domains)
    return (*(name for name in DOMAINS if name in found), *sorted(found - set(DOMAINS)))


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
    """Return the methods without duplicates: first those in `METHODS` in its order, then others by name."""
    found = set(methods)
    return (*(name for name in METHODS if name in found), *sorted(found - set(METHODS)))


BLANK = "-"

# The table of learning times has one column with this name for both GNN policies, because they use the same
# network.
GNN = "gnn"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of `count` values, and their spread: a standard error or a standard deviation.

    `spread` is None if it is unknown, for example if there is only one value.
    """

    mean: float
    spread: float | None
    count: int


# A table of the paper: the estimate by domain and method. Blank entries of the table are left out.
PublishedTable: TypeAlias = Mapping[str, Mapping[str, Estimate]]


def _published(text: str, methods: tuple[str, ...]) -> PublishedTable:
    """Parse the text of a table: per line the domain, then `mean±spread` or `-` (blank) for each method."""
    table = {}
    for domain, *entries in map(str.split, text.strip().splitlines()):
        table[domain] = MappingProxyType(
            {
                method: _estimate(entry)
                for method, entry in zip(methods, entries, strict=True)
                if entry != BLANK
            }
        )
    return MappingProxyType(table)


def _estimate(entry: str) -> Estimate:
    mean, spread = map(float, entry.split("±"))
    return Estimate(mean, spread, SEEDS)


SUCCESS = _published(
    """
painting             98.80±0.42   0.00±0.00  98.20±0.91 99.00±0.31  93.40±1.47  36.00±3.39 0.60±0.29
satellites           93.40±3.52   0.00±0.00  34.00±5.28 91.60±2.68  95.20±1.30  40.40±3.04 11.00±1.44
cluttered-1d         100.00±0.00  17.20±5.46 0.00±0.00  17.40±5.52  92.80±0.90  98.60±0.63 98.60±0.63
screws               100.00±0.00  0.00±0.00  0.00±0.00  0.00±0.00   50.00±15.81 95.60±3.05 95.80±3.07
cluttered-satellites 95.20±0.75   0.00±0.00  0.00±0.00  1.60±0.61   6.00±1.57   4.80±1.27  0.00±0.00
cluttered-painting   99.20±0.42   0.00±0.00  0.00±0.00  0.00±0.00   0.00±0.00   4.60±1.16  0.00±0.00
opening-presents     100.00±0.00  0.00±0.00  -          83.00±10.77 83.00±10.77 28.00±5.96 0.00±0.00
locking-windows      100.00±0.00  0.00±0.00  -          90.00±4.47  88.00±4.42  0.00±0.00  0.00±0.00
collecting-cans      77.00±11.75  0.00±0.00  -          0.00±0.00   1.00±0.94   0.00±0.00  0.00±0.00
sorting-books        69.00±11.61  0.00±0.00  -          0.00±0.00   0.00±0.00   0.00±0.00  0.00±0.00
    """,
    LEARNERS,
)

# The learner CI+QE has no learning time on Sorting Books: it exceeded 192 GB of memory.
LEARNING_SECONDS = _published(
    """
painting             69.35±3.58  92.26±11.41    135.73±6.45    70.95±5.07   67.08±5.86      2220.19±181.29
satellites           19.38±7.83  52.73±18.35    438.44±51.62   23.29±5.38   15.96±4.70      1625.69±218.88
cluttered-1d         17.98±1.06  68.04±17.68    366.89±146.09  62.68±14.89  28.58±3.68      1164.92±84.74
screws               1.31±0.04   143.60±49.10   5712.80±736.84 0.32±0.02    708.98±1023.02  1369.59±68.44
cluttered-satellites 16.12±0.55  353.67±52.78   902.99±148.22  107.04±11.94 87.24±10.49     3043.62±285.27
cluttered-painting   131.68±5.05 1699.52±216.71 7364.03±532.67 470.32±40.38 2788.74±1330.38 4615.70±334.11
opening-presents     28.91±11.26      106.57±27.72   - 100.62±23.66   92.63±17.01   185.53±6.63
locking-windows      16.77±1.55       62.55±10.12    - 61.71±8.95     45.51±5.74    319.09±7.61
collecting-cans      3728.73±9544.75  1520.93±354.20 - 576.89±100.57  781.38±350.46 2121.86±120.51
sorting-books        4981.79±14460.37 6423.03±602.44 - 1528.18±111.18 -             5359.99±170.46
    """,
    (*OPERATOR_LEARNERS, GNN),
)

OPERATORS = _published(
    """
painting             10.00±0.00 13.60±0.80 19.20±0.39  11.00±0.00 10.20±0.40
satellites           7.40±0.79  10.90±1.44 33.80±3.70  10.40±1.20 9.30±0.90
cluttered-1d         2.00±0.00  7.10±1.64  16.10±2.11  7.10±1.64  3.00±0.44
screws               4.00±0.00  14.80±1.98 91.14±5.11  14.80±1.98 4.80±0.97
cluttered-satellites 7.00±0.00  19.80±2.60 59.60±4.45  16.30±1.10 13.90±0.83
cluttered-painting   13.00±0.00 28.00±0.00 157.80±6.49 25.20±2.31 20.70±1.61
opening-presents     2.30±0.90  10.80±2.99 -           10.80±2.99 9.80±1.83
locking-windows      2.00±0.00  6.10±0.70  -           6.10±0.70  4.70±0.64
collecting-cans      6.10±5.37  57.40±9.43 -           52.90±8.41 13.40±2.33
sorting-books        14.70±7.57 76.70±5.62 -           75.80±5.79 -
    """,
    OPERATOR_LEARNERS,
)

ABLATION_SUCCESS = _published(
    """
painting             98.80±1.33  98.80±1.33  26.60±6.52
satellites           93.40±11.14 81.20±19.40 84.20±16.88
cluttered-1d         100.00±0.00 100.00±0.00 100.00±0.00
screws               100.00±0.00 100.00±0.00 100.00±0.00
cluttered-satellites 95.20±2.40  94.80±2.72  94.00±3.22
cluttered-painting   99.20±1.33  99.00±1.84  23.80±7.56
opening-presents     100.00±0.00 100.00±0.00 100.00±0.00
locking-windows      100.00±0.00 100.00±0.00 100.00±0.00
collecting-cans      77.00±37.16 75.00±38.30 75.00±38.80
sorting-books        69.00±36.73 52.00±34.00 67.00±37.20
    """,
    (OURS, *ABLATIONS),
)
