"""The command line: `app` lists the verbs (subcommands), such as `needful learn`, and their modules."""

from needful.cli.app import main

__all__ = ["main"]
