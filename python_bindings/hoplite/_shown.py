"""What is shown at a prompt of objects of the extension: `text` is their repr; `html` is the tree
of a cluster, for notebooks. Everything that others have named is escaped there."""

from __future__ import annotations

import html as markup
from collections.abc import Callable, Iterable
from typing import Any

from hoplite import _core

# Of one node, or of those that are at none.
MOST_OBJECTS = 20


def text(value: Any) -> str:
    """The repr of an object of the extension."""
    return f"<{type(value).__name__} {_WORDS[type(value)](value)}>"


def html(status: _core.ClusterStatus) -> str:
    """Nodes, and below each what it has; then what is at none."""
    nodes = [
        _item(_node(node), _objects(status, node.name), is_open=node.alive) for node in status.nodes
    ]
    nowhere = [_leaf(_object(one)) for one in status.objects if not one.holders]
    rest = [_item("at no node", _cut(nowhere))] if nowhere else []
    away = [_leaf(f"a shard is away: {shard.away}") for shard in status.shards if shard.away]
    return _item(_cluster(status), [*nodes, *rest, *away], is_open=True)


def size(count: int) -> str:
    """Bytes, for people."""
    if count < 1024:
        return f"{count} bytes"
    value, units = count / 1024, iter(("KiB", "MiB", "GiB"))
    unit = next(units)
    while value >= 1024 and (larger := next(units, None)):
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}"


def _cluster(status: _core.ClusterStatus) -> str:
    alive = sum(node.alive for node in status.nodes)
    return f"{alive} of {len(status.nodes)} nodes alive, {status.object_count} objects"


def _node(node: _core.NodeStatus) -> str:
    store = f", {size(node.used_bytes)} of {size(node.memory_bytes)} used"
    away = "" if node.alive else ", away"
    return f"{node.name} at {node.address}{store if node.memory_bytes else ''}{away}"


def _holder(holder: _core.HolderInfo) -> str:
    return f"{holder.node}: {'all' if holder.complete else size(holder.valid_bytes)}"


def _register(info: _core.RegisterInfo) -> str:
    writer = f"writer at {info.writer}" if info.writer else "no writer"
    return f"number {info.number}: {info.value!r:.100}, {writer}"


def _object(info: _core.ObjectInfo) -> str:
    places = [_holder(holder) for holder in info.holders]
    places += ["in the directory"] if info.in_directory else []
    places += [f"{waiter.node} waits: {waiter.why}" for waiter in info.waiters]
    places += [str(info.failure)] if info.failure else []
    name = f" {info.name!r}" if info.name else ""
    return f"{info.id}{name}, {size(info.size_bytes)}: {', '.join(places) or 'nowhere'}"


def _shard(shard: _core.ShardStatus) -> str:
    held = f"{shard.objects} objects, {size(shard.inline_bytes)} of them in the directory"
    by = f", held by {shard.held_by}" if shard.held_by else ""
    return f"away: {shard.away}" if shard.away else held + by


def _process(process: _core.ProcessStatus) -> str:
    descriptors = f"{process.descriptors} of {process.descriptor_limit} descriptors"
    return f"{process.version}, {size(process.resident_bytes)}, {descriptors}"


_WORDS: dict[type, Callable[[Any], str]] = {
    _core.View: lambda view: f"of {view.id}, {size(len(view))}",
    _core.HolderInfo: _holder,
    _core.TransferInfo: lambda one: (
        f"of {one.object} from {one.from_node} to {one.to_node}: {size(one.valid_bytes)}"
    ),
    _core.WaiterInfo: lambda waiter: f"{waiter.node}: {waiter.why}",
    _core.ObjectInfo: _object,
    _core.RegisterInfo: _register,
    _core.NodeStatus: _node,
    _core.ShardStatus: _shard,
    _core.ProcessStatus: _process,
    _core.ClusterStatus: _cluster,
    _core.LocationChange: lambda change: f"{change.kind} {change.node}".rstrip(),
}


def _objects(status: _core.ClusterStatus, node: str) -> list[str]:
    here = (one for one in status.objects if any(holder.node == node for holder in one.holders))
    return _cut([_leaf(_object(one)) for one in here])


def _cut(items: list[str]) -> list[str]:
    left = len(items) - MOST_OBJECTS
    return [*items[:MOST_OBJECTS], *([_leaf(f"and {left} more")] if left > 0 else [])]


def _leaf(words: str) -> str:
    return markup.escape(words)


def _item(words: str, inside: Iterable[str], is_open: bool = False) -> str:
    rows = "".join(f"<li>{one}</li>" for one in inside)
    if not rows:
        return _leaf(words)
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{_leaf(words)}</summary><ul>{rows}</ul></details>"
