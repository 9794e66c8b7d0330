"""The reference of the public names, from their docstrings, as Markdown."""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import needful

# The packages in the order in which data flows through them, with their titles.
PACKAGES = {
    "core": "The vocabulary",
    "abstraction": "Abstraction",
    "envs": "Environments",
    "demos": "Demonstrations",
    "operator_learning": "Learning operators",
    "sampler_learning": "Learning samplers",
    "policies": "Policies",
    "planning": "Planning",
    "evaluation": "Models, runs and evaluation",
    "storage": "Files",
    "errors": "Errors",
}
WIDTH = 88
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises):$")


def reference() -> str:
    """Return the page: every name of `needful.__all__`, by package."""
    homes = _homes()
    packages: dict[str, list[str]] = {package: [] for package in PACKAGES}
    for name in needful.__all__:
        packages.setdefault(homes[name].split(".")[1], []).append(name)
    parts = ["# API reference", f"All {len(needful.__all__)} names of `import needful`."]
    for package, names in packages.items():
        if names:
            parts.append(f"## {PACKAGES.get(package, package)}")
            parts += [_entry(name, homes[name]) for name in names]
    return "\n\n".join(parts) + "\n"


def _homes() -> dict[str, str]:
    """Return the module of each public name: aliases and constants do not know it themselves."""
    tree = ast.parse(Path(needful.__file__).with_suffix(".pyi").read_text())
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def _entry(name: str, home: str) -> str:
    value = getattr(needful, name)
    parts = [f"### {name}"]
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        parts += [_prose(value), "\n".join(f"- `{name}.{member.name}`" for member in value)]
    elif inspect.isclass(value):
        parts += [_code(f"class {name}{_signature(value)}"), _prose(value), "\n".join(_members(value))]
    elif inspect.isfunction(value):
        parts += [_code(f"def {name}{_signature(value)}"), _prose(value)]
    elif isinstance(value, dict):
        parts.append(", ".join(f"`{key}`" for key in value))
    else:
        parts.append(_code(f"{name} = {_readable(str(value))}"))
    return "\n\n".join([*filter(None, parts), f"<small>`{home}`</small>"])


def _members(kind: type) -> Iterator[str]:
    for name, member in sorted(vars(kind).items()):
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        function = member.fget if isinstance(member, property) else function
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        arguments = "" if isinstance(member, property) else _signature(function).split(" -> ")[0]
        arguments = re.sub(r"^\((self|cls)(, )?", "(", arguments)
        first = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        yield f"- `{name}{arguments}`: {_escaped(first)}"


def _signature(value: object) -> str:
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except ValueError:  # enumerations and exceptions of the standard library have none
        return ""
    return _readable(str(signature)).removesuffix(" -> None")


def _readable(text: str) -> str:
    """Put names in the place of objects as Python shows them; addresses differ from run to run."""
    text = re.sub(r"<(?:function|class) '?(?:[\w.]+\.)?(\w+)'?(?: at 0x\w+)?>", r"\1", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(r"needful\.(?:\w+\.)+", "", text).replace("'", "")


def _code(text: str) -> str:
    if len(text) > WIDTH and "(" in text:
        name, _, rest = text.partition("(")
        arguments, _, result = rest.rpartition(")")
        lines = "".join(f"    {one},\n" for one in _split(arguments))
        text = f"{name}(\n{lines}){result}"
    return f"```python\n{text}\n```"


def _split(arguments: str) -> Iterator[str]:
    """Yield arguments that are separated by commas outside of brackets."""
    depth, start = 0, 0
    for place, sign in enumerate(arguments):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            yield arguments[start:place].strip()
            start = place + 1
    yield arguments[start:].strip()


def _prose(value: object) -> str:
    """Return a docstring as Markdown, its sections as lists."""
    lines, in_section = [], False
    for line in inspect.cleandoc(value.__doc__ or "").splitlines():
        if SECTION.match(line):
            lines += [f"**{line[:-1]}**", ""]
            in_section = True
        elif in_section and (item := re.match(r"^ {4}([\w*, ]+): (.*)$", line)):
            lines.append(f"- `{item[1]}`: {_escaped(item[2])}")
        elif in_section and line.startswith("    "):
            lines.append(f"  {_escaped(line.strip())}")
        else:
            in_section = in_section and not line
            lines.append(line if line.startswith("    ") else _escaped(line))
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Return a line without anything that Markdown would take for markup, outside of code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([<*_\\])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
