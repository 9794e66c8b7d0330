"""The domains as the paper calls and orders them, and how much it tried in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Protocol:
    """What the paper tried: demonstrations and test tasks for each of so many seeds.

    `failed_nodes` is where Figure 4 puts the nodes created of tasks that were not solved.
    """

    demos: int
    tasks: int
    failed_nodes: int
    seeds: int = 10


@dataclass(frozen=True, slots=True)
class DomainTitle:
    """A domain's name in the paper, and its protocol."""

    title: str
    protocol: Protocol


_ANALYTIC = Protocol(demos=50, tasks=50, failed_nodes=10**6)
_HOUSEHOLD = Protocol(demos=10, tasks=10, failed_nodes=10**3)

DOMAINS: Mapping[str, DomainTitle] = MappingProxyType(
    {
        "painting": DomainTitle("Painting", _ANALYTIC),
        "satellites": DomainTitle("Satellites", _ANALYTIC),
        "cluttered-1d": DomainTitle("Cluttered 1D", _ANALYTIC),
        "screws": DomainTitle("Screws", _ANALYTIC),
        "cluttered-satellites": DomainTitle("Cluttered Satellites", _ANALYTIC),
        "cluttered-painting": DomainTitle("Cluttered Painting", _ANALYTIC),
        "opening-presents": DomainTitle("Opening Presents", _HOUSEHOLD),
        "locking-windows": DomainTitle("Locking Windows", _HOUSEHOLD),
        "collecting-cans": DomainTitle("Collecting Cans", _HOUSEHOLD),
        "sorting-books": DomainTitle("Sorting Books", _HOUSEHOLD),
    }
)


def domain_title(domain: str) -> str:
    """Return what to call a domain; one that the paper does not know keeps its name."""
    return DOMAINS[domain].title if domain in DOMAINS else domain


def protocol_of(domain: str) -> Protocol | None:
    """Return what the paper tried in a domain, None if it does not know it."""
    return DOMAINS[domain].protocol if domain in DOMAINS else None


def in_paper_order(domains: Iterable[str]) -> tuple[str, ...]:
    """Return distinct domains in the paper's order; those that it does not know follow by name."""
    found = set(domains)
    return (*(name for name in DOMAINS if name in found), *sorted(found - set(DOMAINS)))
