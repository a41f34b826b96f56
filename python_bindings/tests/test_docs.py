"""Every Python example of the documents and of the docstrings runs, in the order of its page."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import _asking, _client

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


@pytest.mark.parametrize(("module", "examples"), [(hoplite, 3), (_client, 4), (_asking, 5)])
def test_the_examples_of_docstrings_run(
    module: ModuleType, examples: int, here: hoplite.Client
) -> None:
    known = {"client": here, "hoplite": hoplite, "np": np}
    failed, tried = doctest.testmod(module, extraglobs=known)
    assert (failed, tried) == (0, examples)
