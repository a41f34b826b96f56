"""torch.distributed by Hoplite and by Gloo: the same ranks, on hosts with links of their own.

    sudo python3 bench/cluster/torch_groups.py --python build/python-env/bin/python

S/B is one bare stream of the same bytes. Each round runs both, in turn; an operation lasts until its last rank has returned.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import tempfile

import hosts
from dask_arrays import bare_seconds
from members import cluster
from operations import format_rate, format_size
from processes import Agent
from transfers import KIB, MIB

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent
PORT = 29400
BACKENDS = ("gloo", "hoplite")
# Kind, bytes, how often in a round.
CASES = [("broadcast", 16 * MIB, 1), ("allreduce", 16 * MIB, 1), ("allreduce", MIB, 3), ("allreduce", 64 * KIB, 20),
         ("allreduce", 4 * KIB, 20), ("barrier", 0, 20)]


def start_ranks(bed, nodes, python, package, stack):
    ranks = []
    for host, node in zip(bed.hosts, nodes):
        environment = {**os.environ, "PYTHONPATH": str(package), "GLOO_SOCKET_IFNAME": "eth0",
                       "HOPLITE_SOCKET": str(node.socket), "PYTHONWARNINGS": "ignore"}
        ranks.append(Agent(host.command(python, HERE / "torch_driver.py"), env=environment))
        stack.callback(ranks[-1].close)
    for number, rank in enumerate(ranks):
        rank.tell("join", number, len(ranks), bed.hosts[0].address, PORT)
    for rank in ranks:
        rank.answer()
    return ranks


def measure(ranks, backend, kind, size, times):
    """Seconds of each."""
    for rank in ranks:
        rank.tell("run", backend, kind, size, times)
    answers = [rank.answer() for rank in ranks]
    begins = zip(*(answer["begins"] for answer in answers))
    ends = zip(*(answer["ends"] for answer in answers))
    return [(max(end) - min(begin)) / 1e9 for begin, end in zip(begins, ends)]


def parse_options():
    parser = argparse.ArgumentParser(prog="torch_groups.py", description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate", default="100mbit", help="of each host's link; none: unshaped")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="kinds whose name begins with this")
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / "build/python-env/bin/python", help="has PyTorch")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    return parser.parse_args()


def main():
    options = parse_options()
    hosts.end_on_signals()
    rate = None if options.rate == "none" else options.rate
    with tempfile.TemporaryDirectory() as name, hosts.Testbed(options.hosts, rate) as bed, contextlib.ExitStack() as stack:
        once = bare_seconds(bed, options.programs, 16 * MIB)
        print(f"{options.hosts} hosts x {format_rate(rate) if rate else 'unshaped'}: 16 MiB in {once:.3f} s", flush=True)
        nodes = stack.enter_context(cluster(bed, options.programs / "hoplite", 512 * MIB, name))
        ranks = start_ranks(bed, nodes, options.python.absolute(), options.programs.absolute().parent / "python", stack)
        for kind, size, times in CASES:
            if not kind.startswith(options.only):
                continue
            taken = {backend: [] for backend in BACKENDS}
            for turn in range(-1, options.rounds):
                for backend in BACKENDS:
                    seconds = measure(ranks, backend, kind, size, times)
                    taken[backend] += seconds if turn >= 0 else []  # the first one opens connections
            middle = {backend: statistics.median(seconds) for backend, seconds in taken.items()}
            ratio = middle["hoplite"] / middle["gloo"]
            stream = f", {middle['hoplite'] / once:.3f} x S/B" if size == 16 * MIB else ""
            words = [f"{backend} {1e3 * middle[backend]:.2f} ms ({1e3 * min(seconds):.2f} to {1e3 * max(seconds):.2f})"
                     for backend, seconds in taken.items()]
            print(f"{kind} {format_size(size) if size else ''}: {'; '.join(words)}; {ratio:.2f} x Gloo{stream}", flush=True)


if __name__ == "__main__":
    main()
