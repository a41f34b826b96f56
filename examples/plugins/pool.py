"""A plug-in: between the processes of a concurrent.futures pool large arrays go through a node's
shared memory, instead of as pickles through pipes.

python examples/plugins/pool.py
"""

import secrets
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hoplite import Client, ObjectId, plugins

LARGE = 64 * 1024  # bytes; what is smaller goes through the pipes


@dataclass(frozen=True)
class Shared:
    """Stands for an array that is an object."""

    id: ObjectId


class Pool(ProcessPoolExecutor):
    """Tasks get, and their results are, read-only views of arrays that were copied once."""

    def __init__(self, workers: int, memory: str = "256MiB") -> None:
        cluster, secret = f"pool-{secrets.token_hex(8)}", plugins.new_secret()
        self._logs = Path(tempfile.mkdtemp(prefix="hoplite-pool-"))
        host = plugins.Host(cluster, "127.0.0.1", plugins.folder("pool"), self._logs, secret)
        self._directory = host.keep_directory(lambda: None, "directory")
        address = str(self._directory.ready()["address"])
        node = plugins.HostNode(host, address, memory, "pool")
        self._client = node.attach()
        super().__init__(workers, initializer=attach, initargs=(node,))

    def submit(self, function: Callable[..., Any], /, *given: Any) -> Future[Any]:  # type: ignore[override]
        sent = [to_send(self._client, one, owned=True) for one in given]
        answer: Future[Any] = Future()
        task = super().submit(run, function, sent)
        task.add_done_callback(lambda _: self._end(task, sent, answer))
        return answer

    def _end(self, task: Future[Any], sent: list[Any], answer: Future[Any]) -> None:
        failed, value = None, None
        try:
            self._client.disown([one.id for one in sent if isinstance(one, Shared)], wait=False)
            made = task.result()
            value = received(self._client, made)
            if isinstance(made, Shared):
                self._client.delete(made.id)  # the view stays readable
        except BaseException as error:  # whatever the task, or its pool, raised
            failed = error
        if answer.set_running_or_notify_cancel():
            answer.set_exception(failed) if failed else answer.set_result(value)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._client.close()  # the node ends when nobody uses it
        self._directory.stop()
        shutil.rmtree(self._logs, ignore_errors=True)


def to_send(client: Client, value: Any, owned: bool) -> Any:
    large = isinstance(value, np.ndarray) and value.nbytes >= LARGE
    return Shared(client.put(value, owned=owned)) if large else value


def received(client: Client, value: Any) -> Any:
    return client.get(value.id) if isinstance(value, Shared) else value


#: Of a worker: its client.
attached: list[Client] = []


def attach(node: plugins.HostNode) -> None:
    """Of a worker, before its first task."""
    attached.append(node.attach())


def run(function: Callable[..., Any], sent: list[Any]) -> Any:
    [client] = attached
    made = function(*(received(client, one) for one in sent))
    return to_send(client, made, owned=False)


if __name__ == "__main__":
    with Pool(2) as pool:
        squares = [pool.submit(np.square, np.full(1_000_000, float(i))) for i in range(4)]
        print([float(square.result()[0]) for square in squares])
