"""Generate the API reference, in Markdown, from the docstrings of the public names."""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

# Packages whose stub `__init__.pyi` lists their public names.
STUB_PACKAGES = ("needful", "needful.planning")
# Packages whose docstring lists further public modules, one per line: the module, then its public names.
DOCSTRING_PACKAGES = ("needful.envs",)
LISTED_MODULE = re.compile(r"^ *(needful[\w.]+) +(\w+(?:, \w+)*)$", re.MULTILINE)

# Titles of the pages with the names of `needful`: one per package, in the order of the data flow.
SECTION_TITLES = {
    "core": "Vocabulary",
    "abstraction": "Abstraction",
    "envs": "Environments",
    "demos": "Demonstrations",
    "approaches": "Approaches",
    "operator_learning": "Operator learning",
    "sampler_learning": "Sampler learning",
    "policies": "Policies",
    "planning": "Planning",
    "evaluation": "Runs and evaluation",
    "sweeps": "Sweeps",
    "reports": "Reports",
    "storage": "Files",
    "errors": "Errors",
}
WIDTH = 88
DOCSTRING_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises):$")


def public_names() -> dict[str, tuple[str, ...]]:
    """Return the documented names of each public module."""
    names = {package: tuple(import_module(package).__all__) for package in STUB_PACKAGES}
    for package in DOCSTRING_PACKAGES:
        docstring = import_module(package).__doc__ or ""
        names |= {module: tuple(listed.split(", ")) for module, listed in LISTED_MODULE.findall(docstring)}
    return names


def reference_pages() -> dict[str, str]:
    """Return the pages below api/: an index, and one page per package or further public module."""
    top_level, *others = public_names().items()
    sections = dict(_top_level_sections(top_level[1]))
    sections |= {module: (import_module(module), names) for module, names in others}
    pages, listed = {}, []
    for title, (module, names) in sections.items():
        file = f"{title.lower().replace(' ', '_').replace('.', '_')}.md"
        heading = f"`{title}`" if title == module.__name__ else title
        pages[f"api/{file}"] = (
            "\n\n".join([f"# {heading}", _introduction(module), *_entries(module, names)]) + "\n"
        )
        links = ", ".join(f"[`{name}`]({file}#{name.lower()})" for name in names)
        listed.append(f"## [{heading}]({file})\n\n{links}")
    first = f"# API reference\n\n`needful` exports {len(top_level[1])} names, such as `needful.plan`."
    pages["api/index.md"] = "\n\n".join([first, *listed]) + "\n"
    return pages


def _introduction(module: ModuleType) -> str:
    return f"Import these names from `{module.__name__}`. Below each entry is the module that defines it."


def _top_level_sections(names: tuple[str, ...]) -> Iterator[tuple[str, tuple[ModuleType, tuple[str, ...]]]]:
    needful = import_module("needful")
    homes = _home_modules(needful)
    packages: dict[str, list[str]] = {package: [] for package in SECTION_TITLES}
    for name in names:
        packages.setdefault(homes[name].split(".")[1], []).append(name)
    for package, members in packages.items():
        if members:
            yield SECTION_TITLES.get(package, package), (needful, tuple(members))


def _entries(module: ModuleType, names: tuple[str, ...]) -> Iterator[str]:
    homes = _home_modules(module)
    for name in names:
        yield _entry(name, getattr(module, name), homes.get(name, module.__name__))


def _home_modules(module: ModuleType) -> dict[str, str]:
    """Return the defining module of each name in a stub; aliases and constants have no `__module__`."""
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    tree = ast.parse(stub.read_text() if stub.exists() else "")
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def _entry(name: str, value: object, home: str) -> str:
    parts = [f"## {name}"]
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        parts += [_prose(value), "\n".join(f"- `{name}.{member.name}`" for member in value)]
    elif inspect.isclass(value):
        parts += [_code(f"class {name}{_signature(value)}"), _prose(value), "\n".join(_members(value))]
    elif inspect.isfunction(value):
        parts += [_code(f"def {name}{_signature(value)}"), _prose(value)]
    elif isinstance(value, Mapping):
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
    except ValueError:  # enumerations and built-in exceptions have no signature
        return ""
    return _readable(str(signature)).removesuffix(" -> None")


def _readable(text: str) -> str:
    """Replace the reprs of objects by their names, because addresses differ between runs."""
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
    """Split arguments at the commas outside brackets."""
    depth, start = 0, 0
    for index, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            yield arguments[start:index].strip()
            start = index + 1
    yield arguments[start:].strip()


def _prose(value: object) -> str:
    """Return a docstring as Markdown, with its sections as lists."""
    lines, in_section = [], False
    for line in inspect.cleandoc(value.__doc__ or "").splitlines():
        if DOCSTRING_SECTION.match(line):
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
    """Escape Markdown markup in a line, except in code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([<*_\\])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
