"""Ranks of the tests of hoplite.torch: processes that stay, and run what torch_cases.py and
torch_training_cases.py have."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch_cases
import torch_training_cases
from hoplite import LocalCluster

SECONDS = 60.0
# In which a rank hears that another one has died, at most: of a busy machine. An idle one needs
# some milliseconds; the timeout of the groups is later.
HEARD_IN = 20.0

# Forked from one process that has imported torch: that takes seconds.
os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], str(Path(__file__).parent)])
MADE = multiprocessing.get_context("forkserver")
MADE.set_forkserver_preload(["torch_ranks"])


class Rank:
    """One process. `socket`: of its node; None: it has none yet."""

    def __init__(self, rank: int, size: int, store: Path, backend: str, socket: str | None) -> None:
        self._pipe, theirs = MADE.Pipe()
        arguments = theirs, rank, size, str(store), backend, socket
        self.process = MADE.Process(target=_serve, args=arguments)
        self.process.start()
        theirs.close()

    def tell(self, case: str) -> None:
        self._pipe.send(case)

    def answer(self, seconds: float = SECONDS) -> dict[str, Any]:
        """What the case gave or raised. AssertionError: it gave nothing in time; EOFError: the
        process has ended."""
        assert self._pipe.poll(seconds), f"no answer in {seconds} s"
        said: dict[str, Any] = self._pipe.recv()
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def end(self) -> None:
        """As a program that has come to its end; it is waited for by `join`."""
        self._pipe.close()

    def join(self) -> None:
        self.process.join(SECONDS)
        assert self.process.exitcode in (0, -signal.SIGKILL)


def _serve(
    pipe: Connection, rank: int, size: int, store: str, backend: str, socket: str | None
) -> None:
    """What a rank's process does. `store`: a file."""
    os.environ.pop("HOPLITE_SOCKET", None)
    if socket is not None:
        os.environ["HOPLITE_SOCKET"] = socket
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            backend,
            store=dist.FileStore(store, size),  # type: ignore[attr-defined]
            rank=rank,
            world_size=size,
            timeout=datetime.timedelta(seconds=SECONDS),
        )
        pipe.send({})
        while True:
            pipe.send(_run(pipe.recv()))
    except EOFError:
        pass
    except Exception as error:
        pipe.send({"raised": str(error), "trace": traceback.format_exc()})


def _run(case: str) -> dict[str, Any]:
    try:
        module = torch_cases if hasattr(torch_cases, case) else torch_training_cases
        return {"gave": getattr(module, case)()}
    except Exception as error:
        return {"raised": str(error), "trace": traceback.format_exc()}


@contextmanager
def ranks(
    size: int, folder: Path, cluster: LocalCluster | None, backend: str = "gloo"
) -> Iterator[list[Rank]]:
    """So many, at the nodes of the cluster in turn, or without any; in one group of all."""
    store = folder / f"store-{time.monotonic_ns()}"

    def socket_of(rank: int) -> str | None:
        return None if cluster is None else cluster.socket(rank % len(cluster))

    started = [Rank(rank, size, store, backend, socket_of(rank)) for rank in range(size)]
    try:
        for rank in started:
            assert rank.answer() == {}
        yield started
        for rank in started:
            rank.end()
        for rank in started:
            rank.join()
    finally:
        for rank in started:
            rank.kill()


def run(ranks: Sequence[Rank], case: str) -> list[Any]:
    """What it gives at each rank. AssertionError: it raised there."""
    for rank in ranks:
        rank.tell(case)
    answers = [rank.answer() for rank in ranks]
    for number, answer in enumerate(answers):
        assert "raised" not in answer, f"rank {number}: {answer['trace']}"
    return [answer["gave"] for answer in answers]


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {SECONDS} s: {what}"
        time.sleep(0.05)
