"""What a plug-in for a runtime is made of: `hoplite.ray`, `.dask` and `.torch` start
and find the processes of their clusters by these. docs/plugins.md shows how they go together.

``Host`` says where the processes of one host are, ``Daemon`` keeps one running, ``HostNode`` is
the one node that all processes of a host share, ``Lives`` tells a process that has died from one
whose node is away.
"""

from hoplite._daemon import Daemon
from hoplite._host import Host, any_port, new_secret
from hoplite._host_node import HostNode, folder, once_known, ready
from hoplite._lives import Lives

__all__ = [
    "Daemon",
    "Host",
    "HostNode",
    "Lives",
    "any_port",
    "folder",
    "new_secret",
    "once_known",
    "ready",
]
