"""Kinds of rounds: what a stretch's cluster is short of, or how it differs, and what a call may answer then.

A kind is drawn for each stretch by the seed, half of them plain; the plans of plain stretches are those of the seed
alone. `--kinds` restricts what is drawn.
"""

import dataclasses
import random

KIB = 1024
MIB = 1024 * KIB


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    node_descriptors: int | None = None  # how many a node may open beside those that it has when it is ready
    shard_descriptors: int | None = None
    memory: int | None = None  # of a node
    disk: int | None = None  # of a node, to which it writes what was put when memory is wanted
    directory_rate: str | None = None  # of the shards' links; needs namespaces
    rates: tuple[str, ...] = ()  # each second one node's link gets another of these; needs namespaces
    sites: int = 1  # nodes stand in so many, in turn
    largest: int | None = None  # no larger objects
    apart: tuple[int, int] | None = None  # two nodes that can't connect to each other; needs namespaces
    loopback: bool = False  # all members are on one host, which half of the nodes call by another name
    own_plan: bool = False  # calls and faults of its own instead of the plain ones
    permits: tuple[str, ...] = ()  # codes that any call may end with, besides what faults excuse


ALL = {kind.name: kind for kind in (
    Kind("plain"),
    # Workers and streams that come together take all descriptors, and give them back; a shard has enough for its nodes.
    Kind("descriptors", node_descriptors=16, shard_descriptors=12,
         permits=("resource_exhausted", "unavailable", "timeout")),
    # Less than a round's objects together.
    Kind("memory", memory=3 * MIB, permits=("resource_exhausted", "timeout", "cancelled")),
    # The same, and disks that have room for all.
    Kind("spill", memory=3 * MIB, disk=1024 * MIB, permits=("resource_exhausted", "timeout", "cancelled")),
    Kind("slow", directory_rate="4mbit"),
    Kind("small", largest=16 * KIB),  # all live in the directory
    Kind("pairs", apart=(1, 2)),
    Kind("many", own_plan=True),  # small objects, and a shard that is killed in the middle
    Kind("spelling", loopback=True),
    Kind("links", rates=("20mbit", "50mbit", "100mbit"), sites=2, largest=4 * MIB),
    Kind("stopped", own_plan=True),  # a node is stopped under short deadlines of its workers
)}
PLAIN = ALL["plain"]


def kind_of(seed, stretch, allowed=None):
    """The kind of a stretch. Without a choice: plain or, as often, one of the others."""
    chance = random.Random(f"kind {seed} {stretch}")
    if allowed:
        return ALL[chance.choice(allowed)]
    if chance.random() < 0.5:
        return PLAIN
    return ALL[chance.choice([name for name in ALL if name != "plain"])]
