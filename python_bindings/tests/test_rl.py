"""Plug-ins for verl, NeMo RL and vLLM. Of verl the base class and the registry are real; what its
module imports besides, and all of vLLM (0.33.0), is replaced by stubs of the same interface."""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar
from unittest import mock

import hoplite
import pytest
from hoplite import LocalCluster
from hoplite.rl import _weights

torch = pytest.importorskip("torch")

ROLLOUTS = 3


def layers_of(value: float) -> Iterator[tuple[str, Any]]:
    """As a trainer gathers them: into memory that it uses again."""
    gathered = torch.empty(300, 100, dtype=torch.bfloat16)
    for name in ("first", "second"):
        yield name, gathered.fill_(value)
    yield "bias", torch.full((3,), value, requires_grad=True)


def is_of(value: float, weights: dict[str, Any]) -> bool:
    return list(weights) == ["first", "second", "bias"] and all(
        bool((tensor == value).all()) for tensor in weights.values()
    )


# --- verl


@pytest.fixture
def verl() -> Iterator[Any]:
    """`hoplite.rl.verl`, over verl's own base class."""
    found = importlib.util.find_spec("verl")
    if found is None or not found.submodule_search_locations:
        pytest.skip("verl is not there")
    folder = next(iter(found.submodule_search_locations))
    stubs = {}
    for name, path in (("verl", ""), ("verl.checkpoint_engine", "/checkpoint_engine")):
        stubs[name] = types.ModuleType(name)
        stubs[name].__path__ = [folder + path]
    others = [
        *("single_controller.base", "single_controller.base.decorator", "single_controller.ray"),
        *("utils.distributed", "utils.import_utils", "utils.ray_utils", "workers.config"),
        *("workers.rollout", "workers.rollout.utils"),
    ]
    whole = {f"verl.{name}": mock.MagicMock(name=name) for name in others}
    whole["verl.single_controller.base"].Worker = object
    whole["ray"] = mock.MagicMock()
    with mock.patch.dict(sys.modules, {**stubs, **whole}):
        yield importlib.import_module("hoplite.rl.verl")
        del sys.modules["hoplite.rl.verl"]


def engines_of(verl: Any, cluster: LocalCluster) -> tuple[list[Any], list[Any]]:
    registry = sys.modules["verl.checkpoint_engine.base"].CheckpointEngineRegistry
    made = [
        registry.new("hoplite", bucket_size=1 << 20, socket=cluster.socket(min(index, 1)))
        for index in range(2 + ROLLOUTS)
    ]
    return made[:2], made[2:]


async def received(engine: Any) -> dict[str, Any]:
    return {name: tensor async for name, tensor in engine.receive_weights(global_steps=1)}


async def update(verl: Any, actors: list[Any], rollouts: list[Any], value: float) -> list[Any]:
    """As verl's manager does it."""
    everybody = [*actors, *rollouts]
    prepared = [engine.prepare() for engine in everybody]
    mine, theirs = verl.HopliteCheckpointEngine.build_topology(len(actors), len(rollouts), prepared)
    told = {name: mine[name] + theirs[name] for name in mine}
    for index, engine in enumerate(everybody):
        engine.init_process_group(**{name: values[index] for name, values in told.items()})
    sends = [engine.send_weights(layers_of(value), global_steps=1) for engine in actors]
    got = await asyncio.gather(*map(received, rollouts), *sends)
    for engine in everybody:
        engine.finalize()
    return list(got[: len(rollouts)])


def test_verl_gives_every_rollout_worker_the_weights(verl: Any, cluster: LocalCluster) -> None:
    actors, rollouts = engines_of(verl, cluster)
    for value in (1.0, 2.0, 3.0):
        got = asyncio.run(update(verl, actors, rollouts, value))
        assert all(is_of(value, weights) for weights in got)
        assert got[0]["first"].dtype == torch.bfloat16


def test_verl_goes_on_when_workers_come_and_the_trainer_is_another(
    verl: Any, cluster: LocalCluster
) -> None:
    actors, rollouts = engines_of(verl, cluster)
    assert is_of(4.0, asyncio.run(update(verl, actors, rollouts[:1], 4.0))[0])
    got = asyncio.run(update(verl, actors, rollouts, 5.0))
    assert all(is_of(5.0, weights) for weights in got)
    others, _ = engines_of(verl, cluster)
    got = asyncio.run(update(verl, others, rollouts[1:], 6.0))
    assert all(is_of(6.0, weights) for weights in got)
    actors[0].init_process_group(publishes=True, said=[{"version": 99}])
    with pytest.raises(hoplite.ConflictError):
        asyncio.run(actors[0].send_weights(layers_of(7.0)))


# --- NeMo RL


def test_nemo_gives_every_rollout_worker_the_weights(cluster: LocalCluster) -> None:
    made = importlib.import_module("hoplite.rl.nemo").HopliteCheckpointEngine
    policy, rollouts = (
        [made(bucket_size=60_000, socket=cluster.socket(node)) for _ in range(count)]
        for node, count in ((0, 2), (1, ROLLOUTS))
    )

    async def batches(engine: Any) -> list[list[tuple[str, Any]]]:
        return [batch async for batch in engine.receive_weight_batches()]

    async def refit(value: float) -> list[list[list[tuple[str, Any]]]]:
        said = [engine.prepare() | {"rank": 0} for engine in (*policy, *rollouts)]
        sizes = {"train_world_size": 2, "rollout_world_size": ROLLOUTS, "metadata": said}
        for rank, engine in enumerate(policy):
            engine.init_policy_process_group(worker_rank=rank, **sizes)
        for rank, engine in enumerate(rollouts):
            engine.init_rollout_process_group(rollout_rank=rank, **sizes)
        sends = [engine.send_weights(layers_of(value)) for engine in policy]
        got = await asyncio.gather(*map(batches, rollouts), *sends)
        for engine in (*policy, *rollouts):
            engine.finalize()
        return list(got[:ROLLOUTS])

    for value in (1.0, 2.0):
        for got in asyncio.run(refit(value)):
            assert [len(batch) for batch in got] == [1, 1, 1]
            assert is_of(value, dict(pair for batch in got for pair in batch))


# --- nodes that are started again


async def synced(syncs: list[_weights.Sync], value: float, during: Any = None) -> list[Any]:
    """One update: the first one publishes, the others receive. `during` is called when all have
    begun it."""

    async def received(sync: _weights.Sync) -> dict[str, Any]:
        names = [one async for one in sync.receive()]
        assert len(names) == 3, "each tensor comes once"
        return dict(names)

    said = [sync.prepare() for sync in syncs]
    for index, sync in enumerate(syncs):
        sync.begin(index == 0, said)
    receiving = [asyncio.ensure_future(received(sync)) for sync in syncs[1:]]
    if during is not None:
        await asyncio.sleep(0.2)
        await asyncio.to_thread(during)
    await syncs[0].send(layers_of(value))
    return list(await asyncio.gather(*receiving))


def test_updates_go_on_when_nodes_are_started_again() -> None:
    """Between two updates and in one, those of the trainer, of the rollout workers, and both."""
    with LocalCluster(nodes=2, memory="64MiB") as cluster:
        syncs = [_weights.Sync("restarts", cluster.socket(min(n, 1)), 30.0) for n in range(3)]

        def soon(node: int) -> None:
            cluster.kill(node)
            threading.Timer(0.5, cluster.restart, [node]).start()

        assert all(is_of(1.0, got) for got in asyncio.run(synced(syncs, 1.0)))
        for value, nodes in ((2.0, (0,)), (3.0, (1,)), (4.0, (0, 1))):
            for node in nodes:
                cluster.restart(node)
            assert all(is_of(value, got) for got in asyncio.run(synced(syncs, value)))
        for value, node in ((5.0, 0), (6.0, 1)):
            got = asyncio.run(synced(syncs, value, functools.partial(soon, node)))
            assert all(is_of(value, one) for one in got)


def test_a_node_that_stays_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_weights, "BACK_IN", 0.3)
    with LocalCluster(nodes=1, memory="64MiB") as cluster:
        sync = _weights.Sync("away", cluster.socket(0), 5.0)
        assert sync.prepare() == {"version": 1}
        cluster.kill(0)
        with pytest.raises(hoplite.UnavailableError, match=r"is not back within 0\.3 s; start it"):
            sync.prepare()
        cluster.restart(0)
        assert sync.prepare() == {"version": 1}


class Gone:
    """A channel whose publisher is gone each time when so many tensors more have come."""

    def __init__(self, more: int) -> None:
        self._more, self._come = more, 0

    def stream(self, timeout: float, exactly: int) -> Iterator[tuple[str, int]]:
        self._come += self._more
        yield from ((str(number), number) for number in range(min(self._come, 3)))
        if self._come < 3:
            raise hoplite.PublisherGoneError("it is gone")


def test_a_publisher_may_be_away_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has so long each time; but one that does not come back is gone."""
    monkeypatch.setattr(_weights, "BACK_IN", _weights.PAUSE / 2)
    line = _weights.Line("gone", None, 5.0)
    monkeypatch.setattr(line, "open", functools.partial(lambda channel: channel, Gone(1)))
    assert list(line.stream(1)) == [("0", 0), ("1", 1), ("2", 2)]
    monkeypatch.setattr(line, "open", functools.partial(lambda channel: channel, Gone(0)))
    with pytest.raises(hoplite.PublisherGoneError):
        list(line.stream(1))


# --- vLLM

T = TypeVar("T")
U = TypeVar("U")


@dataclass
class StubTrainerInitInfo:
    backend: ClassVar[str] = "stub"
    rank: int = field(kw_only=True)

    @property
    def is_sender(self) -> bool:
        return self.rank == 0


class StubEngine(Generic[T, U]):
    def __init__(self, config: Any, vllm_config: Any, device: Any, model: Any) -> None:
        self.device, self.model, self.model_config = device, model, vllm_config.model_config

    def update_weights(self, update_info: dict[str, Any]) -> None:
        self.receive_weights(self.update_info_cls(**update_info))  # type: ignore[attr-defined]


class StubTrainerEngine(Generic[T]):
    def __init__(self, *, client: Any, source: Any, is_sender: bool, rank: int) -> None:
        self.client, self.source, self.is_sender, self.rank = client, source, is_sender, rank


class StubFactory:
    def __init__(self) -> None:
        self.engines: dict[str, tuple[str, str]] = {}

    def register_engine(self, name: str, module: str, class_name: str) -> None:
        self.engines[name] = module, class_name

    def made(self) -> Any:
        module, class_name = self.engines["hoplite"]
        return getattr(importlib.import_module(module), class_name)


class Model:
    """Counts what it was told, as vLLM's layerwise reload would."""

    def __init__(self) -> None:
        self.weights: dict[str, Any] = {}
        self.calls: list[str] = []

    def load_weights(self, weights: Any) -> None:
        self.weights = dict(weights)
        self.calls.append("load")


class Workers:
    """The inference side, as `VLLMWeightSyncClient` shows it."""

    def __init__(self, engines: list[Any], sockets: list[str]) -> None:
        self._engines, self._sockets = engines, sockets
        self.version: str | None = None

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        for engine, socket in zip(self._engines, self._sockets, strict=True):
            engine.init_transfer_engine(engine.init_info_cls(**init_info, socket=socket))

    def start_weight_update(self) -> None:
        for engine in self._engines:
            engine.start_weight_update()

    def update_weights(self, update_info: dict[str, Any]) -> None:
        for engine in self._engines:
            engine.update_weights(update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        for engine in self._engines:
            engine.finish_weight_update()
        self.version = weight_version


@pytest.fixture
def vllm() -> Iterator[Any]:
    base = types.ModuleType("vllm.distributed.weight_transfer.base")
    for name, stub in (
        ("TrainerInitInfo", StubTrainerInitInfo),
        ("TrainerWeightTransferEngine", StubTrainerEngine),
        ("WeightTransferEngine", StubEngine),
        ("WeightTransferInitInfo", object),
        ("WeightTransferUpdateInfo", object),
    ):
        setattr(base, name, stub)
    factory = types.SimpleNamespace(
        WeightTransferEngineFactory=StubFactory(), WeightTransferTrainerFactory=StubFactory()
    )
    reload = types.SimpleNamespace(
        initialize_layerwise_reload=lambda model: model.calls.append("begin"),
        finalize_layerwise_reload=lambda model, config: model.calls.append(f"end of {config}"),
    )
    packages = [
        *("vllm", "vllm.distributed", "vllm.distributed.weight_transfer"),
        *("vllm.model_executor", "vllm.model_executor.model_loader"),
    ]
    stubs: dict[str, Any] = {name: types.ModuleType(name) for name in packages}
    stubs["vllm.distributed.weight_transfer.base"] = base
    stubs["vllm.distributed.weight_transfer.factory"] = factory
    stubs["vllm.model_executor.model_loader.reload"] = reload
    with mock.patch.dict(sys.modules, stubs):
        importlib.import_module("hoplite.rl.vllm_plugin").register()
        yield factory
        sys.modules.pop("hoplite.rl.vllm", None)


def test_vllm_loads_what_the_trainer_publishes(vllm: Any, cluster: LocalCluster) -> None:
    models = [Model() for _ in range(ROLLOUTS)]
    config = types.SimpleNamespace(model_config="a model")
    made = vllm.WeightTransferEngineFactory.made()
    engines = [made(None, config, torch.device("cpu"), model) for model in models]
    client = Workers(engines, [cluster.socket(1)] * ROLLOUTS)
    source = types.SimpleNamespace(value=1.0)
    source.iter_full = lambda: layers_of(source.value)
    info_of = importlib.import_module("hoplite.rl.vllm").HopliteTrainerInitInfo
    trainer_of = vllm.WeightTransferTrainerFactory.made().trainer_init
    ranks = [
        trainer_of(
            info_of(channel="vllm", socket=cluster.socket(0), rank=rank),
            client=client,
            source=source,
        )
        for rank in range(2)
    ]
    for update, value in enumerate((1.0, 2.0), 1):
        source.value = value
        for rank in reversed(ranks):
            rank.send_weights()
        assert client.version == str(update)
        assert all(is_of(value, model.weights) for model in models)
        assert all(model.calls == ["begin", "load", "end of a model"] * update for model in models)
    for one in (*ranks, *engines):
        one.shutdown()
    with pytest.raises(ValueError, match="a WeightSource is needed"):
        trainer_of(info_of(channel="vllm", rank=0), client=client)


def test_a_missing_framework_is_named() -> None:
    for name in ("verl", "vllm"):
        with (
            mock.patch.dict(sys.modules, {name: None}),
            pytest.raises(ImportError, match=f"hoplite.rl.{name} needs"),
        ):
            importlib.import_module(f"hoplite.rl.{name}")
