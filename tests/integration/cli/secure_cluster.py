"""Clusters whose members recognize each other, by certificates or by a secret."""

import os

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
