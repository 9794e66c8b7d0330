"""Update the table of success rates in README.md from the output of `needful reproduce`.

Usage: python docs/make_readme_table.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "results/tables/main.md"
MARKED_TABLE = re.compile(rf"(<!-- {SOURCE} -->\n).*?(<!-- -->)", re.DOTALL)


def readme_with_table(readme: str, source: str) -> str:
    """Return the README with the table of a results file between its two markers."""
    table = "\n".join(line for line in source.splitlines() if line.startswith("|"))
    changed, count = MARKED_TABLE.subn(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", readme)
    if count != 1:
        raise SystemExit(
            f"README.md must contain the markers <!-- {SOURCE} --> and <!-- --> once, around the table; "
            f"found {count} pairs."
        )
    return changed


if __name__ == "__main__":
    readme = ROOT / "README.md"
    text = readme_with_table(readme.read_text("utf-8"), (ROOT / SOURCE).read_text("utf-8"))
    readme.write_text(text, "utf-8")
