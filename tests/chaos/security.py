"""How the members of a stretch's cluster recognize each other."""

import os
import secrets
import subprocess

NONE, CERTIFICATES, SECRET = ALL = ("none", "certificates", "secret")


class Security:
    """The options of members, and the files that these name."""

    def __init__(self, kind, hoplite, folder):
        self.directory = self.node = self.client = ()
        if kind == NONE:
            self.directory = self.node = ("--insecure",)
        if kind == CERTIFICATES:
            subprocess.run([hoplite, "certs", folder], check=True, capture_output=True)
            self.directory = _certified(folder, "directory")
            self.node = self.client = _certified(folder, "node")
        if kind == SECRET:
            folder.mkdir(mode=0o700)
            file = os.open(folder / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(file, "w", encoding="ascii") as output:
                output.write(secrets.token_hex())
            self.directory = self.node = self.client = ("--secret-file", folder / "secret")


def _certified(folder, role):
    return ("--tls-ca", folder / "ca.pem", "--tls-cert", folder / f"{role}.pem", "--tls-key", folder / f"{role}.key")
