"""The structure of the documentation: languages and markers of code blocks, links, and the site.

`test_documentation_code` runs the code.
"""

from __future__ import annotations

import itertools
import pkgutil
import re
from pathlib import Path

import pytest

from api_reference import public_names
from axe_core import fetch_axe, violations
from build_site import arrange, build, generated_pages, source_pages
from command_line import succeed
from documentation_pages import DOCS, EXAMPLES, PAGES, ROOT, TUTORIAL, blocks_of, page_name
from headless_browser import CHROMIUM, open_browser
from site_pages import BrokenPage, Page, headings, links, resolver

LANGUAGES = {"python", "console", "json", "text"}
MAX_EXAMPLE_LINES = 90


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
    for link in links(page.read_text()):
        path, _, anchor = link.partition("#")
        if not path.startswith("http"):
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in {one.anchor for one in headings(target.read_text())}, link


def test_the_site_is_built_whole(tmp_path: Path) -> None:
    count = build(tmp_path / "site")
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert len(built) == count
    for file in built:
        text = file.read_text()
        assert "http" not in "".join(re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', text))  # no network
        for target in re.findall(r'(?:href|src)="([^"#]+)[^"]*"', text):
            assert re.match(r"https?:", target) or (file.parent / target).exists(), (file.name, target)


@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_pages_fit_a_phone_and_load_nothing_from_the_network(tmp_path: Path) -> None:
    build(tmp_path / "site")
    with open_browser(tmp_path / "profile") as browser:
        for name in ("index", "tutorial", "api", "paper_to_code"):
            browser.open(tmp_path / "site" / f"{name}.html", 390, 844, scheme="dark")
            assert browser.run("document.documentElement.scrollWidth") == 390, name
            assert browser.messages == []
            assert all(request.startswith("file:") for request in browser.requests)
            menu = "getComputedStyle(document.querySelector('nav div')).display"
            assert browser.run(menu) == "none"
            browser.run("document.querySelector('summary').click()")
            assert browser.run(menu) == "block"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_axe_finds_nothing_on_the_site(tmp_path: Path) -> None:
    build(tmp_path / "site")
    axe = fetch_axe(tmp_path)
    # All pages share one style sheet, so they alternate between the two layouts and colour schemes.
    layouts = itertools.cycle([(1200, "light"), (390, "dark")])
    with open_browser(tmp_path / "profile") as browser:
        for file, (width, scheme) in zip(
            sorted((tmp_path / "site").rglob("*.html")), layouts, strict=False
        ):
            browser.open(file, width, 844, scheme)
            assert violations(browser, axe) == [], file.name


def test_the_menu_has_every_page_once() -> None:
    sources = source_pages()
    everything = [*sources, *generated_pages(sources)]
    shown = [page.path for section in arrange(everything) for page in section.pages]
    assert sorted(shown) == sorted(page.path for page in everything)


def test_the_reference_has_every_public_name() -> None:
    (reference,) = (page for page in generated_pages(()) if page.path == "api.md")
    shown = [one.text for one in headings(reference.text) if one.level == 3]
    assert sorted(shown) == sorted(name for names in public_names().values() for name in names)
    assert " at 0x" not in reference.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# A\n\n[b](missing.md)", "a.md links to missing.md, which does not exist."),
        ("# A\n\n[b](b.md#nowhere)", "a.md links to b.md#nowhere, but b.md has no heading 'nowhere'."),
        ("# A\n\n![b](b.png)", "a.md links to b.png, which does not exist."),
    ],
)
def test_broken_links_are_named(text: str, message: str) -> None:
    resolve = resolver([Page("a.md", text), Page("b.md", "# B\n\n## Some where?")], ["images/c.png"], {})
    assert resolve("a.md", "b.md#some-where") == "b.html#some-where"
    assert resolve("howto/x.md", "../images/c.png") == "../images/c.png"
    (link,) = links(text)
    with pytest.raises(BrokenPage) as raised:
        resolve("a.md", link)
    assert str(raised.value) == message


def test_a_page_needs_a_title() -> None:
    with pytest.raises(BrokenPage, match=r"a\.md has no title"):
        _ = Page("a.md", "text").title


def test_equal_headings_have_different_anchors() -> None:
    assert [one.anchor for one in headings("# Go on\n## Go on\n## Why, and `how`?")] == [
        "go-on",
        "go-on-1",
        "why-and-how",
    ]
