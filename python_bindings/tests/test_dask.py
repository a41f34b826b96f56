"""Large arrays go from one worker of Dask to another as objects, and come out as Dask's own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask_cluster
import hoplite
import numpy as np
import pytest
from dask_cluster import (
    MEMORY,
    SECONDS,
    TOO_LARGE,
    addresses,
    ids,
    made,
    objects,
    used,
    wait_until,
)

distributed = dask_cluster.distributed
dask_array = importlib.import_module("dask.array")

# Elements of float64: above what travels by TCP.
LARGE = 100_000


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    dask_cluster.install(tmp_path_factory.mktemp("installed"))
    with dask_cluster.workers(3) as three:
        hoplite.dask.init(three, MEMORY)
        yield three


@pytest.fixture
def nothing_left(client: Any) -> Iterator[None]:
    """The test leaves no key, and no object."""
    yield
    gc.collect()
    wait_until(lambda: not ids(client) and objects(client) == 0, "all objects are gone")


def numbers(count: int = LARGE) -> Any:
    return np.arange(count, dtype=np.float64)


def seen(x: Any) -> tuple[float, bool]:
    return float(x.sum()), bool(x.flags.writeable)


SUM = float(np.arange(LARGE, dtype=np.float64).sum())


@pytest.mark.usefixtures("nothing_left")
def test_a_key_is_one_object_for_all_workers(client: Any) -> None:
    first, *others = addresses(client)
    x = made(client, first, numbers)
    readers = [client.submit(seen, x, workers=[one], pure=False) for one in others]
    assert client.gather(readers) == [(SUM, True)] * 2  # both at once
    assert len(set(ids(client)[x.key])) == 1
    assert client.gather(x)[5] == 5 == client.gather(x, direct=True)[5]  # to who has no node


def nested() -> Any:
    every_other = np.arange(2 * LARGE, dtype=np.float32).reshape(-1, 2)[:, 0]
    fixed = np.arange(LARGE)
    fixed.flags.writeable = False
    return [
        every_other,
        np.asfortranarray(np.arange(LARGE, dtype=np.int64).reshape(-1, 10)),
        fixed,
        {"masked": np.ma.masked_less(np.arange(LARGE), 5), "dates": np.zeros(LARGE, "M8[s]")},
        np.broadcast_to(np.arange(LARGE), (3, LARGE)),
        bytes(1 << 20),
        np.arange(10),
        np.array(["text", None], dtype=object),
    ]


@pytest.mark.usefixtures("nothing_left")
def test_values_are_what_they_are_by_tcp(client: Any) -> None:
    first, second, third = addresses(client)
    x = made(client, first, nested)
    wanted, got = nested(), used(client, second, lambda value: value, x)
    for one, other in zip(wanted, got, strict=True):
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype and np.array_equal(one, other)
    assert got[1].flags.f_contiguous
    assert wanted[3]["masked"].sum() == got[3]["masked"].sum() and wanted[5] == got[5]
    flags = used(client, third, lambda value: [value[n].flags.writeable for n in (0, 1, 2)], x)
    assert flags == [True, True, False]


def increase(x: Any) -> Any:
    x += 1
    return x


@pytest.mark.usefixtures("nothing_left")
def test_a_task_may_change_its_input_and_return_it(client: Any) -> None:
    first, second, third = addresses(client)
    x = made(client, first, numbers)
    assert used(client, second, seen, x)[0] == SUM
    more = made(client, first, increase, x)
    # The memory is the same, the key is another: so is the object.
    assert [used(client, one, lambda y: float(y[0]), more) for one in (first, second)] == [1.0, 1.0]
    assert not set(ids(client)[x.key]) & set(ids(client)[more.key])
    there = made(client, second, increase, x)  # of its own copy
    assert used(client, third, lambda y: float(y[0]), there) == 1.0


@pytest.mark.usefixtures("nothing_left")
def test_what_can_be_no_object_travels_by_tcp(client: Any) -> None:
    first, second, _ = addresses(client)
    for make in (lambda: bytes(1 << 20), lambda: np.ones(TOO_LARGE // 8), lambda: np.ones(100)):
        x = made(client, first, make)
        assert used(client, second, len, x) == len(make())
        assert x.key not in ids(client)
        wait_until(lambda: all(works(client)), "the pause after a full store is over")


def works(client: Any) -> list[bool]:
    """Of each worker: whether it asks for objects."""

    async def share() -> bool:
        here = hoplite.dask._share.here()
        return here is not None and here.works

    return list(client.run(share).values())


@pytest.mark.usefixtures("nothing_left")
def test_a_value_that_was_spilled_is_put_anew(client: Any) -> None:
    first, second, third = addresses(client)
    x = made(client, first, numbers)
    used(client, second, seen, x)
    (before,) = set(ids(client)[x.key])

    def spill(dask_worker: Any) -> None:
        dask_worker.data.evict()

    client.run(spill, workers=[first, second])
    wait_until(lambda: x.key not in ids(client), "nobody has the array in memory")
    assert used(client, third, seen, x) == (SUM, True)
    assert set(ids(client)[x.key]) != {before}


@pytest.mark.usefixtures("nothing_left")
def test_whoever_keeps_a_copy_passes_on_the_same_object(client: Any) -> None:
    first, *others = addresses(client)
    x = made(client, first, numbers)
    hoplite.dask.broadcast(client, x)
    (before,) = set(ids(client)[x.key])
    client.amm.run_once()  # drops copies at random, perhaps that of the first
    wait_until(lambda: len(client.who_has(x)[x.key]) == 1, "the others are dropped")
    assert [used(client, one, seen, x) for one in others] == [(SUM, True)] * 2
    assert set(ids(client)[x.key]) == {before}


@pytest.mark.usefixtures("nothing_left", "client")
def test_a_program_of_dask_array_runs() -> None:
    values = np.random.default_rng(5).random((1000, 1000))
    x = dask_array.from_array(values, chunks=(250, 1000))
    centred = (x - x.mean(axis=0)).rechunk((1000, 250))
    found = (centred.T @ centred).compute()
    wanted = np.cov(values, rowvar=False) * 999
    assert np.allclose(found, wanted)


@pytest.mark.usefixtures("nothing_left")
def test_a_broadcast_brings_a_value_to_all_workers(client: Any) -> None:
    first, *others = addresses(client)
    x, y = made(client, first, numbers), made(client, first, numbers, 1000)
    hoplite.dask.broadcast(client, [x, y])
    assert {len(where) for where in client.who_has([x, y]).values()} == {3}
    assert len(set(ids(client)[x.key])) == 1
    z = made(client, first, numbers)
    hoplite.dask.broadcast(client, z, workers=[first, others[0]])
    assert set(client.who_has(z)[z.key]) == {first, others[0]}


def test_a_broadcast_raises_the_error_of_its_future(client: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        hoplite.dask.broadcast(client, client.submit(lambda: 1 / 0))


@pytest.mark.usefixtures("nothing_left")
def test_a_reduction_is_an_array_of_dask(client: Any) -> None:
    first, second, third = addresses(client)
    sources = [made(client, one, np.full, (300, 100), n) for n, one in enumerate(addresses(client))]
    total = hoplite.dask.reduce(client, sources, workers=[first])
    assert [used(client, one, seen, total) for one in (first, third)] == [(90_000.0, True)] * 2
    assert len(set(ids(client)[total.key])) == 1
    large = hoplite.dask.reduce(client, sources, op="max", workers=[second])
    assert large.result(timeout=SECONDS)[0, 0] == 2
    order = [made(client, first, np.full, (9, 7), 1.0, np.float32, "F") for _ in range(5)]
    mean = hoplite.dask.reduce(client, order, op="mean").result(timeout=SECONDS)
    assert mean.flags.f_contiguous and mean.dtype == np.float32 and (mean == 1).all()


def after(file: str, value: float) -> Any:
    wait_until(Path(file).exists, file)
    return np.full(LARGE, value)


@pytest.mark.usefixtures("nothing_left")
def test_the_first_ones_are_enough(client: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one, two, three = addresses(client)
    late = client.submit(after, str(gate), 9.0, workers=[one], pure=False)
    sources = [late, *(made(client, who, np.full, LARGE, 1.0) for who in (two, three))]
    # On the late one's worker, whose only thread is at work: a reduction gives its own back.
    total = hoplite.dask.reduce(client, sources, num_objects=2, workers=[two])
    assert total.result(timeout=SECONDS)[0] == 2.0
    every = hoplite.dask.reduce(client, sources, workers=[two])
    assert made(client, two, np.ones, 3).result()[0] == 1
    gate.touch()
    assert every.result(timeout=SECONDS)[0] == 11.0


@pytest.mark.usefixtures("nothing_left")
def test_futures_of_one_key_count_each(client: Any) -> None:
    """As plain Dask adds them: equal calls have one key."""
    sources = [client.submit(np.ones, LARGE) for _ in range(3)]
    sources.append(client.submit(np.full, LARGE, 2.0))
    assert len({source.key for source in sources}) == 2
    assert client.submit(np.max, hoplite.dask.reduce(client, sources)).result(SECONDS) == 5.0
    two = hoplite.dask.reduce(client, sources[:3], num_objects=2)
    assert client.submit(np.max, two).result(SECONDS) == 2.0
    del sources, two


@pytest.mark.usefixtures("nothing_left")
def test_what_only_a_later_task_waits_for_is_folded(client: Any) -> None:
    """In an ordinary loop: neither the sources nor the sum have a Future when the fold runs."""
    first, *_ = addresses(client)
    state = client.submit(np.zeros, LARGE, pure=False)
    for step in range(4):
        busy = client.submit(time.sleep, 0.3, workers=[first], pure=False)  # the fold comes late
        parts = [client.submit(np.full, LARGE, float(step + n), pure=False) for n in range(3)]
        total = hoplite.dask.reduce(client, parts, workers=[first])
        state = client.submit(np.add, state, total, pure=False)
        del parts, total, busy
    assert client.submit(np.max, state).result(timeout=SECONDS) == 4 * 3 + 3 * (0 + 1 + 2 + 3)
    del state
    wait_until(lambda: holders(client) == [], "nothing is kept for a reduction that has ended")


def holders(client: Any) -> list[str]:
    def looked(dask_scheduler: Any) -> list[str]:
        return [name for name in dask_scheduler.clients if name.startswith("hoplite-reduce")]

    names: list[str] = client.run_on_scheduler(looked)
    return names


@pytest.mark.usefixtures("nothing_left")
def test_a_reduction_says_what_does_not_fit(client: Any) -> None:
    ones = client.submit(np.ones, LARGE)

    def error(*sources: Any) -> str:
        # Not raised: Dask keeps what the frames have that it passes.
        return repr(hoplite.dask.reduce(client, sources).exception(timeout=SECONDS))

    short = client.submit(np.ones, 10)
    assert f"{ones.key} is float64 (100000,), {short.key} is float64 (10,)" in error(ones, short)
    assert "is no NumPy array" in error(ones, client.submit(str, 7))
    assert "has no elements" in error(client.submit(np.ones, 0))
    booleans = [client.submit(np.ones, 9, bool, pure=False) for _ in range(2)]
    assert "arrays of dtype bool can't be reduced" in error(*booleans)
    failed = client.submit(lambda: 1 / 0, pure=False)
    assert "ZeroDivisionError" in error(ones, failed)
    one = hoplite.dask.reduce(client, [failed, ones], num_objects=1)
    assert one.result(timeout=SECONDS)[0] == 1


def test_a_reduction_needs_as_many_as_are_wanted(client: Any) -> None:
    for count in (0, 2):
        with pytest.raises(hoplite.InvalidArgumentError, match=f"is {count}, of 1 futures"):
            hoplite.dask.reduce(client, [client.submit(np.ones, 9)], num_objects=count)


def test_an_asynchronous_client_awaits() -> None:
    async def program() -> float:
        settings = {"dashboard_address": ":0", "protocol": "hoplite://", "asynchronous": True}
        async with (
            distributed.LocalCluster(n_workers=2, processes=False, **settings) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
        ):
            await hoplite.dask.init(client, MEMORY)
            await hoplite.dask.init(client, MEMORY)  # changes nothing
            parts = [client.submit(np.full, LARGE, n, pure=False) for n in (1.0, 2.0)]
            await hoplite.dask.broadcast(client, parts)
            total = await hoplite.dask.reduce(client, parts)
            return float(total[0])

    assert asyncio.run(program()) == 3.0


@pytest.mark.usefixtures("client")  # that has installed the package
def test_workers_of_the_command_line(tmp_path: Path) -> None:
    """The scheduler is at tcp://, its workers at hoplite://."""
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    with contextlib.ExitStack() as programs:

        def start(name: str, *options: str) -> None:
            command = [sys.executable, "-m", f"distributed.cli.{name}", "--no-dashboard", *options]
            program = subprocess.Popen(command, env={**os.environ, **settings})
            programs.callback(program.wait)
            programs.callback(program.kill)

        file = f"--scheduler-file={tmp_path / 'scheduler.json'}"
        start("dask_scheduler", file, "--host", "127.0.0.1", "--port", "0")
        for _ in range(2):
            start("dask_worker", file, "--protocol", "hoplite", "--nthreads", "1", "--no-nanny")
        wait_until((tmp_path / "scheduler.json").exists, "the scheduler is there")
        with distributed.Client(scheduler_file=tmp_path / "scheduler.json") as client:
            client.wait_for_workers(2, timeout=SECONDS)
            hoplite.dask.init(client, MEMORY)
            first, second = addresses(client)
            x = made(client, first, numbers)
            assert used(client, second, seen, x) == (SUM, True)
            assert x.key in ids(client)


def test_only_clusters_of_its_scheme_are_taken() -> None:
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        with pytest.raises(hoplite.InvalidArgumentError, match="does not listen at hoplite://"):
            hoplite.dask.init(client)
    security = distributed.Security(require_encryption=True)
    with pytest.raises(RuntimeError) as raised:
        distributed.LocalCluster(**options, protocol="hoplite://", security=security)
    causes: list[BaseException] = [raised.value]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    assert "Hoplite does not encrypt, and Dask's configuration requires" in str(causes[-1])


@pytest.mark.usefixtures("client")  # that has installed the package
def test_the_examples_of_the_page_run() -> None:
    page = (dask_cluster.ROOT / "docs" / "dask.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(compile(program, "docs/dask.md", "exec"), {"__name__": "__main__"})


def test_without_init_all_is_as_by_tcp() -> None:
    with dask_cluster.workers(2, processes=False) as client:
        first, second = addresses(client)
        assert used(client, second, seen, made(client, first, numbers)) == (SUM, True)
        with pytest.raises(hoplite.InvalidArgumentError, match="memory"):
            hoplite.dask.init(client, "much")
        hoplite.dask.init(client, MEMORY)
        assert used(client, second, seen, made(client, first, numbers)) == (SUM, True)


def test_another_dask_gets_one_warning(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "__version__", "2031.1.0")
    with pytest.warns(RuntimeWarning, match=r"with distributed .*; this is 2031") as warned:
        hoplite.dask.init(client, MEMORY)
    assert len(warned) == 1
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hoplite.dask.init(client, MEMORY)


def test_without_dask_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['distributed'] = None; import hoplite.dask"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    version = importlib.metadata.version("distributed")
    assert f"hoplite.dask needs Dask: pip install 'distributed=={version}'" in ended.stderr
