"""Times over sizes: each collective operation by every peer, from small to large, and round trips of two hosts."""

import time

import environment
from hosts import Testbed
from operations import Operation, format_rate, format_size
from rounds import Rounds, say
from rows import Row, Setting
from transfers import GIB, KIB, MIB

BARE = "bare stream"
KINDS = ("broadcast", "reduce", "allreduce", "gather", "allgather")
GATHERS = ("gather", "allgather")
TESTBEDS = ((4, "100mbit", 64 * MIB), (8, "100mbit", 64 * MIB), (16, "50mbit", 4 * MIB))  # the last: the largest size
QUICK_TESTBEDS = ((4, "100mbit", 4 * MIB),)
STEP = 4  # from one size to the next
QUICK_STEP = 16
GATHERED = 256 * MIB  # one host ends up with no more than so much
LONG = 4 * MIB  # objects that are larger take seconds, and vary little
FEW = 3  # repetitions with those
ROUND_TRIPS = ((KIB, 100), (MIB, 20), (GIB, 1))  # of so many bytes, so many one after another
QUICK_ROUND_TRIPS = ((KIB, 100), (MIB, 20), (64 * MIB, 1))
MEMORY_OF_HOST = 768 * MIB  # of the machine: what the processes of one host need, of all peers together
COPIES = 14  # of a round trip's object, of all peers together
SPARE = 256 * MIB  # of a store: objects that are being deleted; a sixteenth is room for objects to come


class Curves:
    """Runs what is not measured yet. peers: a Peers; failures: sentences, for the report; rows: those of an earlier
    run, which is continued; minutes: after so many no new curve is begun; largest: object of the curves, in bytes."""

    def __init__(self, peers, repetitions, failures, rows=(), minutes=None, quick=False, largest=64 * MIB):
        self._peers = peers
        self._repetitions = repetitions
        self._failures = failures
        self._deadline = time.monotonic() + 60 * minutes if minutes else None
        self._quick = quick
        self._largest = largest
        self.rows = list(rows)

    def run(self):
        self._curve(2, None, round_trips(QUICK_ROUND_TRIPS if self._quick else ROUND_TRIPS,
                                         environment.available_memory()))
        for hosts, rate, largest in QUICK_TESTBEDS if self._quick else TESTBEDS:
            if not carries(hosts, environment.available_memory()):
                say(f"{hosts} hosts are left out: they need {format_size(hosts * MEMORY_OF_HOST)} of free memory")
                continue
            for kind in KINDS:
                self._curve(hosts, rate, operations(kind, hosts, min(largest, self._largest),
                                                    QUICK_STEP if self._quick else STEP))

    def _curve(self, hosts, rate, of_sizes):
        links = f"{hosts} hosts x {format_rate(rate)}"
        rows = {operation: Row(f"{operation.name}, {links}", "s", reference=BARE,
                               setting=Setting(operation.kind, operation.size, hosts, rate)) for operation in of_sizes}
        kind = of_sizes[0].kind.replace("_", " ")
        if {row.case for row in rows.values()} <= {row.case for row in self.rows}:
            say(f"{kind}; {links}: there already")
            return
        if self._deadline and time.monotonic() > self._deadline:
            say(f"{kind}; {links}: no time left")
            return
        say(f"{kind}; {links}")
        peers = self._peers.together(memory(of_sizes, hosts), of_sizes)
        with Testbed(hosts, rate) as bed, Rounds(bed, peers, self._failures) as rounds:
            for few, chosen in halves(rows).items():
                rounds.run(chosen, min(FEW, self._repetitions) if few else self._repetitions)
        self.rows = [row for row in self.rows if row.setting not in {new.setting for new in rows.values()}]
        self.rows += rows.values()


def round_trips(sizes_and_times, available):
    """Those that the memory suffices for."""
    fitting = [(size, times) for size, times in sizes_and_times if COPIES * size <= available]
    for size, _ in sizes_and_times[len(fitting):]:
        say(f"round trips of {format_size(size)} are left out: they need {format_size(COPIES * size)} of free memory")
    return [Operation("round_trip", size, times=times) for size, times in fitting]


def operations(kind, hosts, largest, step):
    """From 1 KiB on, as far as hosts and links carry it."""
    if kind in GATHERS:
        largest = min(largest, GATHERED // hosts)
    sizes = []
    size = KIB
    while size <= largest:
        sizes.append(size)
        size *= step
    return [Operation(kind, size) for size in sizes]


def halves(rows):
    """The operations of many repetitions and those of few: whether few -> operation -> row."""
    parts = {few: {operation: row for operation, row in rows.items() if (operation.size > LONG) == few}
             for few in (False, True)}
    return {few: part for few, part in parts.items() if part}


def memory(of_sizes, hosts):
    """Of each node's store, in bytes: room for two of the largest operation one after another; a round trip of the
    largest size is only one a round."""
    if of_sizes[0].kind == "round_trip":
        return sum(2 * operation.times * operation.size for operation in of_sizes) + SPARE
    objects = hosts if of_sizes[0].kind in GATHERS else 3
    return 2 * objects * max(operation.size for operation in of_sizes) + SPARE


def carries(hosts, available):
    return hosts * MEMORY_OF_HOST <= available
