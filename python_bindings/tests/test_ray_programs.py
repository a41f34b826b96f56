"""The programs of examples/ray and examples/workloads that compute the same each time find the same
with Ray's transport and with Hoplite's."""

from __future__ import annotations

import importlib
import re

import pytest
import ray_cluster  # noqa: F401 - skips this file where there is no Ray

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

PROGRAMS = [
    ("parameter_server --asynchronous=0 --rounds=15", r"loss 0\.\d+"),
    ("parameter_server --asynchronous=1 --rounds=15", "learned True"),
    ("parameter_server --shards=2 --rounds=15", r"loss 0\.\d+"),
    ("parameter_server --shards=2 --asynchronous=1 --rounds=15", "learned True"),
    ("lbfgs", r"loss 0\.\d+"),
    ("policy_gradient --rounds=25", r"reward -0\.\d+ at first, 0\.[6-9]\d+ at last"),
    ("map_reduce --words=5000", "30000 words, most often .*"),
    ("batch_prediction", "3 of 12 batches failed, .*"),
    ("blocks", r"product 40\d+\.\d+, coefficients within 0\.00\d+"),
    ("evolution", r"loss 2\.\d+ at first, 0\.\d+ at last"),
    ("population", r"loss 0\.\d+ of the best, 0\.\d+ of the worst"),
    ("sparknet", r"loss 0\.\d+"),
    ("sparknet --workers=3 --first=2", "learned True"),
    # More than the stores have.
    ("object_store_stress --rounds=4", "160 objects, .*"),
]


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize(("command", "wanted"), PROGRAMS)
def test_both_transports_find_the_same(
    command: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *options = command.split()
    if program == "population":
        for needed in ("pandas", "pyarrow", "tensorboardX"):
            pytest.importorskip(needed, reason="requirements-ray-libraries.txt is not installed")
    main, found = importlib.import_module(program).main, {}
    for transport in ("ray", "hoplite"):
        main([f"--transport={transport}", *options])
        printed = capsys.readouterr().out
        said = re.search(rf"^{transport}: \d+\.\d+ s\nresult: (.*)\n", printed, re.MULTILINE)
        assert said is not None and re.fullmatch(wanted, said[1])
        found[transport] = said[1]
    # Sums of floats differ in their last bits by the order of adding.
    numbers = [[float(one) for one in NUMBER.findall(line)] for line in found.values()]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3)
    assert len({NUMBER.sub("", line) for line in found.values()}) == 1
