"""A Python client of the admin service, beside a real directory and a node (docs/operations.md)."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite._process import Process

grpc: Any = pytest.importorskip("grpc", reason="grpcio is not installed")
pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed")
health: Any = pytest.importorskip("grpc_health.v1.health_pb2")
health_calls: Any = pytest.importorskip("grpc_health.v1.health_pb2_grpc")
reflection: Any = pytest.importorskip(
    "grpc_reflection.v1alpha.proto_reflection_descriptor_database"
)

from google.protobuf import descriptor_pool, message_factory  # noqa: E402 - comes with grpcio-tools

ROOT = Path(__file__).parents[2]
PROTO = ROOT / "proto" / "hoplite" / "admin" / "v1"
SERVICE = "hoplite.admin.v1.Admin"
PATIENCE = 20.0

sys.path.append(str(PROTO))
messages, services = grpc.protos_and_services("admin.proto")


class Shard:
    """A directory with an admin service."""

    def __init__(self, *arguments: str) -> None:
        self.process = Process(
            "directory", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *arguments
        )
        ready = self.process.ready()
        self.address: str = ready["address"]
        self.admin: str = ready["admin"]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def shard() -> Iterator[Shard]:
    one = Shard("--recovery-window", "0")
    yield one
    one.end()


@pytest.fixture(scope="module")
def node(shard: Shard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[hoplite.Client]:
    """A client of the shard's only node."""
    socket = str(tmp_path_factory.mktemp("node") / "socket")
    process = Process(
        *("node", "--directory", shard.address, "--listen", "127.0.0.1:0"),
        *("--memory", "16MiB", "--name", "n1", "--socket", socket),
    )
    process.ready()
    with hoplite.connect(socket) as client:
        yield client
    process.terminate()
    process.wait()


@pytest.fixture
def channel(shard: Shard) -> Iterator[Any]:
    with grpc.insecure_channel(shard.admin) as one:
        yield one


@pytest.fixture
def admin(channel: Any) -> Any:
    return services.AdminStub(channel)


def refused(call: Callable[[], object]) -> tuple[Any, str]:
    """The code and the words with which it ends."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    error: Any = caught.value
    return error.code(), error.details()


def wait(admin: Any, *objects: hoplite.ObjectId, count: int = 0, timeout: float = PATIENCE) -> Any:
    request = messages.WaitExistsRequest(object_ids=map(bytes, objects), count=count)
    return admin.WaitExists.future(request, timeout=timeout)


def test_status_names_the_nodes(admin: Any, node: hoplite.Client) -> None:
    node.put(b"bytes")
    status = admin.Status(messages.StatusRequest(), timeout=PATIENCE)
    (only,) = status.nodes
    assert (only.name, only.alive, only.memory_bytes) == ("n1", True, 16 << 20)
    for process in only.process, status.shard.process:
        assert process.version == hoplite.__version__
        assert 0 < process.descriptors <= process.descriptor_limit
        assert min(process.resident_bytes, process.processor_us) > 0
    (known,) = node.status().nodes
    assert known.process.version == hoplite.__version__
    assert known.process.processor_time > 0
    assert status.shard.object_count == len(status.objects) > 0
    assert (status.shard.index, status.shard.shard_count) == (0, 1)


def test_an_object_has_the_name_that_it_was_put_as(admin: Any, node: hoplite.Client) -> None:
    named = node.put(b"bytes", id=hoplite.ObjectId.from_name("layer 0"))
    nameless = node.put(b"bytes")
    objects = admin.Info(
        messages.InfoRequest(object_ids=[bytes(named), bytes(nameless)]), timeout=PATIENCE
    ).objects
    assert [one.name for one in objects] == ["layer 0", ""]
    assert (node.info(named).name, node.info(nameless).name) == ("layer 0", "")
    assert "'layer 0'" in repr(node.info(named))


def test_info_of_many_is_in_their_order(admin: Any, node: hoplite.Client) -> None:
    small, large = node.put(b"small"), node.put(np.zeros(25_000, np.float32))
    failed, gone, absent = (hoplite.ObjectId.random() for _ in range(3))
    node.fail(failed, "no memory on that host")
    node.put(b"soon deleted", id=gone)
    node.delete(gone)
    ids = [small, large, failed, gone, absent]
    request = messages.InfoRequest(object_ids=map(bytes, ids))
    objects = admin.Info(request, timeout=PATIENCE).objects
    assert [one.object_id for one in objects] == [bytes(one) for one in ids]
    assert [messages.ObjectState.Name(one.state) for one in objects] == [
        "OBJECT_STATE_COMPLETE",
        "OBJECT_STATE_COMPLETE",
        "OBJECT_STATE_FAILED",
        "OBJECT_STATE_DELETED",
        "OBJECT_STATE_ABSENT",
    ]
    assert objects[0].in_directory
    assert not objects[1].in_directory
    assert [one.dtype for one in objects] == ["", "float32", "", "", ""]
    assert (node.info(small).dtype, node.info(large).dtype) == (None, "float32")
    assert [holder.node for holder in objects[1].holders] == ["n1"]
    assert objects[2].failure.code == "failed"
    assert "no memory on that host" in objects[2].failure.message
    assert objects[3].failure.code == "deleted"


def test_a_wait_ends_with_the_put(admin: Any, node: hoplite.Client) -> None:
    wanted = hoplite.ObjectId.random()
    waiting = wait(admin, wanted, hoplite.ObjectId.random(), count=1)
    time.sleep(0.1)
    assert not waiting.done()
    node.put(b"later", id=wanted)
    assert waiting.result().states == [
        messages.OBJECT_STATE_COMPLETE,
        messages.OBJECT_STATE_ABSENT,
    ]


def test_a_wait_ends_at_its_deadline(admin: Any) -> None:
    never = hoplite.ObjectId.random()
    code, _ = refused(wait(admin, never, timeout=0.2).result)
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_wait_is_cancelled(admin: Any, node: hoplite.Client) -> None:
    waiting = wait(admin, hoplite.ObjectId.random())
    assert waiting.cancel()
    assert waiting.code() == grpc.StatusCode.CANCELLED
    assert wait(admin, node.put(b"there")).result().states == [messages.OBJECT_STATE_COMPLETE]


def test_bad_input_is_named(admin: Any) -> None:
    for ids, words in (
        ([b"short"], "has 5 bytes"),
        ([], "has 0 ids"),
        ([bytes(20)] * 1001, "1001"),
    ):
        for call, request in (
            (admin.Info, messages.InfoRequest(object_ids=ids)),
            (admin.WaitExists, messages.WaitExistsRequest(object_ids=ids)),
        ):
            code, details = refused(lambda: call(request, timeout=PATIENCE))  # noqa: B023
            assert code == grpc.StatusCode.INVALID_ARGUMENT
            assert words in details


def test_health_follows_the_shard() -> None:
    collecting = Shard("--recovery-window", "2s")
    with grpc.insecure_channel(collecting.admin) as channel:
        stub = health_calls.HealthStub(channel)
        request = health.HealthCheckRequest(service=SERVICE)
        statuses = stub.Watch(request, timeout=PATIENCE)
        assert next(statuses).status == health.HealthCheckResponse.NOT_SERVING
        code, words = refused(
            lambda: services.AdminStub(channel).Status(messages.StatusRequest(), timeout=PATIENCE)
        )
        assert code == grpc.StatusCode.UNAVAILABLE
        assert "still collects" in words
        assert next(statuses).status == health.HealthCheckResponse.SERVING
        for name in ("", SERVICE):
            said = stub.Check(health.HealthCheckRequest(service=name), timeout=PATIENCE)
            assert said.status == health.HealthCheckResponse.SERVING
        never = wait(services.AdminStub(channel), hoplite.ObjectId.random())
        time.sleep(0.1)
        begin = time.monotonic()
        collecting.end()
        assert time.monotonic() - begin < 5.0
        code, words = refused(never.result)
        assert (code, words) == (grpc.StatusCode.UNAVAILABLE, "the directory shard stops")


def test_reflection_is_enough_for_a_client(channel: Any, node: hoplite.Client) -> None:
    known = reflection.ProtoReflectionDescriptorDatabase(channel)
    assert {SERVICE, "grpc.health.v1.Health"} <= set(known.get_services())
    pool = descriptor_pool.DescriptorPool(known)
    method = pool.FindServiceByName(SERVICE).FindMethodByName("Status")
    ask, answer = (
        message_factory.GetMessageClass(t) for t in (method.input_type, method.output_type)
    )
    call = channel.unary_unary(
        f"/{SERVICE}/Status",
        request_serializer=ask.SerializeToString,
        response_deserializer=answer.FromString,
    )
    assert [one.name for one in call(ask(), timeout=PATIENCE).nodes] == ["n1"]


def test_the_documented_example_runs(
    shard: Shard, node: hoplite.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    there = node.put(b"result")
    for shown, real in (
        ("H1:7002", shard.admin),
        ("/usr/local/share/hoplite/proto/hoplite/admin/v1", str(PROTO)),
        ("0123456789abcdef0123456789abcdef01234567", bytes(there).hex()),
    ):
        assert shown in example
        example = example.replace(shown, real)
    exec(compile(example, "docs/operations.md", "exec"), {})
    assert "n1 True" in capsys.readouterr().out


def test_the_number_of_threads_is_bounded(shard: Shard, admin: Any) -> None:
    waits = [wait(admin, hoplite.ObjectId.random()) for _ in range(100)]
    answers = [admin.Status.future(messages.StatusRequest(), timeout=PATIENCE) for _ in range(100)]
    for one in waits:
        one.cancel()
    for answer in answers:
        answer.result()
    assert len(os.listdir(f"/proc/{shard.process.pid}/task")) <= 32
