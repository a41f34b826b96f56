"""What the sources of a reduction are, and why some can't be folded together.

Asks for values only to name the part of an error, and only for small ones.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from hoplite import _core, _dtypes, _encoding, _metadata, _trees
from hoplite._core import ObjectId
from hoplite._metadata import Fold
from hoplite.errors import HopliteError, InvalidArgumentError, NotFoundError, ObjectDeletedError

# Seconds that the directory, or a small source, is given to come.
ANSWERS_IN = 5.0
# In bytes: larger sources are not fetched for an error.
MOST_LOOKED_AT = 64 << 20


def listed(ids: Iterable[ObjectId]) -> list[ObjectId]:
    """InvalidArgumentError: there are none."""
    sources = list(ids)
    if not sources:
        raise InvalidArgumentError("reduce: there are no sources")
    return sources


def fold_of(core: _core.Client, sources: list[ObjectId], dtype: Any) -> Fold:
    """What is to be folded: arrays of `dtype`, or, if that is None, what the first source that
    exists is. InvalidArgumentError: it is neither an array nor a tree, or none exists. The error of
    a source that has failed, if no other exists."""
    if dtype is not None:
        return Fold("array", _dtypes.reducible(dtype))
    failure: HopliteError | None = None
    for source in sources:
        try:
            info = core.info(source, ANSWERS_IN)
        except (NotFoundError, ObjectDeletedError):
            continue
        failure = failure or info.failure
        if not _encoding.is_bytes(info.metadata):
            return _fold(core, source, info.metadata)
    if failure is not None:
        raise failure
    raise InvalidArgumentError("reduce: no source exists yet as an array: give its dtype")


def _fold(core: _core.Client, source: ObjectId, metadata: bytes) -> Fold:
    fold = _encoding.fold(metadata)
    if fold is None:
        raise InvalidArgumentError(f"reduce: source {source} {why_not(core, source)}")
    return fold


def why_not(core: _core.Client, source: ObjectId) -> str:
    """Why a source is no array and no tree of arrays, as the end of a sentence."""
    what = "is no array, and no dict or list of arrays of one dtype"
    value = _small(core, source)
    if value is None:
        return what
    try:
        _trees.grown(value[0])
    except _trees.NoTree as why:
        return f"{what}: {why}"
    return f"{what}: its arrays are empty"


def explained(core: _core.Client, error: InvalidArgumentError) -> InvalidArgumentError:
    """Of sources that can't be folded together: what they are, in words, and the part in which two
    trees differ. Another one is as it was."""
    said = str(error)
    named = [ObjectId(one) for one in re.findall(r"\b[0-9a-f]{40}\b", said)]
    if " described as " not in said or not named:
        return error
    if len(named) == 1:
        asked = re.search(r'"dtype":"([^"]+)"', said)
        wanted = f"arrays of {asked[1]} are asked for, but " if asked else ""
        hint = "; of dicts and lists leave out the dtype" if '"structure"' in said else ""
        return InvalidArgumentError(
            f"reduce: {wanted}source {named[0]} {_as(core, named[0])}{hint}"
        )
    if '"structure"' in said and (leaf := difference(core, *named[:2])):
        return InvalidArgumentError(f"reduce: sources {named[0]} and {named[1]} differ: {leaf}")
    one, other = (f"source {id} {_as(core, id)}" for id in named[:2])
    return InvalidArgumentError(f"reduce: {one}, but {other}")


@contextlib.contextmanager
def explaining(core: _core.Client) -> Iterator[None]:
    """What a get of a reduction's target raises says the same as its ``wait``."""
    try:
        yield
    except InvalidArgumentError as error:
        raise explained(core, error) from None


def _as(core: _core.Client, source: ObjectId) -> str:
    try:
        metadata = core.info(source, ANSWERS_IN).metadata
    except HopliteError as why:
        return f"is another one ({why})"
    kind = "bytes" if _encoding.is_bytes(metadata) else "a pickle"
    return f"is {_encoding.in_words(metadata) or f'no array but {kind}'}"


def difference(core: _core.Client, one: ObjectId, other: ObjectId) -> str | None:
    """In which leaf two objects differ, as a sentence; None: they are too large, or gone."""
    values = [_small(core, id) for id in (one, other)]
    if values[0] is None or values[1] is None:
        return None
    return _trees.difference(values[0][0], values[1][0], f"source {one}", f"source {other}")


def _small(core: _core.Client, source: ObjectId) -> tuple[Any] | None:
    try:
        info = core.info(source, ANSWERS_IN)
        if info.size_bytes > MOST_LOOKED_AT or not _metadata.read(info.metadata):
            return None
        view = core.get(source, ANSWERS_IN)
        return (_encoding.decode(view, view.metadata),)
    except HopliteError:
        return None
