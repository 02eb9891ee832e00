"""Sphinx settings of the documentation site; `python docs/site/build.py` gathers the pages and runs it."""

import re

project = "hybrid-mor"
author = "the hybrid-mor developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]
html_theme = "furo"
html_title = "hybrid-mor"
html_show_sphinx = False
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
nitpicky = False
exclude_patterns: list[str] = []


def plain_formulas(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Formulas of the docstrings are plain text: |x| is no substitution and a * b no emphasis."""
    lines[:] = [line if re.match(r"\s*(>>>|\.\.\.)", line) else re.sub(r"([|*])", r"\\\1", line) for line in lines]


def setup(app):  # type: ignore[no-untyped-def]
    """Run before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", plain_formulas, priority=100)
