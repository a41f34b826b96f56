"""Who got which object from whom in allgathers between hosts, and how much each link carried.

    sudo python3 bench/cluster/rings.py --hosts 4 --rate 100mbit --size 4MiB --rounds 5

In ring order every host gets all objects from the same one, and each up link carries those of all but one host. The
streams are what nodes log (HOPLITE_LOG=debug); bytes are the counters of the hosts' links.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import statistics
import sys
import tempfile

import hosts
from bare import Bare
from operations import Operation, format_rate, format_size, parse_size
from ours import Hoplite
from transfers import MIB

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIRE = 1.01  # bytes that a link counts for one byte of an object: headers, of segments that are still together
LINE = re.compile(r"^(\d+):(\d+):(\d+\.\d+) D (?:\S+ )?object ([0-9a-f]+) version \S+: "
                  r"(?:stripes [0-9a-f]+ from (\S+)|(.+))$")


@dataclasses.dataclass(frozen=True)
class Stream:
    """One beginning to come to a host, or why one ended; the other is empty."""

    seconds: float  # of the day
    to: str
    object: str
    source: str
    why: str


def streams(to, text):
    """What a node's log tells of its streams."""
    for line in text.splitlines():
        if found := LINE.match(line):
            hours, minutes, seconds, name, source, why = found.groups()
            yield Stream(3600 * int(hours) + 60 * int(minutes) + float(seconds), to, name, source or "", why or "")


class Ring:
    """The streams of one allgather."""

    def __init__(self, members, seen):
        self._members = members
        self._seen = sorted(seen, key=lambda stream: stream.seconds)
        sources = collections.defaultdict(collections.Counter)
        for stream in self._seen:
            if stream.source:
                sources[stream.to][stream.source] += 1
        self.before = {to: counts.most_common(1)[0][0] for to, counts in sources.items()}

    def outside(self):
        """Streams from another host than the one that feeds most of the receiver's objects."""
        return [stream for stream in self._seen if stream.source and stream.source != self.before[stream.to]]

    def text(self):
        """The ring, then each object in the order of its streams, with those outside and what failed marked."""
        if not self._seen:
            return "no streams"
        begin = self._seen[0].seconds
        lines = ["ring  " + "  ".join(f"{source}>{to}" for to, source in sorted(self.before.items()))]
        for name in sorted({stream.object for stream in self._seen}, key=self._producer):
            words = []
            for stream in self._seen:
                if stream.object != name:
                    continue
                when = f"{1e3 * (stream.seconds - begin):.0f}ms"
                mark = "" if self.before.get(stream.to) == stream.source else "!"
                words.append(f"{stream.source}>{stream.to}{mark}@{when}" if stream.source
                             else f"({stream.to} {stream.why} @{when})")
            lines.append(f"{self._producer(name)}'s  " + "  ".join(words))
        return "\n".join(lines)

    def _producer(self, name):
        """Who gets it from nobody."""
        receivers = {stream.to for stream in self._seen if stream.object == name}
        return next((member for member in self._members if member not in receivers), "?")


class Told(Hoplite):
    """Nodes that log what comes to them from where; short names for the hosts of a testbed."""

    def __init__(self, program, memory, logs):
        super().__init__(program, memory)
        self._logs = pathlib.Path(logs)
        self._read = collections.Counter()

    def options_of(self, host):
        log = (self._logs / host.name).open("ab")
        return {"log": log, "env": os.environ | {"HOPLITE_LOG": "debug"}}

    def news(self, members):
        """Streams since the last call."""
        found = []
        for host in members:
            text = (self._logs / host.name).read_bytes()[self._read[host]:]
            self._read[host] += len(text)
            found += streams(host.name, text.decode())
        return [dataclasses.replace(one, to=short(one.to), source=short(one.source), why=shorter(one.why))
                for one in found]


def short(name):
    return name.rpartition("-")[2]


def shorter(why):
    return re.sub(r"hb\d+-(\d+)", r"\1", why)


def sent(bed):
    """Bytes that each host sent so far: what the bridge's end of its link received."""
    return [int(pathlib.Path(f"/sys/class/net/{host.port}/statistics/rx_bytes").read_text(encoding="ascii"))
            for host in bed.hosts]


def parse_options():
    parser = argparse.ArgumentParser(prog="rings.py", description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate", default="100mbit", help="of each host's link")
    parser.add_argument("--size", type=parse_size, default=4 * MIB, help="of each object")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=("allgather", "reductions"), default="allgather")
    parser.add_argument("--brief", action="store_true", help="no streams")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    return parser.parse_args()


def main():
    options = parse_options()
    hosts.end_on_signals()
    operation = Operation(options.kind, options.size)
    memory = 6 * options.hosts * options.size + 16 * MIB
    with (tempfile.TemporaryDirectory() as logs, hosts.Testbed(options.hosts, options.rate) as bed):
        bare, ours = Bare(options.programs / "cluster_bare"), Told(options.programs / "cluster_hoplite", memory, logs)
        try:
            bare.start(bed)
            once = statistics.median(bare.run([operation])[0].seconds(False) for _ in range(3))
            print(f"{operation.name}, {options.hosts} hosts x {format_rate(options.rate)}: S/B {1e3 * once:.0f} ms")
            ours.start(bed)
            ours.news(bed.hosts)
            members = [short(host.name) for host in bed.hosts]
            for number in range(1, options.rounds + 1):
                before = sent(bed)
                seconds = ours.run([operation])[0].seconds(False)
                carried = [(after - earlier) / options.size / WIRE for earlier, after in zip(before, sent(bed))]
                ring = Ring(members, ours.news(bed.hosts))
                print(f"round {number}: {seconds:.3f} s, {seconds / once:.3f} x S/B; "
                      f"{len(ring.outside())} streams outside the ring; up links "
                      + " ".join(f"{objects:.2f}" for objects in carried), flush=True)
                if not options.brief:
                    print(ring.text(), flush=True)
        finally:
            ours.stop()
            bare.stop()


if __name__ == "__main__":
    try:
        main()
    except PermissionError as error:
        sys.exit(str(error))
