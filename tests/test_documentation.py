"""The documentation keeps its word: its code runs, its links lead somewhere, its site can be built.

A block that cannot run has a comment before it, `<!-- not run: why -->`. After the comment
`<!-- from here on in: FOLDER -->` the page is followed in that folder. A block that begins with `# FILE.py`
belongs into that file.
"""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from axe_core import fetch_axe, violations
from build_site import arrange, build, made_pages, written_pages
from command_line import succeed
from headless_browser import CHROMIUM, open_browser
from site_pages import BrokenPage, Page, headings, links, resolver

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
LANGUAGES = {"python", "console", "json", "text"}
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
        return self.language in ("python", "console") and not self.marker.startswith("not run: ")

    @property
    def file(self) -> str | None:
        """The file that the block is to be written to."""
        found = re.match(r"# (\w+\.py)\b", self.code)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text())
    return [Block(one["language"], one["code"], one["marker"] or "") for one in found]


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Reader:
    """Somebody who does what a page says, in a folder of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: dict[str, object] = {"__name__": "page"}
        self.monkeypatch = monkeypatch
        self.heard = ""
        self.enter(folder)

    def enter(self, folder: Path) -> None:
        self.folder = folder
        self.monkeypatch.chdir(folder)
        self.monkeypatch.syspath_prepend(folder)

    def follow(self, block: Block) -> None:
        if block.marker.startswith("from here on in: "):
            self.enter(self.folder / block.marker.removeprefix("from here on in: "))
        if block.language == "console":
            for line in block.code.splitlines():
                self.type(line)
        elif block.file:
            with (self.folder / block.file).open("a") as file:
                file.write(block.code + "\n")
        else:
            exec(compile(block.code, "page", "exec"), self.names)

    def type(self, line: str) -> None:
        prompt, program, *arguments = line.split("#")[0].split()
        assert prompt == "$", line
        if program == "needful":
            self.heard += succeed(*arguments).out
            return
        assert program == "python", f"cannot run {line!r}: mark it with <!-- not run: why -->"
        done = subprocess.run([sys.executable, "-W", "error", *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        self.heard += done.stdout


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def forget_modules(tmp_path: Path) -> Iterator[None]:
    """Let a module that a page writes be imported by this page alone."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    "page",
    [page for page in pages() if page != TUTORIAL and any(b.runs for b in blocks(page))],
    ids=name_of,
)
def test_the_code_of_a_page_runs(page: Path, reader: Reader) -> None:
    for block in blocks(page):
        if block.runs:
            reader.follow(block)


def test_the_tutorial_ends_with_solved_tasks_and_pddl(reader: Reader, tmp_path: Path) -> None:
    followed = blocks(TUTORIAL)
    assert all(block.runs for block in followed if block.language != "text")
    for block in followed:
        if block.runs:
            reader.follow(block)
    promised = [line for block in followed if block.language == "text" for line in block.code.splitlines()]
    assert promised
    assert [line for line in promised if line not in reader.heard] == []
    summary = json.loads((tmp_path / "garden" / "summary.json").read_text())
    assert (summary["solved"], summary["operators"]) == (20, 4)
    assert "(:action Pour" in (tmp_path / "pddl" / "domain.pddl").read_text()
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_the_functions_named_line_by_line_are_there() -> None:
    section = (DOCS / "paper_to_code.md").read_text().partition("## Line by line")[2].partition("\n## ")[0]
    names = re.findall(r"`((?:\w+\.)+\w+)`", section)
    assert len(names) > 20
    for name in names:
        assert pkgutil.resolve_name(f"needful.{name}") is not None


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_blocks_have_a_language_and_markers_a_reason(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, block.code
        assert re.fullmatch(r"|not run: .{10,}|from here on in: \w+", block.marker), block.marker
    assert page.read_text().count("\n```") == 2 * len(blocks(page))


@pytest.mark.parametrize(
    "page", [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")], ids=name_of
)
def test_links_of_pages_outside_the_site(page: Path) -> None:
    for link in links(page.read_text()):
        place, _, anchor = link.partition("#")
        if not place.startswith("http"):
            target = page.parent / place if place else page
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


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
def test_pages_fit_a_phone_and_ask_for_nothing(tmp_path: Path) -> None:
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


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_site(tmp_path: Path, width: int, scheme: str) -> None:
    build(tmp_path / "site")
    axe = fetch_axe(tmp_path)
    with open_browser(tmp_path / "profile") as browser:
        for file in sorted((tmp_path / "site").rglob("*.html")):
            browser.open(file, width, 844, scheme)
            assert violations(browser, axe) == [], file.name


def test_the_menu_has_every_page_once() -> None:
    written = written_pages()
    everything = [*written, *made_pages(written)]
    shown = [page.path for section in arrange(everything) for page in section.pages]
    assert sorted(shown) == sorted(page.path for page in everything)


def test_the_reference_has_every_public_name() -> None:
    import needful

    (reference,) = (page for page in made_pages(()) if page.path == "api.md")
    shown = [one.text for one in headings(reference.text) if one.level == 3]
    assert sorted(shown) == sorted(needful.__all__)
    assert " at 0x" not in reference.text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# A\n\n[b](missing.md)", "a.md links to missing.md, which is not there."),
        ("# A\n\n[b](b.md#nowhere)", "a.md links to b.md#nowhere, but b.md has no heading 'nowhere'."),
        ("# A\n\n![b](b.png)", "a.md links to b.png, which is not there."),
    ],
)
def test_broken_links_are_named(text: str, complaint: str) -> None:
    resolve = resolver([Page("a.md", text), Page("b.md", "# B\n\n## Some where?")], ["images/c.png"], {})
    assert resolve("a.md", "b.md#some-where") == "b.html#some-where"
    assert resolve("howto/x.md", "../images/c.png") == "../images/c.png"
    (link,) = links(text)
    with pytest.raises(BrokenPage) as raised:
        resolve("a.md", link)
    assert str(raised.value) == complaint


def test_a_page_needs_a_title() -> None:
    with pytest.raises(BrokenPage, match=r"a\.md has no title"):
        _ = Page("a.md", "text").title


def test_equal_headings_have_different_anchors() -> None:
    assert [one.anchor for one in headings("# Go on\n## Go on\n## Why, and `how`?")] == [
        "go-on",
        "go-on-1",
        "why-and-how",
    ]
