"""JSON values with locations: strict parsing, checked access and canonical output."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.errors import DemonstrationError, InvalidInputError, ModelError
from needful.storage.json_fields import Field, Source, dump_json, parse_json

SOURCE = Source("some.json", ModelError)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def parsed(text: str) -> Field:
    return parse_json(text.encode(), SOURCE)


@given(json_values)
def test_round_trip_of_json(value: object) -> None:
    assert parsed(dump_json(value)).value == value
    assert parsed(dump_json(value, indent=1)).value == value


def test_keys_are_dumped_in_order() -> None:
    assert dump_json({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'
    assert dump_json({"b": 1, "a": 2}, indent=1) == '{\n "a": 2,\n "b": 1\n}'
    with pytest.raises(ValueError, match="Out of range"):
        dump_json([float("nan")])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "not JSON: .* at line 1, column 2"),
        (b'{"a":\n}', "not JSON: .* at line 2, column 1"),
        (b"", "not JSON"),
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b'{"a":1,"b":2,"a":3}', "the key 'a' appears twice"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"[" * 100_000, "the JSON is nested too deeply"),
        (b"1" * 5_000, "a number has too many digits"),
    ],
)
def test_invalid_json_is_rejected(data: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=f"^some.json: {message}"):
        parse_json(data, SOURCE)


def test_a_byte_order_mark_is_ignored() -> None:
    assert parse_json(b"\xef\xbb\xbf[1]", SOURCE).value == [1]


def test_errors_name_file_line_and_field() -> None:
    field = parse_json(b'{"actions":[{},{"odd key":[1,"x"]}]}', Source("a.jsonl", DemonstrationError, 7))
    wrong = field.entries()["actions"].items()[1].entries()["odd key"].items()[1]
    with pytest.raises(DemonstrationError) as caught:
        wrong.number()
    assert str(caught.value) == "a.jsonl, line 7, actions[1].\"odd key\"[1]: expected a number, got 'x'."


@pytest.mark.parametrize(
    ("text", "access", "message"),
    [
        ("1", Field.text, "expected a string, got 1"),
        ("null", Field.text, "expected a string, got null"),
        ('""', Field.name, "must not be empty"),
        (r'"\ud800"', Field.name, "surrogate"),
        ("1.0", Field.integer, "expected a whole number, got 1.0"),
        ("true", Field.integer, "expected a whole number, got true"),
        ("true", Field.number, "expected a number, got true"),
        ('"1"', Field.number, "expected a number, got '1'"),
        ("1e999", Field.number, "too large"),
        ("1" + "0" * 400, Field.number, "too large"),
        ("{}", Field.items, "expected an array, got an object"),
        ("[1,2]", Field.entries, "expected an object, got an array of 2"),
        ('"' + "x" * 100 + '"', Field.number, "x{39}\\.\\.\\."),
    ],
)
def test_accessors_check_what_they_return(
    text: str, access: Callable[[Field], object], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        access(parsed(text))


def test_accessors_return_valid_values() -> None:
    assert parsed('"a"').text() == parsed('"a"').name() == "a"
    assert parsed("3").integer() == 3
    assert parsed("[3,0.5]").numbers() == (3.0, 0.5)
    assert parsed('{"a":[1]}').as_dict() == {"a": [1]}
    assert parsed('"b"').look_up("letter", {"a": 1, "b": 2}) == 2


def test_records_have_exactly_their_fields() -> None:
    both = parsed('{"name":1,"extra":2}').record("name", optional=("extra",))
    assert {name: field.value for name, field in both.items()} == {"name": 1, "extra": 2}
    with pytest.raises(ModelError, match="the field 'types' is missing"):
        parsed('{"name":1}').record("name", "types")
    with pytest.raises(ModelError, match=r"unknown field 'nmae'. Did you mean 'name'"):
        parsed('{"nmae":1}').record("name")


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"Unknown predicate 'nextto'. Did you mean 'NextTo'"):
        parsed('"nextto"').look_up("predicate", {"NextTo": 0, "Grasped": 1})


def test_formats_and_versions_are_checked() -> None:
    parsed(json.dumps({"format": "x", "version": 1, "more": 0})).check_format("x", 1)
    with pytest.raises(ModelError, match='"format" is not "x"'):
        parsed('{"format":"y","version":1}').check_format("x", 1)
    with pytest.raises(ModelError, match=r"version: version 2 .* update needful"):
        parsed('{"format":"x","version":2}').check_format("x", 1)


def test_errors_of_constructors_are_located() -> None:
    field = parsed("[1]").items()[0]
    with pytest.raises(ModelError, match=r"some.json, \[0\]: empty bound"), field.locate_errors():
        raise InvalidInputError("empty bound")
    with pytest.raises(ModelError, match=r"^already located$"), field.locate_errors():
        raise ModelError("already located")
