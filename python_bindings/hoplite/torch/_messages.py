"""Messages from one rank to another: each is an object, which its receiver deletes."""

from __future__ import annotations

import threading
import time
from collections import Counter

from torch import Tensor

from hoplite import Client
from hoplite._core import ObjectId
from hoplite.errors import TimeoutError
from hoplite.torch._errors import Errors
from hoplite.torch._members import Members, Names


class Messages:
    """Those that one rank sends and receives, in the order of each sender and tag. Any thread may
    call it; of one sender's messages, one thread at a time. Keeps a number for each peer and tag
    while the group lives."""

    def __init__(
        self, client: Client, members: Members, names: Names, errors: Errors, rank: int, size: int
    ) -> None:
        self._client, self._members, self._names, self._errors = client, members, names, errors
        self._rank, self._others = rank, [other for other in range(size) if other != rank]
        self._lock = threading.Lock()
        self._sent: Counter[tuple[int, int]] = Counter()
        self._received: Counter[tuple[int, int]] = Counter()

    def send(self, tensor: Tensor, to: int, tag: int, seconds: float) -> None:
        """Returns when the tensor was copied: the receiver need not have asked for it."""
        with self._errors.explained(seconds):
            self._members.require()
            number = self._sent[to, tag]
            self._client.put(
                tensor, id=self._id(self._rank, to, tag, number), timeout=seconds, owned=True
            )
            self._sent[to, tag] += 1

    def receive(self, tensor: Tensor, sender: int, tag: int, seconds: float) -> None:
        with self._errors.explained(seconds) as awaited:
            with self._lock:
                id = self._next(sender, tag)
                self._received[sender, tag] += 1
            awaited[id] = sender
            with self._members.awaiting(id, sender):
                self._client.get(id, seconds, tensor)
            self._client.delete(id, seconds)

    def receive_any(self, tensor: Tensor, tag: int, seconds: float) -> int:
        """The rank from which the message has come."""
        deadline = time.monotonic() + seconds
        with self._errors.explained(seconds):
            while True:
                with self._lock:
                    asked = {self._next(sender, tag): sender for sender in self._others}
                self._members.require()
                there, _ = self._client.wait(list(asked), 1, max(0.0, deadline - time.monotonic()))
                if not there:
                    raise TimeoutError("no message has come")
                with self._lock:
                    if self._next(asked[there[0]], tag) != there[0]:
                        continue  # another thread has taken it
                    self._received[asked[there[0]], tag] += 1
                self._client.get(there[0], max(0.0, deadline - time.monotonic()), tensor)
                self._client.delete(there[0], seconds)
                return asked[there[0]]

    def _next(self, sender: int, tag: int) -> ObjectId:
        return self._id(sender, self._rank, tag, self._received[sender, tag])

    def _id(self, sender: int, receiver: int, tag: int, number: int) -> ObjectId:
        return self._names("message", sender, receiver, tag, number)
