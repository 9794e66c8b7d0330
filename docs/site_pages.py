"""Pages of the documentation: from Markdown to HTML whose links are known to lead somewhere."""

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

# A link of a page (its path below docs/, what is linked) becomes the address that it has on the site.
Resolve = Callable[[str, str], str]
OUTSIDE = re.compile(r"[a-z]+:", re.IGNORECASE)


class BrokenPage(Exception):
    """A page that cannot be built: what is wrong with it, and where."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page in Markdown.

    Attributes:
        path: where it stands below docs/, for example `howto/ray.md`.
        text: its Markdown.
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
        """Where it stands on the site."""
        return self.path.removesuffix(".md") + ".html"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that can be linked to."""

    level: int
    anchor: str
    text: str


def headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of a text in Markdown, with the anchors that GitHub gives them too."""
    tokens = _parser().parse(text)
    return tuple(_anchored(tokens))


def links(text: str) -> tuple[str, ...]:
    """Return what a text in Markdown links to or shows."""
    return tuple(str(token.attrs[name]) for token, name in _references(_parser().parse(text)))


def render(page: Page, resolve: Resolve) -> tuple[str, tuple[Heading, ...]]:
    """Return a page as HTML, and its headings."""
    parser = _parser()
    tokens = [token for token in parser.parse(page.text) if not _is_comment(token)]
    found = tuple(_anchored(tokens))
    for token, name in _references(tokens):
        target = str(token.attrs[name])
        if not OUTSIDE.match(target):
            token.attrs[name] = resolve(page.path, target)
    html = parser.renderer.render(tokens, parser.options, {})
    return html.replace("<th></th>", "<td></td>"), found  # an empty corner is the header of nothing


def resolver(
    pages: Sequence[Page], files: Iterable[str], elsewhere: Mapping[str, str]
) -> Callable[[str, str], str]:
    """Return the function that finds what a link means, and raises `BrokenPage` if it means nothing.

    Args:
        pages: all pages of the site.
        files: what else stands below docs/ and is on the site, such as pictures.
        elsewhere: the addresses of things outside docs/, by their paths as seen from docs/.
    """
    anchors = {page.path: {one.anchor for one in headings(page.text)} for page in pages}
    known = {page.path: page.address for page in pages} | {file: file for file in files} | dict(elsewhere)

    def resolve(source: str, target: str) -> str:
        place, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), place)) if place else source
        if place.endswith("/"):
            path += "/index.md"
        if path not in known:
            raise BrokenPage(f"{source} links to {target}, which is not there.")
        if anchor and anchor not in anchors.get(path, ()):
            raise BrokenPage(f"{source} links to {target}, but {path} has no heading {anchor!r}.")
        address = posixpath.relpath(known[path], posixpath.dirname(source) or ".")
        return f"{address}#{anchor}" if anchor else address

    return resolve


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    # Wide tables and code are scrolled, not the whole page, also with the keyboard.
    parser.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parser.add_render_rule("fence", _highlighted)
    parser.add_render_rule("code_block", _highlighted)
    return parser


def _highlighted(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    token = tokens[place]
    formatter = HtmlFormatter(cssclass="code", wrapcode=True)
    block = highlight(token.content, get_lexer_by_name(token.info or "text"), formatter)
    return str(block).replace("<pre>", '<pre tabindex="0">', 1)


def _is_comment(token: Token) -> bool:
    return token.type == "html_block" and token.content.startswith("<!--")


def _anchored(tokens: Sequence[Token]) -> Iterable[Heading]:
    """Give every heading an anchor."""
    taken: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = taken[anchor] = taken.get(anchor, -1) + 1
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
