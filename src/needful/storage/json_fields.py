"""JSON values with their location, so that every error names the file, the field and the remedy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeAlias, TypeVar

from needful.errors import InvalidInputError, UnknownNameError, nearest_name

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a JSON text was read from, and the class of the exceptions to raise if the text is invalid.

    `line` is the number of the line that holds the text, or None if the text is the whole file.
    """

    file: str
    error: type[InvalidInputError]
    line: int | None = None

    def fault(self, problem: str, remedy: str = "", path: str = "") -> InvalidInputError:
        """Return an error that names the file, the line, the problem and the remedy.

        `path` is the path of the invalid JSON field, such as `actions[2].params`.
        """
        location = [self.file]
        if self.line is not None:
            location.append(f"line {self.line}")
        if path:
            location.append(path)
        return self.error(f"{', '.join(location)}: {problem}{' ' + remedy if remedy else ''}")


@dataclass(frozen=True, slots=True)
class Field:
    """A JSON value with its path, such as `actions[2].params`.

    Methods such as `text` and `number` return the value; they raise if the value has another type.
    """

    value: JsonValue
    source: Source
    path: str = ""

    def fault(self, problem: str, remedy: str = "") -> InvalidInputError:
        """Return an error that names the location of this value, the problem and the remedy."""
        return self.source.fault(problem, remedy, self.path)

    def text(self) -> str:
        """Return the value, which must be a string; the empty string is allowed."""
        if not isinstance(self.value, str):
            raise self._wrong_type("a string")
        return self.value

    def name(self) -> str:
        """Return the value, which must be a valid name: a string, not empty, and encodable as UTF-8."""
        name = self.text()
        if not name:
            raise self.fault("a name must not be empty.", "Give it at least one character.")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise self.fault(
                f"the name {name!r} holds half of a surrogate pair.", "Write the whole character."
            ) from None
        return name

    def boolean(self) -> bool:
        """Return the value, which must be true or false."""
        if not isinstance(self.value, bool):
            raise self._wrong_type("true or false")
        return self.value

    def integer(self) -> int:
        """Return the value, which must be a whole number."""
        if type(self.value) is not int:
            raise self._wrong_type("a whole number")
        return self.value

    def number(self) -> float:
        """Return the value, which must be a finite number."""
        if type(self.value) is float or type(self.value) is int:
            try:
                number = float(self.value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
            raise self.fault("the number is too large.", "Numbers must fit into 64-bit floats.")
        raise self._wrong_type("a number")

    def numbers(self) -> tuple[float, ...]:
        """Return the elements of the value, which must be an array of finite numbers."""
        values = self.value
        if type(values) is list and all(type(value) is float and math.isfinite(value) for value in values):
            return tuple(values)
        return tuple(item.number() for item in self.items())  # slower: accepts integers, reports errors

    def items(self) -> list[Field]:
        """Return the elements of the value, which must be an array."""
        if not isinstance(self.value, list):
            raise self._wrong_type("an array")
        return [self.item(index) for index in range(len(self.value))]

    def item(self, index: int) -> Field:
        """Return the element at `index` of the value, which must be an array."""
        assert isinstance(self.value, list)
        return Field(self.value[index], self.source, f"{self.path}[{index}]")

    def as_dict(self) -> dict[str, JsonValue]:
        """Return the value, which must be a JSON object, as a dictionary of unchecked values."""
        if not isinstance(self.value, dict):
            raise self._wrong_type("an object")
        return self.value

    def entries(self) -> dict[str, Field]:
        """Return the fields of the value by key; the value must be a JSON object, with any keys."""
        return {
            key: Field(value, self.source, self._child_path(key)) for key, value in self.as_dict().items()
        }

    def record(self, *required: str, optional: Sequence[str] = ()) -> dict[str, Field]:
        """Return the fields of the value by key; the value must be a JSON object, with the given keys.

        Raises if a required key is missing, or if a key is neither required nor optional.
        """
        found = self.entries()
        allowed = (*required, *optional)
        for name in found:
            if name not in allowed:
                hint = _did_you_mean(name, allowed)
                raise self.fault(f"unknown field {name!r}.{hint}", f"Allowed: {', '.join(allowed)}.")
        for name in required:
            if name not in found:
                raise self.fault(f"the field {name!r} is missing.", f"Needed: {', '.join(required)}.")
        return found

    def look_up(self, kind: str, known: Mapping[str, T]) -> T:
        """Return `known[value]` for the value of this field; raise if `known` has no such key.

        `kind` is the word for the items of `known` in the error message, for example "controller".
        """
        name = self.text()
        if name not in known:
            raise self.fault(str(UnknownNameError(kind, name, known)))
        return known[name]

    def check_format(self, name: str, version: int) -> None:
        """Raise unless the value is a JSON object with the given format name and format version.

        The name is in the field `format`, and the version in the field `version`, which may be missing.
        Call this method before other fields are read: if a file has another format, errors about its fields
        would be misleading.
        """
        known = self.entries()
        if "format" not in known or known["format"].value != name:
            raise self.fault(f'the field "format" is not "{name}".', "Is this the right file?")
        if "version" in known and known["version"].integer() != version:
            raise known["version"].fault(
                f"version {known['version'].value} of {name!r} is not known.",
                f"This needful reads version {version}: update needful, or write the file again.",
            )

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Add this field's location to errors that the `with` block raises."""
        try:
            yield
        except self.source.error:
            raise
        except InvalidInputError as error:
            raise self.fault(str(error)) from None

    def _child_path(self, key: str) -> str:
        member = key if key.isidentifier() else json.dumps(key)
        return f"{self.path}.{member}" if self.path else member

    def _wrong_type(self, expected: str) -> InvalidInputError:
        return self.fault(f"expected {expected}, got {_described(self.value)}.")


def parse_json(data: bytes, source: Source) -> Field:
    """Parse strict JSON: UTF-8, no duplicate keys, no NaN or Infinity, limited nesting.

    `source` is the origin of the data, for error messages.
    """
    try:
        value = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_reject_duplicate_keys,
            parse_constant=_reject_constant,
        )
    except UnicodeDecodeError as error:
        raise source.fault(f"byte {error.start} is not UTF-8.", "Save the text as UTF-8.") from None
    except json.JSONDecodeError as error:
        location = f"column {error.colno}" if source.line else f"line {error.lineno}, column {error.colno}"
        raise source.fault(f"not JSON: {error.msg} at {location}.") from None
    except RecursionError:
        raise source.fault("the JSON is nested too deeply.", "Is this the right file?") from None
    except _InvalidJson as error:
        raise source.fault(str(error)) from None
    except ValueError:  # an integer has more digits than Python allows
        raise source.fault(
            "a number has too many digits.", "Numbers must fit into 64-bit floats."
        ) from None
    return Field(value, source)


def dump_json(value: JsonValue, indent: int | None = None) -> str:
    """Return a value as canonical JSON text: sorted keys, ASCII, no NaN."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(value, sort_keys=True, allow_nan=False, indent=indent, separators=separators)


class _InvalidJson(ValueError):
    """JSON that Python's parser accepts but `parse_json` rejects."""


def _reject_duplicate_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _InvalidJson(f"the key {twice!r} appears twice in one object. Keep one of them.")
    return found


def _reject_constant(name: str) -> NoReturn:
    raise _InvalidJson(f"{name} is not a JSON number. All values must be finite.")


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    nearest = nearest_name(name, known)
    return f" Did you mean {nearest!r}?" if nearest else ""


def _described(value: JsonValue) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
