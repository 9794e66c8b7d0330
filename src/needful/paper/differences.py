"""Known reasons for differences between our results and the published numbers.

docs/baselines.md gives the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

UNEXPLAINED = "not explained"

# The reason by table (without the suffix `_as_published`), domain and label of the method. The name "*"
# stands for all tables, domains or methods. More specific entries come first.
REASONS: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        ("times", "*", "*"): "another machine and implementation",
    }
)


def reason_for(table: str, domain: str, method: str, verdict: str) -> str:
    """Return the reason why a cell is higher or lower than the published number."""
    name = table.removesuffix("_as_published")
    for (tables, domains, methods), reason in REASONS.items():
        if tables in (name, table, "*") and domains in (domain, "*") and methods in (method, "*"):
            return reason
    return UNEXPLAINED
