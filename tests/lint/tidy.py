"""Runs clang-tidy over src/ and sim/ with the flags of the build; what passed before is skipped while the sources,
their headers and the settings are the same.

Sources of one library go through clang-tidy many at a time, as one file that includes them: most of
the time goes into the headers of libraries, which are then read once.
"""

import itertools

import compile_commands
import repository

TOGETHER = 48


def batches(units):
    """Lists of units of one library that are compiled alike; who goes without its precompiled headers does not go
    with the others."""
    def likeness(unit):
        return unit.object.partition(".dir/")[0], unit.flags(), unit.precompiled()
    for _, alike in itertools.groupby(sorted(units, key=likeness), key=likeness):
        alike = list(alike)
        for start in range(0, len(alike), TOGETHER):
            yield alike[start:start + TOGETHER]


def main():
    args = repository.arguments(__doc__)
    cache = repository.Cache(args.build / "lint" / "tidy")
    settings = args.root / ".clang-tidy"
    read = compile_commands.read_files(args.build)
    units = [unit for folder in ("src", "sim") for unit in compile_commands.units(args.build, args.root / folder)]

    def check(batch):
        names = "\n".join(str(unit.source) for unit in batch)
        together = cache.folder / f"{repository.digest(names)}.cpp"
        together.write_text("".join(
            f'#include "{unit.source}"  // NOLINT(bugprone-suspicious-include)\n' for unit in batch))
        # What one source names in an unnamed namespace is seen by the next: no matter here.
        command = ["clang-tidy-19", "--quiet", f"--config-file={settings}", str(together), "--",
                   *batch[0].flags(), "-Wno-shadow"]
        if cache.passed(names, command):
            return None
        result = repository.run(command, cwd=batch[0].folder)
        if result.returncode:
            return result.stdout
        # Without the build's list of headers (not built yet) nothing is known, so nothing is kept.
        if all(unit.object in read for unit in batch):
            files = {(args.build / f).resolve() for unit in batch for f in read[unit.object]}
            cache.keep(names, command, [settings, *(unit.source for unit in batch), *files])
        return None

    chosen = repository.an_eighth(list(batches(units)))
    findings = [f for f in repository.in_parallel(check, chosen) if f]
    repository.finish(findings, sum(len(batch) for batch in chosen))


if __name__ == "__main__":
    main()
