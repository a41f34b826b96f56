"""The cases of the comparison, each with the goal that the project has set itself."""

import json

import mpi
import processes
import simulations
from hosts import Testbed
from operations import Operation, format_rate, format_size
from ours import NewClusters, forced
from rounds import Rounds, say
from rows import Goal, Row, Setting
from transfers import GIB, KIB, MIB, Transfers, Worst
from verdicts import EVERYONE_READS, OLDER, OURS, too_slow

BARE, IPERF = "bare stream", "iperf3"
APART = "hoplite, two hosts apart"  # which can't connect to each other
LOCATIONS = "locations_per_second"  # the directory's benchmark counts them
TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}  # as Google Benchmark names them
PUT_THREADS = 2  # threads that copy a large Put


class Comparison:
    """Runs cases and collects their rows. peers: a Peers; failures: sentences, for the report; bed: makes hosts with links."""

    def __init__(self, peers, repetitions, failures, bed=Testbed):
        self._bed = bed
        self._peers = peers
        self._repetitions = repetitions
        self.rows = []
        self.part_rows = []
        self.failures = failures

    def transfers(self, case):
        self._run(case, self._peers.for_transfers(case))

    def alone(self, case):
        """What the peers have no operation for."""
        self._run(case, self._peers.alone(case))

    def _run(self, case, peers):
        links = f"{case.hosts} hosts x {format_rate(case.rate)}"
        say(f"{', '.join(sorted({operation.kind for operation in case.limits}))}; {links}")
        rows = {}
        for operation, limit in case.limits.items():
            row = Row(f"{operation.name}, {links}", "s", reference=BARE, setting=setting(operation, case))
            row.goals = hops(OURS, limit)
            if operation in case.everyone_reads:
                row.goals += beside(case.everyone_reads[operation], [peer.name for peer in peers])
            rows[operation] = row
        with self._bed(case.hosts, case.rate) as bed:
            with Rounds(bed, peers, self.failures) as rounds:
                rounds.run(rows, self._repetitions)
        self.rows += rows.values()
        for operation, row in rows.items():
            if operation.size >= MIB:  # of a smaller object nothing is left but chance
                self.failures += too_slow(row.case, row.ratios(OURS, BARE), row.ratios(OLDER, BARE))

    def degrees(self, case):
        """Reductions with the degree that the planner chooses, beside forced ones."""
        links = f"{case.hosts} hosts x {format_rate(case.rate)}"
        say(f"degrees of a reduction; {links}")
        ours = self._peers.ours(case)
        degrees = [forced(ours, degree) for degree in (1, 2, case.hosts)]
        rows = {}
        for operation in case.limits:
            rows[operation] = Row(f"degree, {operation.name}, {links}", "s", reference="best forced")
        with Testbed(case.hosts, case.rate) as bed:
            with Rounds(bed, [ours, *degrees], self.failures) as rounds:
                rounds.run(rows, self._repetitions)
        for row in rows.values():
            row.series["best forced"] = best(row, [peer.name for peer in degrees])
            row.goals.append(Goal("at most 1.1 x the best forced degree", OURS, 1.1, against="best forced"))
        self.rows += rows.values()

    def around_a_pair(self, case):
        """Reductions among hosts of which two can't connect to each other, beside the same where all can."""
        links = f"{case.hosts} hosts x {format_rate(case.rate)}"
        say(f"two hosts that can't connect to each other; {links}")
        rows = {}
        for operation, limit in case.limits.items():
            goal = Goal(f"at most {limit} x the same where all connect", APART, limit, against=OURS)
            rows[operation] = Row(f"two hosts apart, {operation.name}, {links}", "s", reference=BARE, goals=[goal])
        ours = [NewClusters(name, self._peers.ours(case), apart) for name, apart in ((OURS, False), (APART, True))]
        with Testbed(case.hosts, case.rate) as bed:
            with Rounds(bed, [self._peers.bare(), *ours], self.failures) as rounds:
                rounds.run(rows, self._repetitions)
        self.rows += rows.values()

    def fast_reduce(self, size=256 * MIB):
        """Two hosts: memory and processor are the limit."""
        case = Transfers(2, None, {Operation("reduce", size): None})
        self.transfers(case)
        for peer in mpi.MODULES:
            self.rows[-1].goals.append(Goal(f"3 x as fast as mpich {peer}", OURS, 1 / 3, against=f"mpich {peer}"))

    def fast_link(self, size=GIB):
        """Point to point over an unshaped link."""
        say(f"point to point {format_size(size)}, unshaped")
        row = Row(f"point to point {format_size(size)}, unshaped", "s", reference=IPERF,
                  setting=Setting("point_to_point", size, 2, None), goals=[
            Goal("at most 1.11 x iperf3: 0.9 of its rate", OURS, 1 / 0.9, against=IPERF),
            Goal("at most 0.8 x the bare copy", OURS, 0.8, against=BARE),
            *(Goal(f"faster than mpich {module}", OURS, 1.0, against=f"mpich {module}") for module in mpi.MODULES)])
        with Testbed(2) as bed:
            with Rounds(bed, self._peers.for_fast_link(size), self.failures) as rounds:
                rounds.run({Operation("point_to_point", size): row}, self._repetitions)
        self.rows.append(row)

    def latency(self, count=500, size=KIB):
        """Small objects from one host to another, the directory on a third."""
        say(f"latency of {format_size(size)}, {count} objects a round")
        ours, bare = self._peers.hoplite(16 * MIB), self._peers.bare()
        waiting, later, round_trip = {}, {}, {}
        with Testbed(2) as bed, Rounds(bed, [bare, ours], self.failures) as rounds:
            for _ in range(self._repetitions):
                collect(round_trip, rounds.guarded(bare, lambda: bare.round_trips(count, size)))
                collect(waiting, rounds.guarded(ours, lambda: put_to_get(ours, count, size, True)))
                collect(later, rounds.guarded(ours, lambda: put_to_get(ours, count, size, False)))
        for name, limit in (("p50", 250e-6), ("p99", 1e-3)):
            self.rows.append(Row(
                f"put to get of {format_size(size)} on another host, {name}", "s",
                series={OURS: waiting.get(name, []), "hoplite, get after put": later.get(name, []),
                        "blocking TCP round trip": round_trip.get(name, [])},
                reference="blocking TCP round trip", setting=Setting("put_to_get", size, 2, None, name),
                goals=[Goal(f"below {limit * 1e6:.0f} µs", OURS, limit)]))

    def put(self, size=256 * MIB):
        say(f"put {format_size(size)}")
        memcpy = f"memcpy, {PUT_THREADS} threads"
        row = Row(f"put {format_size(size)}", "s", reference=memcpy,
                  goals=[Goal(f"at most 1.11 x {memcpy}: 0.9 of its rate", OURS, 1 / 0.9, against=memcpy)])
        ours, bare = self._peers.hoplite(2 * size), self._peers.bare()
        with Testbed(2) as bed, Rounds(bed, [bare, ours], self.failures) as rounds:
            rounds.guarded(ours, lambda: ours.put_seconds(size))  # its threads and memory are warm
            for _ in range(self._repetitions):
                row.add(memcpy, rounds.guarded(bare, lambda: bare.memcpy_seconds(size, PUT_THREADS)))
                row.add("memcpy, 1 thread", rounds.guarded(bare, lambda: bare.memcpy_seconds(size, 1)))
                row.add(OURS, rounds.guarded(ours, lambda: ours.put_seconds(size)))
        self.rows.append(row)

    def waiting(self, nodes=8, seconds=10):
        say(f"processor time of {nodes} nodes that wait, {seconds} s")
        row = Row(f"{nodes} nodes, each in a blocked get", "% of a core",
                  goals=[Goal("below 1 % of a core for the busiest node", "busiest node", 1.0)])
        ours = self._peers.hoplite(16 * MIB)
        with Testbed(nodes) as bed, Rounds(bed, [ours], self.failures) as rounds:
            shares = rounds.guarded(ours, lambda: ours.waiting_shares(seconds))
        if shares:
            row.series = {"busiest node": [100 * max(shares[1:])], "directory": [100 * shares[0]]}
        self.rows.append(row)

    def simulation(self, program, case):
        self.rows += simulations.run(program, case, self.failures)

    def parts(self, programs, seconds):
        """Each layer by itself, with Google Benchmark; seconds: that each benchmark runs at least."""
        for program in programs:
            say(f"parts: {program.name}")
            try:
                report = json.loads(processes.run([str(program), "--benchmark_format=json",
                                                   f"--benchmark_min_time={seconds}"]))
            except processes.Failed as failure:
                self.failures.append(str(failure))
                continue
            self.part_rows += [part_row(entry) for entry in report["benchmarks"] if "error_message" not in entry]


def hops(series, limit):
    """The goal of a series, if it has one: a multiple of the time of a hop."""
    if not limit:
        return []
    worst = isinstance(limit, Worst)
    text = f"at most {limit} x S/B" + (", the worst" if worst else "")
    return [Goal(text, series, limit, against=BARE, worst=worst)]


def beside(goal, running):
    """The goals of an allreduce that our nodes are told of; running: names of those that are measured."""
    ahead = [Goal(f"not slower than {peer}", EVERYONE_READS, 1.0, against=peer)
             for peer in goal.peers if peer in running]
    return hops(EVERYONE_READS, goal.limit) + ahead


def setting(operation, case):
    return Setting(operation.kind, operation.size, case.hosts, case.rate, operation.note)


def part_row(entry):
    """One benchmark: seconds for an iteration, and whatever it counts."""
    row = Row(entry["name"], "s")
    row.add("time", entry["real_time"] * TIME_UNITS[entry["time_unit"]])
    for name, value in entry.items():
        if name.endswith(("_per_second", "_seconds")):
            row.add(name, value)
    if LOCATIONS in row.series:
        row.goals.append(Goal("at least 100,000 locations a second", LOCATIONS, 1e5, at_least=True))
    return row


def put_to_get(ours, count, size, waiting):
    """Nanoseconds from put to got: by a get that waits already, or by one that comes after the put."""
    puts, [gets] = ours.series(count, size, gets_first=waiting)
    if waiting:
        return [end - begin for begin, end in zip(puts["begins"], gets["ends"])]
    return [put_end - put_begin + get_end - get_begin for put_begin, put_end, get_begin, get_end
            in zip(puts["begins"], puts["ends"], gets["begins"], gets["ends"])]


def best(row, series):
    """The times of the series with the least median."""
    measured = [name for name in series if row.values(name)]
    return list(row.series[min(measured, key=row.median)]) if measured else []


def collect(quantiles, times):
    """One repetition's quantiles, in seconds."""
    for name, part in (("p50", 0.50), ("p99", 0.99)):
        value = sorted(times)[int(part * len(times))] / 1e9 if times else None
        quantiles.setdefault(name, []).append(value)
