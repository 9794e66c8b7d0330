"""Build the documentation site with Sphinx, offline: `make docs`, or

    python docs/build_site.py [FOLDER]

This script collects the sources: docs/, the generated pages, and the files of the repository that pages
show. Sphinx renders them with the settings in docs/site/conf.py. Every warning, such as a broken link, is
an error (exit code 1). A new page gets one line in `NAVIGATION`.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from generated_pages import DOCS, ROOT, generated_pages

# The pages of each section of the menu: their names, or the folder that they are in.
NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "Start": ("install", "concepts", "tutorial", "samples/"),
    "How to": ("extending", "simulators", "predicates", "execution", "notebooks", "howto/", "household"),
    "Domains": ("domains/",),
    "In depth": (
        "learning",
        "planning",
        "execution",
        "invention",
        "demonstrations",
        "interoperability",
        "gnn_policies",
        "paper_to_code",
        "architecture",
        "decisions/",
    ),
    "Results": ("results/", "kinder", "reproduce", "reports", "report", "baselines", "benchmarks"),
    "Reference": ("api/", "examples/", "changelog"),
}
OTHER_PAGES = "More"  # the section of pages that NAVIGATION does not list

# Files outside docs/ that pages show or link to.
SHOWN_FILES = ("results/*.md", "results/tables/*", "results/figures/*")
# Corrections of the theme's pages for keyboards and screen readers.
ACCESSIBLE: Mapping[str, str] = {
    r'role="heading"(?! aria-level)': r'role="heading" aria-level="2"',
    r'<aside class="sidebar-drawer"': r'<aside class="sidebar-drawer" aria-label="Pages"',
    r'<aside class="toc-drawer': r'<aside aria-label="On this page" class="toc-drawer',
    r"<pre>(?=<span></span>)": r'<pre tabindex="0">',
    r'<div class="table-wrapper ': r'<div tabindex="0" class="table-wrapper ',
    r'<th class="head( text-\w+)?">\s*(<p>\s*</p>)?\s*</th>': r"<td></td>",  # an empty corner cell
    r'<div id="search-results">': r'<h1>Search</h1><div id="search-results">',
}
LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s#]+)")


def build(folder: Path) -> None:
    """Write the site to a folder, replacing an earlier one."""
    with tempfile.TemporaryDirectory() as temporary:
        sources = Path(temporary) / "sources"
        write_sources(sources)
        shutil.rmtree(folder, ignore_errors=True)
        render(sources, folder)


def render(sources: Path, folder: Path) -> None:
    """Render a folder of Markdown as HTML; raise `SystemExit` if Sphinx reports anything."""
    from sphinx.cmd.build import main

    with tempfile.TemporaryDirectory() as cache:
        options = ["-q", "-W", "--keep-going", "-E", "-d", cache, "-c", str(DOCS / "site")]
        if main([*options, str(sources), str(folder)]):
            raise SystemExit("The documentation has errors; see above.")
    for page in sorted(folder.rglob("*.html")):
        if not (DOCS / "live" / page.name).exists():
            page.write_text(make_accessible(page.read_text("utf-8")), "utf-8")


def make_accessible(html: str) -> str:
    """Return a page with the corrections in `ACCESSIBLE`."""
    for pattern, replacement in ACCESSIBLE.items():
        html = re.sub(pattern, replacement, html)
    return html


def write_sources(folder: Path) -> None:
    """Write all files from which Sphinx makes the site to a folder."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py", "site", "__pycache__"))
    for pattern in SHOWN_FILES:
        for file in sorted(ROOT.glob(pattern)):
            target = folder / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    for path, text in generated_pages().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    pages = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.md"))
    for page in pages:
        text = resolve_links((folder / page).read_text("utf-8"), page)
        (folder / page).write_text(text + _menu(page, pages), "utf-8")


def resolve_links(text: str, page: str) -> str:
    """Return the text of a page with links to files of the repository replaced by links to their pages."""
    outside = page.startswith("results/") or page == "changelog.md"
    written_in = PurePosixPath(page if outside else f"docs/{page}").parent

    def resolved(link: re.Match[str]) -> str:
        path = site_path(normpath(written_in / link[2]))
        return link[0] if path is None else f"{link[1]}{relpath(path, PurePosixPath(page).parent)}"

    return LINK.sub(resolved, text)


def site_path(path: str) -> str | None:
    """Return the path of a file of the repository on the site; None if the site does not have it."""
    if path.startswith("docs/"):
        path = path.removeprefix("docs/")
        return f"{path}/index.md" if (DOCS / path).is_dir() else path
    if path.startswith("examples/"):
        return f"{path.removesuffix('.py')}.md"
    return path if path.startswith("results/") else {"CHANGELOG.md": "changelog.md"}.get(path)


def navigation(pages: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the pages of each section of the menu; an index page represents its folder."""
    left = dict.fromkeys(page.removesuffix(".md") for page in pages)
    del left["index"]
    sections = {}
    for title, entries in NAVIGATION.items():
        shown: list[str] = []
        for entry in entries:
            inside = [
                page for page in left if page == entry or (entry.endswith("/") and page.startswith(entry))
            ]
            shown += [f"{entry}index"] if f"{entry}index" in inside else inside
            for page in inside:
                del left[page]
        sections[title] = tuple(shown)
    return sections | ({OTHER_PAGES: tuple(left)} if left else {})


def _menu(page: str, pages: Iterable[str]) -> str:
    """Return the part of the menu that belongs to a page: the start page, or the index of a folder."""
    if page == "index.md":
        return "".join(_toctree(shown, caption) for caption, shown in navigation(pages).items())
    if page.endswith("/index.md"):
        folder = page.removesuffix("index.md")
        return _toctree(
            [one.removesuffix(".md") for one in pages if one.startswith(folder) and one != page]
        )
    return ""


def _toctree(pages: Iterable[str], caption: str = "") -> str:
    options = f":caption: {caption}\n" if caption else ""
    listed = "".join(f"/{page}\n" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n{options}\n{listed}```\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    build(target)
    print(f"Wrote the site; open {target / 'index.html'}")
