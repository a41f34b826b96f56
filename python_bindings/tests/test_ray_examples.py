"""The examples of docs/ray.md, and the workloads, on a real Ray cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ray_cluster  # noqa: F401 - skips this file where there is no Ray

ROOT = Path(__file__).parents[2]
WORKLOADS = ROOT / "examples" / "ray"


def run(*arguments: str, address: str) -> str:
    """A Python program that finds that Ray cluster; what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "RAY_ADDRESS": address},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_of_the_page_run(two_hosts: Any, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ray.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    run(str(program), address=two_hosts.address)


@pytest.mark.parametrize("transport", ["ray", "hoplite"])
def test_asynchronous_sgd_learns(transport: str, two_hosts: Any) -> None:
    options = ["--transport", transport, "--workers", "4", "--steps", "90"]
    said = run(str(WORKLOADS / "async_sgd.py"), *options, address=two_hosts.address)
    assert "pictures are read" in said and len(re.findall(r"\d+\.\d{3}", said)) > 25


@pytest.mark.parametrize("transport", ["ray", "hoplite"])
def test_the_majority_of_models_is_right(transport: str, two_hosts: Any) -> None:
    options = ["--transport", transport, "--models", "3", "--queries", "2"]
    said = run(str(WORKLOADS / "serving.py"), *options, address=two_hosts.address)
    assert "pictures are read" in said
