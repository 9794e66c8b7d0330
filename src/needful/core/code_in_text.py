"""Show the code in a sentence, such as the command in "Run `needful envs`", without its backticks."""

from __future__ import annotations

import html
import re

# Longer code is no command or name that the package writes, so its backticks belong to the user's text.
_CODE = re.compile(r"`([^`\n]{1,500})`")


def quote_code(text: str) -> str:
    """Return a text with single quotes around its code instead of backticks, for terminals and pictures."""
    return _CODE.sub(r"'\1'", text)


def code_as_html(text: str) -> str:
    """Return a text as HTML, with its code in `code` elements; everything else is escaped."""
    parts = _CODE.split(text)  # text and code alternate
    return "".join(
        f"<code>{html.escape(part)}</code>" if index % 2 else html.escape(part)
        for index, part in enumerate(parts)
    )
