"""Imports the stub of the compiled module in its place: it has all signatures and docstrings."""

import __future__

import importlib.abc
import importlib.machinery
import importlib.util
import sys

NAME = "hoplite._core"


class Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, path, version):
        super().__init__(NAME, str(path))
        self.version = version

    def source_to_code(self, data, path, **_):
        """In a stub a type may be named before it is there."""
        return compile(data, path, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)

    def exec_module(self, module):
        super().exec_module(module)
        module.__version__ = self.version
        module.DTYPES = ()


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, path, version):
        self.path, self.version = path, version

    def find_spec(self, name, *_):
        if name != NAME:
            return None
        return importlib.util.spec_from_file_location(NAME, self.path, loader=Loader(self.path, self.version))


def install(path, version):
    sys.meta_path.insert(0, Finder(path, version))
