"""Self-contained HTML pages: one file, no network access, no scripts other than their own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def fill_page(template: str, style: str, script: str, data: object, texts: Mapping[str, str]) -> str:
    """Return the template of an HTML page with its placeholders filled in.

    The placeholders are {{policy}}, {{style}}, {{script}}, {{data}} (JSON for a script element) and the
    keys of `texts`, whose values are escaped. {{policy}} is a content security policy that allows only this
    script, this style and images in data URLs. Equal arguments give equal pages.
    """
    policy = (
        f"default-src 'none'; script-src {_policy_hash(script)}; style-src {_policy_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": policy,
        "style": style,
        "script": script,
        "data": as_safe_json(data),
        **{name: html.escape(text) for name, text in texts.items()},
    }
    # In one pass, so that inserted text that looks like a placeholder is not replaced.
    return PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], template)


def as_safe_json(value: object) -> str:
    """Return JSON that is safe in a script element, with <, > and & escaped."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy_hash(text: str) -> str:
    """Return the hash by which a content security policy allows this inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
