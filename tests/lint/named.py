"""Fails if a document names a file or a function that is not there.

All pages: a file that is named with its folder lies there, seen from the root, from src/ or from the page.
docs/tour.md: a function belongs to the last file that was named before it, or to the one in brackets behind it.
docs/architecture.md, section 5: the functions of a row are in one of its files.
The README.md of each room of src/node: the first cell of a row names files of that room, or of another one
with its folder.
"""

import re

import repository

TOUR = "docs/tour.md"
MAP = "docs/architecture.md"
NAMED = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w./-]+\.(h|cpp|proto|md|py)")


def findings_in(text, read):
    """read: the text of a file by its path, or None."""
    findings, current = [], ""
    for match in NAMED.finditer(text):
        name = match.group(1)
        place = f"{TOUR}:{text.count(chr(10), 0, match.start()) + 1}"
        if FILE.fullmatch(name):
            current = read(name)
            if current is None:
                findings.append(f"{place}: no file {name}")
        elif re.fullmatch(r"[A-Z]\w*(::[A-Z]\w*)?", name):
            behind = re.match(r"\s+\(`([^`]+)`\)", text[match.end():])
            home = read(behind.group(1)) if behind else current
            if not re.search(rf"\b{re.escape(name)}\b", home or ""):
                findings.append(f"{place}: {name} is not in the file that is named with it")
    return findings


def findings_in_page(page, text, read):
    folder = page.rpartition("/")[0]
    return [f"{page}: no file {name}" for name in NAMED.findall(text)
            if FILE.fullmatch(name) and "/" in name
            and not any(read(f"{place}{name}") for place in ("", "src/", "bench/", f"{folder}/"))]


def sources(stem, read):
    """The texts of a class's header and source; empty: neither is there."""
    return [text for text in (read(f"{stem}.h"), read(f"{stem}.cpp")) if text is not None]


def rows(text, heading=""):
    """The cells of all table rows behind that heading."""
    table = text[text.index(heading):]
    return [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]


def findings_in_decisions(text, read):
    findings = []
    for cells in rows(text, "## 5. Decisions")[1:]:
        folder, texts = "", []
        for name in NAMED.findall(cells[1]):
            if "::" in name:
                continue
            folder, name = name.rsplit("/", 1) if "/" in name else (folder, name)
            found = sources(f"{folder}/{name}", read)
            texts += found
            if not found:
                findings.append(f"{MAP}: no file {folder}/{name}")
        for name in NAMED.findall(cells[2]):
            if not any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts):
                findings.append(f"{MAP}: {name} is not in {cells[1].strip()}")
    return findings


def findings_in_room(folder, text, read):
    places = [f"src/{name}" if "/" in name else f"{folder}/{name}"
              for cells in rows(text) for name in NAMED.findall(cells[0]) if re.fullmatch(r"[a-z][\w/]*", name)]
    return [f"{folder}/README.md: no file {place}" for place in places if not sources(place, read)]


def main():
    root = repository.arguments(__doc__).root

    def read(name):
        path = root / name
        return repository.text(path) if path.is_file() else None

    findings = findings_in(read(TOUR), read) + findings_in_decisions(read(MAP), read)
    rooms = sorted((root / "src/node").glob("*/README.md"))
    for room in rooms:
        findings += findings_in_room(str(room.parent.relative_to(root)), repository.text(room), read)
    pages = repository.files(root, ".md")
    for page in pages:
        findings += findings_in_page(page.relative_to(root).as_posix(), repository.text(page), read)
    repository.finish(findings, 2 + len(rooms) + len(pages))


if __name__ == "__main__":
    main()
