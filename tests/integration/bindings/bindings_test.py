"""The bindings of other languages: builds and runs the example of each, where its compiler is."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from cluster import Cluster

ROOT = pathlib.Path(__file__).parents[3]
BINDINGS = ROOT / "bindings"
LIBRARY = pathlib.Path(os.environ["HOPLITE_LIBRARY"])
MOST_LINES = 300


def needs(program, package):
    return unittest.skipUnless(shutil.which(program), f"{program} is not here: install Debian's {package}")


class Bindings(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hoplite-bindings-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, folder, *command, **environment):
        built = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True,
                               timeout=500, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)

    def run_example(self, program):
        with Cluster(2) as cluster:
            ran = subprocess.run([program, cluster.socket(1), cluster.socket(2)], capture_output=True, text=True,
                                 timeout=100, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (0, "all is well\n"), ran.stderr)

    @needs("go", "golang-go")
    def test_go(self):
        (self.folder / "hoplite.pc").write_text(
            f"Name: hoplite\nDescription: as it was built\nVersion: 0\nCflags: -I{ROOT / 'include'}\n"
            f"Libs: -L{LIBRARY.parent} -Wl,-rpath,{LIBRARY.parent} -lhoplite\n")
        self.build(BINDINGS / "go", "go", "build", "-o", self.folder / "example", "./example",
                   PKG_CONFIG_PATH=str(self.folder))
        self.run_example(self.folder / "example")

    @needs("cargo", "cargo")
    def test_rust(self):
        self.build(BINDINGS / "rust", "cargo", "build", "--offline", "--example", "example",
                   CARGO_TARGET_DIR=str(self.folder), HOPLITE_LIB_DIR=str(LIBRARY.parent))
        self.run_example(self.folder / "debug/examples/example")

    def test_they_stay_small(self):
        for source in (BINDINGS / "go/hoplite.go", BINDINGS / "rust/src/lib.rs"):
            with self.subTest(source.name):
                self.assertLessEqual(len(source.read_text().splitlines()), MOST_LINES)


if __name__ == "__main__":
    unittest.main()
