"""Every kind of value through hoplite.ray is what pickle would give back."""

from __future__ import annotations

from typing import Any

import hoplite
import numpy as np
import ray_cluster
from test_ways import ROWS, VALUES, same

assert ray_cluster.ray  # where there is none, this file is skipped


def test_every_kind_of_value(two_hosts: Any) -> None:
    values = [*VALUES.values(), ROWS.T, [ROWS.T, np.ones(3, np.float16)]]
    refs = [hoplite.ray.put(value) for value in values]
    for value, ref, got in zip(values, refs, hoplite.ray.get(refs, timeout=60), strict=True):
        assert same(got, value) and same(hoplite.ray.get(ref, timeout=30), value)
