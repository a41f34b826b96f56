"""Broadcasts over unequal links, and collectives between sites: how long they take, against what the links allow.

    sudo ./scripts/bench.sh links
    sudo PYTHONPATH=build/release/python build/python-env/bin/python bench/cluster/unequal.py --only "two sites"
    build/python-env/bin/python bench/cluster/unequal.py --simulated --seeds 10

Host 0 has the object. The others ask in the order of their numbers. A receiver's time counts from its question and is divided
by size / rate of the slowest link on its way. Between sites, and where a link falls, the whole broadcast is divided by size /
rate of the way between, or of the fallen link; round trips are no part of that. Of a sum host 0 asks for that of all hosts, and
perhaps all read it. In an allgather each host asks for each object at a moment of its own, MPICH's ranks for all together; half
of the objects go over each way, or, in one site, a host's time is divided by that of n - 1 objects over its link.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import numpy as np

from transfers import MIB

ROOT = pathlib.Path(__file__).resolve().parents[2]
MBIT = 125_000  # bytes per second


@dataclasses.dataclass(frozen=True)
class Case:
    """Rates in Mbit/s; the first one is the source's."""

    name: str
    rates: tuple
    size: int = 16 * MIB
    apart: float = 0.02  # seconds from one question to the next
    between: int = 0  # the rate out of each site, where hosts stand in turn; 0: one site
    sites: int = 2  # then; other numbers are simulated only
    apart_ms: int = 0  # milliseconds from one site to the other and back; measured only
    falls: tuple = ()  # a host, when, and the rate of its link from then on
    dies: tuple = ()  # a host, and when; simulated only
    told: bool = True  # nodes say what their links carry
    named: bool = True  # nodes say in which site they are
    job: str = "broadcast"  # or "reduce"; "allreduce": all read the sum; "allgather": all read all objects

    def bound(self, host):
        """Seconds in which the object, or all objects of an allgather, can come to this host."""
        rate = min(self.rates[0], self.rates[host])
        if self.between and host % 2 == 1:
            rate = min(rate, self.between)
        objects = len(self.rates) - 1 if self.job == "allgather" else 1
        return objects * self.size / (rate * MBIT)

    def words(self, number):
        """What the node on this host is told of its link and site."""
        site = ["--site", f"site {number % 2}"] if self.between and self.named else []
        return [*site, "--link-rate", f"{self.rates[number]}mbit"] if self.told else site

    def whole_by(self):
        """The rate by which the whole broadcast is judged, if not each receiver is by its own link."""
        return self.falls[2] if self.falls else self.between

    def times(self):
        """How often the size goes over each way."""
        return len(self.rates) / 2 if self.job == "allgather" else 1

    def worst(self, waited, whole):
        """waited: seconds of each receiver; whole: from the first question to the last receiver's end."""
        slow = self.whole_by()
        if slow:
            return whole / (self.times() * self.size / (slow * MBIT))
        return max(seconds / self.bound(host) for host, seconds in waited.items())


def sixteen(seed):
    drawn = random.Random(seed)
    return Case("16 receivers of 50 to 400, 10 ms apart", (400, *(drawn.choice((50, 100, 200, 400)) for _ in range(16))),
                apart=0.01)


def drawn_at_random(seed):
    drawn = random.Random(1000 + seed)
    return Case("3 to 14 receivers of 25 to 400, drawn", tuple(drawn.randint(25, 400) for _ in range(drawn.randint(4, 15))),
                size=drawn.choice((4, 16, 64)) * MIB, apart=drawn.choice((0, 0.005, 0.02, 0.05)))


SLOW_FIRST = (200, 50, 100, 200, 100, 200)
SITES = (400,) * 8
REAL = [Case("slow first, 20 ms apart", SLOW_FIRST),
        Case("the same, at once", SLOW_FIRST, apart=0.0),
        Case("the same, 20 ms apart, rates not told", SLOW_FIRST, told=False),
        Case("a link falls from 200 to 50 after 0.3 s", (200,) * 6, falls=(3, 0.3, 50)),
        Case("two sites of 4, 400 within, 100 between, at once", SITES, apart=0.0, between=100),
        Case("the same, 20 ms apart", SITES, between=100),
        Case("two sites of 4: a sum of 8", SITES, between=100, job="reduce"),
        Case("two sites of 4: a sum of 8 that all read", SITES, between=100, job="allreduce"),
        Case("two sites of 4: all read 8 objects", SITES, size=4 * MIB, apart=0.0, between=100, job="allgather"),
        Case("the same, within 150 ms", SITES, size=4 * MIB, apart=0.15, between=100, job="allgather"),
        Case("4 hosts of 100 read 4 objects, within 150 ms", (100,) * 4, apart=0.15, job="allgather"),
        Case("the same, within 250 ms", (100,) * 4, apart=0.25, job="allgather"),
        Case("8 hosts of 100 read 8 objects of 4 MiB, within 150 ms", (100,) * 8, size=4 * MIB, apart=0.15, job="allgather"),
        Case("the same, together", (100,) * 8, size=4 * MIB, apart=0.0, job="allgather"),
        Case("equal hosts: 7 of 100, at once", (100,) * 8, apart=0.0)]
FAR = [Case(f"two hosts, {milliseconds} ms there and back: 64 MiB", (400, 400), size=64 * MIB, between=100, apart_ms=milliseconds)
       for milliseconds in (20, 100, 150, 300)]
FAR += [dataclasses.replace(case, name=f"{case.name}, no sites", named=False) for case in FAR if case.apart_ms >= 100]
FAR += [Case("two sites of 4, 60 ms there and back: broadcast", SITES, between=100, apart_ms=60),
        Case("two sites of 4, 60 ms there and back: a sum of 8 that all read", SITES, between=100, apart_ms=60, job="allreduce"),
        Case("two sites of 4, 60 ms there and back: all read 8 objects", SITES, size=4 * MIB, apart=0.0, between=100, apart_ms=60,
             job="allgather")]
SIMULATED = [*REAL,
             Case("two sites of 4 and a way of 400, 5 ms apart", SITES, apart=0.005, between=400),
             Case("four sites of 2, 400 within, 100 out of each, at once", SITES, apart=0.0, between=100, sites=4),
             Case("the same, 5 ms apart", SITES, apart=0.005, between=100, sites=4),
             Case("two sites, the one that crosses dies after 0.5 s", SITES, apart=0.005, between=100, dies=(1, 0.5)),
             Case("two sites, the first one to cross has 50", (400, 50, *SITES[2:]), apart=0.005, between=100)]


def simulate(program, case, seed, flags=()):
    """The figure of one history."""
    most = max(case.rates)
    command = [program, "sim", case.job, "--json", "--latency", "2ms", "--nodes", len(case.rates),
               "--size", case.size, "--bandwidth", f"{most}mbit", "--seed", seed]
    if case.job == "broadcast":
        command += ["--apart", f"{case.apart * 1e3:g}ms", "--spread", "2ms"]
    elif case.job == "allgather":
        command += ["--spread", f"{max(case.apart * 1e3, 1):g}ms"]
    elif case.job == "allreduce":
        command.append("--everyone-reads")
    command += [word for rate in case.rates for word in ("--rate", f"{rate}mbit")]
    if case.between:
        command += ["--sites", case.sites, "--between", f"{case.between}mbit"]
    if case.falls:
        command += ["--change-rate", "{}@{}s={}mbit".format(*case.falls)]
    if case.dies:
        command += ["--kill-at", "{}@{}s".format(*case.dies)]
    if not case.told:  # what the first time taught counts
        command += ["--unmeasured", "--rounds", 3]
    command += flags
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    if case.whole_by():
        return case.worst({}, report["seconds"])
    return report["ratio" if case.job == "allgather" else "stretch"]


def simulate_all(options):
    cases = [(case.name, lambda _, case=case: case, options.seeds) for case in SIMULATED]
    cases += [(sixteen(1).name, sixteen, options.seeds), (drawn_at_random(1).name, drawn_at_random, 3 * options.seeds)]
    print("| case | mean | worst |\n|---|---|---|")
    for name, draw, seeds in cases:
        figures = [simulate(options.programs / "hoplite", draw(seed), seed) for seed in range(1, seeds + 1)]
        print(f"| {name} | {statistics.mean(figures):.2f} | {max(figures):.2f} |", flush=True)


def broadcast(bed, case, clients, id):
    """What each receiver waited, and the whole."""
    source, *receivers = clients
    source.put(bytes(case.size), id)
    begin = time.monotonic() + 0.05

    def get(number, client):
        asks = begin + (number - 1) * case.apart
        time.sleep(max(0.0, asks - time.monotonic()))
        client.get(id, timeout=300)
        return number, time.monotonic() - asks

    with concurrent.futures.ThreadPoolExecutor(len(receivers) + 1) as threads:
        gets = [threads.submit(get, number, client) for number, client in enumerate(receivers, 1)]
        if case.falls:
            host, after, rate = case.falls
            time.sleep(max(0.0, begin + after - time.monotonic()))
            bed.reshape(bed.hosts[host], f"{rate}mbit")
        waited = dict(one.result() for one in gets)
    whole = max(seconds + (number - 1) * case.apart for number, seconds in waited.items())
    source.delete(id)
    if case.falls:
        bed.reshape(bed.hosts[host], f"{case.rates[host]}mbit")
    return waited, whole


def add_up(case, clients, id, sources):
    """What each one that reads the sum waited, and the whole."""
    values = np.ones(case.size // 4, np.float32)
    for client, source in zip(clients, sources):
        client.put(values, source)
    begin = time.monotonic()
    readers = clients if case.job == "allreduce" else clients[:1]
    clients[0].reduce(sources, target=id, timeout=300, everyone_reads=case.job == "allreduce")

    def get(number, client):
        assert client.get(id, timeout=300)[0] == len(clients)
        return number, time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(len(readers)) as threads:
        waited = dict(threads.map(get, range(len(readers)), readers))
    for one in (id, *sources):
        clients[0].delete(one)
    return waited, max(waited.values())


def gather(case, clients, ids):
    """What each one waited for all objects, of which it asks for each at a moment of its own, and the whole."""
    for client, id in zip(clients, ids):
        client.put(bytes(case.size), id)
    begin = time.monotonic() + 0.05

    def get(number, id):
        time.sleep(max(0.0, begin + random.uniform(0, case.apart) - time.monotonic()))
        clients[number].get(id, timeout=300)
        return number, time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(len(ids) ** 2) as threads:
        gets = [threads.submit(get, number, id) for number in range(len(clients)) for id in ids]
        ends = [one.result() for one in gets]
    for id in ids:
        clients[0].delete(id)
    waited = {number: max(end for reader, end in ends if reader == number) for number in range(len(clients))}
    return waited, max(waited.values())


def run_job(bed, case, clients, id, others):
    if case.job == "broadcast":
        return broadcast(bed, case, clients, id)
    return gather(case, clients, others) if case.job == "allgather" else add_up(case, clients, id, others)


class Rounds:
    """Prints the rounds of a case, and keeps what they have in common."""

    def __init__(self, bed, case, who):
        self._bed, self._case, self._who = bed, case, who
        self._figures = []
        self._crossings = []

    def add(self, play):
        """play() does the job once: what each receiver waited, and the whole."""
        before = self._bed.crossed()
        waited, whole = play()
        self._figures.append(self._case.worst(waited, whole))
        crossings = ""
        if self._case.between:
            there, back = ((now - then) / self._case.size for now, then in zip(self._bed.crossed(), before))
            crossings = f"; crossings there {there:.2f}, back {back:.2f}"
            self._crossings.append((there, back))
        print(f"  {self._who}, round {len(self._figures) - 1}: {self._figures[-1]:.3f}; " +
              ", ".join(f"{host}: {seconds:.2f} s" for host, seconds in waited.items()) + crossings, flush=True)

    def cell(self):
        """Of a table: the median with the least and the worst, and of the crossings the medians and the worst."""
        text = f"{statistics.median(self._figures):.2f} ({min(self._figures):.2f} to {max(self._figures):.2f})"
        if self._crossings:
            text += "; " + ", ".join(f"{statistics.median(way):.1f} ({max(way):.1f})" for way in zip(*self._crossings))
        return text


def by_ranks(peer, case):
    """The same job done by a peer whose processes are ranks."""
    from operations import Operation  # noqa: PLC0415

    step = case.apart if case.job == "broadcast" else 0.0
    [sample] = peer.run([Operation(case.job, case.size, step=step)])
    first = 1 if case.job == "broadcast" else 0
    waited = {host: (end - begin) / 1e9 for host, (begin, end) in enumerate(zip(sample.begins, sample.ends), first)}
    return waited, sample.seconds(staggered=False)


def by_a_stream(stream, case):
    """The bytes of the only receiver over one TCP connection, which stays open."""
    from operations import Operation  # noqa: PLC0415

    [sample] = stream.run([Operation("point_to_point", case.size)])
    seconds = sample.seconds(staggered=False)
    return {1: seconds}, seconds


def beside(options, bed, case, peer, play):
    """The cell of a peer that does the same."""
    peer.start(bed)
    theirs = Rounds(bed, case, peer.name)
    for _ in range(options.rounds):
        theirs.add(lambda: play(peer, case))
    peer.stop()
    return theirs.cell()


def run(options, case):
    """The case's row of the table."""
    import bare  # noqa: PLC0415
    import hosts  # noqa: PLC0415 - needs no root until a testbed is made
    import mpi  # noqa: PLC0415
    from hoplite import ObjectId  # noqa: PLC0415 - the simulated cases need no package
    from members import cluster, connected  # noqa: PLC0415

    between = f"{case.between}mbit" if case.between else None
    with (tempfile.TemporaryDirectory() as folder,
          hosts.Testbed(len(case.rates), f"{max(case.rates)}mbit", between=between, delay=case.apart_ms / 2e3) as bed):
        for host, rate in zip(bed.hosts, case.rates):
            bed.reshape(host, f"{rate}mbit")
        with (cluster(bed, options.programs / "hoplite", 16 * case.size, folder, case.words) as nodes,
              connected(nodes) as clients):
            ours = Rounds(bed, case, "hoplite")
            for number in range(options.rounds):
                id, *others = (ObjectId.from_name(f"round {number}, {one}") for one in range(len(clients) + 1))
                ours.add(lambda: run_job(bed, case, clients, id, others))  # noqa: B023 - called at once
        cells = [case.name, ours.cell(), "", ""]
        if options.mpich and not case.falls:
            cells[2] = beside(options, bed, case, mpi.Mpich(options.mpich.resolve(), "ofi"), by_ranks)
        if case.apart_ms and len(case.rates) == 2:
            cells[3] = beside(options, bed, case, bare.Bare(options.programs / "cluster_bare"), by_a_stream)
    return f"| {' | '.join(cells)} |"


def parse_options():
    parser = argparse.ArgumentParser(prog="unequal.py", description=__doc__.splitlines()[0])
    parser.add_argument("--simulated", action="store_true", help="by the planner world, without root")
    parser.add_argument("--seeds", type=int, default=10, help="of each simulated case")
    parser.add_argument("--rounds", type=int, default=6, help="of each measured case")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--mpich", type=pathlib.Path, metavar="VENV", help="beside it MPICH, from this environment")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    return parser.parse_args()


def main():
    options = parse_options()
    if options.simulated:
        return simulate_all(options)
    import hosts  # noqa: PLC0415

    hosts.end_on_signals()
    rows = ["| case, x bound, median (least to worst); crossings there, back (worst) | hoplite | MPICH | one TCP stream |",
            "| --- | --- | --- | --- |"]
    try:
        for case in REAL + FAR:
            if options.only in case.name:
                print(f"{case.name}:", flush=True)
                rows.append(run(options, case))
    finally:
        print("\n".join(rows))


if __name__ == "__main__":
    main()
