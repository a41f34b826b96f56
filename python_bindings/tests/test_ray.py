"""hoplite.ray on a real Ray cluster of two nodes: values, tasks that are run again, errors."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite.ray._errors import maker_died
from ray_cluster import HERE, THERE, ray, remote, wait_until

pytestmark = pytest.mark.usefixtures("two_hosts")

BIG = 1_000_000


@remote()
def total(*refs: Any, more: Any = ()) -> float:
    """The sum of all elements of all these, wherever it runs."""
    return sum(float(hoplite.ray.get(ref, timeout=30).sum()) for ref in [*refs, *more])


@remote()
def put_here(value: Any) -> hoplite.ray.Ref:
    return hoplite.ray.put(value)


def test_arrays_are_read_only_views_on_every_host() -> None:
    ref = hoplite.ray.put(np.arange(BIG, dtype=np.float32))
    mine = hoplite.ray.get(ref, timeout=10)
    assert mine.dtype == np.float32 and not mine.flags.writeable and not mine.flags.owndata
    assert ray.get(total.options(resources=THERE).remote(ref)) == mine.sum()


def test_refs_travel_as_arguments_keywords_and_inside_others() -> None:
    one, two = hoplite.ray.put(np.ones(BIG)), hoplite.ray.put(np.full(BIG, 2.0))
    far = total.options(resources=THERE)
    assert ray.get(far.remote(one, more=[two, two])) == 5 * BIG
    boxed = ray.put({"deep": [one, (two,)]})

    @remote(resources=THERE)
    def unbox(boxes: Any) -> float:
        box = ray.get(boxes[0])
        return float(hoplite.ray.get(box["deep"][1][0], timeout=30)[0])

    assert ray.get(unbox.remote([boxed])) == 2.0


def test_a_ref_made_by_a_task_is_read_elsewhere() -> None:
    ref = ray.get(put_here.options(resources=THERE).remote(np.arange(BIG)))
    assert hoplite.ray.get(ref, timeout=10)[-1] == BIG - 1
    assert ref == hoplite.ray.Ref(ref.id, None) and ref.hex() in repr(ref)


def test_tasks_reach_channels_by_the_client_of_their_process() -> None:
    @remote(resources=THERE)
    def newest(name: str) -> float:
        with hoplite.ray.client().channel(name) as channel:
            return float(channel.get(timeout=30)["w"].sum())

    with hoplite.ray.client().channel("of a job") as channel:
        channel.publish({"w": np.ones(BIG)})
        assert ray.get(newest.remote("of a job")) == BIG


def test_bytes_and_other_values_and_lists() -> None:
    class Local:  # by value: no module has it
        def __init__(self, weights: Any) -> None:
            self.weights = weights

    refs = [hoplite.ray.put(b"abc"), hoplite.ray.put(Local(np.ones((300, 300))))]
    raw, local = hoplite.ray.get(refs, timeout=10)
    assert bytes(raw) == b"abc" and local.weights.shape == (300, 300)

    @remote(resources=THERE)
    def shape(ref: Any) -> Any:
        return hoplite.ray.get(ref, timeout=30).weights.shape

    assert ray.get(shape.remote(refs[1])) == (300, 300)


def test_a_ref_before_its_object() -> None:
    ref = hoplite.ray.new_ref()
    reader = total.options(resources=THERE).remote(ref)
    with pytest.raises(hoplite.TimeoutError, match=ref.hex()) as late:
        hoplite.ray.get(ref, timeout=0.2)
    assert isinstance(late.value, ray.exceptions.GetTimeoutError)
    assert isinstance(pickle.loads(pickle.dumps(late.value)), hoplite.ray.GetTimeoutError)

    @remote(resources=HERE)
    def fill(ref: Any) -> None:
        hoplite.ray.put(np.ones(BIG), ref)

    ray.get(fill.remote(ref))
    assert ray.get(reader) == BIG


def test_a_task_that_raises_fails_its_result() -> None:
    ref, other = hoplite.ray.new_ref(), hoplite.ray.put(np.ones(BIG))
    reader = total.options(resources=THERE).remote(ref)
    both = hoplite.ray.reduce([ref, other])

    @remote(resources=HERE)
    def fill(ref: Any) -> None:
        try:
            raise ValueError("no luck")
        except ValueError as error:
            hoplite.ray.fail(ref, error)

    ray.get(fill.remote(ref))
    with pytest.raises(hoplite.ObjectFailedError, match="ValueError: no luck"):
        hoplite.ray.get(ref, timeout=20)
    with pytest.raises(hoplite.ObjectFailedError, match="ValueError: no luck"):
        ray.get(reader)
    with pytest.raises(hoplite.ObjectFailedError, match=f"{ref.hex()}.*no luck"):
        both.wait(timeout=20)
    with pytest.raises(hoplite.ObjectFailedError, match=f"{ref.hex()}.*no luck"):
        hoplite.ray.get(both.ref, timeout=20)
    with pytest.raises(hoplite.AlreadyExistsError):
        hoplite.ray.put(b"late", ref)


def test_it_is_known_that_a_maker_has_died() -> None:
    @remote(resources=THERE)
    class Maker:
        def make(self) -> Any:
            return hoplite.ray.new_ref(), os.getpid()

    actor: Any = Maker

    def ref_of_a_dead_maker() -> Any:
        maker = actor.remote()
        ref, pid = ray.get(maker.make.remote())
        ray.kill(maker)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the maker's process has ended")
        return ref

    # Where the value of a Ref's token travelled with the Ref, Ray never asks who made the Ref.
    wait_until(lambda: maker_died(ref_of_a_dead_maker()), "Ray says that a maker has died", 60)


def test_wait_says_which_exist() -> None:
    refs = [hoplite.ray.new_ref() for _ in range(3)]
    assert hoplite.ray.wait(refs, num_returns=0) == ([], refs)
    hoplite.ray.put(b"x", refs[2])
    assert hoplite.ray.wait(refs, timeout=10) == ([refs[2]], refs[:2])
    hoplite.ray.put(np.ones(BIG), refs[0])
    assert hoplite.ray.wait(refs, num_returns=2, timeout=10) == ([refs[0], refs[2]], [refs[1]])
    # Nobody puts the third. How long it takes to hear of the others the machine decides.
    for timeout in (0.1, 1, 10):
        found = hoplite.ray.wait(refs, num_returns=3, timeout=timeout)
        if len(found[0]) == 2:
            break
    assert found == ([refs[0], refs[2]], [refs[1]])
    with pytest.raises(hoplite.InvalidArgumentError, match="num_returns is 4, of 3"):
        hoplite.ray.wait(refs, num_returns=4)


def test_putting_twice_is_refused() -> None:
    ref = hoplite.ray.put(b"first", hoplite.ray.new_ref())
    with pytest.raises(hoplite.AlreadyExistsError, match=f"{ref.hex()}.* exists already$"):
        hoplite.ray.put(b"second", ref)

    @remote()
    def another(ref: Any) -> str:
        try:
            hoplite.ray.put(b"third", ref)
        except hoplite.AlreadyExistsError as error:
            return error.code
        return "put"

    assert ray.get(another.remote(ref)) == "already_exists"
    assert bytes(hoplite.ray.get(ref, timeout=30)) == b"first"


def test_a_task_that_is_run_again_keeps_what_it_put_first(tmp_path: Path) -> None:
    @remote(max_retries=2, resources=THERE)
    def put_and_die_once(ref: Any, mark: Path) -> Any:
        again = mark.exists()
        mark.touch()
        same = hoplite.ray.put(b"again" if again else b"first", ref)
        if not again:
            os._exit(1)
        return same

    ref = hoplite.ray.new_ref()
    assert ray.get(put_and_die_once.remote(ref, tmp_path / "mark")) == ref
    assert bytes(hoplite.ray.get(ref, timeout=10)) == b"first"


def test_a_ref_inside_a_value_is_refused() -> None:
    ref = hoplite.ray.put(b"x")
    with pytest.raises(TypeError, match=f"{ref.hex()}.*ray.put"):
        hoplite.ray.put({"inside": [ref]})
    assert ray.get(ray.put([ref])) == [ref]


def test_what_is_no_ref_is_named() -> None:
    plain = ray.put(b"x")
    for call in (hoplite.ray.get, hoplite.ray.free, hoplite.ray.wait, hoplite.ray.reduce):
        with pytest.raises(TypeError, match="Ref"):
            call([plain])
    with pytest.raises(TypeError, match=r"ObjectRef.*ray\.get gives the Ref"):
        hoplite.ray.get(plain)
    with pytest.raises(TypeError, match=r"a Ref of hoplite\.ray is expected, not ObjectRef"):
        hoplite.ray.put(1, plain)
    ref = hoplite.ray.put(b"x")
    calls: list[Any] = [hoplite.ray.wait, hoplite.ray.reduce]
    for call in calls:
        with pytest.raises(TypeError, match="a list of Refs is expected"):
            call(ref)
    with pytest.raises(hoplite.InvalidArgumentError, match="twice"):
        hoplite.ray.wait([ref, ref])
    reduction = hoplite.ray.reduce([hoplite.ray.put(np.ones(3))])
    with pytest.raises(TypeError, match="its ref"):
        ray.put(reduction)


def test_what_nobody_owns_is_not_waited_for() -> None:
    """As a Ref of which only the bytes of a pickle are left, long after its object went."""
    ref, other = hoplite.ray.new_ref(), hoplite.ray.Ref(hoplite.ObjectId.random(), None)
    with pytest.raises(hoplite.ObjectDeletedError, match=f"{other.hex()}.*nobody owns it"):
        hoplite.ray.get(other)
    with pytest.raises(hoplite.ObjectDeletedError, match=other.hex()):
        hoplite.ray.wait([ref, other], num_returns=2)
    with pytest.raises(hoplite.ObjectDeletedError, match=other.hex()):
        hoplite.ray.reduce([ref, other], dtype=np.float32).wait()
    with pytest.raises(hoplite.ObjectDeletedError, match=other.hex()):
        hoplite.ray.put(b"x", other)
    one_of_two = hoplite.ray.reduce([ref, other], num_objects=1)
    hoplite.ray.put(np.ones(3), ref)
    assert hoplite.ray.wait([ref, other]) == ([ref], [other])
    assert one_of_two.get(timeout=20)[0] == 1.0 and one_of_two.unused == [other]


def test_free_deletes_under_its_refs() -> None:
    refs = [hoplite.ray.put(np.ones(BIG)), hoplite.ray.put(b"x")]
    hoplite.ray.free(refs)
    for ref in refs:
        with pytest.raises(hoplite.ObjectDeletedError):
            hoplite.ray.get(ref, timeout=10)


def test_a_second_init_changes_nothing() -> None:
    ref = hoplite.ray.put(b"x")
    hoplite.ray.init(memory="1MiB")
    assert bytes(hoplite.ray.get(ref, timeout=30)) == b"x"


@pytest.mark.parametrize("grace", [-1, 51])
def test_a_grace_that_can_not_be_is_named(grace: float) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match=f"orphan_grace is {grace}, 0 to 50"):
        hoplite.ray.init(orphan_grace=grace)


def test_init_belongs_to_the_driver() -> None:
    @remote()
    def in_a_task() -> str:
        try:
            hoplite.ray.init()
        except hoplite.InvalidArgumentError as error:
            return str(error)
        return "done"

    assert "driver" in ray.get(in_a_task.remote())


def test_without_the_callback_objects_stay_and_one_warning_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refs = hoplite.ray._refs
    monkeypatch.setattr(refs, "global_worker", types.SimpleNamespace(core_worker=object()))
    monkeypatch.setattr(refs, "_warned", [])
    with pytest.warns(RuntimeWarning, match=r"hoplite\.ray\.free\(refs\)") as warned:
        kept = [hoplite.ray.put(b"x"), hoplite.ray.put(b"y")]
    assert len(warned) == 1
    hoplite.ray.free(kept)


def test_another_ray_gets_one_warning_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoplite.ray._version, "TESTED", "1.2.3")
    with pytest.warns(RuntimeWarning, match=rf"1\.2\.3.*{ray.__version__}") as warned:
        hoplite.ray.init()
    assert len(warned) == 1


def test_without_ray_the_import_says_what_to_install() -> None:
    program = "import sys; sys.modules['ray'] = None; import hoplite; import hoplite.ray"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "ImportError: hoplite.ray needs Ray: pip install 'ray==" in done.stderr


def test_hoplite_alone_is_enough_to_import() -> None:
    """Ray imports in a worker what the code of a task names, not what a nested function does."""
    for program, says in [
        ("import hoplite; print(hoplite.ray.put.__name__)", "put"),
        (
            "import sys; sys.modules['ray'] = None; import hoplite; print(hasattr(hoplite, 'ray'))",
            "False",
        ),
    ]:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == says
