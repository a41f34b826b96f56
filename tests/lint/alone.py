"""Compiles sources one at a time: each must include what it uses, and hide no name. The build compiles a dozen as one.

With HOPLITE_EIGHTH=K only the K-th eighth of them: scripts/test.sh takes another one for each commit.
"""

import os
import pathlib
import tempfile

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
        command = ["clang++-19", *unit.flags(precompiled=True), "-Wshadow", "-fsyntax-only", str(unit.source)]
        if cache.passed(str(unit.source), command):
            return None
        with tempfile.TemporaryDirectory() as folder:
            rule = pathlib.Path(folder) / "rule.d"
            result = repository.run([*command, "-MD", "-MF", str(rule)], cwd=unit.folder)
            if result.returncode:
                return f"{unit.source} does not compile alone:\n{result.stdout}"
            cache.keep(str(unit.source), command, [(args.build / f).resolve() for f in compile_commands.read_by(rule)])
        return None

    units = chosen(units, os.environ.get("HOPLITE_EIGHTH"))
    findings = [f for f in repository.in_parallel(check, units) if f]
    repository.finish(findings, len(units))


if __name__ == "__main__":
    main()
