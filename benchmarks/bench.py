"""Run the benchmarks, print one table, and compare it with the stored baseline.

Usage: python benchmarks/bench.py [--only search,planning_times] [--quick] [--json FILE]
                                  [--baseline FILE] [--write-baseline]

Each benchmark is also a script that prints more detail. A full run takes about 15 minutes, most of it for
third-party planners and household domains. A quick run takes seconds and starts no third-party planner.

Exit code: 0 if all targets are met and no row is more than 1.5 times worse than in the baseline, 1 if not,
2 for wrong usage. A row that could not be measured does not meet its target.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from processes import FOLDER
from report import Report, Row, find_problems, table, times_worse

BENCHMARKS = (
    "search",
    "deadlines",
    "planning_times",
    "operator_learning",
    "sampler_learning",
    "end_to_end",
    "household",
)
BASELINE = FOLDER / "baseline.json"
RESULT = FOLDER / "out" / "bench.json"


def measure(names: Sequence[str], quick: bool) -> Report:
    """Return the report of the named benchmarks."""
    rows: list[Row] = []
    for name in names:
        print(f"Measuring {name}", file=sys.stderr, flush=True)
        rows += map(Row.of, importlib.import_module(name).rows(quick=quick))
    return Report.of(rows, quick)


def stored_baseline(path: Path, quick: bool) -> Report | None:
    """Return the baseline, or None if the file does not exist or is of another kind (quick or full)."""
    if not path.exists():
        return None
    baseline = Report.read(path)
    if baseline.quick != quick:
        kinds = {True: "quick", False: "full"}
        print(
            f"Not compared with {path}: it is a {kinds[baseline.quick]} run, this is a {kinds[quick]} run."
        )
        return None
    return baseline


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    report = measure(args.only, args.quick)
    baseline = None if args.write_baseline else stored_baseline(args.baseline, args.quick)
    worse = times_worse(report, baseline) if baseline else {}
    print(table(report.rows, worse))
    report.write(args.json)
    if args.write_baseline:
        report.write(args.baseline)
    problems = find_problems(report.rows, worse)
    print("\n".join(["", *problems]) if problems else "\nAll targets are met.")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--only",
        type=_names,
        default=BENCHMARKS,
        metavar="NAME,...",
        help=f"run only these, separated by commas: {', '.join(BENCHMARKS)}",
    )
    parser.add_argument("--quick", action="store_true", help="small cases, no third-party planners")
    parser.add_argument(
        "--json", type=Path, default=RESULT, metavar="FILE", help="write the rows to this file"
    )
    parser.add_argument(
        "--baseline", type=Path, default=BASELINE, metavar="FILE", help="compare with this file"
    )
    parser.add_argument("--write-baseline", action="store_true", help="store this run as the baseline")
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown benchmark {unknown[0]!r}; choose from {', '.join(BENCHMARKS)}"
        )
    return names


if __name__ == "__main__":
    sys.exit(main())
