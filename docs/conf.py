"""The site: Sphinx reads this. ``docs/build.sh`` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))  # for _extensions

from _extensions import inventories, names  # noqa: E402

import ocboost  # noqa: E402

project = "ocboost"
author = "The ocboost developers"
copyright = author
release = version = ocboost.__version__
language = "en"
toc_object_entries_show_parents = "hide"
smartquotes = False  # "--" is an option, not a dash

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "_extensions.pages",
    "_extensions.names",
    "_extensions.commands",
    "_extensions.mathml",
]
if os.environ.get("OCBOOST_SITE") != "pages":  # a test builds the site without running examples
    extensions.append("sphinx_gallery.gen_gallery")
exclude_patterns = ["_*", "conftest.py", "gallery/*", "streams*/*.json", "auto_gallery/**/*.md5"]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = True  # every name in the reference leads somewhere
default_role = "py:obj"

# Markdown
myst_heading_anchors = 6  # as the code host makes them
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]

# The reference
autosummary_generate = True
autosummary_context = {"outside_bases": names.OUTSIDE_BASES}
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say it, in words
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template has them, each with its docstring
numpydoc_xref_param_type = True
numpydoc_xref_aliases = names.ALIASES
numpydoc_xref_ignore = "all"
numpydoc_validation_checks = {  # what a docstring must have
    *("GL03", "GL06", "GL07", "GL08", "SS01", "SS02", "SS03"),  # a summary, sections in order
    *(
        "PR01",
        "PR02",
        "PR04",
        "PR07",
        "RT01",
        "RT03",
        "YD01",
    ),  # each parameter and result, with type and meaning
}
numpydoc_validation_overrides = {
    "PR01": [
        r"^(?![\s\S]*\nParameters\n)[\s\S]*\nAttributes\n"
    ],  # made by a function; users read the attributes
    "RT01": [r"^Refuse"],  # it always raises
}
numpydoc_validation_exclude = {
    r"\.river\.\w+\.predict_one$",
    r"\.BOOSTERS$",
    r"\.METRICS$",
}  # River's own; tables
intersphinx_mapping = inventories.mapping(DOCS / "inventories", DOCS / "_build" / "inventories")
intersphinx_timeout = 5

html_math_renderer = "mathml"

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # times of this machine would tell nobody anything
    "show_signature": False,
    "reference_url": {"ocboost": None},
    "backreferences_dir": None,
}

# The look
html_theme = "pydata_sphinx_theme"
html_title = "ocboost"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_sidebars = {
    page: [] for page in ("index", "start", "choose", "glossary")
}  # they have no pages below them
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "ocboost"},
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "back_to_top_button": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
