"""What the ranks of torch_rank.py run. Every case asserts at each rank what it has got."""

# Of torch.distributed much is untyped, or not exported.
# mypy: disable-error-code="no-untyped-call, attr-defined, arg-type"

from __future__ import annotations

import datetime
import functools
import itertools
import operator
import threading
from collections.abc import Callable
from typing import Any

import hoplite.torch
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

OP = dist.ReduceOp
DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
)
# Elements: some are folded at every rank, more by the engine.
SMALL, LARGE = 1000, 50_000
FOLDS: dict[Any, Callable[[Any, Any], Any]] = {
    OP.SUM: operator.add,
    OP.PRODUCT: operator.mul,
    OP.MIN: torch.minimum,
    OP.MAX: torch.maximum,
}


def me() -> int:
    return dist.get_rank()


def size() -> int:
    return dist.get_world_size()


@functools.cache
def group() -> Any:
    """One that most cases use."""
    if dist.get_backend() == "hoplite":
        return dist.group.WORLD
    return dist.new_group(backend="hoplite", timeout=datetime.timedelta(seconds=40))


def numbers(rank: int, count: int = SMALL, dtype: torch.dtype = torch.float32) -> Tensor:
    """Whole ones, which every dtype holds, and their sums too."""
    return ((torch.arange(count) * 7 + rank * 3) % 5 + 1).to(dtype)


def of_all(count: int = SMALL, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [numbers(rank, count, dtype) for rank in range(size())]


def total(count: int = SMALL, dtype: torch.dtype = torch.float32) -> Tensor:
    return functools.reduce(operator.add, of_all(count, dtype))


def same(got: Tensor, wanted: Tensor) -> None:
    assert got.dtype == wanted.dtype and torch.equal(got, wanted), (got, wanted)


# --- collectives


def reductions() -> None:
    for dtype, count, (op, fold) in itertools.product(DTYPES, (SMALL, LARGE), FOLDS.items()):
        tensor = numbers(me(), count, dtype)
        dist.all_reduce(tensor, op, group=group())
        same(tensor, functools.reduce(fold, of_all(count, dtype)))
    for count in (SMALL, LARGE):
        tensor = numbers(me(), count)
        dist.all_reduce(tensor, OP.AVG, group=group())
        torch.testing.assert_close(tensor, total(count) / size())
        bits = numbers(me(), count, torch.int32)
        dist.all_reduce(bits, OP.BXOR, group=group())
        same(bits, functools.reduce(operator.xor, of_all(count, torch.int32)))
        for op, fold in ((OP.SUM, operator.or_), (OP.MIN, operator.and_)):
            truths = [one > 3 for one in of_all(count)]
            mine = truths[me()].clone()
            dist.all_reduce(mine, op, group=group())
            same(mine, functools.reduce(fold, truths))
        for root in range(size()):
            tensor = numbers(me(), count)
            dist.reduce(tensor, root, group=group())
            if me() == root:
                same(tensor, total(count))


def movements() -> None:
    for dtype, count in itertools.product((*DTYPES, torch.bool), (SMALL, LARGE)):
        everybody = of_all(count, dtype)
        tensor = everybody[me()].clone()
        dist.broadcast(tensor, 1, group=group())
        same(tensor, everybody[1])
        outs = [torch.zeros(count, dtype=dtype) for _ in everybody]
        dist.all_gather(outs, everybody[me()], group=group())
        same(torch.stack(outs), torch.stack(everybody))
        joined = torch.zeros(count * size(), dtype=dtype)
        dist.all_gather_into_tensor(joined, everybody[me()], group=group())
        same(joined, torch.cat(everybody))
    for count in (SMALL, LARGE):
        everybody = of_all(count)
        outs = [torch.zeros(count) for _ in everybody]
        dist.gather(everybody[me()], outs if me() == 2 else None, 2, group=group())
        if me() == 2:
            same(torch.stack(outs), torch.stack(everybody))
        out = torch.zeros(count)
        dist.scatter(out, everybody if me() == 1 else None, 1, group=group())
        same(out, everybody[me()])
        dist.reduce_scatter(out, [one + me() for one in everybody], group=group())
        same(out, everybody[me()] * size() + sum(range(size())))
        dist.reduce_scatter_tensor(out, torch.cat(everybody), OP.AVG, group=group())
        same(out, everybody[me()])
        outs = [torch.zeros(count) for _ in everybody]
        dist.all_to_all(outs, [one * (me() + 1) for one in everybody], group=group())
        same(torch.stack(outs), torch.stack([everybody[me()] * (k + 1) for k in range(size())]))
    dist.barrier(group=group())


def splits() -> None:
    """all_to_all_single, even, uneven, and with a part that is empty."""
    everybody = range(size())
    joined = torch.cat([numbers(me(), 4) + to for to in everybody])
    out = torch.zeros(4 * size())
    dist.all_to_all_single(out, joined, group=group())
    same(out, torch.cat([numbers(rank, 4) + me() for rank in everybody]))
    rows = torch.full((sum(everybody), 3), float(me()))  # rank k gets k rows of each
    out = torch.zeros(me() * size(), 3)
    dist.all_to_all_single(out, rows, [me()] * size(), list(everybody), group=group())
    wanted = [torch.full((me(), 3), float(rank)) for rank in everybody]
    same(out, torch.cat(wanted))


def layouts() -> None:
    """Strided tensors keep what lies between; empty ones, and one without dimensions."""
    for count in (SMALL, LARGE):
        memory = torch.zeros(count, 2)
        memory[:, 0] = numbers(me(), count)
        dist.all_reduce(memory[:, 0], group=group())
        same(memory[:, 0], total(count))
        assert not memory[:, 1].any()
        matrix = numbers(me(), count).reshape(10, -1)
        turned = matrix.t().contiguous().t()
        dist.broadcast(turned, 2, group=group())
        same(turned, numbers(2, count).reshape(10, -1))
        outs = [torch.zeros(count // 10, 10).t() for _ in range(size())]
        dist.all_gather(outs, matrix, group=group())
        same(torch.stack(outs), torch.stack(of_all(count)).reshape(size(), 10, -1))
    empty = torch.empty(0, 4)
    dist.all_reduce(empty, group=group())
    dist.broadcast(empty, 0, group=group())
    dist.all_gather_into_tensor(torch.empty(0), torch.empty(0), group=group())
    dist.reduce_scatter_tensor(torch.empty(0), torch.empty(0), group=group())
    one = torch.tensor(float(me()))
    dist.all_reduce(one, group=group())
    assert one.item() == sum(range(size()))
    weight = nn.Parameter(numbers(me()))
    dist.all_reduce(weight, group=group())
    same(weight.detach(), total())


def objects() -> None:
    everybody = [{"rank": rank, "text": "x" * 1000 * rank} for rank in range(size())]
    gathered: list[Any] = [None] * size()
    dist.all_gather_object(gathered, everybody[me()], group=group())
    assert gathered == everybody
    listed = [everybody[1] if me() == 1 else None]
    dist.broadcast_object_list(listed, 1, group=group())
    assert listed == [everybody[1]]
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, everybody if me() == 0 else None, 0, group=group())
    assert mine == [everybody[me()]]


def later() -> None:
    """Several at once, and what hangs on their futures."""
    tensors = [numbers(me(), count) for count in (SMALL, LARGE, SMALL)]
    works = [dist.all_reduce(one, group=group(), async_op=True) for one in tensors]
    doubled = works[1].get_future().then(lambda future: future.value()[0] * 2)
    for work, tensor, count in zip(works, tensors, (SMALL, LARGE, SMALL), strict=True):
        assert work.wait() and work.is_completed() and work.is_success()
        assert work.exception() is None and work.result()[0] is tensor
        same(tensor, total(count))
    same(doubled.wait(), total(LARGE) * 2)
    opened = dist.barrier(group=group(), async_op=True)
    opened.wait(datetime.timedelta(seconds=30))


def callbacks_that_wait() -> None:
    """What hangs on an operation's future begins other ones, and waits for them in each way."""

    def twice_more(future: Any) -> Any:
        dist.all_reduce(numbers(me(), LARGE), group=group())
        again = future.value()[0].clone()
        under_way = dist.all_reduce(again, group=group(), async_op=True)
        return under_way.get_future().wait()[0]

    first = dist.all_reduce(numbers(me(), LARGE), group=group(), async_op=True)
    second = dist.all_reduce(numbers(me()), group=group(), async_op=True)
    first.wait()
    summed = second.get_future().then(twice_more).then(lambda future: future.value() * 2)
    same(summed.wait(), total() * size() * 2)


def messages() -> None:
    """Each rank sends to the next one before it receives, and after; in any order of tags."""
    after, before = (me() + 1) % size(), (me() - 1) % size()
    got = torch.zeros(SMALL)
    waits = dist.irecv(got, before, group=group())
    dist.send(numbers(me()), after, group=group())
    assert waits is not None
    waits.wait()
    same(got, numbers(before))
    for tag in (1, 2):
        dist.send(numbers(me(), LARGE) + tag, after, group=group(), tag=tag)
    for tag in (2, 1):
        got = torch.zeros(2, LARGE)[0]
        dist.recv(got, before, group=group(), tag=tag)
        same(got, numbers(before, LARGE) + tag)
    outs = [torch.zeros(SMALL) for _ in range(size())]
    others = [rank for rank in range(size()) if rank != me()]
    both = [dist.P2POp(dist.irecv, outs[rank], rank, group()) for rank in others]
    both += [dist.P2POp(dist.isend, numbers(me()), rank, group()) for rank in others]
    for work in dist.batch_isend_irecv(both):
        work.wait()
    for rank in others:
        same(outs[rank], numbers(rank))
    if me() == 0:
        heard = set()
        for _ in others:
            sender = dist.recv(got := torch.zeros(SMALL), group=group())
            same(got, numbers(sender))
            heard.add(sender)
        assert heard == set(others)
    else:
        dist.send(numbers(me()), 0, group=group())
    dist.barrier(group=group())


def many_tags() -> int:
    """How many threads receive, after messages of so many tags."""
    after, before = (me() + 1) % size(), (me() - 1) % size()
    for tag in range(100):
        work = dist.irecv(got := torch.zeros(SMALL), before, group=group(), tag=tag)
        dist.send(numbers(me()) + tag, after, group=group(), tag=tag)
        assert work is not None
        work.wait()
        same(got, numbers(before) + tag)
    dist.barrier(group=group())
    return sum(thread.name == "hoplite-lane" for thread in threading.enumerate())


def coalesced() -> None:
    tensors = [numbers(me()), numbers(me(), LARGE)]
    with dist._coalescing_manager(group=group()):
        for tensor in tensors:
            dist.all_reduce(tensor, group=group())
    same(tensors[0], total())
    same(tensors[1], total(LARGE))
    outs = [torch.zeros(SMALL * size()), torch.zeros(LARGE * size())]
    with dist._coalescing_manager(group=group(), async_ops=True) as under_way:
        for out, count in zip(outs, (SMALL, LARGE), strict=True):
            dist.all_gather_into_tensor(out, numbers(me(), count), group=group())
    under_way.wait()
    same(outs[1], torch.cat(of_all(LARGE)))


def functions() -> None:
    """Those of compiled programs, meshes and DTensors."""
    summed = functional.wait_tensor(functional.all_reduce(numbers(me()), "sum", group()))
    same(summed, total())
    joined = functional.wait_tensor(functional.all_gather_tensor(numbers(me()), 0, group()))
    same(joined, torch.cat(of_all()))
    mesh = DeviceMesh.from_group(group(), "cpu", mesh_dim_names=("all",))
    whole = torch.arange(12.0).reshape(6, 2)
    shards = dist.tensor.distribute_tensor(whole, mesh, [dist.tensor.Shard(0)])
    same(shards.full_tensor(), whole)


def subgroups() -> None:
    """Two at once, of which one rank has part in both, and a second of the same members."""
    pairs = [dist.new_group([0, 1], backend="hoplite"), dist.new_group([1, 2], backend="hoplite")]
    pairs.append(dist.new_group([0, 1], backend="hoplite"))
    for members, pair in zip(([0, 1], [1, 2], [0, 1]), pairs, strict=True):
        if me() not in members:
            continue
        tensor = numbers(me())
        dist.all_reduce(tensor, group=pair)
        same(tensor, numbers(members[0]) + numbers(members[1]))
        dist.broadcast(tensor, members[1], group=pair)
    for members, pair in zip(([0, 1], [1, 2], [0, 1]), pairs, strict=True):
        if me() in members:
            dist.destroy_process_group(pair)
    dist.barrier()


def again() -> None:
    """Groups at a store that still knows an earlier one of the same name."""
    for turn in range(2):
        pair: Any = hoplite.torch.Group(_options("again"))
        tensor = numbers(me() + turn)
        pair.allreduce([tensor]).wait()
        same(tensor, functools.reduce(operator.add, [numbers(k + turn) for k in range(size())]))
        pair.shutdown()


def _options(name: str, seconds: float = 40) -> Any:
    """As torch gives them to a back end."""
    made: Any = type("Options", (), {})()
    made.store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
    made.group_rank, made.group_size, made.global_ranks_in_group = me(), size(), []
    made.timeout, made.group_id = datetime.timedelta(seconds=seconds), name
    return made


def thousand() -> None:
    """Collectives of all kinds, and messages, in a group that is destroyed then."""
    many = dist.new_group(backend="hoplite")
    for turn in range(200):
        tensor = numbers(me(), LARGE if turn % 50 == 0 else SMALL)
        dist.all_reduce(tensor, group=many)
        dist.broadcast(tensor, turn % size(), group=many)
        dist.reduce(tensor, turn % size(), group=many)
        joined = torch.zeros(tensor.numel() * size())
        dist.all_gather_into_tensor(joined, tensor, group=many)
        dist.reduce_scatter_tensor(tensor, joined, group=many)
        if turn % 10 == 0:
            work = dist.isend(tensor, (me() + 1) % size(), group=many)
            dist.recv(tensor, (me() - 1) % size(), group=many)
            assert work is not None
            work.wait()
    dist.destroy_process_group(many)
    dist.barrier()


# --- errors


def _refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return str(error)
    raise AssertionError("it was taken")


def refused() -> list[str]:
    """At once, and nobody waits for this rank."""
    opts, avg, bits = (dist.AllreduceOptions() for _ in range(3))
    avg.reduceOp, bits.reduceOp = OP(OP.AVG), OP(OP.BAND)
    of_bool = torch.ones(3, dtype=torch.bool)
    said = [
        _refused(lambda: group().allreduce([torch.ones(3, dtype=torch.complex64)], opts)),
        _refused(lambda: group().allreduce([torch.ones(3, device="meta")], opts)),
        _refused(lambda: group().allreduce([torch.ones(3).to_sparse()], opts)),
        _refused(lambda: group().allreduce([torch.ones(3, dtype=torch.int32)], avg)),
        _refused(lambda: group().allreduce([torch.ones(3)], bits)),
        _refused(lambda: group().allreduce([of_bool], avg)),
        _refused(lambda: group().allgather([[torch.ones(3)]], [torch.ones(3)])),
        _refused(lambda: group().all_gather_single(torch.ones(3), torch.ones(2))),
        _refused(lambda: group().all_to_all_single(torch.ones(4), torch.ones(4), [], [])),
    ]
    dist.barrier(group=group())
    return said


def differing() -> list[str]:
    """Tensors of other sizes, and of another dtype, at one rank. Nobody waits for long."""
    said = []
    for one, others in ((3, 4), (SMALL, LARGE), (LARGE, SMALL), (LARGE, LARGE + 1)):
        tensor = torch.ones(one if me() == 1 else others)
        said.append(_refused(lambda: dist.all_reduce(tensor, group=group())))  # noqa: B023
    number = torch.ones(SMALL, dtype=torch.float64 if me() == 1 else torch.float32)
    said.append(_refused(lambda: dist.all_reduce(number, group=group())))
    mine = torch.ones(3 if me() != 1 else 4)
    outs = [torch.ones(mine.numel()) for _ in range(size())]
    said.append(_refused(lambda: dist.all_gather(outs, mine, group=group())))
    tensor = torch.ones(3 if me() == 0 else 2)
    if me() == 0:
        dist.broadcast(tensor, 0, group=group())
    else:
        said.append(_refused(lambda: dist.broadcast(tensor, 0, group=group())))
    dist.barrier(group=group())
    return said


def too_large() -> list[str]:
    """For the node of rank 1, or of all."""
    tensor = torch.empty(40 << 20)
    said = [_refused(lambda: dist.all_reduce(tensor, group=group()))]
    said.append(_refused(lambda: dist.broadcast(tensor, 1, group=group())))
    dist.barrier(group=group())
    return said


def late() -> list[str]:
    """Two ranks do not come to what the first one has begun."""
    soon = dist.new_group(backend="hoplite", timeout=datetime.timedelta(seconds=0.3))
    said = []
    if me() == 0:
        said.append(_refused(lambda: dist.all_reduce(numbers(0), group=soon)))
        said.append(_refused(lambda: dist.all_reduce(numbers(0, LARGE), group=soon)))
        said.append(_refused(lambda: dist.barrier(group=soon)))
        said.append(_refused(lambda: dist.recv(numbers(0), 2, group=soon)))
        slow = dist.irecv(numbers(0), 1, group=group())
        assert slow is not None
        said.append(_refused(lambda: slow.wait(datetime.timedelta(seconds=0.1))))
    dist.barrier()
    if me() == 1:
        dist.send(numbers(1), 0, group=group())
    dist.barrier(group=group())
    return said


# --- ranks that end


def joined() -> None:
    group()


def cluster() -> str:
    """The name of the one that the ranks have started."""
    (joined,) = hoplite.torch._cluster._joined
    return joined.place.cluster


def large_allreduce() -> None:
    dist.all_reduce(torch.ones(4 << 20), group=group())


def small_allreduce() -> None:
    dist.all_reduce(torch.ones(4), group=group())


def barrier() -> None:
    dist.barrier(group=group())


def receive() -> None:
    dist.recv(torch.ones(4), size() - 1, group=group())


def in_a_new_group() -> None:
    tensor = numbers(me())
    dist.all_reduce(tensor, group=dist.new_group(backend="hoplite"))
    same(tensor, total())


def send_and_reduce() -> None:
    """What the others read after this one has ended."""
    if me() == size() - 1:
        for rank in range(size() - 1):
            dist.send(numbers(rank, LARGE), rank, group=group())
    large_allreduce()


def read_late() -> None:
    got = torch.zeros(LARGE)
    dist.recv(got, size() - 1, group=group())
    same(got, numbers(me(), LARGE))
