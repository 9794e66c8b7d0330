"""Run the command `needful` with `python -m needful`."""

from needful.cli import main

main()
