"""Equal hosts whose receivers ask one after another at drawn moments: hardly any stream is moved, and every byte is right.

    sudo python3 tests/bench/staggered_moves.py --programs build/release/bin

Counted are moves, not seconds: the machine may be busy. Even on an idle one the directory stands still now and then, so that it
hears late, and of several nodes at once, how far they are. Exit status 77, with the reason, where it may make no hosts: without root, for example.
"""

import argparse
import os
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "cluster"))

import hosts
import staggered

SKIPPED = 77
ROUNDS = 10
MOST_MOVES = 1  # in all rounds
CASE = staggered.Case(8, "100mbit", 4 << 20, 0.0)
SEED = 20
APART = 0.2  # seconds from one standstill of the directory to the next, at most
STANDSTILL = (0.05, 0.1)  # seconds; a lease is ten times as long


class Late:
    """`with Late(pid):` stops that process now and then."""

    def __init__(self, pid):
        self._pid = pid
        self._drawn = random.Random(SEED)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(self._drawn.uniform(0, APART)):
            os.kill(self._pid, signal.SIGSTOP)
            time.sleep(self._drawn.uniform(*STANDSTILL))
            os.kill(self._pid, signal.SIGCONT)


def moments(drawn):
    """Of the receivers' questions: gaps of none to half the time of a transfer."""
    at, found = 0.0, []
    for _ in range(CASE.hosts - 1):
        found.append(at)
        at += drawn.uniform(0, CASE.hop / 2)
    return found


def moves_of(members, drawn):
    """Of all rounds, by reason; each round is printed."""
    for number in range(1, ROUNDS + 1):
        asked = moments(drawn)
        waited = members.round(drawn.randbytes(CASE.size), asked)
        print(f"round {number}: asked at {', '.join(f'{at:.2f}' for at in asked)} s; the longest wait {max(waited) / CASE.hop:.2f} "
              f"x S/B; moves so far {members.moves()}", flush=True)
    moves = members.moves()
    return {why: count for why, count in moves.items() if why != staggered.LOST}


def main():
    parser = argparse.ArgumentParser(prog="staggered_moves.py", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of the built ones")
    options = parser.parse_args()
    hosts.end_on_signals()
    try:
        with (hosts.Testbed(CASE.hosts, CASE.rate) as bed,
              staggered.members(bed, "hoplite", options.programs.resolve() / "hoplite", CASE.size) as members,
              Late(members.directory)):
            moves = moves_of(members, random.Random(SEED))
    except PermissionError as error:
        print(f"skipped: {error}")
        return SKIPPED
    if sum(moves.values()) > MOST_MOVES:
        print(f"{sum(moves.values())} streams were moved in {ROUNDS} rounds over equal links, {moves}: at most {MOST_MOVES} is "
              "allowed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
