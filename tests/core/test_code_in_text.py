"""Code in sentences."""

from __future__ import annotations

import pytest

from needful.core.cards import code_as_html, quote_code

LONG = "x" * 501


@pytest.mark.parametrize(
    ("text", "quoted", "as_html"),
    [
        ("Run `needful envs`.", "Run 'needful envs'.", "Run <code>needful envs</code>."),
        ("`a` and `b`", "'a' and 'b'", "<code>a</code> and <code>b</code>"),
        ("one ` only", "one ` only", "one ` only"),
        ("`two\nlines`", "`two\nlines`", "`two\nlines`"),
        (f"`{LONG}`", f"`{LONG}`", f"`{LONG}`"),
        ("``", "``", "``"),
        ("<b> `<i>`", "<b> '<i>'", "&lt;b&gt; <code>&lt;i&gt;</code>"),
    ],
)
def test_code_loses_its_backticks(text: str, quoted: str, as_html: str) -> None:
    assert quote_code(text) == quoted
    assert code_as_html(text) == as_html
