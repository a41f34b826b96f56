"""One rank of sync_sgd of examples/workloads, as an agent: see agent.h.

  join RANK RANKS ADDRESS PORT    {}: a process group by Gloo, whose first rank listens there
  train BACKEND MODEL STEPS       {"times":[...],"computing":...,"loss":...,"hashes":[...]}: nanoseconds of each step by DDP
                                  over a group of that back end, which all ranks keep; the part of a step without sending;
                                  the mean loss of all ranks; a hash of each rank's weights
"""

import importlib
import os
import statistics

import sync_sgd
import torch
import torch.distributed as dist

from answering import answer_all


class Rank:
    def join(self, rank, ranks, address, port):
        torch.set_num_threads(1)
        os.environ.update(RANK=rank, WORLD_SIZE=ranks, MASTER_ADDR=address, MASTER_PORT=port)
        sync_sgd.start("gloo", sync_sgd.TIMEOUT)
        self._groups = {"gloo": None}  # the default one
        return {}

    def train(self, backend, model, steps):
        if backend not in self._groups:
            importlib.import_module(f"{backend}.torch")  # which registers it
            self._groups[backend] = dist.new_group(backend=backend)
        trained = sync_sgd.train(model, int(steps), self._groups[backend])
        return {"times": [int(one * 1e9) for one in trained.seconds], "loss": trained.loss, "hashes": trained.hashes,
                "computing": trained.computing / statistics.median(trained.seconds)}


if __name__ == "__main__":
    answer_all(Rank())
