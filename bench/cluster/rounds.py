"""Rounds of operations by several peers on one testbed, interleaved."""

import collections
import random
import sys

from processes import Failed

PATIENCE = 2  # failures of one peer on one testbed, after which it is left out there


def say(text):
    """Progress, beside the tables on standard output."""
    print(text, file=sys.stderr, flush=True)


class Rounds:
    """`with Rounds(bed, peers, failures) as rounds:` a peer that fails is noted and started anew, once."""

    def __init__(self, bed, peers, failures):
        self._bed = bed
        self.peers = peers
        self._failures = failures  # sentences, for the report
        self._running = set()
        self._failed = collections.Counter()

    def __enter__(self):
        for peer in self.peers:
            self.guarded(peer, lambda: None)
        return self

    def __exit__(self, *_):
        for peer in self._running:
            peer.stop()

    def run(self, rows, repetitions):
        """Adds a value for each operation, peer and repetition; rows: operation -> Row."""
        for number in range(1, repetitions + 1):
            operations = list(rows)
            random.shuffle(operations)
            for peer in self.peers:
                say(f"  round {number} of {repetitions}: {peer.name}")
                samples = self.guarded(peer, lambda: peer.run(operations))
                for operation, sample in zip(operations, samples or [None] * len(operations)):
                    seconds = sample.seconds(operation.one_by_one) / operation.times if sample else None
                    rows[operation].add(peer.name, seconds)

    def guarded(self, peer, action):
        """The result of the action with the peer running, or None after noting why there is none."""
        if self._failed[peer] >= PATIENCE:
            return None
        try:
            if peer not in self._running:
                self._running.add(peer)
                peer.start(self._bed)
            return action()
        except Failed as failure:
            self._failed[peer] += 1
            self._failures.append(f"{peer.name}: {failure}")
            say(f"  FAILED {peer.name}: {failure}")
            self._running.discard(peer)
            peer.stop()
            return None
