"""Put the table of success rates, as `needful reproduce` wrote it, into README.md.

Usage: python docs/make_readme_table.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "results/tables/main.md"
PLACE = re.compile(rf"(<!-- {SOURCE} -->\n).*?(<!-- -->)", re.DOTALL)


def readme_with_table(readme: str, source: str) -> str:
    """Return the README with the table of a results file between its two marks."""
    table = "\n".join(line for line in source.splitlines() if line.startswith("|"))
    changed, count = PLACE.subn(lambda marks: f"{marks[1]}\n{table}\n\n{marks[2]}", readme)
    if count != 1:
        raise SystemExit(f"README.md needs <!-- {SOURCE} --> and <!-- --> once, around the table.")
    return changed


if __name__ == "__main__":
    readme = ROOT / "README.md"
    text = readme_with_table(readme.read_text("utf-8"), (ROOT / SOURCE).read_text("utf-8"))
    readme.write_text(text, "utf-8")
