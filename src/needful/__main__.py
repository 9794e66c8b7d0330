"""`python -m needful` is the command too."""

from needful.cli import main

main()
