"""Fails on paths of somebody's machine in committed text."""

import re

import repository

# Folders where people keep their things; those that every Linux has alike are fine.
MACHINE_PATH = re.compile(r"(?<![\w./$}-])/(?:home|work|root|Users|mnt|media)/[\w.-]+")


def check(path, text):
    return [f"{path}:{number}: {match.group()}: a path of one machine"
            for number, line in enumerate(text.splitlines(), 1)
            for match in MACHINE_PATH.finditer(line)]


def main():
    root = repository.arguments(__doc__).root
    findings = []
    paths = [p for p in repository.files(root) if p.suffix not in {".png", ".svg", ".json"}]
    for path in paths:
        findings += check(str(path.relative_to(root)), repository.text(path))
    repository.finish(findings, len(paths))


if __name__ == "__main__":
    main()
