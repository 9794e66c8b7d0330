"""Build the documentation site from docs/, offline: `make docs`, or

    python docs/build_site.py [FOLDER]

An error, such as a broken link, is printed and ends the program with exit code 1.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from posixpath import dirname, relpath
from string import Template

from pygments.formatters import HtmlFormatter

from api_reference import reference
from site_pages import BrokenPage, Heading, Page, links, render, resolver

DOCS = Path(__file__).parent
ROOT = DOCS.parent
THEME = DOCS / "site"
REPORT = ROOT / "results" / "report.md"
PICTURES = (".png", ".gif", ".svg")
LIGHT, DARK = "xcode", "github-dark"  # all of their colours have enough contrast on the page's background

# The pages of each menu section: their names, or the folder they are in. Other pages come last.
SECTIONS = {
    "Start": ("index", "install", "concepts", "tutorial"),
    "How to": (
        "howto/own_demonstrations",
        "howto/own_planner",
        "howto/failures",
        "howto/ray",
        "howto/films",
    ),
    "Examples": "examples/",
    "In depth": (
        "learning",
        "planning",
        "demonstrations",
        "interoperability",
        "extending",
        "household",
        "gnn_policies",
    ),
    "Results": ("results", "reproduce", "reports", "report", "baselines", "benchmarks"),
    "Reference": ("api", "paper_to_code", "architecture"),
    "Decisions": "decisions/",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the menu."""

    title: str
    pages: tuple[Page, ...]


def source_pages() -> tuple[Page, ...]:
    """Return the pages in docs/."""
    files = sorted(DOCS.rglob("*.md"))
    return tuple(Page(file.relative_to(DOCS).as_posix(), file.read_text()) for file in files)


def generated_pages(sources: Sequence[Page]) -> tuple[Page, ...]:
    """Return the generated pages: API reference, examples, results, and the list of decisions."""
    decisions = [page for page in sources if page.path.startswith("decisions/")]
    listed = "".join(f"- [{page.title}]({Path(page.path).name})\n" for page in decisions)
    index = Page("decisions/index.md", f"# Decisions\n\nThe reasons behind the design.\n\n{listed}")
    return (Page("api.md", reference()), *map(_example_page, example_files()), _results_page(), index)


def example_files() -> tuple[Path, ...]:
    """Return the examples, sorted by number."""
    return tuple(sorted((ROOT / "examples").glob("[0-9]*.py")))


def _example_page(file: Path) -> Page:
    code = file.read_text()
    docstring = (ast.get_docstring(ast.parse(code)) or "").strip()
    title = file.stem[3:].replace("_", " ").capitalize()
    body = code[code.index('"""', 3) + 3 :].strip()
    return Page(f"examples/{file.stem}.md", f"# {title}\n\n{docstring}\n\n```python\n{body}\n```\n")


def _results_page() -> Page:
    """Return the report in results/, with its links relative to docs/."""
    return Page("results.md", re.sub(r"\]\((?=\w+/)", "](../results/", REPORT.read_text()))


def arrange(pages: Sequence[Page]) -> tuple[Section, ...]:
    """Return the menu."""
    remaining = {page.path.removesuffix(".md"): page for page in pages}
    sections = []
    for title, names in SECTIONS.items():
        chosen = [name for name in remaining if name.startswith(names)] if isinstance(names, str) else names
        found = [remaining.pop(name) for name in chosen if name in remaining]
        sections.append(
            Section(title, tuple(sorted(found, key=_order) if isinstance(names, str) else found))
        )
    return (*sections, Section("More", tuple(remaining.values())))


def _order(page: Page) -> tuple[bool, str]:
    return not page.path.endswith("/index.md"), page.path


def build(folder: Path) -> int:
    """Write the site to a folder, replacing an earlier one; return the number of pages."""
    sources = source_pages()
    pages = (*sources, *generated_pages(sources))
    pictures = [file for file in sorted((DOCS / "images").rglob("*")) if file.suffix in PICTURES]
    addresses = {f"../examples/{file.name}": f"examples/{file.stem}.html" for file in example_files()}
    addresses[relpath(REPORT, DOCS)] = "results.html"
    copies = _linked_files(pages, addresses)
    addresses |= {f"../{path}": f"repository/{path}" for path in copies}
    resolve = resolver(pages, [file.relative_to(DOCS).as_posix() for file in pictures], addresses)
    menu = arrange(pages)
    template = Template((THEME / "page.html").read_text())
    html = {page.address: _html(page, *render(page, resolve), menu, template) for page in pages}
    # The earlier site is removed only after all pages were rendered without errors.
    shutil.rmtree(folder, ignore_errors=True)
    for file in pictures:
        _copy(file, folder / file.relative_to(DOCS))
    for path in copies:
        _copy(ROOT / path, folder / "repository" / path)
    for address, text in html.items():
        _write(folder / address, text)
    _write(folder / "style.css", (THEME / "style.css").read_text() + _code_colours())
    return len(pages)


def _linked_files(pages: Sequence[Page], known: dict[str, str]) -> tuple[str, ...]:
    """Return the files outside docs/ that pages link to, except those in `known`."""
    found = set()
    for page in pages:
        for link in links(page.text):
            file = (DOCS / page.path).parent / link.partition("#")[0]
            path = relpath(file.resolve(), ROOT)
            if file.is_file() and not path.startswith(("docs/", "..")) and f"../{path}" not in known:
                found.add(path)
    return tuple(sorted(found))


def _html(
    page: Page, content: str, headings: Sequence[Heading], menu: Sequence[Section], template: Template
) -> str:
    def to(other: Page) -> str:
        return relpath(other.address, dirname(page.address) or ".")

    def item(other: Page) -> str:
        here = ' aria-current="page"' if other is page else ""
        return f'<li><a href="{to(other)}"{here}>{escape(other.title)}</a></li>'

    sections = [section for section in menu if section.pages]
    shown = (f"<h2>{one.title}</h2><ul>{''.join(map(item, one.pages))}</ul>" for one in sections)
    sequence = [one for section in sections for one in section.pages]
    following = sequence[sequence.index(page) + 1 :][:1]
    on_page = [one for one in headings if one.level in (2, 3)]
    contents = (
        f'<li class="level{one.level}"><a href="#{one.anchor}">{one.text}</a></li>' for one in on_page
    )
    return template.substitute(
        title=escape(page.title),
        root=relpath(".", dirname(page.address) or "."),
        menu="".join(shown),
        contents="".join(contents),
        content=content,
        next="".join(f'<a href="{to(one)}">Next: {escape(one.title)} →</a>' for one in following),
    )


def _code_colours() -> str:
    light, dark = (HtmlFormatter(style=style).get_style_defs(".code") for style in (LIGHT, DARK))
    background = ".code { background: var(--code); }"
    return f"\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{background}\n"


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    try:
        print(f"Wrote {build(target)} pages to {target}; open {target / 'index.html'}")
    except BrokenPage as error:
        sys.exit(str(error))
