"""A channel between hosts: from the begin of a publish to readers on all other hosts that have the value.

    sudo PYTHONPATH=build/release/python build/python-env/bin/python bench/cluster/channels.py --hosts 8 --rate 100mbit

The value is a dict of arrays, all or some of which change. One reader comes late: its time counts from its coming. Clients are threads of this process;
nodes and the directory are on the testbed's hosts. S/B is one bare stream of the same bytes.
"""

import argparse
import concurrent.futures
import pathlib
import statistics
import tempfile
import time

import hosts
import numpy as np
from bare import Bare
from members import cluster, connected
from operations import Operation, format_rate, format_size, parse_size
from transfers import MIB

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(channel, version, after):
    """When the value was there, and when it was asked for."""
    time.sleep(after)
    begin = time.monotonic()
    channel.get(at_least=version, timeout=300)
    return begin, time.monotonic()


def parse_options():
    parser = argparse.ArgumentParser(prog="channels.py", description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--rate", default="100mbit", help="of each host's link")
    parser.add_argument("--size", type=parse_size, default=64 * MIB, help="of the value")
    parser.add_argument("--arrays", type=int, default=300)
    parser.add_argument("--changed", type=int, default=100, help="percent of the arrays that are new in each version")
    parser.add_argument("--elements", type=float, help="percent of the elements of each array, of 16 bits then, that are new in "
                        "each version; these alone are sent (deltas)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    return parser.parse_args()


def main():
    options = parse_options()
    hosts.end_on_signals()
    kind = np.dtype(np.uint16 if options.elements else np.float32)
    elements = options.size // options.arrays // kind.itemsize
    drawn = np.random.default_rng(1)
    weights = {f"layer {number}": np.zeros(elements, kind) for number in range(options.arrays)}
    changing = list(weights.values())[:options.arrays * options.changed // 100]
    operation = Operation("broadcast", options.size)
    with tempfile.TemporaryDirectory() as folder, hosts.Testbed(options.hosts, options.rate) as bed:
        bare = Bare(options.programs / "cluster_bare")
        try:
            bare.start(bed)
            once = statistics.median(bare.run([operation])[0].seconds(False) for _ in range(3))
        finally:
            bare.stop()
        print(f"{format_size(options.size)} in {options.arrays} arrays, of which {options.changed} % change, {options.hosts} hosts x "
              f"{format_rate(options.rate)}: S/B {1e3 * once:.0f} ms")
        with (cluster(bed, options.programs / "hoplite", 4 * options.size + 64 * MIB, folder) as nodes,
              connected(nodes) as (first, *others),
              concurrent.futures.ThreadPoolExecutor(len(others)) as threads):
            publisher = first.channel("bench", keep=1, deltas=options.elements is not None)
            channels = [client.channel("bench") for client in others]
            for version in range(options.rounds + 1):
                late = [0.0] * (len(channels) - 1) + [once / 2]
                reads = [threads.submit(read, channel, version, after) for channel, after in zip(channels, late)]
                for array in changing:
                    array[drawn.random(elements) < options.elements / 100 if options.elements else ...] += 1
                time.sleep(0.1)  # they wait
                begin = time.monotonic()
                publisher.publish(weights, version=version, timeout=300)
                *times, (came, there) = [one.result() for one in reads]
                if version > 0:  # then links are measured
                    print(f"round {version}: all {max(end for _, end in times) - begin:.3f} s, "
                          f"{(max(end for _, end in times) - begin) / once:.3f} x S/B; "
                          f"the late one {there - max(came, begin):.3f} s, "
                          f"{(there - max(came, begin)) / once:.3f} x S/B", flush=True)


if __name__ == "__main__":
    main()
