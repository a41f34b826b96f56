"""One rank of torch.distributed with a group of Gloo and one of Hoplite, as an agent: see agent.h.

  join RANK RANKS ADDRESS PORT      {}: both groups; the first rank's store listens there
  run BACKEND KIND BYTES TIMES      {"begins":[...],"ends":[...]}: of each of TIMES, in nanoseconds; KIND: allreduce, broadcast, barrier
"""

import datetime
import time

import hoplite.torch  # registers the back end
import torch
import torch.distributed as dist

from answering import answer_all

PATIENCE = datetime.timedelta(seconds=100)


class Rank:
    def join(self, rank, ranks, address, port):
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=int(rank), world_size=int(ranks),
                                timeout=PATIENCE)
        self._groups = {"gloo": dist.group.WORLD, "hoplite": dist.new_group(backend="hoplite", timeout=PATIENCE)}
        return {}

    def run(self, backend, kind, size, times):
        tensor, group = torch.empty(int(size) // 4), self._groups[backend]
        begins, ends = [], []
        for _ in range(int(times)):
            tensor.fill_(1.0)
            dist.barrier()  # Gloo's: all begin at one time
            begins.append(time.monotonic_ns())
            wanted = getattr(self, f"_{kind}")(tensor, group)
            ends.append(time.monotonic_ns())
            if len(tensor) and not (tensor[0] == tensor[-1] == wanted):
                raise RuntimeError("wrong bytes")
        return {"begins": begins, "ends": ends}

    def _allreduce(self, tensor, group):
        dist.all_reduce(tensor, group=group)
        return dist.get_world_size()

    def _broadcast(self, tensor, group):
        dist.broadcast(tensor, 0, group=group)
        return 1.0

    def _barrier(self, tensor, group):
        dist.barrier(group=group)
        return 1.0


if __name__ == "__main__":
    answer_all(Rank())
