"""The pages of the documentation site that are not written by hand.

These are the API reference, the examples, the domains, the list of decisions and the changelog.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from api_reference import reference_pages
from domain_pages import domain_pages

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def generated_pages() -> dict[str, str]:
    """Return the text of each generated page, in Markdown, by its path below docs/."""
    return {
        **reference_pages(),
        **dict(_example_pages()),
        **domain_pages(),
        "decisions/index.md": _list_of_decisions(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text("utf-8"),
    }


def _example_pages() -> Iterator[tuple[str, str]]:
    listed = []
    examples = ROOT / "examples"
    for file in sorted(examples.rglob("*.py"), key=lambda file: (file.parent != examples, file)):
        code = file.read_text("utf-8")
        docstring = (ast.get_docstring(ast.parse(code)) or "").strip()
        title = file.stem.lstrip("0123456789_").replace("_", " ").capitalize()
        page = file.relative_to(ROOT).with_suffix(".md").as_posix()
        body = code[code.index('"""', 3) + 3 :].strip()
        first = docstring.split("\n\n")[0].replace("\n", " ")
        listed.append(f"- [{title}]({page.removeprefix('examples/')}): {first}\n")
        yield page, f"# {title}\n\n{docstring}\n\n```python\n{body}\n```\n"
    yield (
        "examples/index.md",
        "# Examples\n\nPrograms to read and to run.\n\n" + "".join(listed),
    )


def _list_of_decisions() -> str:
    listed = []
    for file in sorted((DOCS / "decisions").glob("*.md")):
        title = TITLE.search(file.read_text("utf-8"))
        listed.append(f"- [{title[1] if title else file.stem}]({file.name})\n")
    return "# Decisions\n\nThe reasons behind the design.\n\n" + "".join(listed)
