"""What Ray counts of a Ref costs no put into Ray's store, and keeps no process alive."""

from __future__ import annotations

from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import id_exists, ray, remote, wait_until

pytestmark = pytest.mark.usefixtures("two_hosts")

SEVERAL = 2 * hoplite.ray._tokens.BATCH + 1


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("a token was put")


def test_the_driver_puts_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "put", refuse)
    refs = [hoplite.ray.put(np.ones(10)) for _ in range(SEVERAL)]
    assert len({ref._token for ref in refs}) == SEVERAL
    ids = [ref.id for ref in refs]
    assert all(id_exists(id) for id in ids)
    del refs
    wait_until(lambda: not any(id_exists(id) for id in ids), "Ray has counted each of them")


def test_an_actor_puts_none_either() -> None:
    @remote()
    class Maker:
        def spare(self) -> int:
            made = [hoplite.ray.new_ref() for _ in range(3)]
            return len(hoplite.ray._tokens._spare.tokens) + len(made)

    maker: Any = Maker
    assert ray.get(maker.remote().spare.remote()) == hoplite.ray._tokens.BATCH


def test_a_worker_of_tasks_owns_nothing_that_nobody_uses() -> None:
    @remote()
    def spare() -> int:
        made = hoplite.ray.new_ref()
        del made
        return len(hoplite.ray._tokens._spare.tokens)

    assert ray.get(spare.remote()) == 0
