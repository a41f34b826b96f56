"""Whether the package that this interpreter has installed is whole; scripts/wheel.sh --check runs it.

The program starts, the Python examples of README.md and docs/python.md run. With --bundled: of the libraries that
it needs it takes only those of the C and C++ runtime from the machine. With --beside FOLDER: it works in one process
with the PyTorch and the Ray that lie there, whichever is imported first. Exit status 1, and words, if not.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/python.md")
# Those that every machine has, by the rules of manylinux.
OF_THE_MACHINE = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "linux-vdso.so.1", "libc.so.6", "libdl.so.2",
                  "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libstdc++.so.6",
                  "libz.so.1"}
USE = """
with hoplite.LocalCluster(nodes=1, memory="16MiB") as cluster, cluster.connect(0) as client:
    assert bytes(client.get(client.put(b"beside"), timeout=20.0)) == b"beside"
"""
USE_OTHER = {
    "torch": "assert torch.ones(3).sum() == 3.0",
    "ray": "ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False); assert ray.get(ray.put(3)) == 3",
}


def package():
    """Its folder; this clone's is not meant."""
    found = importlib.util.find_spec("hoplite")
    if found is None or not found.origin.startswith(sysconfig.get_path("platlib")):
        sys.exit(f"{sys.executable} has no package hoplite of its own")
    return pathlib.Path(found.origin).parent


def run(*command, **settings):
    """Standard output. settings: of the environment, beside those that are there."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **settings})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_program(folder):
    for command in ([pathlib.Path(sys.executable).with_name("hoplite")], [sys.executable, "-m", "hoplite"],
                    [folder / "bin" / "hoplite"]):
        run(*command, "--version")


def check_libraries(folder):
    """Of the extension and of the program, all that the loader finds."""
    inside = folder.with_name("hoplite_collectives.libs").resolve()
    for binary in (*folder.glob("_core*.so"), folder / "bin" / "hoplite"):
        needed = dict(re.findall(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", run("ldd", str(binary)), re.MULTILINE))
        strange = [f"{name} => {place}" for name, place in needed.items()
                   if pathlib.Path(place).parent.resolve() != inside and name not in OF_THE_MACHINE]
        if not needed or strange:
            sys.exit(f"{binary} needs of this machine: {', '.join(strange) or 'nothing, it is no program'}")
        print(f"{binary.name}: all libraries but the runtime's are inside")


def check_examples():
    """Each page in one process, from a folder that has nothing."""
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        if not importlib.util.find_spec("torch"):
            blocks = [block for block in blocks if "import torch" not in block]
        run(sys.executable, "-I", "-c", "\n".join(blocks))
        print(f"{page}: {len(blocks)} examples run")


def check_beside(folder):
    """Ray's own processes, too, are to find what lies there."""
    for other, use in USE_OTHER.items():
        if not (folder / other).is_dir():
            print(f"SKIPPED: {other} is not in {folder}")
            continue
        for first, second in ((other, "hoplite"), ("hoplite", other)):
            run(sys.executable, "-P", "-c", f"import {first}\nimport {second}\n{use}\n{USE}",
                PYTHONPATH=str(folder), RAY_AUTH_MODE="disabled")  # else Ray leaves a token in the user's home
            print(f"it works beside {other}: {first} first")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundled", action="store_true")
    parser.add_argument("--beside", type=pathlib.Path)
    options = parser.parse_args()
    folder = package()
    check_program(folder)
    if options.bundled:
        check_libraries(folder)
    check_examples()
    if options.beside:
        check_beside(options.beside.resolve())


if __name__ == "__main__":
    main()
