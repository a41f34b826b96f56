"""One rank of torch.distributed with its backend gloo, as an agent: see agent.h.

  join RANK RANKS ADDRESS PORT              {}: a group, whose first rank listens there
  run KIND BYTES MOMENT [TIMES]             {"begins":[...],"ends":[...]}; TIMES one after another

KIND is an operation of the comparison. Arrays of float32 that a sum of whole numbers leaves exact.
"""

import time

import torch
import torch.distributed as group

from answering import answer_all

PERIOD = 1021  # of the numbers, as in agent.h


def places(count):
    """Whole numbers, which a float32 holds exactly; one array of that size and nothing beside it."""
    return torch.arange(PERIOD, dtype=torch.float32).repeat(-(-count // PERIOD))[:count]


def element(rank, count):
    return places(count).add_(rank)


def total(ranks, count):
    return places(count).mul_(ranks).add_(ranks * (ranks - 1) // 2)


class Rank:
    def join(self, rank, ranks, address, port):
        self._rank, self._ranks = int(rank), int(ranks)
        torch.set_num_threads(1)
        group.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=self._rank,
                                 world_size=self._ranks)
        return {}

    def run(self, kind, size, moment, times=1):
        count, moment = int(size) // 4, int(moment)
        work, expected = getattr(self, f"_{kind}")(count)
        time.sleep(max(0.0, (moment - time.monotonic_ns()) / 1e9))
        begin = time.monotonic_ns()
        for _ in range(int(times)):
            work()
        end = time.monotonic_ns()
        for got, wanted in expected():
            if not torch.equal(got, wanted):
                raise RuntimeError("wrong bytes")
        return {"begins": [begin], "ends": [end]}

    # Each gives what to run, and then pairs of what was received and what should have been.

    def _broadcast(self, count):
        data = element(0, count) if self._rank == 0 else torch.zeros(count)
        return lambda: group.broadcast(data, 0), lambda: [(data, element(0, count))]

    def _round_trip(self, count):
        """The second rank sends back what it got; the others have no part in it."""
        data, back = element(0, count), torch.zeros(count)
        calls = {0: lambda: (group.send(data, 1), group.recv(back, 1)),
                 1: lambda: (group.recv(back, 0), group.send(back, 0))}
        if self._rank not in calls:
            return lambda: None, lambda: []
        return calls[self._rank], lambda: [(back, data)]

    def _reduce(self, count):
        data = element(self._rank, count)
        check = lambda: [(data, total(self._ranks, count))] if self._rank == 0 else []
        return lambda: group.reduce(data, 0), check

    def _allreduce(self, count):
        data = element(self._rank, count)
        return lambda: group.all_reduce(data), lambda: [(data, total(self._ranks, count))]

    def _gather(self, count):
        data = element(self._rank, count)
        into = self._room(count) if self._rank == 0 else None
        return lambda: group.gather(data, into, 0), lambda: self._arrays(into or [], count)

    def _allgather(self, count):
        data, into = element(self._rank, count), self._room(count)
        return lambda: group.all_gather(into, data), lambda: self._arrays(into, count)

    def _room(self, count):
        return [torch.zeros(count) for _ in range(self._ranks)]

    def _arrays(self, into, count):
        return [(array, element(rank, count)) for rank, array in enumerate(into)]


if __name__ == "__main__":
    answer_all(Rank())
