"""The ten domains of the paper, in the paper's order, each with its title and experiment settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

SEEDS = 10


@dataclass(frozen=True, slots=True)
class PaperProtocol:
    """The settings of the paper's experiments in a domain.

    Attributes:
        demos, tasks: the numbers of demonstrations and of test tasks per seed.
        timeout: seconds of planning per task.
        failed_nodes: Figure 4 of the paper plots the number of created nodes per task. An unsolved task is
            plotted with this number.
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
    """Return distinct domains in the paper's order, then other domains by name."""
    found = set(domains)
    return (*(name for name in DOMAINS if name in found), *sorted(found - set(DOMAINS)))
