"""The documentation site: `make docs` builds it into docs/_build/html, offline, with warnings as errors."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs import make_commands  # noqa: E402

import shoal  # noqa: E402

(ROOT / "docs" / "commands.md").write_text(make_commands.page(), encoding="utf-8")  # made, never stale

project, author, copyright = "shoal", "The shoal developers", "The shoal developers"
version = release = shoal.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
templates_path: list[str] = []
default_role = "code"  # docstrings write `name`, as Markdown does
autodoc_typehints = "none"  # the sections of each docstring say the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # or the word "columns" in a parameter would be a link to some attribute
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
html_theme = "pydata_sphinx_theme"
html_title = "shoal"
html_show_sourcelink = False
html_sidebars = {"**": ["globaltoc.html"]}  # all pages at the left, by their captions
html_theme_options = {
    "navbar_center": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
#: Pages of the project's folder that the site shows under names of its own.
SHOWN = {"CONTRIBUTING": "contributing", "SECURITY": "security-contact", "CHANGELOG": "changelog"}


def _to_the_site(app, name, source):
    for outside, inside in SHOWN.items():
        source[0] = source[0].replace(f"](../{outside}.md", f"]({inside}.md")


def setup(app):
    app.connect("source-read", _to_the_site)
