"""Hoplite for Dask: large arrays go from worker to worker through Hoplite.

>>> cluster = LocalCluster(protocol="hoplite://")     # or: dask worker --protocol hoplite
>>> client = Client(cluster)
>>> hoplite.dask.init(client, memory="1GiB")          # a node on each host

docs/dask.md says how it is used, and what it does not do.
"""

from hoplite.dask._version import require_distributed

require_distributed()

from distributed.comm import registry  # noqa: E402 - needs Dask

from hoplite.dask._cluster import init  # noqa: E402
from hoplite.dask._collectives import broadcast, reduce  # noqa: E402
from hoplite.dask._comm import Backend  # noqa: E402

__all__ = ["broadcast", "init", "reduce"]

# Also where the package was not installed, so that Dask does not find its entry point.
registry.backends.setdefault("hoplite", Backend())
