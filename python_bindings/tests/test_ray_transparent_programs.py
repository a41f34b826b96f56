"""Examples of Ray's own libraries, unchanged, find the same with plain Ray and in transparent mode.

Where scripts/test.sh plays an eighth of the histories, one of them runs, another one for each
commit (conftest.py).
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ray_cluster  # noqa: F401 - skips this file where there is no Ray

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pandas", "pyarrow", "tree", "torch")),
    reason="what Tune, Train and RLlib need is not installed (requirements-ray-libraries.txt)",
)

SEEDED = str(Path(__file__).with_name("ray_seeded.py"))
# From which size on arrays travel: the programs are small.
LIMIT = "1KiB"
# What each prints of its result, and whether it hands arrays on by Ray.
PROGRAMS = {
    "tune": (["ray.tune.examples.tune_basic_example", "--smoke-test"], r"Best hyper.*", False),
    "train": (["ray.train.examples.pytorch.torch_linear_example"], r"\{'loss': .*", False),
    "rllib": (
        [
            "ray.rllib.examples.algorithms.vpg_custom_algorithm",
            "--no-tune",
            "--stop-iters=2",
            "--num-env-runners=1",
        ],
        r"iter=\d+ R=.*",
        True,
    ),
}


def printed(how: str, program: list[str], address: str, home: Path) -> str:
    """By the program, whose files go into a folder of its own there: Ray names runs by the second.
    One way after the other: both would share actors of Ray's that have names."""
    own = home / how
    own.mkdir()
    run = subprocess.Popen(
        [sys.executable, SEEDED, how, *program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "RAY_ADDRESS": address, "HOME": str(own)},
    )
    try:
        said, _ = run.communicate(timeout=140)
    except subprocess.TimeoutExpired:
        run.kill()
        said, _ = run.communicate()
    assert run.returncode == 0, said[-6000:]
    return said


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_ray_finds_the_same_both_ways(
    name: str, transparent_hosts: Any, tmp_path: Path
) -> None:
    program, result, hands_on = PROGRAMS[name]
    plain, transparent = (
        printed(how, program, transparent_hosts.address, tmp_path) for how in ("plain", LIMIT)
    )
    found = re.findall(rf"^{result}$", plain, re.MULTILINE)
    assert found
    assert re.findall(rf"^{result}$", transparent, re.MULTILINE) == found
    assert f"objects {hands_on}" in transparent
