"""Self-contained HTML pages: a page is one file, needs no network and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def fill_page(
    template: str, style: str, script: str, data: object, texts: Mapping[str, str], connects: bool = False
) -> str:
    """Return an HTML page: the shared head and the template of the body, with their placeholders filled in.

    The placeholders {{style}}, {{script}} and {{data}} (as JSON) stand for these arguments. Each key of
    `texts` is also a placeholder, for its value as escaped HTML; the key "title" is required. {{policy}}
    stands for a content security policy that allows only this script, this style and images in data URLs.
    With `connects`, the script may also send requests to the server of the page. Equal arguments give equal
    pages.
    """
    policy = (
        f"default-src 'none'; script-src {_policy_hash(script)}; style-src {_policy_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    ) + ("; connect-src 'self'" if connects else "")
    values = {
        "policy": policy,
        "style": style,
        "script": script,
        "data": as_safe_json(data),
        **{name: html.escape(text) for name, text in texts.items()},
    }
    # Fill in all placeholders in one pass, so that inserted text that looks like a placeholder stays.
    return PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], shared_asset("head.html") + template)


def join_scripts(*parts: Iterable[str]) -> str:
    """Join scripts into one strict-mode function that runs at once, so that their names are not global."""
    return "".join(['(() => {\n"use strict";\n', *itertools.chain(*parts), "})();\n"])


def shared_asset(name: str) -> str:
    """Return the text of a script or style that several pages share."""
    return files("needful.envs.drawing").joinpath(name).read_text(encoding="utf-8")


def as_safe_json(value: object) -> str:
    """Return a value as JSON that is safe inside an HTML script element: <, > and & are escaped."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy_hash(text: str) -> str:
    """Return the hash of an inline script or style, by which a content security policy allows it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
