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


class Cluster:
    """A directory beside the hosts, and a node on each."""

    def __init__(self, bed, program, folder, stack):
        self._stack, self._program, self._log = stack, program, stack.enter_context((folder / "log").open("w"))
        self._folder = folder
        directory = self._start(bed.control, "directory", "--insecure", f"--listen={bed.control.address}:0",
                                "--recovery-window=0ms")
        for host in bed.hosts:
            self._start(host, "node", "--insecure", f"--listen={host.address}:0", f"--directory={directory['address']}",
                        f"--name={host.name}", f"--socket={self.socket(host)}", "--memory=512MiB")

    def socket(self, host):
        return self._folder / host.name

    def _start(self, host, *words):
        agent = Agent(host.command(self._program, *words, "--json"), log=self._log)
        self._stack.callback(agent.close)
        return agent.answer()


def start_ranks(bed, cluster, python, stack):
    ranks = []
    for host in bed.hosts:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "build/release/python"), "GLOO_SOCKET_IFNAME": "eth0",
                       "HOPLITE_SOCKET": str(cluster.socket(host)), "PYTHONWARNINGS": "ignore"}
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
        cluster = Cluster(bed, options.programs / "hoplite", pathlib.Path(name), stack)
        ranks = start_ranks(bed, cluster, options.python.absolute(), stack)
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
