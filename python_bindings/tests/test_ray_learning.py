"""A3C, IMPALA and IMPACT learn by both transports, and bear workers and nodes that die."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import HERE, THERE, ray, remote

pytest.importorskip(
    "gymnasium",
    reason="gymnasium is not installed (python_bindings/tests/requirements-workloads.txt)",
)

# isort: split
import a3c
import frame
import impala
import playing
import policy
import transports

UNITS = policy.SIZES["1MiB"]
CARTPOLE = frame.ENVIRONMENT


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize("transport", ["ray", "hoplite"])
@pytest.mark.parametrize("program", ["a3c", "impala", "impact"])
def test_it_learns(program: str, transport: str, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--policy=1MiB", "--workers=4", "--updates=60"]
    importlib.import_module(program).main([f"--transport={transport}", *sizes])
    said = capsys.readouterr().out  # it ends with an error if it did not learn
    assert len(re.findall(r"\d s  update +\d+  return \d+\.\d\n", said)) == 6
    assert re.search(r"\d\.\d\d updates a second\ncompute: .* ms, \d+% of the time\nbest", said)


def dying(program: Any, folder: Path) -> tuple[type, Any]:
    """A class of workers, and a transport by which they die in each phase once, with the node of
    their host."""

    class Dying(transports.HopliteTransport):  # here: Ray's workers can't import this file
        def open(self, handle: Any) -> Any:
            self.dies("before it has the policy")
            policy = super().open(handle)
            self.dies("with the policy")
            return policy

        def result(self, value: Any, into: Any = None) -> Any:
            self.dies("with a gradient")
            result = super().result(value, into)
            self.dies("when the gradient is put")
            return result

        def dies(self, phase: str) -> None:
            mark = folder / phase
            if mark.exists():
                return
            mark.touch()
            its_node = f"ray-{ray.get_runtime_context().get_node_id()[:12]}"
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    words = (process / "cmdline").read_text().split("\0")
                except OSError:
                    continue
                if words[0].endswith("/hoplite") and any(its_node in word for word in words):
                    os.kill(int(process.name), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    class Worker(program.Worker):  # type: ignore[misc]
        pass

    return Worker, Dying()


def has_a_result(worker: Any) -> bool:
    """It, or what was started in its place."""
    try:
        return bool(ray.get(worker.cost.remote(), timeout=60) > 0)
    except transports.LOST:
        return False


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize(("program", "phases"), [(a3c, 4), (impala, 2)])
def test_a_worker_and_its_node_die_in_each_phase(program: Any, phases: int, tmp_path: Path) -> None:
    kind, transport = dying(program, tmp_path)
    mortal = remote(resources=THERE, max_restarts=-1)(kind).remote(transport, 0, UNITS, CARTPOLE)
    safe = remote(resources=HERE)(program.Worker)
    living = transports.HopliteTransport()
    others = [safe.remote(living, seed, UNITS, CARTPOLE) for seed in (1, 2, 3)]
    neighbour = remote(resources=THERE)(program.Worker).remote(living, 4, UNITS, CARTPOLE)
    deadline = time.monotonic() + 80
    updates = program.updates(living, [mortal, neighbour, *others], UNITS)
    for _ in updates:
        assert time.monotonic() < deadline, f"it died {sorted(os.listdir(tmp_path))}"
        if len(os.listdir(tmp_path)) == phases:
            break
    while not has_a_result(mortal):
        assert time.monotonic() < deadline, "it does not come back"
        next(updates)
    for update in itertools.islice(updates, 5):
        assert update.score is not None and update.score > 5


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize("name", ["ray", "hoplite"])
@pytest.mark.parametrize("program", [a3c, impala])
def test_the_error_of_one_environment_is_raised(program: Any, name: str) -> None:
    class Broken(program.Worker):  # type: ignore[misc]
        def __init__(self, transport: Any, seed: int, *arguments: Any) -> None:
            super().__init__(transport, seed, *arguments)
            several, done = self.table._several, itertools.count(1)
            step = several.step

            def breaks(actions: Any) -> Any:
                if seed == 0 and next(done) > playing.MOVES + 7:
                    raise OSError("the pole broke")
                return step(actions)

            several.step = breaks

    transport = transports.TRANSPORTS[name]()
    workers = [remote()(Broken).remote(transport, seed, UNITS, CARTPOLE) for seed in range(4)]
    with pytest.raises((OSError, hoplite.ObjectFailedError), match="the pole broke"):
        for _ in itertools.islice(program.updates(transport, workers, UNITS), 60):
            pass


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize(
    ("environment", "message"),
    [("Pendulum-v1", "chooses among 2 actions; environment Pendulum-v1"), ("Chess-v0", "Chess")],
)
def test_an_environment_that_cannot_be_played_is_named(environment: str, message: str) -> None:
    with pytest.raises(ray.exceptions.RayActorError, match=message):
        a3c.main(["--policy=1MiB", "--workers=1", f"--environment={environment}"])


@pytest.mark.parametrize("option", ["--workers=0", "--updates=0"])
def test_a_number_below_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        a3c.main([option])
    assert f"{option.replace('=', ' ')}: at least 1" in capsys.readouterr().err


class Everything:
    """Small arrays of one batch, the same for each test."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.network = policy.Network(6)
        self.weights = self.network.initial(0)
        self.weights += random.normal(0, 0.3, self.weights.shape).astype(np.float32)
        self.observations = random.normal(0, 1, (10, 4)).astype(np.float32)
        self.actions = random.integers(0, 2, 10)
        self.advantages = random.normal(0, 1, 10).astype(np.float32)
        self.targets = random.normal(0, 1, 10).astype(np.float32)
        self.counted = (random.random(10) < 0.8).astype(np.float32)

    def loss(self, weights: Any) -> float:
        answer = self.network.answer(weights, self.observations)
        chosen = np.log(answer.chances[np.arange(10), self.actions])
        entropy = -(answer.chances * np.log(answer.chances)).sum(axis=1)
        square = 0.5 * policy.VALUE * (answer.values - self.targets) ** 2
        each = -self.advantages * chosen - policy.EVENNESS * entropy + square
        return float((self.counted * each).mean(dtype=np.float64))

    def gradient(self) -> Any:
        answer = self.network.answer(self.weights, self.observations)
        errors = policy.errors(answer, self.actions, self.advantages, self.targets, self.counted)
        return self.network.gradient(self.weights, self.observations, answer, errors)


def test_the_gradient_is_that_of_the_loss() -> None:
    batch = Everything()
    gradient = batch.gradient()
    for place in np.random.default_rng(1).integers(0, len(gradient), 30):
        nudge = np.zeros(len(gradient))
        nudge[place] = 1e-4  # with it, the weights are of float64
        slope = (batch.loss(batch.weights + nudge) - batch.loss(batch.weights - nudge)) / 2e-4
        assert gradient[place] == pytest.approx(slope, rel=2e-3, abs=2e-5)


def rollout(**fields: Any) -> playing.Rollout:
    """Of four moves in one environment; the second ends an episode."""
    four = dict.fromkeys(playing.Rollout._fields, np.ones((4, 1), np.float32))
    four["ends"] = np.array([[0], [1], [0], [0]], np.float32)
    return playing.Rollout(**{**four, **fields})


def test_an_advantage_looks_as_far_as_its_episode() -> None:
    played = rollout(values=np.zeros((4, 1), np.float32))
    found = a3c.generalised_advantages(played, np.zeros(1, np.float32))[:, 0]
    further = playing.GAMMA * playing.LAMBDA
    assert found == pytest.approx([1 + further, 1, 1 + further, 1])


def test_with_the_same_policy_the_targets_are_those_of_a3c() -> None:
    values = np.array([[0.5], [2.0], [-1.0], [1.0]], np.float32)
    after = np.array([3.0], np.float32)
    played = rollout(values=values, chances=np.full((4, 1), 0.5, np.float32))
    targets, _ = impala.v_trace(played, played.chances, values, after)
    wanted = values + a3c.generalised_advantages(played, after)
    assert targets == pytest.approx(wanted)


def test_rare_actions_are_not_taken_for_bad_ones() -> None:
    played = rollout(chances=np.array([[0.9], [0.9], [0.1], [0.1]], np.float32))
    chances = np.full((4, 1), 0.5, np.float32)
    _, advantages = impala.v_trace(played, chances, played.values, np.ones(1, np.float32))
    rho = np.minimum(1, chances / played.chances)
    assert float((advantages / rho).mean()) == pytest.approx(0, abs=1e-6)
    assert abs(float(advantages.mean())) > 1e-3


def test_an_action_that_has_changed_enough_is_left_alone() -> None:
    advantages = np.array([1, 1, -1, -1, 1], np.float32)
    ratio = np.array([1.3, 0.5, 0.5, 1.3, 1.1], np.float32)
    assert list(impala.clipped(advantages, ratio)) == pytest.approx([0, 0.5, 0, -1.3, 1.1])
