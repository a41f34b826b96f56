"""Tests of what marks up the headers, and of what checks them and the links."""

import pathlib
import re
import tempfile
import unittest
import xml.etree.ElementTree as xml

import documented
import header_comments
import links

ROOT = pathlib.Path(__file__).parents[2]


def marked_up(declarations):
    """The lines behind the comment of the file."""
    text = header_comments.filtered(f"// A file.\n#pragma once\n{declarations}")
    return text.split("#pragma once\n")[1].splitlines()


class HeaderComments(unittest.TestCase):
    def test_a_comment_is_of_the_declaration_below_it(self):
        self.assertEqual(marked_up("// Says yes.\nbool Yes();"), ["/// Says yes.", "bool Yes();"])

    def test_a_comment_that_a_blank_line_follows_stays_plain(self):
        self.assertEqual(marked_up("// Of all.\n\nint a;"), ["// Of all.", "", "int a;"])

    def test_a_comment_behind_code_is_of_the_name_in_its_line(self):
        self.assertEqual(marked_up("int size;  // in bytes"), ["int size;  ///< in bytes"])
        self.assertEqual(marked_up("int size() {  // in bytes"), ["/** in bytes */ int size() {"])
        self.assertEqual(marked_up("#define LENGTH 1 /* in bytes */"), ["#define LENGTH 1  ///< in bytes"])

    def test_errors_become_a_list(self):
        self.assertEqual(marked_up("// Gets it.\n//   not_found  nobody\n//              has it\n//   (a Put's)\nint Get();"),
                         ["/// Gets it.", "///", "/// @par Errors", "/// - `not_found`: nobody", "///   has it",
                          "/// - (a Put's)", "int Get();"])

    def test_other_indented_lines_are_code(self):
        self.assertEqual(marked_up("// So:\n//   auto x = a<b>();\nint a();"),
                         ["/// So:", "/// @code{.cpp}", "/// auto x = a<b>();", "/// @endcode", "int a();"])

    def test_what_doxygen_would_take_for_its_own_is_escaped(self):
        self.assertEqual(marked_up("// as<float>() `a<b>` in buffer.h\nint a;"),
                         [r"/// as\<float\>() `a<b>` in %buffer.h", "int a;"])

    def test_a_title_begins_a_group_of_c_functions(self):
        found = marked_up("/* --- Ids ---\n   Of objects. */\nint id;\n#ifdef __cplusplus")
        self.assertEqual(found, ["/// @name Ids", "/// @{", "", "/// Of objects.", "int id;", "/// @}", "#ifdef __cplusplus"])


class Documented(unittest.TestCase):
    COMPOUND = """<compounddef kind="struct"><compoundname>A</compoundname><briefdescription/>
      <memberdef kind="function" prot="public"><type>int</type><name>f</name><briefdescription/></memberdef>
      <memberdef kind="function" prot="public"><type>int</type><name>f</name>
        <briefdescription><para>Does.</para></briefdescription></memberdef>
      <memberdef kind="variable" prot="public"><type><ref>B</ref></type><name>x</name><briefdescription/></memberdef>
      <memberdef kind="function" prot="public"><type><ref>B</ref></type><name>g</name><briefdescription/></memberdef>
      <memberdef kind="variable" prot="private"><type>int</type><name>y</name><briefdescription/></memberdef>
      <memberdef kind="function" prot="public"><type/><name>A</name><briefdescription/></memberdef></compounddef>"""

    def test_of_functions_with_one_name_one_comment_is_enough(self):
        found = documented.names(xml.fromstring(self.COMPOUND))
        self.assertEqual(documented.silent(found), ["A", "A::g", "A::x"])


class Reference(unittest.TestCase):
    def test_every_public_name_has_its_page(self):
        pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/site/reference").rglob("*.md"))
        inner = {"asked.h", "export.h"}  # which other headers are made of
        headers = {header.name for header in (ROOT / "include/hoplite").iterdir()} - inner
        self.assertEqual(headers, set(re.findall(r"^```\{header\} (.*)", pages, re.MULTILINE)))
        for package, page in (("hoplite", "python"), ("hoplite/ray", "ray"), ("hoplite/dask", "dask"),
                              ("hoplite/torch", "torch")):
            source = (ROOT / "python_bindings" / package / "__init__.py").read_text(encoding="utf-8")
            names = re.findall(r'^    "([A-Za-z]\w*)",', source, re.MULTILINE)
            pages = (ROOT / "docs/site/reference" / f"{page}.md").read_text(encoding="utf-8")
            described = re.findall(r"^\.\. auto(?:class|function|exception):: (?:hoplite\.)?(\w+)", pages, re.MULTILINE)
            self.assertEqual(set(names) - set(described), set())


class Links(unittest.TestCase):
    def test_a_link_leads_to_a_file_and_a_place_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "a.html").write_text('<h1 id="here"></h1><a href="b.html#there"></a>')
            (root / "b.html").write_text('<img src="b.svg">')
            pages = {path: links.Page(path) for path in root.glob("*.html")}
            self.assertEqual(pages[root / "a.html"].links, {"b.html#there"})
            for page, link, leads in (("b.html", "a.html#here", True), ("a.html", "b.html#there", False),
                                      ("b.html", "b.svg", False), ("a.html", "https://example.org/x", True),
                                      ("a.html", "#here", True)):
                self.assertEqual(links.broken(root / page, link, pages) == "", leads, link)


if __name__ == "__main__":
    unittest.main()
