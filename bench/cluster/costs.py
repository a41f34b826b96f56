"""What one operation costs the processes that take part: processor time by thread, wake-ups, system calls.

An object is put at the first node of this machine and got at the others, whose gets wait. Nothing is shaped, so the machine
needs no root; counts need no quiet machine either. A wake-up is a thread that has slept: the kernel counts its voluntary
switches. System calls are counted by strace in runs of their own, since it slows what it watches.
"""

import collections
import contextlib
import dataclasses
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from hosts import Loopback
from operations import format_size
from processes import Failed
from rounds import Rounds, say
from rows import Goal, Row
from transfers import KIB, MIB
from verdicts import OURS

BYTES = 256 * MIB  # of all objects of one repetition, as far as the bounds below allow
FEWEST, MOST = 8, 50  # operations of one repetition
STEP = 5_000_000  # nanoseconds from one put to the next, of small objects
PACE = 1 << 28  # bytes a second at which larger ones may be put
TRACED_STEP = 4  # times as long while strace watches
ATTACHED = 10.0  # seconds that strace may take to attach to all threads
BARE = "bare TCP, one way"
CALLER = "its calls"  # threads that no node has named; of the directory: all


@dataclasses.dataclass(frozen=True)
class Case:
    size: int
    getters: int = 1
    wake_ups: float | None = None  # goals: medians of one operation
    calls: float | None = None

    @property
    def name(self):
        who = "put to get" if self.getters == 1 else f"put to {self.getters} gets"
        return f"{who} of {format_size(self.size)}"

    @property
    def count(self):
        return max(FEWEST, min(MOST, BYTES // self.size))

    @property
    def step(self):
        return max(STEP, self.size * self.getters * 10**9 // PACE)


CASES = (Case(KIB), Case(64 * KIB, wake_ups=12.5, calls=60), Case(256 * KIB), Case(MIB, wake_ups=16, calls=110), Case(16 * MIB),
         Case(64 * KIB, 3), Case(256 * KIB, 3), Case(MIB, 3), Case(16 * MIB, 2), Case(512 * MIB, 2))


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of one operation, the mean of a repetition; times in seconds."""

    seconds: list  # of each operation, from the put's begin to the last get's end
    threads: collections.Counter  # (process, thread) -> processor seconds
    wake_ups: float

    @property
    def processor(self):
        return sum(self.threads.values())

    def of_process(self, process):
        return sum(used for (owner, _), used in self.threads.items() if owner == process)


class Watch:
    """`with Watch({"source": pid}) as watch:` what the threads of these processes use meanwhile."""

    def __init__(self, processes):
        self._processes = processes

    def __enter__(self):
        self._before = self._read()
        return self

    def __exit__(self, *_):
        after = self._read()
        self.switches = after[1] - self._before[1]
        self.threads = after[0]
        self.threads.subtract(self._before[0])

    def _read(self):
        used, switches = collections.Counter(), 0
        for process, pid in self._processes.items():
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
                    comm = (task / "comm").read_text(encoding="ascii", errors="replace").strip()
                    name = comm.partition("/")[2] or CALLER
                    used[process, name] += int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
                    status = (task / "status").read_text(encoding="ascii", errors="replace")
                    switches += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[1])
        return used, switches


class Calls:
    """`with Calls(pids) as calls:` counts the system calls of these processes by strace."""

    def __init__(self, pids):
        self._pids = pids

    def __enter__(self):
        self._summary = tempfile.NamedTemporaryFile(mode="r", encoding="ascii")
        words = ["strace", "-f", "-q", "-c", "-o", self._summary.name]
        self._strace = subprocess.Popen([*words, *(word for pid in self._pids for word in ("-p", str(pid)))],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + ATTACHED
        while not all(self._is_traced(pid) for pid in self._pids):
            if self._strace.poll() is not None or time.monotonic() > deadline:
                self._end()
                raise Failed(f"strace does not attach: {self._strace.stderr.read().strip()}")
            time.sleep(0.01)
        return self

    def _is_traced(self, pid):
        states = [(task / "status").read_text(encoding="ascii", errors="replace")
                  for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        return all(f"TracerPid:\t{self._strace.pid}\n" in state for state in states)

    def __exit__(self, *_):
        self._end()
        total = re.search(r"(\d+)\s+(?:\d+\s+)?total$", self._summary.read(), re.MULTILINE)
        self.count = int(total[1]) if total else 0
        self._summary.close()

    def _end(self):
        self._strace.send_signal(signal.SIGINT)
        self._strace.wait(timeout=ATTACHED)


def can_trace():
    """Why system calls can't be counted here; empty: they can."""
    if shutil.which("strace") is None:
        return "strace is missing (apt-get install strace)"
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            with Calls([sleeper.pid]):
                return ""
        except Failed as failure:
            return str(failure)
        finally:
            sleeper.kill()


def cost(ours, case):
    """Of one repetition."""
    watch = Watch(pids(ours, case))
    puts, gets = ours.series(case.count, case.size, True, case.step, case.getters, watch)
    seconds = [(max(ends) - begin) / 1e9 for begin, *ends in zip(puts["begins"], *(one["ends"] for one in gets))]
    per_operation = collections.Counter({name: used / case.count for name, used in watch.threads.items()})
    return Cost(seconds, per_operation, watch.switches / case.count)


def calls(ours, case):
    """System calls of one operation."""
    watch = Calls(pids(ours, case).values())
    ours.series(case.count, case.size, True, TRACED_STEP * case.step, case.getters, watch)
    return watch.count / case.count


def pids(ours, case):
    """Of the processes that take part, by what they do."""
    names = ["putter", *(["getter"] if case.getters == 1 else [f"getter {i + 1}" for i in range(case.getters)])]
    return {"directory": ours.directory.process.pid, **{name: node.process.pid for name, node in zip(names, ours.nodes)}}


class Costs:
    """Collects the rows of all cases; peers makes the programs."""

    def __init__(self, peers, repetitions, failures):
        self._peers = peers
        self._repetitions = repetitions
        self._failures = failures
        self.rows = []

    def run(self, cases=CASES):
        why_not = can_trace()
        if why_not:
            say(f"system calls are not counted: {why_not}")
        for case in cases:
            self._run(case, not why_not)

    def _run(self, case, traced):
        say(f"costs: {case.name}")
        memory = 2 * case.count * case.size + 16 * MIB
        builds = [self._peers.hoplite(memory), *self._peers.beside(memory)]
        bare = self._peers.bare()
        rows = Rows(case)
        with Rounds(Loopback(1 + case.getters), [bare, *builds], self._failures) as rounds:
            for build in builds:
                rounds.guarded(build, lambda build=build: cost(build, case))  # connections are open, memory is mapped
            for _ in range(self._repetitions):
                rows.add_bare(rounds.guarded(bare, lambda: bare.round_trips(case.count, case.size)))
                for build in builds:
                    rows.add(build.name, rounds.guarded(build, lambda build=build: cost(build, case)))
                    if traced:
                        rows.calls.add(build.name, rounds.guarded(build, lambda build=build: calls(build, case)))
        self.rows += rows.all()


class Rows:
    """Of one case: times, processor time of all and of each, wake-ups, calls."""

    def __init__(self, case):
        self._case = case
        self._median = Row(f"{case.name}, median", "s", reference=BARE)
        self._slowest = Row(f"{case.name}, p99", "s", reference=BARE)
        self._processor = Row(f"{case.name}, processor time", "s")
        self._each = Row(f"{case.name}, processor time by thread", "s")
        self._per_byte = Row(f"{case.name}, processor time per byte", "ns")
        self._wake_ups = Row(f"{case.name}, wake-ups", "", goals=goals(case.wake_ups))
        self.calls = Row(f"{case.name}, system calls", "", goals=goals(case.calls))

    def add_bare(self, nanoseconds):
        for row, part in ((self._median, 0.5), (self._slowest, 0.99)):
            row.add(BARE, quantile(nanoseconds, part) / 2e9 if nanoseconds else None)

    def add(self, build, cost):
        for row, value in ((self._median, cost and statistics.median(cost.seconds)),
                           (self._slowest, cost and quantile(cost.seconds, 0.99)),
                           (self._processor, cost and cost.processor), (self._wake_ups, cost and cost.wake_ups)):
            row.add(build, value)
        if cost and build == OURS:
            self._add_parts(cost)

    def _add_parts(self, cost):
        for (process, thread), used in sorted(cost.threads.items()):
            if used > 0:
                self._each.add(f"{process}: {thread}", used)
        if self._case.size >= 16 * MIB:
            for process in dict.fromkeys(owner for owner, _ in cost.threads):
                self._per_byte.add(process, cost.of_process(process) * 1e9 / self._case.size)

    def all(self):
        rows = (self._median, self._slowest, self._processor, self._each, self._per_byte, self._wake_ups, self.calls)
        return [row for row in rows if row.series]


def goals(limit):
    return [Goal(f"at most {limit:g}", OURS, limit)] if limit else []


def quantile(values, part):
    return sorted(values)[int(part * len(values))]
