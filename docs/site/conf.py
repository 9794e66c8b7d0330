"""The settings of Sphinx. `docs/build_site.py` collects the sources and runs Sphinx."""

from __future__ import annotations

import os
from importlib.metadata import version as installed_version
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

project = "needful"
author = "The needful developers"
project_copyright = author
version = release = installed_version("needful")
extensions = ["myst_parser", "sphinx_copybutton"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]
nitpicky = True

# The copy button leaves out the prompts and, in blocks with prompts, all lines without one.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"needful {version}"
html_static_path = ["static"]
html_extra_path = ["../live"]  # pages that are shown in frames
html_css_files = ["style.css"]
html_js_files = ["search_without_server.js"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
repository = os.environ.get("NEEDFUL_REPOSITORY")  # the public address of the repository, if there is one
html_theme_options: dict[str, Any] = {"navigation_with_keys": True}
if repository:
    html_theme_options["footer_icons"] = [
        {"name": "Repository", "url": repository, "html": "Repository", "class": ""}
    ]


def _inline_formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _displayed_formula(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(_mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def _mathml(formula: str, as_block: bool = False) -> str:
    """Return a formula in LaTeX as MathML, which browsers show without scripts and fonts from elsewhere."""
    return str(tex2mathml(formula, as_block=as_block))


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_displayed_formula, None))
