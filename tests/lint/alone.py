"""Compiles sources one at a time: each must include what it uses, and hide no name. The build compiles two dozen as one."""

import compile_commands
import repository

FOLDERS = ("src", "sim", "bench", "python_bindings")


def main():
    args = repository.arguments(__doc__)
    cache = repository.Cache(args.build / "lint" / "alone")
    units = [unit for folder in FOLDERS for unit in compile_commands.units(args.build, args.root / folder)]

    def check(unit):
        source = str(unit.source)
        command = ["clang++-19", *unit.flags(precompiled=True), "-Wshadow", "-fsyntax-only", source]
        why = compile_commands.why_not_alone(cache, args.build, source, command)
        return why and f"{source} does not compile alone:\n{why}"

    units = repository.an_eighth(units)
    findings = [f for f in repository.in_parallel(check, units) if f]
    repository.finish(findings, len(units))


if __name__ == "__main__":
    main()
