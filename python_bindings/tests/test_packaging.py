"""What a wheel is made of: the installed component and the Python files, in a folder of their own.

The wheel itself, with its libraries inside, is checked by ``scripts/wheel.sh --check``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hoplite
import pytest

ROOT = Path(__file__).parents[2]
BUILD = Path(hoplite.__file__).parents[2]
# What speaks gRPC, and what gRPC brings.
UNWANTED = re.compile(r"grpc|gpr\.|absl|ssl|crypto|cares|re2|upb|address_sorting")
USE = """
import hoplite, numpy
with hoplite.LocalCluster(nodes=2, memory="16MiB") as cluster:
    one, two = cluster.connect(0), cluster.connect(1)
    ids = [one.put(numpy.arange(5.0)), two.put(numpy.ones(5))]
    print(hoplite.__file__, two.get(one.reduce(ids).target, timeout=20).sum())
"""

if not (BUILD / "CMakeCache.txt").exists():
    pytest.skip("the package is not the one of a build folder", allow_module_level=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `hoplite` in it, as a wheel has it."""
    place = tmp_path_factory.mktemp("package")
    said(["cmake", "--install", str(BUILD), "--component", "python", "--prefix", str(place)])
    shutil.copytree(
        ROOT / "python_bindings" / "hoplite",
        place / "hoplite",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return place


def said(command: list[str], path: Path | None = None) -> str:
    """What a program prints that takes the package from `path`, or from nowhere."""
    environment = {**os.environ, "PYTHONPATH": str(path or ""), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("HOPLITE_PROGRAM", None)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def extension(folder: Path) -> Path:
    (found,) = (folder / "hoplite").glob("_core*.so")
    return found


def test_the_installed_package_needs_no_build_folder(installed: Path) -> None:
    output = said([sys.executable, "-c", USE], installed)
    assert output == f"{installed}/hoplite/__init__.py 15.0\n"
    assert hoplite.__version__ in said([sys.executable, "-m", "hoplite", "--version"], installed)


def test_nothing_but_the_package_is_installed(installed: Path) -> None:
    files = {path.relative_to(installed / "hoplite") for path in installed.rglob("*.*")}
    assert [path.name for path in installed.iterdir()] == ["hoplite"]
    assert {
        Path("__init__.py"),
        Path("_core.pyi"),
        Path("py.typed"),
        Path("ray/__init__.py"),
    } <= files
    assert not [path for path in files if path.suffix in {".a", ".h", ".cmake", ".pyc"}]
    assert os.access(installed / "hoplite" / "bin" / "hoplite", os.X_OK)
    assert not (installed / "hoplite" / "bin" / "hoplite").is_symlink()


def test_the_extension_brings_no_grpc(installed: Path) -> None:
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said(["readelf", "-d", str(extension(installed))]))
    assert any(name.startswith("libprotobuf.") for name in needed)
    assert not [name for name in needed if UNWANTED.search(name)]


def test_the_extension_shows_only_how_python_begins_it(installed: Path) -> None:
    shown = said(["nm", "-D", "--defined-only", "--format=just-symbols", str(extension(installed))])
    assert shown.split() == ["PyInit__core"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the stable ABI begins with Python 3.12")
def test_the_extension_is_for_later_pythons_too(installed: Path) -> None:
    assert extension(installed).name == "_core.abi3.so"


def test_neither_paths_of_this_machine_nor_debug_information(installed: Path) -> None:
    for binary in (extension(installed), installed / "hoplite" / "bin" / "hoplite"):
        dynamic = said(["readelf", "-d", str(binary)])
        assert "RUNPATH" not in dynamic and "RPATH" not in dynamic
        assert ".debug_info" not in said(["readelf", "-SW", str(binary)])
