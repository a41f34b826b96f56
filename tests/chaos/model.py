"""What the bytes must be, and how a call may end.

Decides from the plan alone, and from what other calls of the round answered: what a call returned
is right, or a complaint says what is wrong. Must never excuse a call whose object could be had:
only a fault of the plan that stands in its way does.
"""

import dataclasses
import functools
import random
import re

from plan import INLINE_LIMIT

MARGIN = 2.0  # seconds a call may take beyond its deadline: processes start and machines are shared
PROMPT = 0.75  # the same for a worker whose node is stopped: it must not wait for the node
SOON = 2.0  # a call whose node is killed ends this soon after
RECOVERY = 3.0  # seconds after a fault's end within which everything goes on
GRACE = 2.0  # seconds; a node that was killed so long ago is known to be lost
LEASE = 0.9  # seconds; a node that was away for so long may have been given up
LANE = 4  # bytes of an array's lane: below 16 bits of noise, above it one bit for the array


@functools.lru_cache(maxsize=64)
def bytes_of(content):
    """Noise; for an array, lanes so wide that neither a sum nor an xor of 15 arrays overflows them."""
    noise = random.Random(content.key).randbytes(content.size)
    if content.source is None:
        return noise
    count = content.size // LANE
    whole = count * LANE
    mask = int.from_bytes(b"\xff\x0f\x00\x00" * count, "little")
    mark = int.from_bytes((1 << 16 + content.source).to_bytes(LANE, "little") * count, "little")
    lanes = int.from_bytes(noise[:whole], "little") & mask | mark
    return lanes.to_bytes(whole, "little") + bytes(content.size - whole)


def total_of(op, contents):
    """The fold of these arrays."""
    total = 0
    for content in contents:
        lanes = int.from_bytes(bytes_of(content), "little")
        total = total + lanes if op == "sum" else total ^ lanes
    return total.to_bytes(contents[0].size, "little")


def sources_in(total):
    """Which arrays a sum says that it is made of."""
    marks = int.from_bytes(total[:LANE], "little") >> 16
    return {number for number in range(16) if marks >> number & 1}


@dataclasses.dataclass
class Ending:
    """How a call ended, in seconds of its round."""

    began: float
    ended: float
    status: int  # of its process; negative: a signal
    error: str = ""
    data: bytes | None = None  # of a get
    used: list | None = None  # of a reduce: names
    unused: list | None = None

    @property
    def code(self):
        if self.status < 0:
            return "killed"
        return "ok" if self.status == 0 else self.error.partition(":")[0]


class Judge:
    """Hears how the calls of a round ended, and complains."""

    def __init__(self, plan, hits, lag=0.0):
        """`hits`: when which fault really was, as (fault, begin, end) in seconds of the round.
        `lag`: how late the machine let things happen that were due."""
        self.plan = plan
        self._hits = hits
        self._margin = MARGIN + lag

    def complaints(self, endings):
        """Judges all calls; `endings` are by number."""
        found = []
        for call in self.plan.calls:
            if call.number not in self.plan.killed_calls():
                found += [f"{self._name(call)}: {what}" for what in self._judge(call, endings)]
        return found

    def _name(self, call):
        return f"call {call.number}, {call.kind} {call.thing} at n{call.node} ({call.at:.2f} s)"

    def _judge(self, call, endings):
        ending = endings[call.number]
        yield from self._late(call, ending)
        if ending.code == "ok":
            yield from getattr(self, f"_{call.kind}_is_right")(call, ending, endings)
            return
        permitted = self._permitted(call, endings)
        if ending.status != 1 or ending.code not in permitted:
            yield f"{ending.error or ending.status}; only {sorted(permitted)} may be"
        elif ending.code == "timeout":
            yield from self._explained(call, ending, endings)

    # Time

    def _late(self, call, ending):
        took = ending.ended - ending.began
        margin = self._margin
        if self._stopped_under(call):
            margin += PROMPT - MARGIN
        if took > call.timeout + margin:
            yield f"took {took:.2f} s, its deadline was {call.timeout} s"
        for fault, begin, _ in self._hits:
            if fault.kind == "kill" and fault.node == call.node:
                if ending.began < begin and ending.ended > begin + self._margin:
                    yield f"ended {ending.ended - begin:.2f} s after its node was killed"

    # Right answers

    def _put_is_right(self, _call, _ending, _endings):
        return ()

    def _delete_is_right(self, _call, _ending, _endings):
        return ()

    def _put_many_is_right(self, _call, _ending, _endings):
        return ()

    def _get_many_is_right(self, call, _ending, _endings):
        """For calls whose process compared the bytes itself."""
        puts = self.plan.calls_of(call.thing, "put_many")
        if not any(put.count >= call.count for put in puts):
            yield "got what nobody put"

    def _get_is_right(self, call, ending, endings):
        puts = self.plan.calls_of(call.thing, "put")
        if puts:
            if all(ending.data != bytes_of(put.content) for put in puts):
                yield f"wrong bytes ({len(ending.data)} of them)"
            return
        reduces = self.plan.calls_of(call.thing, "reduce")
        if not reduces:
            yield "got what nobody made"
            return
        used = endings[reduces[0].number].used
        yield from self._sum_is_right(reduces[0].sum, ending.data, used)

    def _sum_is_right(self, asked, data, used):
        members = sources_in(data)
        if used is not None and {asked.sources[number] for number in members} != set(used):
            yield f"has sources {sorted(members)}, the reduction said {sorted(used)}"
        elif len(members) != asked.count or max(members) >= len(asked.sources):
            yield f"is made of {sorted(members)}, not of {asked.count} sources"
        elif data != total_of(asked.op, self._contents(asked, members)):
            yield f"wrong {asked.op} of {sorted(members)}"

    def _contents(self, asked, members):
        return [self.plan.calls_of(asked.sources[number], "put")[0].content
                for number in sorted(members)]

    def _reduce_is_right(self, call, ending, endings):
        if len(ending.used) != call.sum.count or len(set(ending.used)) != call.sum.count:
            yield f"used {ending.used}, not {call.sum.count} sources"
        if set(ending.used) | set(ending.unused) != set(call.sum.sources):
            yield f"used {ending.used} and not {ending.unused} of {call.sum.sources}"
        never = [name for name in ending.used if not self.plan.calls_of(name, "put")]
        if never:
            yield f"used {never}, which nobody put"
        results = {other.data for other in self._endings_of(call.thing, "get", endings)
                   if other.code == "ok" and other.data is not None}
        if len(results) > 1:
            yield f"its readers got {len(results)} different results"

    def _endings_of(self, thing, kind, endings):
        return [endings[call.number] for call in self.plan.calls_of(thing, kind)
                if call.number not in self.plan.killed_calls()]

    # Errors

    def _permitted(self, call, endings):
        """Codes that the plan's faults and its other calls allow."""
        codes = set()
        if call.node in self.plan.killed():
            codes |= {"unavailable", "timeout"}
        deadline = endings[call.number].began + call.timeout
        if any(end + RECOVERY > deadline for _, _, end in self._hits):
            codes.add("timeout")
        codes |= getattr(self, f"_{call.kind}_may_fail")(call, endings)
        if self._stopped_under(call):
            codes |= {"timeout", "unavailable"}
        return codes | set(self.plan.shape.kind.permits)

    def _stopped_under(self, call):
        """Whether the call's node was stopped, in a round that is about that."""
        return self.plan.shape.kind.name == "stopped" and any(
            fault.kind == "stop" and fault.node == call.node for fault, _, _ in self._hits)

    def _put_may_fail(self, call, _endings):
        codes = set()
        if len(self.plan.calls_of(call.thing, "put")) > 1:
            codes.add("already_exists")
        if self.plan.calls_of(call.thing, "delete"):
            codes.add("deleted")
        return codes

    def _delete_may_fail(self, _call, _endings):
        return set()

    def _put_many_may_fail(self, _call, _endings):
        return set()

    def _get_many_may_fail(self, call, endings):
        puts = self.plan.calls_of(call.thing, "put_many")
        return set() if any(endings[put.number].code == "ok" for put in puts) else {"timeout"}

    def _get_may_fail(self, call, endings):
        codes = set()
        if self.plan.calls_of(call.thing, "delete"):
            codes.add("deleted")
        if not self._can_be_had(call, endings):
            codes.add("timeout")
        for reduce in self.plan.calls_of(call.thing, "reduce"):
            if not self._succeeds(reduce):
                codes |= {"timeout", "peer_lost", "cancelled"}
        return codes

    def _reduce_may_fail(self, call, _endings):
        return set() if self._succeeds(call) else {"timeout", "peer_lost"}

    def _succeeds(self, reduce):
        """Nothing in the plan can end this reduction: sources, caller and its deadline are good."""
        safe = [name for name in reduce.sum.sources
                if any(self._stays(put) for put in self.plan.calls_of(name, "put"))]
        return (len(safe) >= reduce.sum.count and reduce.node not in self._given_up()
                and reduce.number not in self.plan.killed_calls())

    def _given_up(self):
        """The nodes that the directory may have declared lost."""
        return {fault.node for fault, begin, end in self._hits
                if fault.kind == "kill" or end - begin > LEASE}

    def _stays(self, put):
        return put.node not in self.plan.killed() and put.number not in self.plan.killed_calls()

    def _can_be_had(self, call, endings):
        """Whether some node that has the object, or will have it early enough, outlives the round."""
        reduces = self.plan.calls_of(call.thing, "reduce")
        if reduces:  # the sum lies at the root, whichever node that is, until others have it
            return self._succeeds(reduces[0]) and not self.plan.killed()
        deadline = endings[call.number].began + call.timeout
        return any(self._stays(put) and endings[put.number].code == "ok"
                   and endings[put.number].ended + SOON < deadline
                   for put in self.plan.calls_of(call.thing, "put"))

    def _explained(self, call, ending, endings):
        """A call that waited for an object whose holders were killed must be told one of their names."""
        if call.kind != "get" or call.node in self.plan.killed() or self.plan.hit_shards():
            return
        if "timeout" in self.plan.shape.kind.permits:
            return
        if self.plan.calls_of(call.thing, "delete"):
            return
        puts = self.plan.calls_of(call.thing, "put")
        reduces = self.plan.calls_of(call.thing, "reduce")
        holders = set()
        if len(puts) == 1 and puts[0].content.size > INLINE_LIMIT:
            holders = self._lost(endings[puts[0].number], ending) & {puts[0].node}
        if reduces:
            holders = self._lost(endings[reduces[0].number], ending)
        if holders and not any(re.search(rf"\bn{node}\b", ending.error) for node in holders):
            yield f"names none of {sorted(holders)}, which were killed: {ending.error}"

    def _lost(self, made, waited):
        """Nodes that were killed after the one call and declared lost before the other's end."""
        if made.code != "ok":
            return set()
        return {fault.node for fault, begin, _ in self._hits
                if fault.kind == "kill" and made.ended < begin < waited.ended - GRACE}
