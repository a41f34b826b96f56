"""What is compared, and how one run of it becomes a figure."""

import dataclasses
import re


# What tables call a kind, if not by its own name.
NAMES = {"point_to_point": "point to point", "round_trip": "round trip", "reductions": "a reduction at each host, all at once,"}
# The program of the OSU micro-benchmarks that does the same work. Its figure is the mean of the ranks, and osu_latency's half
# of a round trip; ours is the time of the last rank, and the whole round trip.
OSU = {"broadcast": "osu_bcast", "reduce": "osu_reduce", "allreduce": "osu_allreduce", "gather": "osu_gather",
       "allgather": "osu_allgather", "round_trip": "osu_latency"}


@dataclasses.dataclass(frozen=True)
class Operation:
    """One transfer; what each kind is and what its time means is told in bench/README.md."""

    kind: str  # broadcast, point_to_point, round_trip, reduce, reductions, allreduce, gather or allgather
    size: int  # of one object
    step: float = 0.0  # broadcast, allreduce: seconds by which each receiver asks later than the one before
    late: float = 0.0  # reduce, allreduce: seconds by which the last host's source comes later than the others
    spread: float = 0.0  # allreduce: seconds over which the sources come, after the reduction was asked for
    degree: int = 0  # reduce, ours: the forced degree
    everyone_reads: bool = False  # allreduce, ours: the nodes are told so
    again: bool = False  # reduce, allreduce, ours: in a new cluster that has done the same once
    times: int = 1  # round_trip: so many one after another, whose mean is the figure

    @property
    def name(self):
        note = f", {self.note}" if self.note else ""
        return f"{NAMES.get(self.kind, self.kind)} {format_size(self.size)}{note}"

    @property
    def note(self):
        """What is special about it."""
        if self.step and self.kind == "allreduce":
            return f"a reader every {1000 * self.step:.0f} ms"
        if self.step:
            return f"one every {self.step:.2f} s"
        if self.spread:
            return f"sources over {1000 * self.spread:.0f} ms"
        if self.again:
            return "again"
        return f"the last source {self.late:.2f} s late" if self.late else ""

    @property
    def one_by_one(self):
        """Receivers come far apart: what counts is how long each of them waits."""
        return self.kind == "broadcast" and self.step > 0


@dataclasses.dataclass(frozen=True)
class Sample:
    """Moments in nanoseconds: when the receivers asked, and when each had everything."""

    begins: list
    ends: list

    def seconds(self, staggered):
        """Seconds until the last receiver was done; staggered: the longest wait of one receiver."""
        if staggered:
            return max(end - begin for begin, end in zip(self.begins, self.ends)) / 1e9
        return (max(self.ends) - min(self.begins)) / 1e9


def of_ranks(operation, begins, ends):
    """A sample from the moments of all ranks, of a peer whose processes are ranks."""
    if operation.kind == "point_to_point":  # begins when the sender sends
        return Sample(begins[:1], ends[1:2])
    if operation.kind == "round_trip":  # ends where it began
        return Sample(begins[:1], ends[:1])
    if operation.kind == "broadcast":  # begins when each rank joins it
        return Sample(begins[1:], ends[1:])
    if operation.kind in ("reduce", "gather"):  # ends at the root; begins when the late one came
        return Sample(begins[-1:] if operation.late else begins, ends[:1])
    return Sample(begins, ends)


def format_size(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0 and size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def format_rate(rate):
    """tc's name of a rate for readers; None is a link without a limit."""
    return re.sub(r"^(\d+)([mg])bit$", lambda m: f"{m[1]} {m[2].upper()}bit/s", rate) if rate else "unshaped"


def parse_size(text):
    """64KiB, 16MiB, 1GiB, plain bytes: as on hoplite's command line."""
    for name, unit in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if text.endswith(name):
            return int(text.removesuffix(name)) * unit
    return int(text)
