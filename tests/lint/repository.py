"""What all lint checks share: which files there are, and how findings are reported."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

FOLDERS = ("include", "src", "sim", "tests", "bench", "examples", "proto", "scripts", "docs",
           "python_bindings", "packaging", ".ci")
LEFT_OUT = {"__pycache__", "results", "build", "corpus", ".git"}


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=folder, required=True, help="the repository")
    parser.add_argument("--build", type=folder, help="a configured and built build folder")
    return parser.parse_args()


def folder(path):
    """Absolute, as compile commands have it."""
    return pathlib.Path(path).resolve()


def files(root, *suffixes, folders=FOLDERS):
    """Sorted paths of the sources, and of the files that lie in the root itself."""
    found = [p for p in root.iterdir() if p.is_file()] if folders is FOLDERS else []
    for folder in folders:
        if (root / folder).is_dir():
            found += [p for p in (root / folder).rglob("*") if p.is_file()]
    return sorted(p for p in found
                  if (not suffixes or p.suffix in suffixes)
                  and not LEFT_OUT & set(p.relative_to(root).parts))


def text(path):
    return path.read_text(encoding="utf-8")


def without_blocks(page):
    """A Markdown page but for its code blocks."""
    return re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)


def digest(words):
    """A short name for a long text."""
    return hashlib.sha256(words.encode()).hexdigest()[:24]


def an_eighth(items):
    """With HOPLITE_EIGHTH=K the K-th eighth of them, otherwise all: scripts/test.sh takes another one for each commit."""
    eighth = os.environ.get("HOPLITE_EIGHTH")
    return items if eighth is None else items[int(eighth) % 8::8]


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


class Cache:
    """Remembers what passed, by the content of all that went into it.

    An entry holds the command and the files that it read with their hashes; it is good while none
    of them changed. Findings are not kept: they are found again.
    """

    def __init__(self, folder):
        self.folder = folder
        self.hashes = {}
        folder.mkdir(parents=True, exist_ok=True)

    def passed(self, name, command):
        entry = self._entry(name)
        if not entry.is_file():
            return False
        kept = json.loads(text(entry))
        return (kept["command"] == command
                and all(self._hash(path) == known for path, known in kept["files"].items()))

    def keep(self, name, command, read_files):
        kept = {"command": command, "files": {str(p): self._hash(str(p)) for p in read_files}}
        self._entry(name).write_text(json.dumps(kept), encoding="utf-8")

    def _entry(self, name):
        return self.folder / f"{digest(name)}.json"

    def _hash(self, path):
        if path not in self.hashes:
            try:
                self.hashes[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            except OSError:
                self.hashes[path] = None
        return self.hashes[path]


def finish(findings, checked):
    """Prints the findings; exit status 1 if there are any, or if nothing was checked."""
    for finding in findings:
        print(finding)
    print(f"{checked} checked, {len(findings)} findings")
    sys.exit(1 if findings or checked == 0 else 0)
