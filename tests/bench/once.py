"""Runs one benchmark on hosts with as little to measure as it can: it must end well and print its figures.

    sudo PYTHONPATH=build/release/python build/python-env/bin/python tests/bench/once.py tls --programs build/release/bin

Exit status 77, with the reason: without root, or without a module or a device that the benchmark needs.
"""

import argparse
import dataclasses
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

CLUSTER = pathlib.Path(__file__).resolve().parents[2] / "bench" / "cluster"
SKIPPED = 77
LONGEST = 120.0  # seconds; on an idle machine each takes at most 15
CLEANING = 30.0  # seconds until the hosts of an ended benchmark are removed


@dataclasses.dataclass(frozen=True)
class Benchmark:
    words: str
    figures: tuple  # regular expressions, each found in what it prints
    needs: tuple = ()  # modules beside hoplite
    device: str = "/dev/null"


ROW = r"^\|  \| hoplite \| [\d.]+ m?s"  # of a table of compare.py
BENCHMARKS = {
    "channels": Benchmark("channels.py --hosts 3 --size 1MiB --arrays 4 --rounds 1",
                          (r"^round 1: all [\d.]+ s, [\d.]+ x S/B; the late one [\d.]+ s",), ("numpy",)),
    "compare": Benchmark("compare.py --hosts 2 --sizes 1MiB --peers hoplite --reps 1 --output {folder} --venv {folder}", (ROW,)),
    "dask_arrays": Benchmark("dask_arrays.py --hosts 2 --rate 1gbit --size 1MiB --rounds 1 --python {python}",
                             (r"^reduce, tcp: [\d.]+ s", r"^reduce, hoplite: [\d.]+ s", "^longest step .*, hoplite: [0-9]+ ms"),
                             ("distributed",)),
    "rings": Benchmark("rings.py --hosts 3 --size 1MiB --rounds 1", (r"^round 1: [\d.]+ s, [\d.]+ x S/B",)),
    "staggered": Benchmark("compare.py staggered --quick --reps 1 --output {folder} --venv {folder}",
                           (r"^\| gets of 8 MiB.* \| hoplite \| [\d.]+ \| [\d.]+ \| 4 \| \d",)),
    "synchronous": Benchmark("compare.py runtimes --only synchronous --quick --reps 1 --hosts 2 --peers hoplite "
                             "--output {folder} --venv {folder} --python {python}",
                             (r"a step \| gloo \| [\d.]+ m?s", ROW), ("torch",)),
    "tls": Benchmark("tls.py --only 100mbit --rounds 1 --smalls 10",
                     tuple(rf"^  {way}: [\d.]+ s .* [\d.]+ ms" for way in ("plain", "secret", "certificates"))),
    "torch_groups": Benchmark("torch_groups.py --hosts 2 --rate none --only all --rounds 1 --python {python}",
                              (r"^allreduce 16 MiB: gloo [\d.]+ ms .*; hoplite [\d.]+ ms",), ("torch",)),
    "unequal": Benchmark("unequal.py --only '400 within' --rounds 1",
                         (r"^\| two sites .* \| [\d.]+ \(.*; 1\.\d \(1\.\d\), 0\.\d \(0\.\d\) \|",), ("numpy",)),
    # Without a window that holds the way it is 8.
    "unequal_far": Benchmark("unequal.py --only '100 ms there' --rounds 1",
                             (r"^\| two hosts.* \| [12]\.\d+ \(",), ("numpy",), "/dev/net/tun"),
}


def output_of(command):
    """What it prints, and its exit status; one that takes too long is ended, and removes its hosts."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.terminate()
            said, _ = process.communicate(timeout=CLEANING)
        return said, process.returncode


def what_is_wrong(benchmark, said, status):
    """Sentences."""
    wrong = [f"exit status {status}"] if status != 0 else []
    return wrong + [f"no line matches {figure}" for figure in benchmark.figures if not re.search(figure, said, re.MULTILINE)]


def main():
    parser = argparse.ArgumentParser(prog="once.py", description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of the built ones")
    options = parser.parse_args()
    benchmark = BENCHMARKS[options.benchmark]
    if os.geteuid() != 0:
        print("skipped: network namespaces need root")
        return SKIPPED
    missing = [module for module in benchmark.needs if importlib.util.find_spec(module) is None]
    if missing:
        print(f"skipped: {sys.executable} has no {', '.join(missing)}")
        return SKIPPED
    if not os.access(benchmark.device, os.R_OK | os.W_OK):
        print(f"skipped: no use of {benchmark.device}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        program, *words = (word.format(folder=folder, python=sys.executable) for word in shlex.split(benchmark.words))
        said, status = output_of([sys.executable, "-B", CLUSTER / program, *words, "--programs", options.programs.resolve()])
    print(said, end="")
    wrong = what_is_wrong(benchmark, said, status)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
