"""What TLS costs: gets from node to node in plain text, with a secret and with certificates, by turns.

    sudo PYTHONPATH=build/release/python build/python-env/bin/python bench/cluster/tls.py

Two hosts; a link of each rate, and none. Prints medians of rounds, as multiples of plain text, and processor seconds."""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import hosts
from members import PLAIN, cluster, connected

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20
# Rate of the links, and what is sent over them.
LINKS = (("100mbit", 16 * MIB), ("1gbit", 128 * MIB), (None, 1024 * MIB))
SMALL = 1024
TICK = os.sysconf("SC_CLK_TCK")


def security(way, folder):
    """Role -> what a member of it is told, as members.cluster takes it."""
    if way == "plain":
        return PLAIN
    if way == "secret":
        return dict.fromkeys(PLAIN, [f"--secret-file={folder}/secret"])
    return {role: [f"--tls-ca={folder}/ca.pem", f"--tls-cert={folder}/{role}.pem", f"--tls-key={folder}/{role}.key"]
            for role in PLAIN}


def make_files(program, folder):
    secret = pathlib.Path(folder, "secret")
    secret.touch(mode=0o600)
    secret.write_text(os.urandom(32).hex())
    subprocess.run([program, "certs", folder], check=True, stdout=subprocess.DEVNULL)


class Pair:
    """Two nodes which talk in one of the ways, and a client of each."""

    def __init__(self, nodes, clients):
        self._nodes, self._clients = nodes, clients

    def get(self, size):
        """Seconds, and the processor's of both nodes."""
        source, reader = self._clients
        id = source.put(bytes(size))
        before, begin = self._processor(), time.monotonic()
        reader.get(id, timeout=300)
        found = time.monotonic() - begin, self._processor() - before
        source.delete(id)
        return found

    def put_and_get(self, value):
        source, reader = self._clients
        begin = time.monotonic()
        reader.get(source.put(value), timeout=30)
        return time.monotonic() - begin

    def _processor(self):
        stats = [pathlib.Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split() for node in self._nodes]
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / TICK


@contextlib.contextmanager
def pair(bed, program, memory, folder, way):
    place = folder / f"{way}-nodes"
    place.mkdir()
    with cluster(bed, program, memory, place, security=security(way, folder)) as nodes, connected(nodes) as clients:
        yield Pair(nodes, clients)


def measure(options, rate, size):
    program = options.programs / "hoplite"
    ways = ("plain", "secret", "certificates")
    with tempfile.TemporaryDirectory() as name, hosts.Testbed(2, rate) as bed, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        make_files(program, folder)
        memory = size + size // 4 + 16 * MIB
        pairs = {way: stack.enter_context(pair(bed, program, memory, folder, way)) for way in ways}
        gets, smalls = {way: [] for way in ways}, {way: [] for way in ways}
        for number in range(options.rounds + 1):
            for way in ways:
                found = pairs[way].get(size)
                small = [pairs[way].put_and_get(os.urandom(SMALL)) for _ in range(options.smalls)]
                if number > 0:  # the first one makes connections, and touches the memory
                    gets[way].append(found)
                    smalls[way].append(statistics.quantiles(small, n=10)[0])
    print(f"{rate or 'no limit'}, a get of {size // MIB} MiB; put and get of {SMALL} bytes, tenth percentile:")
    plain = [statistics.median(seconds for seconds, _ in gets["plain"]), statistics.median(smalls["plain"])]
    for way in ways:
        seconds = [one for one, _ in gets[way]]
        median, small, worst = statistics.median(seconds), statistics.median(smalls[way]), max(smalls[way])
        print(f"  {way}: {median:.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), {median / plain[0]:.3f} x; "
              f"{statistics.median(processor for _, processor in gets[way]) * 1024 * MIB / size:.2f} processor s a GiB; "
              f"{small * 1e3:.3f} ms ({worst * 1e3:.3f} the worst), {small / plain[1]:.3f} x", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tls.py", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--smalls", type=int, default=200, help="of each way and round")
    parser.add_argument("--only", default="", help="links whose rate begins with this")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    options = parser.parse_args()
    hosts.end_on_signals()
    for rate, size in LINKS:
        if (rate or "no limit").startswith(options.only):
            measure(options, rate, size)


if __name__ == "__main__":
    main()
