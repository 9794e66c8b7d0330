"""Rows of benchmarks: targets, comparison with a baseline, and the exit code."""

from __future__ import annotations

import json

import pytest

import bench
from report import Report, Row, calibrate, find_problems, format_number, markdown_table, table, times_worse


def report(*rows: Row, calibration: float = 1.0, quick: bool = False) -> Report:
    return Report(rows, calibration, quick, "somewhere")


@pytest.mark.parametrize(
    ("value", "target", "better", "met"),
    [
        (1.0, 1.0, "lower", True),
        (1.1, 1.0, "lower", False),
        (8.0, 8.0, "higher", True),
        (7.9, 8.0, "higher", False),
        (5.0, None, "lower", None),
        (None, 8.0, "higher", False),
        (None, None, "lower", None),
    ],
)
def test_targets(value, target, better, met):
    assert Row("a", value, "s", target, better).target_met is met


def test_times_are_compared_relative_to_the_calibration():
    stored = report(
        Row("time", 10.0, "ms"), Row("memory", 100.0, "MB"), Row("ratio", 20.0, "x", better="higher")
    )
    now = report(
        Row("time", 30.0, "ms"),
        Row("memory", 150.0, "MB"),
        Row("ratio", 5.0, "x", better="higher"),
        calibration=2.0,
    )
    assert times_worse(now, stored) == pytest.approx({"time": 1.5, "memory": 1.5, "ratio": 4.0})


def test_only_rows_with_values_in_both_reports_are_compared():
    stored = report(Row("a", 1.0, "s"), Row("b", None, "s"), Row("c", 1.0, "s"), Row("d", 0.0, "s"))
    now = report(
        Row("a", 1.0, "s"), Row("b", 1.0, "s"), Row("c", None, "s"), Row("d", 1.0, "s"), Row("e", 1.0, "s")
    )
    assert times_worse(now, stored) == {"a": 1.0}


def test_missed_targets_and_regressions_are_problems():
    rows = [Row("fast", 1.0, "s", 2.0), Row("slow", 3.0, "s", 2.0), Row("free", 9.0, "s")]
    assert find_problems(rows, {"fast": 1.0, "free": 1.5}) == ["slow: the target is not met."]
    assert find_problems(rows[:1], {"fast": 1.51}) == ["fast: 1.51 times worse than the baseline."]
    assert find_problems(rows[:1], {}) == []


def test_reports_come_back_from_their_files(tmp_path):
    original = report(Row("a", 1.5, "ms", 2.0, "higher", "so"), Row("b", None, "x"), quick=True)
    path = tmp_path / "new" / "report.json"
    original.write(path)
    assert Report.read(path) == original


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"format": "needful-bench", "version": 0, "rows": []}))
    with pytest.raises(ValueError, match="not a benchmark report"):
        Report.read(path)


def test_rows_may_be_given_as_mappings():
    row = Row("a", 1.0, "s", 2.0, "lower", "note")
    given = {
        "name": "a",
        "value": 1.0,
        "unit": "s",
        "target": 2.0,
        "better": "lower",
        "note": "note",
        "more": 1,
    }
    assert Row.of(given) == row == Row.of(row)
    assert Row.of({"name": "a", "value": 1.0, "unit": "s"}) == Row("a", 1.0, "s")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (7, "7"),
        (12345, "12,345"),
        (0.01234, "0.0123"),
        (1.5, "1.50"),
        (99.96, "100.0"),
        (1234.5, "1,234"),
    ],
)
def test_figures_have_three_digits(value, text):
    assert format_number(value) == text


def test_tables_show_met_targets_and_regressions():
    rows = [Row("a", 1.0, "s", 2.0), Row("b", 1.0, "x", 2.0, "higher"), Row("c", None, "ms", note="why")]
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table(rows, {"a": 2.0}).splitlines()
    ]
    assert cells[2:] == [
        ["a", "1.00 s", "≤ 2.00 s", "yes", "× 2.00 WORSE", ""],
        ["b", "1.00 x", "≥ 2.00 x", "NO", "", ""],
        ["c", "not measured", "", "", "", "why"],
    ]
    assert markdown_table([["a", "bb"], ["ccc", "d"]]).splitlines() == [
        "| a   | bb |",
        "|-----|----|",
        "| ccc | d  |",
    ]


def test_the_calibration_takes_some_time():
    assert calibrate(repeat=1) > 0


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Return a function that runs the benchmark on given rows and returns its exit code."""

    def run(*rows: Row, quick: bool = False, options: tuple[str, ...] = ()) -> int:
        monkeypatch.setattr(bench, "measure", lambda names, quick: report(*rows, quick=quick))
        files = ["--json", str(tmp_path / "bench.json"), "--baseline", str(tmp_path / "baseline.json")]
        return bench.main([*files, *options, *(["--quick"] if quick else [])])

    return run


def test_the_exit_code_reports_missed_targets(measured, capsys):
    assert measured(Row("a", 1.0, "s", 2.0)) == 0
    assert "All targets are met." in capsys.readouterr().out
    assert measured(Row("a", 3.0, "s", 2.0)) == 1
    assert "a: the target is not met." in capsys.readouterr().out


def test_the_exit_code_reports_regressions(measured, tmp_path, capsys):
    assert measured(Row("a", 1.0, "s"), options=("--write-baseline",)) == 0
    assert Report.read(tmp_path / "baseline.json") == Report.read(tmp_path / "bench.json")
    assert measured(Row("a", 1.4, "s")) == 0
    assert measured(Row("a", 1.6, "s")) == 1
    assert "a: 1.60 times worse than the baseline." in capsys.readouterr().out
    # A worse run may become the baseline.
    assert measured(Row("a", 1.6, "s"), options=("--write-baseline",)) == 0
    assert measured(Row("a", 1.6, "s")) == 0


def test_a_quick_run_is_not_compared_with_a_full_run(measured, capsys):
    measured(Row("a", 1.0, "s"), options=("--write-baseline",))
    assert measured(Row("a", 9.0, "s"), quick=True) == 0
    assert "Not compared" in capsys.readouterr().out


def test_unknown_benchmarks_are_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        bench.main(["--only", "search,serach"])
    assert stopped.value.code == 2
    assert "unknown benchmark 'serach'; choose from search, " in capsys.readouterr().err
