"""Fails if docs/tour.md names a file that does not exist, or a function that its file does not have.

A function belongs to the last file that was named before it, or to the one in brackets behind it.
"""

import re

import repository

TOUR = "docs/tour.md"
NAMED = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w./-]+\.(h|cpp|proto|md|py)")


def findings_in(text, read):
    """read: the text of a file by its path, or None."""
    findings, current, path = [], "", TOUR
    for number, line in enumerate(text.splitlines(), 1):
        names = NAMED.findall(line)
        for name in names:
            if not FILE.fullmatch(name):
                continue
            if read(name) is None:
                findings.append(f"{path}:{number}: no file {name}")
        for match in NAMED.finditer(line):
            name = match.group(1)
            if FILE.fullmatch(name):
                current = read(name) or ""
                continue
            if not re.fullmatch(r"[A-Z]\w*(::[A-Z]\w*)?", name):
                continue
            behind = re.match(r" \(`([^`]+)`\)", line[match.end():])
            home = (read(behind.group(1)) or "") if behind else current
            if not re.search(rf"\b{re.escape(name)}\b", home):
                findings.append(f"{path}:{number}: {name} is not in the file that is named with it")
    return findings


def main():
    root = repository.arguments(__doc__).root

    def read(name):
        path = root / name
        return repository.text(path) if path.is_file() else None

    repository.finish(findings_in(repository.text(root / TOUR), read), 1)


if __name__ == "__main__":
    main()
