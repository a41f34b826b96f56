"""Every Python example of the documents runs, in the order of its page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_examples_run(page: str) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE
    )
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        if "import torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(block, page, "exec"), names)
