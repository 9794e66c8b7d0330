"""The digest of the sources that can change the results of a run.

Records contain the digest. Reports use it to mark results that were computed with other sources.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from needful.envs.catalogue import CATALOGUE

PACKAGE = Path(__file__).parents[1]
# Folders and files that store, show or repeat results, but do not change them. `paper/` only chooses
# settings, and these are part of `config_hash`.
WITHOUT_EFFECT = (
    "__init__.py",
    "lazy_names.py",
    "cli/",
    "paper/",
    "reports/",
    "storage/",
    "sweeps/",
    "envs/catalogue.py",
    "envs/check_demonstrators.py",
    "envs/checker.py",
    "envs/drawing/",
    "envs/findings.py",
    "envs/household/view/",
    "evaluation/records.py",
    "evaluation/run_folder.py",
    "evaluation/sources.py",
)
# Optional features of runs, each with the folders and files that only runs with this feature use.
OPTIONAL_PARTS = {
    "invention": ("invention/",),
    "execution": ("evaluation/execution.py", "planning/agent.py", "planning/observation.py"),
    "adapters": ("envs/adapters/", "envs/kinder/", "envs/gym.py"),
}

# The fields of `ast` nodes that hold statements, exception handlers or match cases. Docstrings can only be
# in these fields.
STATEMENT_LISTS = ("body", "orelse", "finalbody", "handlers", "cases")
ADAPTERS = ("needful.envs.adapters", "needful.envs.kinder")


def unused_parts(domain: str, *, invention: bool, execution: bool) -> frozenset[str]:
    """Return the names of the `OPTIONAL_PARTS` that a run on a domain does not use."""
    entry = CATALOGUE.get(domain)
    adapted = entry is None or entry.module.startswith(ADAPTERS)
    used = {"invention": invention, "execution": execution, "adapters": adapted}
    return frozenset(name for name, needed in used.items() if not needed)


@cache
def sources_digest(package: Path = PACKAGE, unused: frozenset[str] = frozenset()) -> str:
    """Return a hash of the Python files of a package, by default needful (16 hexadecimal digits).

    The hash ignores comments, docstrings and files that cannot change results. `unused` has the names of
    the `OPTIONAL_PARTS` that the run does not use; their files are ignored, too. The C++ engine is also
    ignored, because it returns the same plans as the Python engine.
    """
    left_out = (*WITHOUT_EFFECT, *(path for name in sorted(unused) for path in OPTIONAL_PARTS[name]))
    digest = hashlib.sha256()
    files = {file.relative_to(package).as_posix(): file for file in package.rglob("*.py")}
    for name in sorted(files):
        if not name.startswith(left_out):
            content = _counted_content(files[name])
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


@cache
def _counted_content(file: Path) -> bytes:
    """Return the part of a file that is hashed; cached, because several digests hash the same file."""
    return without_comments(file.read_text(encoding="utf-8")).encode()


def without_comments(source: str) -> str:
    """Return Python source without docstrings, lines of comments and empty lines.

    The result is only for comparisons: a class that has only a docstring is left without a body.
    """
    lines = source.splitlines()
    kept = set(range(1, len(lines) + 1))
    for first, last in _docstring_lines(ast.parse(source)):
        kept -= set(range(first, last + 1))
    numbered = ((number, line.rstrip()) for number, line in enumerate(lines, 1))
    shown = (line for number, line in numbered if number in kept and line.strip())
    return "".join(f"{line}\n" for line in shown if not line.lstrip().startswith("#"))


def _docstring_lines(node: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last line of each docstring in a module or a statement.

    To save time, expressions are not visited: they contain no docstrings.
    """
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        first = node.body[0] if node.body else None
        value = first.value if isinstance(first, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.end_lineno or value.lineno
    for name in STATEMENT_LISTS:
        for statement in getattr(node, name, ()):
            yield from _docstring_lines(statement)
