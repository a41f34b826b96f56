"""torch's own tests of process groups, run with the back end hoplite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hoplite import LocalCluster

pytest.importorskip("torch", reason="PyTorch is not installed")
for used in ("expecttest", "hypothesis"):
    pytest.importorskip(used, reason=f"{used} is not installed (requirements-torch-tests.txt)")

FORTY = """
test_DistributedDataParallelCPU test_DistributedDataParallelCPU_grad_is_view test_all_gather
test_all_gather_coalesced_complex test_all_gather_coalesced_full_group
test_all_gather_coalesced_simple test_all_gather_coalesced_with_empty test_all_gather_complex
test_all_gather_full_group test_all_reduce_complex_unsupported_ops test_all_reduce_full_group_max
test_all_reduce_full_group_min test_all_reduce_full_group_sum test_all_reduce_max
test_all_reduce_min test_all_reduce_product test_all_reduce_sum test_all_reduce_sum_async
test_all_reduce_sum_complex test_barrier test_barrier_full_group test_broadcast
test_broadcast_full_group test_destroy_full_group test_destroy_group test_gather
test_gather_checks test_gather_full_group test_irecv test_isend test_reduce_full_group_max
test_reduce_max test_reduce_sum test_reduce_sum_twice test_scatter test_scatter_complex
test_scatter_full_group test_send_recv test_send_recv_any_source test_send_recv_with_tag
""".split()


@pytest.mark.timeout(280)
def test_forty_of_torchs_own_pass(cluster: LocalCluster, tmp_path: Path) -> None:
    assert len(FORTY) == 40
    program = Path(__file__).with_name("torch_own.py")
    ran = subprocess.run(
        [sys.executable, program, tmp_path, *FORTY],
        env={**os.environ, "HOPLITE_SOCKET": cluster.socket(0)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
