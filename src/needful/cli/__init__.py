"""The command line: one file a verb."""

from needful.cli.app import main

__all__ = ["main"]
