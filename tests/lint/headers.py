"""Compiles each header alone: it must include what it uses. The public ones as users do: in C++20, with the oldest compiler
alone, with the others together. A header that its own source includes first is left to alone.py, which compiles that source:
where a precompiled header stands before it, only headers of libraries can be missing unnoticed.
"""

import pathlib
import re
import subprocess

import compile_commands
import repository

PUBLIC_FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
OLDEST = ("g++-11", "-std=c++20")
OTHERS = (("g++-12", "-std=c++20"), ("clang++-14", "-std=c++20"), ("clang++-19", "-std=c++23"))
# For compilers whose coroutines are right; the others have to refuse it with a sentence.
OF_COROUTINES = pathlib.Path("hoplite/coroutine.h")
REFUSALS = dict.fromkeys(("g++-11", "g++-12"), "GCC before 13 destroys temporaries")


def public_headers(args):
    """(headers, command) for each compiler of a user."""
    public = args.root / "include"
    headers = [header.relative_to(public) for header in repository.files(args.root, ".h", folders=("include",))]
    headers.remove(OF_COROUTINES)
    yield [OF_COROUTINES], ["clang++-19", "-std=c++20", *PUBLIC_FLAGS, f"-I{public}"]
    for header in headers:
        yield [header], [*OLDEST, *PUBLIC_FLAGS, f"-I{public}"]
    for compiler in OTHERS:
        yield headers, [*compiler, *PUBLIC_FLAGS, f"-I{public}"]


def not_refused(args):
    """Of the header of coroutines: the compilers that do not say why they can't compile it."""
    for compiler, reason in REFUSALS.items():
        command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{args.root / 'include'}", "-x", "c++", "-"]
        refused = subprocess.run(command, input=f'#include "{OF_COROUTINES}"\n', capture_output=True, text=True,
                                 check=False)
        if refused.returncode == 0 or reason not in refused.stderr:
            yield f"{compiler} does not refuse {OF_COROUTINES} with '{reason}'"


def own_headers(args):
    """([header], command) for those that no source of theirs includes first."""
    for folder, root in (("src", args.root / "src"), ("sim", args.root)):
        units = compile_commands.units(args.build, args.root / folder)
        for header in repository.files(args.root, ".h", folders=(folder,)):
            name = header.relative_to(root)  # as it is included
            if not is_first_in_own_source(header, name):
                unit = nearest(units, header)
                yield [name], ["clang++-19", *unit.flags(), "-fsyntax-only"]


def is_first_in_own_source(header, name):
    own = header.with_suffix(".cpp")
    if not own.is_file():
        return False
    first = re.search(r'^#include (.*)$', repository.text(own), re.MULTILINE)
    return first is not None and first.group(1) == f'"{name}"'


def nearest(units, header):
    """Its own source, else one of its folder, else the last (of the highest layer)."""
    def distance(unit):
        return (unit.source.with_suffix("") != header.with_suffix(""),
                unit.source.parent != header.parent)
    return min(reversed(units), key=distance)


def main():
    args = repository.arguments(__doc__)
    cache = repository.Cache(args.build / "lint" / "headers")

    def check(item):
        headers, command = item
        includes = "".join(f'#include "{header}"\n' for header in headers)
        why = compile_commands.why_not_alone(cache, args.build, f"{command[0]} {includes}",
                                             [*command, "-x", "c++", "-"], includes)
        return why and f"{command[0]} does not compile\n{includes}{why}"

    items = [*public_headers(args), *repository.an_eighth(list(own_headers(args)))]
    findings = [*not_refused(args), *(f for f in repository.in_parallel(check, items) if f)]
    repository.finish(findings, len(items))


if __name__ == "__main__":
    main()
