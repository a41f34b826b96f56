"""What many objects take into the reader's own memory, beside one object of the same bytes, by turns.

    sudo PYTHONPATH=build/release/python build/python-env/bin/python bench/cluster/many.py

Objects of the reader's node; of another node by loopback; of another host behind a link. Prints medians of rounds, quartiles,
the worst, and the median of the ratios within the rounds."""

import argparse
import contextlib
import pathlib
import statistics
import tempfile
import time

import hosts
import numpy as np
from members import cluster, connected

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20
GOAL = 1.1
WARM_UP = 2  # rounds: they make connections, and touch the memory


@contextlib.contextmanager
def same_node(options):
    import hoplite  # noqa: PLC0415 - only who measures needs the package

    with hoplite.LocalCluster(nodes=1, memory=options.memory) as made, made.connect(0) as source, made.connect(0) as reader:
        yield source, reader


@contextlib.contextmanager
def other_node(options):
    import hoplite  # noqa: PLC0415

    with hoplite.LocalCluster(nodes=2, memory=options.memory) as made, made.connect(0) as source, made.connect(1) as reader:
        yield source, reader


@contextlib.contextmanager
def other_host(options):
    with tempfile.TemporaryDirectory() as folder, hosts.Testbed(2, options.rate) as bed, \
            cluster(bed, options.programs / "hoplite", options.memory, folder) as nodes, connected(nodes) as clients:
        yield clients


def one(source, reader, values, out):
    """Milliseconds of a get of one object with all bytes."""
    id = source.put(values.reshape(-1))
    begin = time.monotonic()
    reader.get(id, out=out.reshape(-1), timeout=300)
    took = time.monotonic() - begin
    source.delete(id)
    return took * 1e3


def many(source, reader, values, out):
    """The same of an object for each row."""
    ids = [source.put(row) for row in values]
    begin = time.monotonic()
    reader.get_many(ids, out=list(out), timeout=300)
    took = time.monotonic() - begin
    source.delete(ids)
    return took * 1e3


def measure(name, source, reader, options):
    values = np.random.default_rng(1).integers(256, size=(options.objects, options.bytes), dtype=np.uint8)
    out = np.empty_like(values)
    took = {one: [], many: []}
    for number in range(WARM_UP + options.rounds):
        for way in (one, many) if number % 2 else (many, one):
            out[:] = 0
            milliseconds = way(source, reader, values, out)
            assert np.array_equal(out, values), "other bytes came"
            if number >= WARM_UP:
                took[way].append(milliseconds)
    print(f"{name}, {options.objects} objects of {options.bytes / MIB:g} MiB:")
    for way, found in took.items():
        low, median, high = statistics.quantiles(found, n=4)
        print(f"  {way.__name__}: {median:.2f} ms ({low:.2f} to {high:.2f}), worst {max(found):.2f}")
    ratio = statistics.median(of_many / of_one for of_many, of_one in zip(took[many], took[one]))
    print(f"  {ratio:.2f} x, goal {GOAL}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="many.py", description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=64)
    parser.add_argument("--bytes", type=int, default=MIB, help="of each")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rate", default="1gbit", help="of the other host's link")
    parser.add_argument("--only", default="", help="places whose name begins with this")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    options = parser.parse_args()
    options.memory = 3 * options.objects * options.bytes + 64 * MIB
    hosts.end_on_signals()
    for name, place in {"same node": same_node, "other node": other_node, "other host": other_host}.items():
        if name.startswith(options.only):
            with place(options) as (source, reader):
                measure(name, source, reader, options)


if __name__ == "__main__":
    main()
