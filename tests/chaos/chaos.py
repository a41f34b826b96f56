"""Chaos over real processes: rounds of calls during which members are killed, stopped and cut off.

Rounds are run in stretches of ten that share a cluster; stretches are shared out among lanes, each
with hosts of its own. A round's plan depends on the seed and its number only: --first and --rounds
run any part again. What was run is appended to a file of JSON lines, which --sum adds up.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from kinds import ALL, kind_of
from members import Cluster, Trouble
from places import Places, hosts
from plan import NODES, STRETCH, plan_of, shape_of
from play import Rest, Round
import security

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="how many; default 60")
    parser.add_argument("--seed", type=int, default=1, help="which plans; default 1")
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--lanes", type=int, default=3, help="clusters at a time; default 3")
    parser.add_argument("--rate", default="100mbit", help="of each link; default 100mbit")
    parser.add_argument("--hoplite", type=pathlib.Path, help="the program",
                        default=ROOT / "build" / "release" / "bin" / "hoplite")
    parser.add_argument("--records", type=pathlib.Path,
                        default=ROOT / "build" / "chaos" / "rounds.jsonl",
                        help="where each round's result is appended")
    parser.add_argument("--plan", action="store_true", help="only show the plans")
    parser.add_argument("--brief", action="store_true", help="rounds of fewer calls; other plans")
    parser.add_argument("--drain", action="store_true",
                        help="also wait, once a cluster, until connections that rest are closed")
    parser.add_argument("--tell", action="store_true", help="show how each call ended")
    parser.add_argument("--sum", action="store_true", help="only add up what was run so far")
    parser.add_argument("--kinds", type=lambda text: text.split(","), metavar="KIND,...",
                        help=f"what is drawn from, of {', '.join(ALL)}; default half plain, half others")
    parser.add_argument("--security", type=lambda text: text.split(","), metavar="WAY,...", default=[security.NONE],
                        help=f"how members recognize each other, of {', '.join(security.ALL)}; clusters take turns")
    parser.add_argument("--need-root", action="store_true", help="skip without network namespaces")
    parser.add_argument("--lane", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.kinds or ():
        if name not in ALL:
            parser.error(f"--kinds: '{name}' is none of {', '.join(ALL)}")
    for name in options.security:
        if name not in security.ALL:
            parser.error(f"--security: '{name}' is none of {', '.join(security.ALL)}")
    return options


def kind(options, number):
    """The kind of a round, which its stretch decides."""
    return kind_of(options.seed, number // STRETCH, options.kinds)


def security_of(options, number):
    """How the members recognize each other in a round, which its stretch decides."""
    return options.security[number // STRETCH % len(options.security)]


def main():
    options = arguments()
    if options.sum:
        print(summary(read(options.records)))
        return 0
    if options.plan:
        for number in range(options.first, options.first + options.rounds):
            show(plan_of(options.seed, number, options.brief, kind(options, number)))
        return 0
    if options.need_root and os.geteuid() != 0:
        print("skipped: network namespaces need root")
        return SKIPPED
    hosts.end_on_signals()
    return run_lanes(options) if options.lane is None else run_lane(options)


def show(plan):
    print(f"round {plan.round} of seed {plan.seed}: {plan.shape}")
    for call in plan.calls:
        print(f"  {call.at:5.2f}  {call.number:2} {call.kind:6} {call.thing} at n{call.node}, "
              f"{call.timeout:g} s  {call.content or call.sum or ''}")
    for fault in plan.faults:
        print(f"  {fault.at:5.2f}  {fault.kind} {fault.victim} for {fault.lasts:.2f} s")


# All lanes

def run_lanes(options):
    options.records.parent.mkdir(parents=True, exist_ok=True)
    before = len(read(options.records))
    lanes = [subprocess.Popen(["setpriv", "--pdeathsig", "TERM", sys.executable, *sys.argv,
                               "--lane", str(lane)]) for lane in range(options.lanes)]
    try:
        statuses = [lane.wait() for lane in lanes]
    finally:
        for lane in lanes:
            if lane.poll() is None:
                lane.terminate()
        for lane in lanes:
            lane.wait()
    records = read(options.records)[before:]
    print(summary(records))
    done = len(records) == options.rounds and not any(statuses)
    return 0 if done and not any(record["complaints"] for record in records) else 1


def read(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def summary(records):
    bad = [record for record in records if record["complaints"]]
    endings, faults = collections.Counter(), collections.Counter()
    for record in records:
        endings.update(record["endings"])
        faults.update(fault.split()[0] for fault in record["faults"])
    seeds = sorted({record["seed"] for record in records})
    secured = collections.Counter(record.get("security", security.NONE) for record in records)
    lines = [f"{len(records)} rounds of seeds {seeds}: {len(bad)} with complaints",
             f"calls: {dict(endings)}; faults: {dict(faults)}",
             f"kinds: {dict(collections.Counter(record.get('kind', 'plain') for record in records))}",
             f"security: {dict(secured)}"]
    for record in bad:
        lines.append(f"seed {record['seed']} round {record['round']} ({record.get('kind', 'plain')}): "
                     f"{record['faults']}")
        lines += [f"  {complaint}" for complaint in record["complaints"]]
    return "\n".join(lines)


# One lane

def run_lane(options):
    rounds = range(options.first, options.first + options.rounds)
    stretches = sorted({number // STRETCH for number in rounds})
    with Places(NODES + 1, options.rate) as places:
        if places.why_loopback and options.lane == 0:
            print(f"on the loopback, with nodes that limit their own rate: {places.why_loopback}")
        for stretch in stretches[options.lane::options.lanes]:
            numbers = [number for number in rounds if number // STRETCH == stretch]
            run_stretch(options, places, numbers)
    return 0


def run_stretch(options, places, numbers):
    """The rounds on one cluster; after one that went wrong the others get a new one."""
    numbers = collections.deque(numbers)
    while numbers:
        with tempfile.TemporaryDirectory(prefix="hoplite-chaos-") as folder:
            try:
                run_cluster(options, places, numbers, pathlib.Path(folder))
            except Trouble as trouble:  # before the first round
                keep(options, not_begun(options, numbers.popleft(), str(trouble)))


def not_begun(options, number, why):
    return {"seed": options.seed, "brief": options.brief, "kind": kind(options, number).name, "round": number, "seconds": 0, "lag": 0,
            "security": security_of(options, number), "endings": {}, "faults": [], "resident": 0, "complaints": [why]}


def run_cluster(options, places, numbers, folder):
    shape = shape_of(options.seed, numbers[0], options.brief, kind(options, numbers[0]))
    members, files = folder / "members", folder / "files"
    members.mkdir()
    files.mkdir()
    guard = security.Security(security_of(options, numbers[0]), options.hoplite, folder / "security")
    with Cluster(options.hoplite, places, shape, members, NODES, guard) as cluster:
        rest = Rest(cluster, files)
        good = True
        while numbers and good:
            number = numbers.popleft()
            plan = plan_of(options.seed, number, options.brief, kind(options, number))
            record = play(options, plan, cluster, rest, files)
            if not numbers and not record["complaints"]:
                record["complaints"] = (rest.drained() if options.drain else []) + end(cluster)
            good = not record["complaints"]
            keep(options, record)
            if not good:
                keep_logs(options, record, members)


def play(options, plan, cluster, rest, files):
    one = Round(plan, cluster, files)
    try:
        complaints = one.play()
        if options.tell:
            one.tell()
        complaints += rest.check(plan)
    except Trouble as trouble:
        complaints = [str(trouble)]
    return {"seed": plan.seed, "brief": options.brief, "kind": cluster.kind, "security": security_of(options, plan.round),
            **one.summary(), "resident": largest(cluster), "complaints": complaints}


def largest(cluster):
    """Bytes of the largest member, object memory not counted."""
    return max(member.resident() for member in cluster.members() if member.alive())


def end(cluster):
    try:
        cluster.end()
        return []
    except Trouble as trouble:
        return [str(trouble)]


def keep(options, record):
    """One write: lanes append to the same file."""
    with open(options.records, "ab", buffering=0) as file:
        file.write(json.dumps(record).encode() + b"\n")
    word = "wrong" if record["complaints"] else "good"
    print(f"round {record['round']} ({record['kind']}, {record['security']}): {word}, {record['seconds']} s, {', '.join(record['faults'])}",
          flush=True)


def keep_logs(options, record, members):
    """Keeps what the members said, to find the cause."""
    kept = options.records.parent / f"seed-{record['seed']}-round-{record['round']}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for log in members.glob("*.log"):
        shutil.copy(log, kept)


if __name__ == "__main__":
    sys.exit(main())
