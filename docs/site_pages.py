"""Documentation pages: convert Markdown to HTML and check all links."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

# Maps the path of a page below docs/ and a link on it to the address on the site.
Resolve = Callable[[str, str], str]
EXTERNAL = re.compile(r"[a-z]+:", re.IGNORECASE)


class BrokenPage(Exception):
    """A page cannot be built; the message names the page and the problem."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page in Markdown.

    Attributes:
        path: the path below docs/, for example `howto/ray.md`.
        text: the content in Markdown.
    """

    path: str
    text: str

    @property
    def title(self) -> str:
        """The first heading of the page."""
        found = re.search(r"^# (.+)$", self.text, re.MULTILINE)
        if found is None:
            raise BrokenPage(f"{self.path} has no title. Begin it with a line `# Title`.")
        return found[1].replace("`", "")

    @property
    def address(self) -> str:
        """The path of the HTML file on the site."""
        return self.path.removesuffix(".md") + ".html"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that can be linked to."""

    level: int
    anchor: str
    text: str


def headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of a Markdown text, with the same anchors as on GitHub."""
    tokens = _parser().parse(text)
    return tuple(_anchored(tokens))


def links(text: str) -> tuple[str, ...]:
    """Return the targets of all links and images in a Markdown text."""
    return tuple(str(token.attrs[name]) for token, name in _references(_parser().parse(text)))


def render(page: Page, resolve: Resolve) -> tuple[str, tuple[Heading, ...]]:
    """Return a page as HTML, and its headings."""
    parser = _parser()
    tokens = [token for token in parser.parse(page.text) if not _is_comment(token)]
    found = tuple(_anchored(tokens))
    for token, name in _references(tokens):
        target = str(token.attrs[name])
        if not EXTERNAL.match(target):
            token.attrs[name] = resolve(page.path, target)
    html = parser.renderer.render(tokens, parser.options, {})
    return html.replace("<th></th>", "<td></td>"), found  # an empty corner cell is not a header


def resolver(
    pages: Sequence[Page], files: Iterable[str], addresses: Mapping[str, str]
) -> Callable[[str, str], str]:
    """Return a function that resolves links and raises `BrokenPage` for a broken link.

    Args:
        pages: all pages of the site.
        files: other files below docs/ that are on the site, such as pictures.
        addresses: the addresses of files outside docs/, by their paths relative to docs/.
    """
    anchors = {page.path: {one.anchor for one in headings(page.text)} for page in pages}
    known = {page.path: page.address for page in pages} | {file: file for file in files} | dict(addresses)

    def resolve(source: str, target: str) -> str:
        linked, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), linked)) if linked else source
        if linked.endswith("/"):
            path += "/index.md"
        if path not in known:
            raise BrokenPage(f"{source} links to {target}, which does not exist.")
        if anchor and anchor not in anchors.get(path, ()):
            raise BrokenPage(f"{source} links to {target}, but {path} has no heading {anchor!r}.")
        address = posixpath.relpath(known[path], posixpath.dirname(source) or ".")
        return f"{address}#{anchor}" if anchor else address

    return resolve


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    # Wide tables and code scroll on their own; tabindex makes them scroll with the keyboard too.
    parser.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parser.add_render_rule("fence", _highlighted)
    parser.add_render_rule("code_block", _highlighted)
    return parser


def _highlighted(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    token = tokens[index]
    formatter = HtmlFormatter(cssclass="code", wrapcode=True)
    block = highlight(token.content, get_lexer_by_name(token.info or "text"), formatter)
    return str(block).replace("<pre>", '<pre tabindex="0">', 1)


def _is_comment(token: Token) -> bool:
    return token.type == "html_block" and token.content.startswith("<!--")


def _anchored(tokens: Sequence[Token]) -> Iterable[Heading]:
    """Add an anchor to every heading and yield the headings."""
    counts: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = counts[anchor] = counts.get(anchor, -1) + 1
            anchor = f"{anchor}-{number}" if number else anchor
            opening.attrs["id"] = anchor
            yield Heading(int(opening.tag[1]), anchor, escape(text))


def _references(tokens: Iterable[Token]) -> Iterable[tuple[Token, str]]:
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                yield child, "href"
            elif child.type == "image":
                yield child, "src"
