"""The extras of this package and how they are installed."""

from __future__ import annotations


def install_command(extra: str) -> str:
    """Return what installs an extra; without constraints, torch comes with gigabytes of GPU packages."""
    return f"pip install -c constraints.txt '.[{extra}]'"
