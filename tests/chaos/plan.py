"""What happens in one round: which calls are made when and where, and which faults hit whom.

A pure function of the seed and the round's number: round r of seed s is the same plan whatever ran
before it. Rounds come in stretches that share a cluster, whose shape follows from the seed too, so
that one round can be run again by itself.
"""

import dataclasses
import random

from kinds import PLAIN, Kind

KIB = 1024
MIB = 1024 * KIB

NODES = 6
STRETCH = 10  # rounds that share a cluster
PATIENT = 15.0  # seconds: more than any fault and what follows it may take
DOOMED = 3.5  # the deadline of calls that perhaps nobody can answer

INLINE_LIMIT = 16 * KIB
BLOCK = 16 * KIB
SMALL = (0, 1, 1000, INLINE_LIMIT - 1, INLINE_LIMIT)
LARGE = (INLINE_LIMIT + 1, 4 * BLOCK, 5 * BLOCK - 1, 5 * BLOCK, 5 * BLOCK + 1, 300_001, MIB, 2 * MIB + 3)
BROAD = 33 * MIB  # two stripes
SUMS = (8, 1000, INLINE_LIMIT - 8, INLINE_LIMIT, INLINE_LIMIT + 8, 5 * BLOCK + 8, MIB, 3 * MIB)
# Of many stripes, which a ring of members divides among itself: as many blocks as stripes, not divisible by them, large.
RINGS = (256 * KIB, 300_008, MIB, 2 * MIB + 8, 5 * MIB + 8)
DTYPES = {"sum": ("uint32", "int32", "uint64", "int64"),
          "xor": ("uint8", "int16", "uint32", "uint64")}


@dataclasses.dataclass(frozen=True)
class Content:
    """Bytes by a key: noise, or one array of a reduction with its number (model.py makes them)."""

    key: str
    size: int
    source: int | None = None


@dataclasses.dataclass(frozen=True)
class Sum:
    """The target of a reduction of the first `count` of these objects."""

    op: str
    dtype: str
    sources: tuple[str, ...]
    count: int
    everyone_reads: bool = False  # the nodes are told that those which have a source read the sum


@dataclasses.dataclass(frozen=True)
class Call:
    number: int
    at: float  # seconds after the round's start
    kind: str  # put, get, reduce, delete, put_many, get_many
    node: int  # whose client calls
    thing: str  # the object's name
    timeout: float
    content: Content | None = None  # of a put
    sum: Sum | None = None  # of a reduce
    count: int = 0  # of put_many and get_many: so many objects
    size: int = 0  # of each


@dataclasses.dataclass(frozen=True)
class Fault:
    at: float
    kind: str  # kill, stop, cut (its link), client (kill of a process that calls)
    node: int | None = None
    shard: int | None = None
    call: int | None = None
    lasts: float = 0.0  # until it is started again, continued, connected

    @property
    def victim(self):
        if self.call is not None:
            return f"call {self.call}"
        return f"n{self.node}" if self.node is not None else f"shard {self.shard}"


@dataclasses.dataclass(frozen=True)
class Shape:
    """A stretch's cluster."""

    shards: int
    memory: int
    kind: Kind = PLAIN


@dataclasses.dataclass(frozen=True)
class Plan:
    seed: int
    round: int
    shape: Shape
    calls: tuple[Call, ...]
    faults: tuple[Fault, ...]

    def killed(self):
        """Nodes that lose their memory in this round."""
        return {fault.node for fault in self.faults
                if fault.kind == "kill" and fault.node is not None}

    def hit_shards(self):
        return {fault.shard for fault in self.faults if fault.shard is not None}

    def killed_calls(self):
        return {fault.call for fault in self.faults if fault.call is not None}

    def calls_of(self, thing, kind):
        return [call for call in self.calls if call.thing == thing and call.kind == kind]

    def things(self):
        """Every name, in the order of its first call."""
        return list(dict.fromkeys(call.thing for call in self.calls))


def shape_of(seed, round_number, brief=False, kind=PLAIN):
    chance = random.Random(f"shape {seed} {round_number // STRETCH} {brief}")
    shards = chance.choice((1, 1, 2))
    return Shape(shards, kind.memory or (48 if brief else 128) * MIB, kind)


def plan_of(seed, round_number, brief=False, kind=PLAIN):
    """`brief`: another plan, with fewer and smaller calls."""
    shape = shape_of(seed, round_number, brief, kind)
    if kind.own_plan:
        import special  # which is written in terms of this module
        return special.plan_of(shape, seed, round_number, brief)
    return _Planner(seed, round_number, brief, shape).plan()


class _Planner:
    def __init__(self, seed, round_number, brief, shape):
        self._seed, self._round, self._brief = seed, round_number, brief
        self._chance = random.Random(f"round {seed} {round_number} {brief}")
        self._shape = shape
        self._calls = []
        self._broad_left = 0 if brief else 1  # it takes seconds

    def plan(self):
        faults = self._faults()
        self._killed = {fault.node for fault in faults if fault.kind == "kill"}
        stories = (self._broadcast, self._broadcast, self._put_again, self._deleted, self._reduce,
                   self._reduce, self._allreduce, self._ring, self._ring, self._first, self._never, self._incomplete)
        for number in range(self._chance.choice((1, 2) if self._brief else (2, 3, 4))):
            self._name = f"{self._seed}-{self._round}-{number}"
            self._chance.choice(stories)()
        if self._chance.random() < 0.15:
            faults.append(self._client_killed())
        return Plan(self._seed, self._round, self._shape,
                    tuple(sorted(self._calls, key=lambda call: call.at)),
                    tuple(sorted(faults, key=lambda fault: fault.at)))

    # Faults

    def _faults(self):
        count = self._chance.choice((0, 1, 1, 1, 1, 2, 2, 2))
        nodes = self._chance.sample(range(1, NODES + 1), count)
        faults = []
        for node in nodes:
            at = self._moment(1.2)
            if self._chance.random() < 0.25:
                shard = self._chance.randrange(self._shape.shards)
                if not any(fault.shard == shard for fault in faults):
                    kind = self._chance.choice(("kill", "kill", "kill", "stop"))
                    lasts = self._chance.uniform(0.1, 1.5)
                    faults.append(Fault(at, kind, shard=shard, lasts=lasts))
                continue
            kind = self._chance.choice(("kill", "kill", "stop", "cut"))
            lasts = self._chance.uniform(0.2, 2.5)
            faults.append(Fault(at, kind, node=node, lasts=lasts))
        return faults

    def _client_killed(self):
        """A call that waits for what this one was to make may wait in vain."""
        victim = self._chance.choice(self._calls)
        if victim.kind in ("put", "reduce"):
            self._calls = [dataclasses.replace(call, timeout=min(call.timeout, DOOMED))
                           if self._depends(call, victim) else call for call in self._calls]
        moment = victim.at + self._chance.choice((0.01, 0.05, 0.2))
        return Fault(at=moment, kind="client", call=victim.number)

    @staticmethod
    def _depends(call, maker):
        """Whether one call depends on what the other makes, by their names."""
        return call.thing == maker.thing or call.thing == f"{maker.thing.rpartition('-')[0]}-sum"

    # Stories: calls that belong together

    def _broadcast(self):
        """One put, many gets, some of them before it."""
        content = self._content(self._size())
        putter = self._node()
        self._put(self._name, putter, content)
        self._gets(self._name, self._some_nodes(), [putter])

    def _put_again(self):
        """Two puts of one object. The first may be lost; a get gives all of the one or all of the other."""
        size = self._size()
        first, second = self._chance.sample(range(1, NODES + 1), 2)
        self._put(self._name, first, self._content(size))
        later = self._content(self._chance.choice((size, self._size())), "again")
        self._put(self._name, second, later, at=self._chance.uniform(1.0, 2.0))
        self._gets(self._name, self._some_nodes(), [first, second])

    def _deleted(self):
        """A broadcast whose object is deleted, perhaps before it was put."""
        putter = self._node()
        self._put(self._name, putter, self._content(self._size()))
        self._gets(self._name, self._some_nodes(), [putter], timeout=DOOMED)
        self._call("delete", self._name, self._node(), self._moment(1.0))

    def _never(self):
        """A get of an object that is never put."""
        self._call("get", self._name, self._node(), self._moment(0.5), timeout=1.0)

    def _reduce(self):
        self._sum(self._chance.randint(1, 8), readers=[self._node()])

    def _allreduce(self):
        self._sum(NODES, readers=list(range(1, NODES + 1)))

    def _ring(self):
        """An allreduce whose nodes are told so: a source at each, perhaps one to spare, one that comes late, or a reader
        too few."""
        nodes = self._chance.sample(range(1, NODES + 1), self._chance.choice((2, 3, NODES, NODES, NODES)))
        readers = self._chance.sample(nodes, len(nodes) - self._chance.choice((0, 0, 0, 1)))
        spare = len(nodes) > 2 and self._chance.random() < 0.4
        self._sum(len(nodes), readers, needed=len(nodes) - spare, putters=nodes, size=self._chance.choice(RINGS),
                  everyone_reads=True)

    def _first(self):
        """A reduction of the first few of more sources than it needs, one of which never comes."""
        count = self._chance.randint(3, 9)
        self._sum(count, needed=self._chance.randint(1, count - 1), absent=1,
                  readers=self._some_nodes())

    def _incomplete(self):
        """A reduction with a source that is never put."""
        self._sum(self._chance.randint(1, 4), absent=1, readers=[self._node()], timeout=2.0)

    def _sum(self, count, readers, needed=None, absent=0, timeout=None, putters=None, size=None, everyone_reads=False):
        size = self._fit(size or self._chance.choice(SUMS))
        op = self._chance.choice(("sum", "sum", "xor"))
        names = tuple(f"{self._name}-{number}" for number in range(count + absent))
        putters = putters or [self._node() for _ in range(count)]
        # A ring is planned of what is there: all of it at once, or all but one source.
        together = everyone_reads and self._chance.random() < 0.7
        late = self._chance.choice((None, 0)) if together else None
        for number, putter in enumerate(putters):
            content = Content(names[number], size, source=number)
            at = None if not together else self._moment(0.2) + (0.6 if number == late else 0.0)
            self._put(names[number], putter, content, at=at)
        needed = needed or count + absent
        coordinator = self._node()
        safe = sum(putter not in self._killed for putter in putters)
        sure = coordinator not in self._killed and safe >= needed
        timeout = timeout or (PATIENT if sure else DOOMED)
        target = f"{self._name}-sum"
        begins = self._moment(0.8) if not together else 0.4 + self._moment(0.2)
        self._call("reduce", target, coordinator, begins, timeout=timeout,
                   sum=Sum(op, self._chance.choice(DTYPES[op]), names, needed, everyone_reads))
        for reader in readers:
            self._call("get", target, reader, self._moment(1.0), timeout=timeout)

    # Parts of stories

    def _put(self, thing, node, content, at=None):
        moment = self._moment(0.6) if at is None else at
        self._call("put", thing, node, moment, content=content)

    def _gets(self, thing, nodes, putters, timeout=None):
        sure = not self._killed.intersection(putters)
        for node in nodes:
            self._call("get", thing, node, self._moment(1.0),
                       timeout=timeout or (PATIENT if sure else DOOMED))

    def _call(self, kind, thing, node, at, timeout=PATIENT, **more):
        self._calls.append(Call(len(self._calls), at, kind, node, thing, timeout, **more))

    def _content(self, size, more=""):
        return Content(f"{self._name}{more}", self._fit(size))

    def _fit(self, size):
        return min(size, self._shape.kind.largest or size)

    def _size(self):
        if self._broad_left and self._chance.random() < 0.03:
            self._broad_left -= 1
            return BROAD
        return self._chance.choice(self._chance.choice((SMALL, LARGE, LARGE)))

    def _node(self):
        return self._chance.randint(1, NODES)

    def _some_nodes(self):
        return [self._node() for _ in range(self._chance.choice((1, 2, 3, 4, 6, 8)))]

    def _moment(self, before):
        return round(self._chance.uniform(0.0, before), 3)
