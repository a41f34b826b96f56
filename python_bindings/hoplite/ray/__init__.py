"""Hoplite for Ray: big objects travel by handles that Ray counts like its own.

>>> ray.init()
>>> hoplite.ray.init(memory="1GiB")
>>> ref = hoplite.ray.put(array)            # a Ref: hand it to tasks and actors
>>> hoplite.ray.get(ref)                    # there: a view of that host's shared memory

Tensors of Ray's own ObjectRefs travel with ``tensor_transport="hoplite"``. docs/ray.md says how
it is used, and what it does not do.
"""

from hoplite.ray._version import require_ray

require_ray()

from hoplite.ray._calls import fail, free, get, put, reduce, wait  # noqa: E402 - needs Ray
from hoplite.ray._errors import GetTimeoutError  # noqa: E402
from hoplite.ray._init import init  # noqa: E402
from hoplite.ray._job import client  # noqa: E402
from hoplite.ray._reduction import Reduction  # noqa: E402
from hoplite.ray._refs import Ref, new_ref  # noqa: E402
from hoplite.ray._setup import missing, setup  # noqa: E402
from hoplite.ray._transparent import runtime_env  # noqa: E402

__all__ = [
    "GetTimeoutError",
    "Reduction",
    "Ref",
    "client",
    "fail",
    "free",
    "get",
    "init",
    "new_ref",
    "put",
    "reduce",
    "runtime_env",
    "setup",
    "wait",
]

missing()  # a class that says tensor_transport="hoplite" may be defined from here on
