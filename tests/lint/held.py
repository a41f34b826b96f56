"""Fails on a statement of what is not so that names nothing which it is held against, or something that is not there.

Such statements grow stale unnoticed. They are: rows of docs/limits.md, whose last cell names it; points under "What it
does not do", and paragraphs with "not yet" or "no encryption yet", which say <!-- held: NAME, NAME -->. A name is a row
of docs/features.md (#12), a test, or a file that shows it; or "nothing: why".
"""

import re

import repository

NOTE = re.compile(r"<!-- held: (.*?) -->", re.DOTALL)
LIMITS, FEATURES = "docs/limits.md", "docs/features.md"


def points(text):
    """Paragraphs and list items, with their heading."""
    heading, block = "", []
    for line in repository.without_blocks(text).splitlines() + [""]:
        bare = line.strip()
        if block and (not bare or bare.startswith(("- ", "#", "|"))):
            yield heading, " ".join(block)
            block = []
        if bare.startswith("#"):
            heading = bare.lstrip("# ")
        elif bare and not bare.startswith("|"):
            block.append(bare)


def claims(page, text):
    """(what it says, what it names or None) of each statement."""
    if page == LIMITS:
        rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
        for cells in rows[1:]:
            yield cells[0].strip(), cells[2].strip(" `") if len(cells) == 3 else None
        return
    for heading, point in points(text):
        note = NOTE.search(point)
        said = NOTE.sub("", point).strip()
        point_of_list = heading == "What it does not do" and said.startswith("- ")
        if point_of_list or re.search(r"\b(not|no \w+) yet\b", re.sub(r"`.*?`", "", said)):
            yield said[:60], note.group(1) if note else None


def is_there(name, features, tests, exists):
    """tests: the text of all of them."""
    if name.startswith("nothing: "):
        return True
    if row := re.fullmatch(r"#(\d+)", name):
        return f"| {row.group(1)} |" in features
    if re.fullmatch(r"test_\w+", name):
        return f"def {name}(" in tests
    if test := re.fullmatch(r"(\w+)\.(\w+)", name):
        return bool(re.search(rf"\({test.group(1)}, {test.group(2)}\)", tests))
    return exists(name)


def findings_in(page, text, *there):
    findings = []
    for said, named in claims(page, text):
        if not named:
            findings.append(f"{page}: name what it is held against (tests/lint/held.py): {said}")
            continue
        names = [named] if named.startswith("nothing: ") else re.split(r"`?, `?", named)
        findings += [f"{page}: {name} is not there: {said}" for name in names if not is_there(name, *there)]
    return findings


def main():
    root = repository.arguments(__doc__).root
    pages = {path.relative_to(root).as_posix(): repository.text(path)
             for path in repository.files(root, ".md", folders=("docs",)) + [root / "README.md"]}
    tests = "\n".join(repository.text(path) for path in
                      repository.files(root, ".cpp", ".py", folders=("tests", "python_bindings")))
    findings = []
    for page, text in pages.items():
        findings += findings_in(page, text, pages[FEATURES], tests, lambda name: (root / name).is_file())
    repository.finish(findings, len(pages))


if __name__ == "__main__":
    main()
