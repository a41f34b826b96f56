"""What the site does beside Sphinx and its extensions: contents, pictures, headers, and links from docstrings."""

import pathlib
import re

from breathe.directives.file import DoxygenFileDirective
from sphinx import addnodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

CONTENTS = pathlib.Path(__file__).with_name("contents.md")
INCLUDE = pathlib.Path(__file__).parents[2] / "include/hoplite"
# Pages whose folders have pages of their own.
CHILDREN = {"bench/results": "/bench/results/*", "sim/README": "/sim/*/README", "src/README": "/src/*/README",
            "src/node/README": "/src/node/*/README"}
PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(?P<dark>[^"]+)">\s*'
                     r'<img alt="(?P<alt>[^"]+)"\s+src="(?P<light>[^"]+)"[^>]*>\s*</picture>')
ERROR = re.compile(r"(?<![\w`.])[A-Z]\w*Error\b")


def in_both_schemes(picture):
    """A picture for light and one for dark pages, of which the theme shows one."""
    return "\n".join(f"```{{image}} {picture[scheme]}\n:alt: {' '.join(picture['alt'].split())}\n:class: only-{scheme}\n```\n"
                     for scheme in ("light", "dark"))


def read_page(app, name, source):
    if name.startswith("bench/results/"):  # a part of a page: it has no heading of its own
        source[0] = f"# {name.rpartition('/')[2]}\n\n{source[0]}"
    source[0] = PICTURE.sub(in_both_schemes, source[0])
    if name == app.config.root_doc:
        source[0] += CONTENTS.read_text(encoding="utf-8")
    if name in CHILDREN:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{CHILDREN[name]}\n```\n"


class Header(DoxygenFileDirective):
    """All that a public header declares, in the order in which it is read; what is private is left out.

    Groups (header_comments.py) are in the order of the header; Doxygen's is another.
    """

    SECTIONS = ("briefdescription detaileddescription enum typedef user-defined public-type public-static-func "
                "public-func public-attrib public-static-attrib innerclass define func var")

    def run(self):
        self.options["sections"] = self.SECTIONS
        text = (INCLUDE / self.arguments[0]).read_text(encoding="utf-8")
        made = super().run()
        groups = [node for node in made if node.get("objtype") == "user-defined"]
        in_order = iter(sorted(groups, key=lambda node: text.find(f"--- {node[0].astext()}")))
        return [next(in_order) if node in groups else node for node in made]


def read_docstring(app, what, name, obj, options, lines):
    """Links the errors that it names; a public name without one is a finding."""
    if not any(lines):
        logger.warning("%s has no docstring", name)
    errors = app.config.errors
    lines[:] = [ERROR.sub(lambda found: f":py:exc:`~hoplite.{found[0]}`" if found[0] in errors else found[0], line)
                for line in lines]


def name_enums(app, doctree):
    """An enum without a name has one in the contents of its page all the same."""
    for signature in doctree.findall(addnodes.desc_signature):
        if signature.get("_toc_name", "").startswith("@"):
            signature["_toc_name"] = "enum"


def setup(app):
    app.add_config_value("errors", [], "env")
    app.add_directive("header", Header)
    app.connect("source-read", read_page)
    app.connect("doctree-read", name_enums, priority=0)
    app.connect("autodoc-process-docstring", read_docstring)
