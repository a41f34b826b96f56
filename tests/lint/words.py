"""Fails on words that the glossary (docs/architecture.md, section 1) has another word for.

One word per thing: whoever reads two words looks for two things.
"""

import re

import repository

# (pattern, in files whose paths start so, what to say instead)
WORDS = (
    (r"\b[Tt]wins?\b|\b[A-Za-z]*Twins?[A-Z]?[a-z]*\b", ("src/", "sim/", "tests/", "docs/"), "planted fault"),
    (r"\b[Pp]ositions?\b", ("src/planner/", "src/node/", "src/wire/", "docs/protocol.md", "docs/architecture.md"),
     "slot (of a reduction)"),
    (r"\bclass Fetch\b|\bnode::Fetch\b", ("src/", "sim/", "tests/"), "Flight; a Fetch is the message"),
    (r"\bnode::(World|Parts|Services|Memory|Joining|Together)\b", ("src/", "sim/", "tests/"),
     "Environment, Assembly, Context, MemoryBroker, Admittance, JointGets"),
)


def check(path, text):
    findings = []
    words = [(re.compile(pattern), instead) for pattern, places, instead in WORDS if path.startswith(places)]
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in words:
            if found := pattern.search(line):
                findings.append(f"{path}:{number}: '{found.group()}': say {instead}")
    return findings


def main():
    root = repository.arguments(__doc__).root
    paths = [p for p in repository.files(root, ".h", ".cpp", ".md", ".py", ".txt")
             if not str(p.relative_to(root)).startswith("tests/lint/")]
    findings = []
    for path in paths:
        findings += check(str(path.relative_to(root)), repository.text(path))
    repository.finish(findings, len(paths))


if __name__ == "__main__":
    main()
