"""A Ray cluster on the testbed: one raylet in each namespace, the head on the first host."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from processes import Failed, end

PORT = 6379  # of the head, in a namespace of its own
STARTING = 120.0  # seconds that a raylet may take; eight of them share the machine's cores
SETTINGS = {
    "RAY_AUTH_MODE": "disabled",  # else Ray leaves a token in the user's home
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",  # all nodes see the memory of one machine
    "RAY_enable_metrics_collection": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}


class RayHosts:
    """`with RayHosts(bed, python, paths, memory) as ray:` ray.environment() is that of a driver on the first host.

    python: the interpreter that has Ray. paths: folders whose modules its workers may import. memory: of each
    raylet's object store, in bytes. The raylets share a session's folder, as they do on any single machine.
    """

    def __init__(self, bed, python, paths, memory):
        self._hosts = bed.hosts
        self._gateway = bed.gateway
        self._ray = pathlib.Path(python).with_name("ray")
        self._paths = paths
        self._memory = memory
        self._raylets = []
        self._folder = None

    @property
    def address(self):
        return f"{self._hosts[0].address}:{PORT}"

    def environment(self):
        inherited = [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
        path = os.pathsep.join([*map(str, self._paths), *inherited])
        return {**os.environ, **SETTINGS, "PYTHONPATH": path, "RAY_ADDRESS": self.address}

    def __enter__(self):
        # Sockets are in there: their paths have little room.
        self._folder = tempfile.mkdtemp(prefix="rb", dir="/tmp")
        try:
            for host in self._hosts:
                self._give_a_way_out(host)
            self._start(self._hosts[0], "--head", f"--port={PORT}", f"--temp-dir={self._folder}",
                        "--include-dashboard=false", "--disable-usage-stats")
            for host in self._hosts[1:]:
                self._start(host, f"--address={self.address}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host, raylet in zip(self._hosts, self._raylets):
            end(raylet)
            host.kill()  # workers have groups of their own
        self._raylets = []
        shutil.rmtree(self._folder, ignore_errors=True)

    def _give_a_way_out(self, host):
        """Ray asks which of a host's addresses would reach the world, and sends nothing there."""
        done = subprocess.run(["ip", "-n", host.name, "route", "replace", "default", "via", self._gateway],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{host.name} has no default route: {done.stderr.strip()}")

    def _start(self, host, *options):
        """One after the other: names of sockets in a shared folder are chosen by looking."""
        log = pathlib.Path(self._folder) / f"{host.name}.log"
        with log.open("w") as output:
            self._raylets.append(subprocess.Popen(
                host.command(self._ray, "start", "--block", f"--node-ip-address={host.address}", "--num-cpus=1",
                             f"--object-store-memory={self._memory}", *options),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                env=self.environment()))
        deadline = time.monotonic() + STARTING
        while "Ray runtime started" not in log.read_text(errors="replace"):
            if self._raylets[-1].poll() is not None or time.monotonic() > deadline:
                raise Failed(f"ray start on {host.name}: {log.read_text(errors='replace').strip()[-800:]}")
            time.sleep(0.1)
