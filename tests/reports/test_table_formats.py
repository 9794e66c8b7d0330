"""Tables as text, Markdown, LaTeX and CSV can be read back, even with special characters in names."""

from __future__ import annotations

import csv as python_csv
import html
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from needful.paper.published import Estimate
from needful.reports.paper_tables import TABLES, fill_table
from needful.reports.runs import group_runs
from needful.reports.table import (
    CSV_FIELDS,
    Cell,
    Row,
    Table,
    as_csv,
    as_latex,
    as_markdown,
    as_text,
    escape_latex,
    escape_markdown,
    one_decimal,
    table_rows,
)
from synthetic_results import make_sweep

# Any text that a file can hold, without U+0000, which Markdown replaces.
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SPECIAL = "a|b \\| `c` *d* _e_ <b>&amp; [x](y) $z$ ~~s~~ {1} #2 %3 ^4 \n- 5"

CELLS = (
    Cell(Estimate(98.76, 0.44, 4), Estimate(99.0, 0.31, 10), 20, best=True, notes=("n = 4 × 20",)),
    Cell(None, Estimate(50.0, 15.81, 10), notes=("1 error", SPECIAL)),
    Cell(Estimate(3.0, None, 1), None),
)


def make_table(name: str = SPECIAL) -> Table:
    row = Row(name, name, CELLS)
    return Table("t", f"Title {name}", f"Caption {name}", ("A", name, "C"), (row, row), one_decimal)


def line_of(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def rendered_cells(text: str) -> list[list[str]]:
    """Return the HTML of a Markdown table's cells."""
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    rows = re.findall(r"<tr>(.*?)</tr>", shown, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_markdown_shows_measured_published_difference_and_notes() -> None:
    header, *rows = rendered_cells(as_markdown(make_table()))
    assert [html.unescape(cell) for cell in header] == ["Domain", "A", line_of(SPECIAL), "C"]
    assert len(rows) == 2
    for title, *cells in rows:
        assert html.unescape(title) == line_of(SPECIAL)
        assert cells[0] == "<strong>98.8 (0.4)</strong><br>paper 99.0 (0.3), −0.2<br>n = 4 × 20"
        assert html.unescape(cells[1]) == f"–<br>paper 50.0 (15.8)<br>1 error<br>{line_of(SPECIAL)}"
        assert cells[2] == "3.0"


@given(NAMES)
@example(SPECIAL)
@example("\\")
@example("**")
@example("~~x~~")
@example("https://example.org")
def test_markdown_shows_names_literally(name: str) -> None:
    for row in rendered_cells(f"| {escape_markdown(name)} | next |\n| --- | --- |\n"):
        assert [line_of(html.unescape(cell)) for cell in row] == [line_of(name), "next"]


def unescaped_latex(text: str) -> str:
    """Return the text that LaTeX shows; only a few commands may occur."""
    words = {
        r"\textbackslash{}": "\\",
        r"\textasciitilde{}": "~",
        r"\textasciicircum{}": "^",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        r"\textbar{}": "|",
        "{[}": "[",
        "{*}": "*",
        "$-$": "−",
        r"$\pm$": "±",
        r"$\times$": "×",
        "--": "–",
    }
    token = re.compile("|".join(map(re.escape, words)) + r"|\\[&%$#_{}]|[^\\&%$#_{}~^]")
    tokens = token.findall(text)
    assert "".join(tokens) == text, "a character is not escaped"
    return "".join(words.get(one, one[-1]) for one in tokens)


@given(NAMES)
@example(SPECIAL)
@example(r"\input{x}")
def test_latex_shows_names_literally(name: str) -> None:
    # LaTeX shows two hyphens as a dash.
    assert unescaped_latex(escape_latex(name)) == line_of(name).replace("--", "–")


def latex_rows(text: str) -> list[list[str]]:
    lines = [line.removesuffix(r"\\").strip() for line in text.splitlines() if line.endswith(r"\\")]
    return [re.split(r"(?<!\\)&", line) for line in lines]


def test_latex_has_lines_for_measured_published_differences_and_notes() -> None:
    text = as_latex(make_table())
    header, *rows = [[cell.strip() for cell in row] for row in latex_rows(text)]
    assert [unescaped_latex(cell.removeprefix(r"\textbf{").removesuffix("}")) for cell in header[1:2]] == [
        "A"
    ]
    assert header[2] == rf"\textbf{{{escape_latex(SPECIAL)}}}"
    assert rows[:4] == rows[4:]
    assert rows[0] == [escape_latex(SPECIAL), r"\textbf{98.8 (0.4)}", "--", "3.0"]
    assert rows[1] == [r"\quad paper", "99.0 (0.3)", "50.0 (15.8)", ""]
    assert rows[2] == [r"\quad difference", "$-$0.2", "", ""]
    assert rows[3][:2] == [r"\quad notes", r"n = 4 $\times$ 20"]
    assert r"\begin{tabular}{lrrr}" in text


def test_latex_leaves_out_lines_without_entries() -> None:
    bare = Table(
        "t", "t", "c", ("A",), (Row("d", "d", (Cell(Estimate(1.0, None, 1), None),)),), one_decimal
    )
    assert latex_rows(as_latex(bare))[1:] == [["d ", " 1.0"]]


@given(NAMES)
@example("[1]")
@example("*")
def test_no_latex_row_starts_with_an_argument_of_a_line_break(name: str) -> None:
    assert not escape_latex(name).startswith(("[", "*"))


@given(NAMES)
@example(SPECIAL)
@example('"quoted", with commas\r\n')
@example("\r")
def test_csv_holds_all_numbers_in_full(name: str) -> None:
    table = make_table(name)
    read = list(python_csv.DictReader(io.StringIO(as_csv(table), newline="")))
    assert len(read) == 6
    for found, given_row in zip(read, table_rows(table), strict=True):
        given_row["best"] = int(bool(given_row["best"]))
        assert found == {key: "" if value is None else str(value) for key, value in given_row.items()}
    assert float(read[0]["mean"]) == 98.76
    assert float(read[0]["difference"]) == 98.76 - 99.0


def test_csv_names_its_columns_even_without_rows() -> None:
    (header,) = python_csv.reader([as_csv(Table("t", "t", "c", (), (), one_decimal))])
    assert header == list(CSV_FIELDS)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_can_be_written_in_every_format(name: str) -> None:
    groups = group_runs(
        make_sweep(["screws", "sorting-books"], ["necessary", "ci", "gnn-shooting"], seeds=2)
    )
    table = fill_table(name, groups)
    header, *rows = rendered_cells(as_markdown(table))
    assert (len(header), len(rows)) == (1 + len(table.columns), 2)
    assert len({len(row) for row in latex_rows(as_latex(table))}) == 1
    assert as_csv(table).count("\n") == 1 + 2 * len(table.columns)
    for row, (title, *cells) in zip(table.rows, rows, strict=True):
        assert title == row.title
        for cell, shown in zip(row.cells, cells, strict=True):
            assert shown.startswith("<strong>") == cell.best
            assert table.estimate_text(cell.measured) in shown


@pytest.mark.parametrize("caption", ["Solved tasks", "Solved tasks.", "Solved tasks. Bold is best."])
def test_the_heading_of_a_text_has_one_full_stop(caption: str) -> None:
    table = Table("main", "Success rates", caption, ("necessary",), (), one_decimal)
    assert as_text(table).splitlines()[0] == "Success rates. Solved tasks."


def test_text_has_a_line_for_each_cell_with_results() -> None:
    published_only = Cell(None, Estimate(50.0, 15.81, 10))
    row = Row("attic", "Attic", (CELLS[0], published_only, CELLS[2]))
    table = Table("t", "Title", "Caption.", ("A", "B", "C"), (row,), one_decimal)
    heading, _, columns, *lines = as_text(table).splitlines()
    assert heading == "Title. Caption."
    assert columns.split() == ["domain", "learner", "measured", "published", "difference"]
    assert [" ".join(line.split()) for line in lines] == [
        "Attic A 98.8 (0.4) 99.0 (0.3) −0.2 n = 4 × 20",
        "Attic C 3.0 –",
    ]
