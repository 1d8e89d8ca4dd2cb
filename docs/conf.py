"""Configure the site. ``make docs`` builds it without a network connection, and stops at a warning."""

import sys
from pathlib import Path

import nsse

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
from inventories import packed  # noqa: E402

project, author, copyright = "nsse", "the nsse developers", "the nsse developers"
version = release = nsse.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "commands",
    "links",
    "live_report",
]
exclude_patterns = ["_build", "templates", "gallery/*.ipynb", "gallery/*.py", "**/GALLERY_HEADER.rst"]
templates_path = ["templates"]
# A name in single backticks is a link where it has a page, and plain where it is a parameter or private.
default_role = "autolink"
nitpicky = True
smartquotes = False  # two hyphens are an option, not a dash
# Modules that docstrings name and that have no page in the reference.
INSIDE = "affine|base|candidates|ensemble|graphs|grid|halving|hull|maps|pipelines|ridge|rows|scores"
INSIDE += "|stack"
nitpick_ignore_regex = [
    ("py:obj", r"\w+"),
    ("py:obj", r"nsse\.kernels\.Kernel\.widths"),
    ("py:obj", rf"nsse\.({INSIDE})(\.\w+)*"),
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

toc_object_entries_show_parents = "hide"

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autosummary_context = {"top_names": [name for name in nsse.__all__ if name != "__version__"]}
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # except for the following names
numpydoc_xref_aliases = {
    "DataFrame": "pandas.DataFrame",
    "NSSE": "nsse.NSSE",
    "Path": "pathlib.Path",
    "Samples": "nsse.report.Samples",
    "GraphPenalty": "nsse.unlabeled.GraphPenalty",
    "SmoothEmbedding": "nsse.SmoothEmbedding",
    "SmoothEmbeddingCV": "nsse.SmoothEmbeddingCV",
    "LabelPropagation": "nsse.unlabeled.LabelPropagation",
    "WithinMetric": "nsse.WithinMetric",
    "matplotlib.figure.Figure": "matplotlib.figure.Figure",
    "ndarray": "numpy.ndarray",
}

intersphinx_mapping = packed(HERE / "inventories", HERE / "_build" / "inventories")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "house_style.reset"),
    "doc_module": ("nsse",),
    "reference_url": {"nsse": None},
    "backreferences_dir": "gallery/backreferences",
    "image_scrapers": ("matplotlib", "house_style.without_repr"),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # their table loads a script from the network
}

html_theme = "pydata_sphinx_theme"
html_title = "nsse"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": []}
WIDE = tuple(
    f"research/{page}"
    for page in ("study", "maps", "certified", "measurements", "methods", "paper_tables")
)
html_theme_options = {
    "header_links_before_dropdown": 7,
    # Pages of wide tables use the room of the list of headings.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{page: [] for page in ("index", "gallery/index", *WIDE)},
    },
    "logo": {"text": f"nsse {version}"},
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
