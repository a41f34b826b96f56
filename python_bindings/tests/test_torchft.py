"""Replicas of torchft get their state over Hoplite."""

from __future__ import annotations

import itertools
import subprocess
import sys
import unittest
from datetime import timedelta
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
testing = pytest.importorskip(
    "torchft.checkpointing.transport_test",
    reason="torchft is not installed (python_bindings/tests/requirements-torchft.txt)",
)
from hoplite.torchft import HopliteTransport, _id_of  # noqa: E402 - where there is torchft

SOON = timedelta(seconds=30)


def state(step: int) -> dict[str, Any]:
    return {
        "model": {"w": torch.full((300, 300), float(step)), "b": torch.ones(3).bfloat16()},
        "steps": [step, "text"],
        "rng": np.arange(3),
    }


def is_gone(client: Client, transport: Any, step: int) -> bool:
    """Nobody gets that state any more."""
    (id,) = client.wait_gone(_id_of(transport.metadata(), step), timeout=30)
    try:
        client.get(id, timeout=30)
    except hoplite.ObjectDeletedError:
        return True
    return False


def test_torchfts_own_test_of_recovery(cluster: LocalCluster) -> None:
    clients = [cluster.connect(place % 2) for place in range(3)]
    testing.run_multi_recovery_test(
        unittest.TestCase(),
        lambda rank, _: HopliteTransport(clients[rank]),
        device=torch.device("cpu"),
    )
    for client in clients:
        client.close()


def test_a_state_is_a_copy_and_goes_with_the_next(here: Client, there: Client) -> None:
    donor: Any = HopliteTransport(here)
    joiner: Any = HopliteTransport(there)
    assert donor.metadata() != joiner.metadata()
    for step in (1, 2):
        sent = state(step)
        donor.send_checkpoint([1], step, sent, SOON)
        donor.disallow_checkpoint()
        sent["model"]["w"].zero_()
        got = joiner.recv_checkpoint(0, donor.metadata(), step, SOON)
        assert (got["model"]["w"] == step).all() and got["model"]["b"].dtype == torch.bfloat16
        assert got["steps"] == [step, "text"] and (got["rng"] == [0, 1, 2]).all()
        got["model"]["w"].add_(1)  # one's own
    assert is_gone(there, donor, 1)
    donor.send_checkpoint([1], 2, state(2), SOON)  # a quorum that failed is repeated
    donor.shutdown()
    assert is_gone(there, donor, 2)


def test_timeouts_say_so(here: Client) -> None:
    joiner: Any = HopliteTransport(here)
    with pytest.raises(TimeoutError, match=r"^timed out: object .* at the deadline"):
        joiner.recv_checkpoint(0, joiner.metadata(), 1, timedelta(milliseconds=10))


def test_donors_may_share_one_object(
    here: Client, there: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    donors: list[Any] = [
        HopliteTransport(client, "run", shared=True, group_rank=3) for client in (here, there)
    ]
    monkeypatch.setenv("RANK", "3")
    joiner: Any = HopliteTransport(here, "run", shared=True)
    assert {one.metadata() for one in (*donors, joiner)} == {"run/3"}
    for step, donor in itertools.product((1, 2), donors):
        donor.send_checkpoint([2], step, state(step), SOON)
    donors[0].send_checkpoint([2], 3, state(3), SOON)  # the first donor is ahead
    for step in (2, 3):
        assert joiner.recv_checkpoint(0, "run/3", step, SOON)["steps"][0] == step
    donors[1].shutdown()
    assert is_gone(here, joiner, 2)
    donors[0].shutdown()
    assert is_gone(here, joiner, 3)
    monkeypatch.delenv("RANK")
    with pytest.raises(hoplite.InvalidArgumentError, match="needs group_rank, or RANK"):
        HopliteTransport(here, shared=True)


def test_without_torchft_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['torchft'] = None; import hoplite.torchft"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "hoplite.torchft needs torchft: pip install 'torchft==0.2.0'" in ended.stderr


def test_transports_go_on_when_nodes_are_started_again() -> None:
    with (
        LocalCluster(nodes=2, memory="32MiB") as cluster,
        cluster.connect(0) as one,
        cluster.connect(1) as other,
    ):
        donor: Any = HopliteTransport(one)
        joiner: Any = HopliteTransport(other)
        for step, node in enumerate((0, 1, 0), 1):
            donor.send_checkpoint([1], step, state(step), SOON)
            got = joiner.recv_checkpoint(0, donor.metadata(), step, SOON)
            assert (got["model"]["w"] == step).all()
            cluster.restart(node)
        donor.send_checkpoint([1], 3, state(3), SOON)  # again: it is lost
        assert joiner.recv_checkpoint(0, donor.metadata(), 3, SOON)["steps"] == [3, "text"]
