"""The pages of the documentation and their code blocks.

A block that cannot run has a comment before it, `<!-- not run: reason -->`. After the comment
`<!-- from here on in: FOLDER -->`, the following blocks run in that folder. A block that begins with
`# FILE.py` is appended to that file instead of being run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
TUTORIAL = DOCS / "tutorial.md"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
NOT_RUN = "not run: "
ENTER = "from here on in: "
BLOCK = re.compile(
    r"(?:^<!-- (?P<marker>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    marker: str

    @property
    def runs(self) -> bool:
        return self.language in ("python", "console") and not self.marker.startswith(NOT_RUN)

    @property
    def file(self) -> str | None:
        """The file that the block belongs to."""
        found = re.match(r"# (\w+\.py)\b", self.code)
        return found[1] if found else None

    @property
    def folder(self) -> str | None:
        """The folder in which this and the following blocks run, if it changes here."""
        return self.marker.removeprefix(ENTER) if self.marker.startswith(ENTER) else None


def blocks_of(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text())
    return [Block(one["language"], one["code"], one["marker"] or "") for one in found]


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links_of(text: str) -> list[str]:
    """Return the targets of all links and images in a Markdown text."""
    children = [
        child for token in MarkdownIt().enable("table").parse(text) for child in token.children or ()
    ]
    targets = (child.attrs.get("href", child.attrs.get("src")) for child in children)
    return [str(target) for target in targets if target is not None]


def anchors_of(text: str) -> set[str]:
    """Return the anchors of the headings in a Markdown text, as on GitHub."""
    tokens = MarkdownIt().parse(text)
    titles = [inline.content for opening, inline in pairwise(tokens) if opening.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
