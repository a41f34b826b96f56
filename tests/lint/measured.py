"""Fails on a table of bench/results.md whose head does not name the revision that was measured.

Prints of each table how many commits its figures are behind the sources of what most of them measure. A table that is behind is no
finding: sources move on.
"""

import re

import repository

PAGE = "bench/results.md"
SOURCES = ("src/planner", "src/node/streams")
REVISION = re.compile(r"\brevision ([0-9a-f]{7,40})\b")
RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")  # below the head of a table


def heads(page):
    """(Number of the line, text) of each table's head."""
    lines = page.splitlines()
    return [(number, head) for number, (head, below) in enumerate(zip(lines, lines[1:]), 1)
            if head.startswith("|") and RULE.fullmatch(below.strip())]


def check(page):
    return [f"{PAGE}:{number}: the head of this table names no revision: {head}"
            for number, head in heads(page) if not REVISION.search(head)]


def behind(root, revision):
    """Commits of the sources since that revision; None where they can't be counted: without git, or in a shallow clone."""
    def git(*words):
        done = repository.run(["git", "-C", str(root), *words])
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        if git("rev-parse", "--is-shallow-repository") != "false":
            return None
        count = git("rev-list", "--count", f"{revision}..HEAD", "--", *SOURCES)
    except OSError:
        return None
    return int(count) if count is not None else None


def age(root, revision):
    """A sentence."""
    commits = behind(root, revision)
    if commits is None:
        return "the commits since then can't be counted: git, its history or this revision is not there"
    return f"{commits} commits of {' and '.join(SOURCES)} behind"


def main():
    root = repository.arguments(__doc__).root
    page = repository.text(root / PAGE)
    for number, head in heads(page):
        if found := REVISION.search(head):
            print(f"{PAGE}:{number}: revision {found.group(1)}: {age(root, found.group(1))}")
    repository.finish(check(page), len(heads(page)))


if __name__ == "__main__":
    main()
