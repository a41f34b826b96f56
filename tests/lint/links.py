"""Fails on a link of a Markdown page that leads to no file of this repository, or to no heading of that file.

Addresses of the web are not looked at: tests need no network.
"""

import posixpath
import re

import repository

LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"')
CODE = re.compile(r"`[^`\n]*`")


def anchors(text):
    """As the usual renderers name headings: lower case, hyphens for blanks, no punctuation."""
    found = {}
    for heading in re.findall(r"^#+ (.*)$", repository.without_blocks(text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {name if number == 0 else f"{name}-{number}" for name, most in found.items() for number in range(most + 1)}


def check(name, text, read):
    """read: the text of a page by its path from the root; "" for another file or a folder, None if there is none."""
    findings = []
    for match in LINK.finditer(CODE.sub("", repository.without_blocks(text))):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        there = read(target)
        if there is None:
            findings.append(f"{name}: {link}: there is no {target}")
        elif anchor and target.endswith(".md") and anchor not in anchors(there):
            findings.append(f"{name}: {link}: {target} has no such heading")
    return findings


def main():
    root = repository.arguments(__doc__).root

    def read(name):
        path = root / name
        if not path.exists():
            return None
        return repository.text(path) if path.suffix == ".md" else ""

    paths = repository.files(root, ".md")
    findings = []
    for path in paths:
        findings += check(path.relative_to(root).as_posix(), repository.text(path), read)
    repository.finish(findings, len(paths))


if __name__ == "__main__":
    main()
