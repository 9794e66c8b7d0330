"""The structure of the documentation: languages and markers of code blocks, links, and the site.

`test_documentation_code` runs the code.
"""

from __future__ import annotations

import itertools
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from api_reference import public_names, reference_pages
from axe_core import fetch_axe, violations
from build_site import NAVIGATION, navigation, resolve_links
from command_line import succeed
from documentation_pages import (
    DOCS,
    EXAMPLES,
    PAGES,
    ROOT,
    TUTORIAL,
    anchors_of,
    blocks_of,
    links_of,
    page_name,
)
from generated_pages import generated_pages
from headless_browser import CHROMIUM, open_browser

LANGUAGES = {"python", "console", "json", "text"}
MAX_EXAMPLE_LINES = 90
MAX_REFERENCE_LINES = 900


def test_the_functions_named_line_by_line_are_there() -> None:
    section = (DOCS / "paper_to_code.md").read_text().partition("## Line by line")[2].partition("\n## ")[0]
    names = re.findall(r"`((?:\w+\.)+\w+)`", section)
    assert len(names) > 20
    for name in names:
        assert pkgutil.resolve_name(f"needful.{name}") is not None


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "decisions"], ids=page_name)
def test_source_files_named_on_a_page_exist(page: Path) -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|cpp|h))`", page.read_text())
    folders = (ROOT, ROOT / "src" / "needful", DOCS)
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


@pytest.mark.parametrize("file", sorted(DOCS.glob("images/**/*.svg")), ids=lambda file: file.stem)
def test_figures_are_legible_on_dark_pages(file: Path) -> None:
    background = re.search(r'<g id="patch_1">\s*<path d="[^"]*" style="fill: ([^";]*)', file.read_text())
    assert background is not None
    assert background[1] == "#ffffff"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_blocks_have_a_language_and_markers_a_reason(page: Path) -> None:
    for block in blocks_of(page):
        assert block.language in LANGUAGES, block.code
        assert re.fullmatch(r"|not run: .{10,}|from here on in: \w+", block.marker), block.marker
    assert page.read_text().count("\n```") == 2 * len(blocks_of(page))


def test_all_code_of_the_tutorial_runs() -> None:
    assert all(block.runs for block in blocks_of(TUTORIAL) if block.language != "text")


def test_the_commands_in_the_readme_exist() -> None:
    commands = re.findall(r"^\| `needful ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert commands
    for command in sorted(set(commands)):
        assert f"needful {command}" in succeed(command, "--help").out


def test_examples_are_short() -> None:
    lengths = {file.name: len(file.read_text().splitlines()) for file in EXAMPLES.glob("*.py")}
    assert {name: length for name, length in lengths.items() if length > MAX_EXAMPLE_LINES} == {}


@pytest.mark.parametrize(
    "page", [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")], ids=page_name
)
def test_links_of_pages_outside_the_site(page: Path) -> None:
    for link in links_of(page.read_text()):
        path, _, anchor = link.partition("#")
        if not path.startswith("http"):
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors_of(target.read_text()), link


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run([sys.executable, DOCS / "build_site.py", folder], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def targets(file: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each link of a page, except links to other sites."""
    for link in re.findall(r'(?:href|src)="([^"]*)"', file.read_text()):
        path, _, anchor = unquote(link).partition("#")
        if not re.match(r"https?:|data:|mailto:", path):
            yield ((file.parent / path.partition("?")[0]).resolve() if path else file), anchor


def test_no_link_on_the_site_is_broken(site: Path) -> None:
    anchors = {file: set(re.findall(r' id="([^"]*)"', file.read_text())) for file in site.rglob("*.html")}
    for file in anchors:
        for target, anchor in targets(file):
            assert target.exists(), (file.name, target)
            assert not anchor or target not in anchors or anchor in anchors[target], (file.name, anchor)


def test_every_page_can_be_reached_from_the_start_page(site: Path) -> None:
    start = (site / "index.html").resolve()
    reached, waiting = {start}, [start]
    while waiting:
        file = waiting.pop()
        new = {target for target, _ in targets(file) if target.suffix == ".html"} - reached
        reached |= new
        waiting += new
    assert {file.resolve() for file in site.rglob("*.html")} == reached


def test_pages_load_nothing_from_other_sites(site: Path) -> None:
    for file in site.rglob("*.html"):
        loaded = re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]*)"', file.read_text())
        assert loaded == [], file.name


def test_formulas_are_rendered(site: Path) -> None:
    assert "<math" in (site / "concepts.html").read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_pages_fit_a_phone_and_load_nothing_from_the_network(site: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path / "profile") as browser:
        for name in (
            "index",
            "tutorial",
            "api/planning",
            "domains/painting",
            "samples/house",
            "results/report",
        ):
            browser.open(site / f"{name}.html", 390, 844, scheme="dark")
            assert browser.run("document.documentElement.scrollWidth") == 390, name
            assert browser.messages == []
            assert all(request.startswith(("file:", "data:", "blob:")) for request in browser.requests)


@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_search_works_without_a_server(site: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path / "profile") as browser:
        browser.open(site / "search.html", 1200, 844, query="q=backchaining")
        finished = "document.querySelector('.search-summary').textContent.startsWith('Search finished')"
        wait = f"function wait() {{ {finished} ? done() : setTimeout(wait, 50); }}"
        browser.run(f"new Promise(done => {{ ({wait})() }})")
        found = browser.run(
            "[...document.querySelectorAll('#search-results li a')].map(one => one.textContent)"
        )
        assert "Concepts" in found
        assert browser.messages == []


@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_the_copy_button_leaves_out_prompts(site: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path / "profile") as browser:
        browser.open(site / "domains" / "painting.html", 1200, 844)
        browser.run(
            "document.addEventListener('copy', () => { window.copied = document.activeElement.value; })"
        )
        box = "document.querySelector('.highlight-console button.copybtn').getBoundingClientRect()"
        x, y = browser.run(f"[{box}.x + 5, {box}.y + 5]")
        for kind in ("mousePressed", "mouseReleased"):
            browser.mouse(kind, x, y, button="left", clickCount=1)
        assert browser.run("window.copied").strip() == "needful run painting"


class ElementKinds(HTMLParser):
    """The kinds of elements on a page: tag, class, and the names of the attributes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.kinds: set[tuple[str, str | None, frozenset[str]]] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.kinds.add((tag, given.get("class"), frozenset(given)))


def pages_with_every_kind_of_element(site: Path) -> Iterator[Path]:
    """Yield a few pages that together have every kind of element of the site."""
    kinds = {file: ElementKinds(file).kinds for file in sorted(site.rglob("*.html"))}
    missing = set().union(*kinds.values())
    while missing:
        page = max(kinds, key=lambda file: len(kinds[file] & missing))
        missing -= kinds[page]
        yield page


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_axe_finds_nothing_on_the_site(site: Path, tmp_path: Path) -> None:
    axe = fetch_axe(tmp_path)
    # All pages share one style sheet, so they alternate between the two layouts and colour schemes.
    layouts = itertools.cycle([(1200, "light"), (390, "dark")])
    with open_browser(tmp_path / "profile") as browser:
        for file, (width, scheme) in zip(pages_with_every_kind_of_element(site), layouts, strict=False):
            browser.open(file, width, 844, scheme)
            assert violations(browser, axe) == [], file.name


def test_the_menu_has_every_page_once() -> None:
    pages = ["index.md", "concepts.md", "api/index.md", "api/files.md", "howto/ray.md", "new.md"]
    shown = navigation(pages)
    assert shown["Start"] == ("concepts",)
    assert shown["How to"] == ("howto/ray",)
    assert shown["Reference"] == ("api/index",)
    assert shown["More"] == ("new",)


def test_every_page_in_the_menu_exists() -> None:
    pages = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md")} | set(generated_pages())
    folders = {f"{page.rpartition('/')[0]}/" for page in pages} | {"results/"}
    listed = [entry for entries in NAVIGATION.values() for entry in entries]
    assert [one for one in listed if f"{one}.md" not in pages and one not in folders] == []


def test_the_reference_has_every_public_name() -> None:
    pages = reference_pages()
    texts = [text for path, text in pages.items() if path != "api/index.md"]
    shown = [name for text in texts for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)]
    assert sorted(shown) == sorted(name for names in public_names().values() for name in names)
    assert all(" at 0x" not in text for text in texts)
    assert all(text.count("\n") < MAX_REFERENCE_LINES for text in texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[b](missing.md)", "'missing.md'"),
        ("[b](b.md#nowhere)", "'nowhere'"),
        ("![b](b.png)", "b.png"),
    ],
)
def test_a_broken_link_is_an_error(text: str, message: str, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "index.md").write_text(f"# A\n\n{text}\n\n```{{toctree}}\nb\n```\n")
    (sources / "b.md").write_text("# B\n")
    folders = f"Path({str(sources)!r}), Path({str(tmp_path / 'site')!r})"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from pathlib import Path; import build_site; build_site.render({folders})",
        ],
        cwd=DOCS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "index.md:3" in done.stderr
    assert message in done.stderr


def test_links_to_the_repository_become_links_to_pages() -> None:
    assert resolve_links("[a](../../results/report.md#x)", "howto/ray.md") == "[a](../results/report.md#x)"
    assert resolve_links("[a](../examples/01_x.py)", "index.md") == "[a](examples/01_x.md)"
    assert resolve_links("[a](../docs/baselines.md)", "results/README.md") == "[a](../baselines.md)"
    assert resolve_links("[a](docs/execution.md)", "changelog.md") == "[a](execution.md)"
    assert resolve_links("[a](decisions/)", "index.md") == "[a](decisions/index.md)"
    assert resolve_links("[a](https://x.org/y) [b](#c)", "index.md") == "[a](https://x.org/y) [b](#c)"
