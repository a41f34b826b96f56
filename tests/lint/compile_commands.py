"""How the build compiles each source, for checks that compile it their own way."""

import json
import pathlib
import re
import shlex
import tempfile

import repository


class Unit:
    """One translation unit: its source, and the flags that matter to a reader of it."""

    def __init__(self, entry, source):
        self.source = source
        self.folder = entry["directory"]
        self.words = shlex.split(entry["command"])
        self.object = self.words[self.words.index("-o") + 1]  # of several sources, in a unity build

    def precompiled(self):
        return "-include-pch" in self.words

    def flags(self, precompiled=False):
        """Without launcher, source and output; with the precompiled header only if that is wanted."""
        compiler = next(i for i, word in enumerate(self.words)
                        if pathlib.Path(word).name.startswith("clang++"))
        start = compiler + 1
        flags, skip = [], 0
        for i, word in enumerate(self.words[start:], start):
            if skip:
                skip -= 1
            elif word in ("-o", "-c"):
                skip = 1
            elif not precompiled and word == "-Xclang" and self.words[i + 1] in ("-include-pch", "-include"):
                skip = 3
            elif not precompiled and word == "-Winvalid-pch":
                pass
            else:
                flags.append(word)
        return flags


def units(build, below):
    """The units whose source lies in the folder `below`, in order of their paths."""
    entries = json.loads(repository.text(build / "compile_commands.json"))
    found = [Unit(entry, source) for entry in entries for source in sources(pathlib.Path(entry["file"]))
             if source.is_relative_to(below)]
    return sorted(found, key=lambda unit: unit.source)


def sources(compiled):
    """What is compiled as this file: several sources, in a unity build."""
    if compiled.parent.name != "Unity":
        return [compiled]
    return [pathlib.Path(source) for source in re.findall(r'^#include "(.*)"$', repository.text(compiled), re.MULTILINE)]


def read_files(build):
    """By object: the files of the project that the build read for it, as ninja knows them."""
    listing = repository.run(["ninja", "-C", str(build), "-t", "deps"]).stdout
    files, current = {}, None
    for line in listing.splitlines():
        if line and not line.startswith(" "):
            current = files.setdefault(line.split(":")[0], [])
        elif line.strip() and not line.strip().startswith("/usr/"):
            current.append(line.strip())
    return files


def why_not_alone(cache, build, name, command, text=""):
    """What the compiler says of a source that does not compile with this command; None: it compiles, or did before.
    `text`: what it reads from its standard input."""
    if cache.passed(name, command):
        return None
    with tempfile.TemporaryDirectory() as folder:
        rule = pathlib.Path(folder) / "rule.d"
        result = repository.run([*command, "-MD", "-MF", str(rule)], input=text, cwd=build)
        if result.returncode:
            return result.stdout
        cache.keep(name, command, [(build / f).resolve() for f in read_by(rule)])
    return None


def read_by(rule):
    """The files of a make rule, without the system's."""
    words = rule.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]
    return [w for w in words if w != "-" and not w.startswith("/usr/")]
