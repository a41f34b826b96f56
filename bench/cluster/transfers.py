"""The transfers of the comparison: which hosts, links and sizes, and the goal of each."""

import dataclasses

from operations import Operation
from verdicts import PEERS

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def hop(size):
    """About S/B over 100 Mbit/s, to space arrivals; the figures use the measured one."""
    return size / 12e6


class Worst(float):
    """A limit for every round, not for their median."""


@dataclasses.dataclass(frozen=True)
class Beside:
    """What we must reach when told that everyone reads: a ratio to S/B or None, and who may not be faster."""

    limit: float | None
    peers: tuple = ()


@dataclasses.dataclass
class Transfers:
    """Operations on one testbed; limits: operation -> the ratio to S/B that is the goal, or None. everyone_reads: an
    allreduce -> Beside."""

    hosts: int
    rate: str
    limits: dict
    everyone_reads: dict = dataclasses.field(default_factory=dict)


def medium_round_trips():
    """Between two hosts whose link has no limit, where wake-ups and system calls count."""
    return Transfers(2, None, {Operation("round_trip", size, times=times): None
                               for size, times in ((64 * KIB, 100), (256 * KIB, 100), (MIB, 50), (16 * MIB, 5))})


def broadcasts(quick):
    spaced = 4 * MIB if quick else 16 * MIB
    small = {Operation("broadcast", 16 * MIB): 1.03,
             Operation("broadcast", 1 * MIB): 1.3,
             Operation("broadcast", spaced, step=round(hop(spaced) / 4, 2)): 1.05}
    large = {} if quick else {Operation("broadcast", 64 * MIB): 1.03}
    return [Transfers(4, "100mbit", small | large),
            Transfers(16, "50mbit", {Operation("broadcast", 8 * MIB): 1.08})]


def reductions(quick):
    spaced = 4 * MIB if quick else 16 * MIB
    small = {Operation("reduce", 16 * MIB): 1.06,
             Operation("reduce", 1 * MIB): 1.35,
             Operation("reduce", spaced, late=round(hop(spaced), 2)): 1.1}
    large = {} if quick else {Operation("reduce", 64 * MIB): 1.06}
    many = [] if quick else [Transfers(8, "50mbit", {Operation("reduce", 8 * MIB): 1.10})]
    return [Transfers(4, "100mbit", small | large), *many,
            Transfers(16, "50mbit", {Operation("reduce", 8 * MIB): 1.15,
                                     Operation("reduce", 1 * KIB): None})]


def reductions_around_a_pair(quick):
    """Two of the hosts can't connect to each other; the limits are ratios to the same where all can."""
    size = 4 * MIB if quick else 16 * MIB
    return [Transfers(4, "100mbit", {Operation(kind, size, everyone_reads=kind == "allreduce", again=again): 1.3
                                     for kind in ("reduce", "allreduce") for again in (False, True)})]


def reductions_at_once():
    """S is what each host has for each of them; every link carries what an allgather's does."""
    return [Transfers(4, "100mbit", {Operation("reductions", 4 * MIB): 3.2})]


def allreduces(quick):
    """Everybody reads the sum."""
    size = 4 * MIB if quick else 16 * MIB
    many = [] if quick else [told(16, "50mbit", {Operation("allreduce", 8 * MIB): Beside(2.0, PEERS)})]
    return [told(4, "100mbit", {Operation("allreduce", size): Beside(1.56, ("gloo",)),
                                Operation("allreduce", 1 * MIB): Beside(None, ("gloo",))}),
            told(8, "50mbit", {Operation("allreduce", 8 * MIB): Beside(1.85, PEERS)}), *many]


def allreduces_apart(quick):
    """What the peers can't do, whose members are declared beforehand and come together."""
    size = 4 * MIB if quick else 16 * MIB
    soon, later = (Operation("allreduce", size, late=round(hops * hop(size), 2)) for hops in (1, 2))
    readers = Operation("allreduce", 8 * MIB, step=0.035)
    return [told(4, "100mbit", {soon: Beside(1.15), later: Beside(1.15)}, {soon: 1.15, later: 1.15}),
            told(8, "50mbit", {readers: Beside(Worst(2.03)), Operation("allreduce", 8 * MIB, spread=0.05): Beside(2.0)},
                 {readers: Worst(2.3)})]


def told(hosts, rate, everyone_reads, limits=None):
    """Allreduces with and without `everyone_reads`; limits: of those without, if they have one."""
    return Transfers(hosts, rate, {operation: (limits or {}).get(operation) for operation in everyone_reads},
                     everyone_reads)


def gathers(quick):
    """S is what each host has: the root of four takes three of them, in an allgather everybody does."""
    size = 4 * MIB if quick else 16 * MIB
    return [Transfers(4, "100mbit", {Operation("gather", size): 3.15, Operation("allgather", 4 * MIB): 3.15}),
            Transfers(8, "50mbit", {Operation("allgather", 4 * MIB): 7.2})]


GROUPS = {"broadcast": broadcasts, "reduce": reductions, "allreduce": allreduces, "gather": gathers}


def of_hosts(count, groups, quick):
    """The same operations between hosts whose links are what they are: the goals are of other links."""
    return [Transfers(count, "own link", {operation: None for case in GROUPS[group](quick) for operation in case.limits})
            for group in groups]


def degrees(quick):
    """Where a line or a tree is the better one: the chosen degree beside forced ones."""
    grid = [(4, "100mbit", (256 * KIB, 1 * MIB)), (16, "50mbit", (256 * KIB, 1 * MIB))]
    if not quick:
        grid += [(4, "1gbit", (1 * MIB, 16 * MIB)), (16, "200mbit", (256 * KIB, 4 * MIB))]
    return [Transfers(hosts, rate, {Operation("reduce", size): None for size in sizes})
            for hosts, rate, sizes in grid]
