"""Compiles sources one at a time: each must include what it uses, and hide no name. The build compiles a dozen as one.

With HOPLITE_EIGHTH=K only the K-th eighth of them: scripts/test.sh takes another one for each commit.
"""

import os

import compile_commands
import repository

FOLDERS = ("src", "sim", "bench", "python_bindings")


def chosen(units, eighth):
    """All of them, or those of that eighth."""
    return units if eighth is None else units[int(eighth) % 8::8]


def main():
    args = repository.arguments(__doc__)
    cache = repository.Cache(args.build / "lint" / "alone")
    units = [unit for folder in FOLDERS for unit in compile_commands.units(args.build, args.root / folder)]

    def check(unit):
        source = str(unit.source)
        command = ["clang++-19", *unit.flags(precompiled=True), "-Wshadow", "-fsyntax-only", source]
        why = compile_commands.why_not_alone(cache, args.build, source, command)
        return why and f"{source} does not compile alone:\n{why}"

    units = chosen(units, os.environ.get("HOPLITE_EIGHTH"))
    findings = [f for f in repository.in_parallel(check, units) if f]
    repository.finish(findings, len(units))


if __name__ == "__main__":
    main()
