"""Runs clang-tidy over src/ as the build compiles it; what passed before is skipped while the source,
its headers and the settings are the same."""

import compile_commands
import repository


def main():
    args = repository.arguments(__doc__)
    cache = repository.Cache(args.build / "lint" / "tidy")
    settings = args.root / ".clang-tidy"
    read = compile_commands.read_files(args.build)
    units = compile_commands.units(args.build, args.root / "src")

    def check(unit):
        command = ["clang-tidy-19", "--quiet", f"--config-file={settings}", str(unit.source), "--",
                   *unit.flags()]
        if cache.passed(str(unit.source), command):
            return None
        result = repository.run(command, cwd=unit.folder)
        if result.returncode:
            return result.stdout
        # Without the build's list of headers (not built yet) nothing is known, so nothing is kept.
        if unit.object in read:
            files = [(args.build / f).resolve() for f in read[unit.object]]
            cache.keep(str(unit.source), command, [settings, unit.source, *files])
        return None

    findings = [f for f in repository.in_parallel(check, units) if f]
    repository.finish(findings, len(units))


if __name__ == "__main__":
    main()
