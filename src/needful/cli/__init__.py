"""The command line: one file per verb."""

from needful.cli.app import main

__all__ = ["main"]
