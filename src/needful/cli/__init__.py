"""The command line: one file per verb (subcommand), such as `needful learn`."""

from needful.cli.app import main

__all__ = ["main"]
