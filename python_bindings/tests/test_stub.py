"""The stub, which is built of what the extension says of itself: nothing is missing, and no type is
vague by accident. (``python.mypy`` reads it, too.)"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hoplite import _core

PAGE = Path(__file__).parents[2] / "docs/site/reference/python.md"
STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
VAGUE = {
    "Channel.publish": "list[tuple[str, str, tuple[int, ...], bytes, Any]]",
    "Client.put": "list[memoryview | numpy.typing.NDArray[Any]]",
    "Client.put_later": "list[memoryview | numpy.typing.NDArray[Any]]",
    "ObjectId.__eq__": "object",
    "ObjectId.__ne__": "object",
    "ObjectInfo.user_metadata": "dict[str, Any]",
}


def test_it_has_every_name() -> None:
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert set(_names(STUB)) == {*public, "__version__"}
    for name, node in CLASSES.items():
        assert set(_names(node)) - {"__buffer__"} == set(_bound(getattr(_core, name))), name


def test_its_types_are_as_precise_as_the_calls() -> None:
    vague = {}
    for where, function in _functions():
        arguments = [*function.args.posonlyargs, *function.args.args]
        names = [argument.arg for argument in arguments]
        unnamed = [name for name in names if re.fullmatch(r"arg\d*", name)]
        assert not unnamed or "__" in where
        types = [argument.annotation for argument in arguments if argument.arg != "self"]
        for said in (ast.unparse(one) if one else "Any" for one in [*types, function.returns]):
            if re.search(r"\b(object|Any)\b|\b(list|tuple|dict|Callable)(?!\[)|::", said):
                vague[where] = said
    assert vague == VAGUE


def test_what_the_site_describes_is_explained() -> None:
    section = PAGE.read_text().partition("currentmodule:: hoplite._core")[2].partition("\n## ")[0]
    described = ["ObjectId", *re.findall(r"autoclass:: (\w+)", section)]
    assert len(described) > 1
    nodes: dict[str, ast.ClassDef | ast.FunctionDef] = {**CLASSES, **dict(_functions())}
    silent = {where for where, node in nodes.items() if not ast.get_docstring(node)}
    shown = {where for where in silent if where.split(".")[0] in described and "._" not in where}
    assert not shown


def _names(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef):
            yield one.name
        elif isinstance(one, ast.AnnAssign):
            yield ast.unparse(one.target)


def _bound(cls: type) -> Iterator[str]:
    """What nanobind has made of the class, and not Python."""
    for name, member in vars(cls).items():
        if isinstance(member, property) or type(member).__module__ == "nanobind":
            yield name


def _functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    bodies = {f"{name}.": node.body for name, node in CLASSES.items()}
    for inside, body in {"": STUB.body, **bodies}.items():
        for one in body:
            if isinstance(one, ast.FunctionDef):
                yield inside + one.name, one
