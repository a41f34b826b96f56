"""Clusters whose members recognize each other, by certificates or by a secret; and somebody who is no member."""

import contextlib
import os
import socket
import ssl
import threading

import cluster
from cluster import run


class SecureCluster(cluster.Cluster):
    """Its members have what `of_directory` and `of_node` say."""

    of_directory = of_node = ()

    def start(self, *arguments, **options):
        role = self.of_directory if arguments[0] == "directory" else self.of_node
        return super().start(*arguments, *role, **options)


class CertifiedCluster(SecureCluster):
    @property
    def tls(self):
        if not os.path.isdir(self.path("tls")):
            self.certs("tls")
        return self.path("tls")

    def certs(self, folder, *options):
        done = run("certs", self.path(folder), *options)
        assert done.returncode == 0, done.stderr
        return self.path(folder)

    @staticmethod
    def words(folder, role):
        return ("--tls-ca", f"{folder}/ca.pem", "--tls-cert", f"{folder}/{role}.pem", "--tls-key", f"{folder}/{role}.key")

    @property
    def of_directory(self):
        return self.words(self.tls, "directory")

    @property
    def of_node(self):
        return self.words(self.tls, "node")


class SecretCluster(SecureCluster):
    @property
    def of_node(self):
        path = self.path("secret")
        if not os.path.exists(path):
            self.secret("secret", "a secret of sixteen bytes")
        return ("--secret-file", path)

    of_directory = of_node

    def secret(self, name, content, mode=0o600):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)
        os.chmod(self.path(name), mode)
        return ("--secret-file", self.path(name))


class Impostor(contextlib.ExitStack):
    """Somebody without the secret who answers by TLS at an address of his own, with a certificate of `folder` that is not
    asked for; `heard` is what others have told him."""

    def __init__(self, folder, role="directory", version=ssl.TLSVersion.TLSv1_3):
        super().__init__()
        done = run("certs", folder)
        assert done.returncode == 0, done.stderr
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(f"{folder}/{role}.pem", f"{folder}/{role}.key")
        self._context.maximum_version = version
        self._door = self.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.address = "127.0.0.1:%d" % self._door.getsockname()[1]
        self.heard = b""
        self.visits = 0
        thread = threading.Thread(target=self._serve)
        thread.start()
        self.callback(thread.join)
        self.callback(self._door.shutdown, socket.SHUT_RDWR)

    def _serve(self):
        while True:
            try:
                visitor = self._door.accept()[0]
            except OSError:
                return
            self.visits += 1
            visitor.settimeout(1)
            with visitor, contextlib.suppress(OSError), self._context.wrap_socket(visitor, server_side=True) as stream:
                self.heard += stream.recv(1000)
