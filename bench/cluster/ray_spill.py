"""Plain Ray with less memory than objects: `ray_spill.py MEMORY COUNT SIZE FOLDER`. Prints [puts, gets elsewhere, gets
at the first node] in seconds. Two nodes on this machine; what has no memory lies in the folder."""

import json
import sys
import tempfile
import time

import numpy as np
import ray
from ray.cluster_utils import Cluster


def main(memory, count, size, folder):
    with tempfile.TemporaryDirectory(dir=folder) as spilled:
        spilling = {"object_spilling_config": json.dumps({"type": "filesystem", "params": {"directory_path": spilled}})}
        cluster = Cluster(initialize_head=True, head_node_args={
            "num_cpus": 1, "object_store_memory": memory, "resources": {"first": 1}, "_system_config": spilling})
        cluster.add_node(num_cpus=1, object_store_memory=memory, resources={"second": 1})
        ray.init(address=cluster.address, log_to_driver=False)
        try:
            print(json.dumps(measured(count, size)))
        finally:
            ray.shutdown()
            cluster.shutdown()


def measured(count, size):
    @ray.remote(num_cpus=0)
    class Member:
        def put(self, count, size):
            array = np.arange(size // 8, dtype=np.float64)
            begin = time.monotonic()
            self.refs = [ray.put(array) for _ in range(count)]
            return time.monotonic() - begin, self.refs

        def get(self, refs):
            """One after another; each is let go before the next."""
            begin = time.monotonic()
            for ref in refs[0]:
                ray.get(ref)
            return time.monotonic() - begin

    first = Member.options(resources={"first": 0.1}).remote()
    second = Member.options(resources={"second": 0.1}).remote()
    puts, refs = ray.get(first.put.remote(count, size))
    return [puts, ray.get(second.get.remote([refs])), ray.get(first.get.remote([refs]))]


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:4]), sys.argv[4])
