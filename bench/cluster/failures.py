"""What the comparison does to members in the middle of an operation, and the goal of each case.

Every run has a cluster of its own: nothing of a death is left for the next.
"""

import signal

from course import Course
from hosts import Testbed
from operations import Operation, format_rate, format_size
from processes import Failed
from rounds import say
from rows import Goal, Row
from transfers import MIB

OURS, UNDISTURBED, BARE = "hoplite", "hoplite, nobody killed", "bare stream"
LOST = "work lost"
RATE, TENTH = "100mbit", "10mbit"
HOSTS = 6
LINKS = f"{HOSTS} hosts x {format_rate(RATE)}"
ROOM = 3  # objects that a node has to store at once
HALF = 0.5  # of S/B: the moment at which members die
OBJECT = 72 << 10  # bytes, more than the directory keeps itself
OBJECTS = (1, 100, 10_000)
DIRECTORY_HOSTS = 4


def kill(agent, _):
    agent.signal(signal.SIGKILL)


def stop(agent, _):
    agent.signal(signal.SIGSTOP)


def cut(_, host):
    host.cut()


class Failures:
    """Runs the cases and collects their rows. peers: a Peers; failures: sentences, for the report."""

    def __init__(self, peers, repetitions, failures):
        self._peers = peers
        self._repetitions = repetitions
        self._failures = failures
        self.rows = []
        self.courses = {}  # kind -> who -> a Course of each repetition, None where it failed

    def run(self):
        self.killed()
        self.killed_in_an_allreduce()
        self.slow()
        self.silent()
        self.directory()

    def killed(self, size=64 * MIB):
        """A relay of a broadcast, an inner node of a reduction that has a source to spare."""
        operations = [Operation("broadcast", size), Operation("reduce", size)]
        hops = []
        with Testbed(HOSTS, RATE) as bed:
            for _ in self._rounds("members are killed"):
                hop = self._hop(bed, size)
                if hop:
                    hops.append(hop)
                    for operation in operations:
                        self._kill_in(bed, operation, HALF * hop)
        for operation, rows in zip(operations, (broadcast_rows, reduce_rows)):
            if operation.kind in self.courses:
                self.rows += rows(operation, hops, self.courses[operation.kind])

    def killed_in_an_allreduce(self, size=64 * MIB):
        """A member, when the source of another host is there to spare. Every host reads the sum."""
        operation = Operation("allreduce", size, everyone_reads=True)
        hops, courses = [], {UNDISTURBED: [], OURS: []}
        with Testbed(HOSTS, RATE) as bed:
            for _ in self._rounds("a member of an allreduce is killed"):
                hop = self._hop(bed, size)
                if hop:
                    hops.append(hop)
                    for who, delay in ((UNDISTURBED, None), (OURS, HALF * hop)):
                        courses[who].append(self._guarded(who, lambda: self._struck(bed, operation, delay)))
        self.rows += allreduce_rows(operation, hops, courses)

    def _kill_in(self, bed, operation, delay):
        of_peers = self.courses.setdefault(operation.kind, {})

        def keep(who, act):
            of_peers.setdefault(who, []).append(self._guarded(who, act))

        keep(UNDISTURBED, lambda: self._struck(bed, operation, None))
        keep(OURS, lambda: self._struck(bed, operation, delay))
        for peer in self._peers.jobs():
            keep(peer.name, lambda: peer.killed(bed, operation, delay))

    def _struck(self, bed, operation, delay, blow=kill):
        with self._peers.struck(bed, ROOM * operation.size) as ours:
            return getattr(ours, operation.kind)(operation.size, delay, blow)

    def _hop(self, bed, size):
        """S/B, or None after noting why not."""
        bare = self._peers.bare()

        def run():
            bare.start(bed)
            return bare.run([Operation("broadcast", size)])[0].seconds(staggered=False)

        try:
            return self._guarded(BARE, run)
        finally:
            bare.stop()

    def slow(self, size=64 * MIB):
        """One link is slowed down between two broadcasts."""
        row = Row(f"{Operation('broadcast', size).name}, one relay at a tenth: the others, {LINKS}", "s",
                  reference=BARE, goals=[Goal("at most 1.15 x S/B", OURS, 1.15, against=BARE)])
        for _ in self._rounds("a slow relay"):
            with Testbed(HOSTS, RATE) as bed:
                row.add(BARE, self._hop(bed, size))
                row.add(OURS, self._guarded(OURS, lambda: self._past_slow(bed, size)))
        self.rows.append(row)

    def _past_slow(self, bed, size):
        with self._peers.struck(bed, ROOM * size) as ours:
            return ours.past_slow(size, TENTH).seconds()

    def silent(self, size=32 * MIB, delay=0.8):
        """A relay of which nothing is heard, but whose connections stay open."""
        blows = {"its link down": cut, "stopped (SIGSTOP)": stop}
        row = Row(f"those behind a silent relay have new bytes after, {LINKS}", "s",
                  goals=[Goal("below 1 s", name, 1.0) for name in blows])
        operation = Operation("broadcast", size)
        for _ in self._rounds("a silent relay"):
            for name, blow in blows.items():
                with Testbed(HOSTS, RATE) as bed:  # the testbed goes, with the link that is down
                    course = self._guarded(name, lambda: self._struck(bed, operation, delay, blow))
                row.add(name, course and course.silence())
        self.rows.append(row)

    def directory(self):
        """kill -9, and at once a new process at the same address."""
        for count in OBJECTS:
            say(f"the directory restarts, {count} objects")
            row = Row(f"directory killed and started again, {count} objects of {format_size(OBJECT)}", "s",
                      series={"first get": [], "first put": []})
            row.goals = [Goal("below 2 s", name, 2.0) for name in row.series if count == max(OBJECTS)]
            with Testbed(DIRECTORY_HOSTS) as bed:
                for pair in self._guarded(OURS, lambda: self._restarts(bed, count)) or []:
                    for name, seconds in zip(row.series, pair):
                        row.add(name, seconds)
            self.rows.append(row)

    def _restarts(self, bed, count):
        """On one cluster: pairs of the first get's and the first put's seconds."""
        with self._peers.struck(bed, OBJECT * count // DIRECTORY_HOSTS) as ours:
            ours.hold(count, OBJECT)
            return [ours.restart_directory(OBJECT) for _ in range(self._repetitions)]

    def _rounds(self, what):
        for number in range(1, self._repetitions + 1):
            say(f"{what}, round {number} of {self._repetitions}")
            yield number

    def _guarded(self, who, action):
        """The result of the action, or None after noting why there is none."""
        try:
            return action()
        except Failed as failure:
            self._failures.append(f"{who}: {failure}")
            say(f"  FAILED {who}: {failure}")
            return None


def broadcast_rows(operation, hops, courses):
    row = death_row(f"{operation.name}, a relay killed, {LINKS}", hops, courses)
    row.goals.append(Goal("at most 1.1 x S/B", OURS, 1.1, against=BARE))
    again = Row("those behind it have new bytes after", "s", {OURS: each(courses[OURS], Course.silence)})
    return [row, again, ended_row(operation, courses)]


def reduce_rows(operation, hops, courses):
    row = death_row(f"{operation.name}, {HOSTS - 1} of {HOSTS}, an inner node killed, {LINKS}", hops, courses)
    return [row, cost_row(courses), ended_row(operation, courses)]


def allreduce_rows(operation, hops, courses):
    case = f"{operation.name}, everyone reads, {HOSTS - 1} of {HOSTS}, a member killed, {LINKS}"
    return [death_row(case, hops, courses), cost_row(courses)]


def cost_row(courses):
    """Detection is in it: a killed process closes its connections, so that takes no time to speak of."""
    return Row("what that death cost", "s", {LOST: each(courses[OURS], Course.seconds_before_blow),
                                             OURS: extra(courses[UNDISTURBED], courses[OURS])},
               [Goal("at most 1.1 x the work lost", OURS, 1.1, against=LOST)], reference=LOST)


def death_row(case, hops, courses):
    series = {who: each(courses[who], Course.seconds) for who in (UNDISTURBED, OURS)}
    return Row(case, "s", {BARE: hops, **series}, reference=BARE)


def ended_row(operation, courses):
    """Of the peers: how long after the death the job had ended, without a result."""
    series = {who: each(several, Course.seconds_after_blow) for who, several in courses.items()
              if who not in (UNDISTURBED, OURS)}
    return Row(f"the same {operation.kind} of ranks, one killed: the job has ended after", "s", series)


def each(courses, figure):
    return [course and figure(course) for course in courses]


def extra(undisturbed, struck):
    return [one and other and other.seconds() - one.seconds() for one, other in zip(undisturbed, struck)]
