"""A Python client of the admin service of a directory with a certificate (docs/operations.md)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hoplite import _program
from hoplite._process import Process

grpc: Any = pytest.importorskip("grpc", reason="grpcio is not installed")
pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed")

PROTO = Path(__file__).parents[2] / "proto" / "hoplite" / "admin" / "v1"
PATIENCE = 20.0

sys.path.append(str(PROTO))
messages, services = grpc.protos_and_services("admin.proto")


def certify(folder: Path, *options: str) -> Path:
    """Certificates of the authority in that folder, which is made if there is none."""
    command = [_program.path(), "certs", str(folder), *options]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def read(folder: Path, *names: str) -> list[bytes]:
    return [(folder / name).read_bytes() for name in names]


class Shard:
    def __init__(self, tls: Path) -> None:
        self.process = Process(
            *("directory", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"),
            *("--recovery-window", "0", "--tls-ca", str(tls / "ca.pem")),
            *("--tls-cert", str(tls / "directory.pem"), "--tls-key", str(tls / "directory.key")),
        )
        self.admin: str = self.process.ready()["admin"]

    def channel(self, tls: Path, name: str | None) -> Any:
        """Knows the authority of that folder, and has the certificate of that name in it."""
        authority = (tls / "ca.pem").read_bytes()
        own = read(tls, f"{name}.key", f"{name}.pem") if name else []
        return grpc.secure_channel(
            self.admin,
            grpc.ssl_channel_credentials(authority, *own),
            options=[("grpc.ssl_target_name_override", "directory.hoplite")],
        )

    def answers(self, tls: Path, name: str | None = "node") -> bool:
        with self.channel(tls, name) as channel:
            return answers(channel)


def answers(channel: Any) -> bool:
    try:
        services.AdminStub(channel).Status(messages.StatusRequest(), timeout=PATIENCE)
    except grpc.RpcError as error:
        code: Any = error
        assert code.code() == grpc.StatusCode.UNAVAILABLE, error
        return False
    return True


def soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


@pytest.fixture
def tls(tmp_path: Path) -> Path:
    return certify(tmp_path / "tls")


@pytest.fixture
def shard(tls: Path) -> Iterator[Shard]:
    one = Shard(tls)
    yield one
    one.process.terminate()
    one.process.wait()


def test_a_node_s_certificate_is_enough(shard: Shard, tls: Path) -> None:
    assert shard.answers(tls)


def test_others_are_kept_out(shard: Shard, tls: Path, tmp_path: Path) -> None:
    foreign = certify(tmp_path / "foreign")
    assert not shard.answers(foreign)  # which does not know the directory, either
    shutil.copy(tls / "ca.pem", foreign / "ca.pem")
    assert not shard.answers(foreign)
    assert not shard.answers(tls, None)
    assert not shard.answers(tls, "directory")
    blue = tmp_path / "blue"
    blue.mkdir(mode=0o700)
    for name in ("ca.pem", "ca.key"):
        shutil.copy(tls / name, blue / name)
    assert not shard.answers(certify(blue, "--cluster", "blue"))
    with grpc.insecure_channel(shard.admin) as plain:
        assert not answers(plain)
    assert shard.answers(tls)


def test_new_certificates_are_taken_once_they_fit(shard: Shard, tls: Path, tmp_path: Path) -> None:
    fresh = certify(tmp_path / "fresh")
    with shard.channel(tls, "node") as old:
        assert answers(old)
        for name in ("ca.pem", "directory.pem"):
            shutil.copy(fresh / name, tls / name)
        time.sleep(1.1)  # the directory looks once a second
        assert not shard.answers(fresh), "the key is not there yet"
        shutil.copy(fresh / "directory.key", tls / "directory.key")
        assert soon(lambda: shard.answers(fresh))
        assert answers(old), "connections that exist go on"
