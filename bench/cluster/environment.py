"""Where a comparison ran: printed before its figures and kept with them."""

import os
import platform
import re
import subprocess

import peers
from hosts import BURST, CONGESTION_CONTROL, QUEUE

RAY_VERSION = "from importlib.metadata import version; print(version('ray'))"  # to import it takes a second


def describe(root, venv, python):
    """Name -> text, in the order in which it is shown. venv: that of the peers; python: the interpreter with Ray."""
    return {
        "revision": first_line("git", "-C", str(root), "describe", "--always", "--dirty"),
        "kernel": f"{platform.system()} {platform.release()}",
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": memory(),
        "load before the run": "%.1f" % os.getloadavg()[0],
        "links": f"token bucket each way: burst {BURST}, queue {QUEUE}; TCP {CONGESTION_CONTROL}",
        "compiler": first_line("clang++-19", "--version"),
        "iperf3": first_line("iperf3", "--version"),
        **{name: version(first_line(*command)) for name, command in peers.versions(venv).items()},
        "Ray": first_line(str(python), "-c", RAY_VERSION),
    }


def first_line(*command):
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "not there"
    return output.strip().splitlines()[0] if output.strip() else ""


def version(text):
    return re.sub(r"\s+", " ", text.split(":", 1)[-1]).strip()


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = re.findall(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return names[0] if names else platform.machine()


def memory():
    with open("/proc/meminfo", encoding="ascii") as file:
        return f"{int(file.readline().split()[1]) / (1 << 20):.0f} GiB"


def available_memory():
    """Bytes that programs could still take."""
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":") for line in file)
    return int(fields["MemAvailable"].split()[0]) << 10
