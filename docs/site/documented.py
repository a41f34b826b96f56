"""Prints the public names of the headers that have no comment, from Doxygen's XML; exit status 1 if there are any.

Constructors, destructors and operators say enough by themselves. Of several functions of one name one has the comment.
Result is what the standard says of std::expected.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

STANDARD = re.compile(r"Result(< void >)?::.*")


def says_something(element):
    return any("".join(part.itertext()).strip() for part in element.iterfind("*")
               if part.tag in {"briefdescription", "detaileddescription", "inbodydescription"})


def names(compound):
    """The names that it declares, each with its elements."""
    scope = compound.findtext("compoundname")
    prefix = "" if compound.get("kind") in {"file", "namespace"} else scope + "::"
    found = {} if prefix == "" else {scope: [compound]}
    for member in compound.iter("memberdef"):
        name = member.findtext("name")
        if member.get("prot") != "public" or member.get("kind") == "friend" or name.startswith(("~", "operator")):
            continue
        if member.get("kind") == "function" and not "".join(member.find("type").itertext()):
            continue  # a constructor
        if not name.startswith("@"):
            found.setdefault(prefix + name, []).append(member)
        for value in member.iterfind("enumvalue"):
            found.setdefault(f"{prefix}{name}::{value.findtext('name')}", []).append(value)
    return found


def silent(found):
    return [name for name, elements in sorted(found.items())
            if not STANDARD.fullmatch(name) and not any(map(says_something, elements))]


def main():
    folder = pathlib.Path(sys.argv[1])
    found, missing = 0, []
    for page in sorted(folder.glob("*.xml")):
        for compound in xml.parse(page).getroot().iterfind("compounddef"):
            if compound.get("kind") in {"file", "class", "struct", "concept"}:
                declared = names(compound)
                found += len(declared)
                missing += silent(declared)
    for name in missing:
        print(f"include/hoplite: {name} has no comment")
    print(f"{found} names, {len(missing)} without a comment")
    sys.exit(1 if missing or not found else 0)


if __name__ == "__main__":
    main()
