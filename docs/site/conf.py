"""How Sphinx makes the site of the pages that lie in the repository, its public headers and the Python package.

The root of the repository is the source folder, so that the links between pages lead where they lead without the site.
The compiled module of the package is replaced by the stub that is built with it, and the runtimes by nothing.
"""

import pathlib
import sys
import tomllib

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "python_bindings"))

import pages  # noqa: E402
import stub  # noqa: E402

project = "Hoplite"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
copyright = "the authors of Hoplite"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
include_patterns = ["*.md", *(f"{folder}/**" for folder in (
    "bench", "docs", "examples", "packaging", "proto", "python_bindings", "sim", "src", "tests"))]
exclude_patterns = ["docs/site/contents.md", "**/corpus", "bench/results/[!r]*"]
root_doc = "README"
nitpicky = True
# Of tables that are made elsewhere, too, and begin with small headings.
suppress_warnings = ["myst.header"]
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"Hoplite {release}"
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "index.html"}
templates_path = ["templates"]
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
highlight_language = "text"

myst_heading_anchors = 4

breathe_projects = {"Hoplite": str(ROOT / "build/docs/doxygen/xml")}
breathe_default_project = "Hoplite"
breathe_show_include = False
breathe_domain_by_file_pattern = {"*/c.h": "c"}

autodoc_default_options = {"members": True, "undoc-members": True}
autoclass_content = "both"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"npt.DTypeLike": "numpy.typing.DTypeLike"}
autodoc_mock_imports = ["dask", "distributed", "ray", "torch", "torchft", "verl", "vllm"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
default_role = "literal"
add_module_names = False
# What others have documented.
nitpick_ignore_regex = [("(c|cpp):.*", r"(std|detail).*|u?int\d+_t|size_t|co_await"), ("py:.*", r"(?!hoplite).*")]

stub.install(ROOT / "build/release/python/hoplite/_core.pyi", release)
from hoplite import _torch  # noqa: E402
from sphinx.ext.autodoc.mock import _MockObject as Nothing  # noqa: E402
from hoplite import errors as hoplite_errors  # noqa: E402

_torch.require_torch = lambda: None  # nothing has no version
Nothing.__setitem__ = lambda *_: None  # nor does it keep what is registered in it

errors = [error.__name__ for error in (hoplite_errors.HopliteError, *hoplite_errors.BY_CODE.values())]


def setup(app):
    pages.setup(app)
