"""Fails on prose of a Markdown page that is wider than 130 characters.

One width for all pages: a change then shows what it changes. Tables, code blocks, and lines that no blank can break
(a link) are as wide as they are.
"""

import repository

WIDTH = 130


def check(path, text):
    findings, code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("```"):
            code = not code
        elif (not code and len(line) > WIDTH and not bare.startswith("|")
              and " " in line[len(line) - len(bare):WIDTH].removeprefix("- ")):
            findings.append(f"{path}:{number}: {len(line)} characters, {WIDTH} are allowed")
    return findings


def main():
    root = repository.arguments(__doc__).root
    paths = repository.files(root, ".md")
    findings = []
    for path in paths:
        findings += check(str(path.relative_to(root)), repository.text(path))
    repository.finish(findings, len(paths))


if __name__ == "__main__":
    main()
