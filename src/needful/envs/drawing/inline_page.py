"""Pages that are one HTML file: no network, no server, and nothing runs but their own script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def fill_page(template: str, style: str, script: str, data: object, texts: Mapping[str, str]) -> str:
    """Return a page as HTML, the same for the same arguments.

    The blanks of the template are {{policy}}, {{style}}, {{script}}, {{data}} (JSON, for a script
    element) and those of `texts`, which are escaped. The policy lets nothing run or load but the
    script, the style, and images that are data.
    """
    policy = (
        f"default-src 'none'; script-src {_fingerprint(script)}; style-src {_fingerprint(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    blanks = {
        "policy": policy,
        "style": style,
        "script": script,
        "data": as_safe_json(data),
        **{name: html.escape(text) for name, text in texts.items()},
    }
    # In one pass, so that no name can be taken for a blank.
    return PLACEHOLDER.sub(lambda blank: blanks[blank[1]], template)


def as_safe_json(value: object) -> str:
    """Return JSON that can stand in a script element whatever names are in it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _fingerprint(text: str) -> str:
    """Return how a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
