"""Tests of the cache of machine code: a changed source makes a new entry, and the cache is optional."""

from __future__ import annotations

from types import ModuleType

import pytest

from reflink.jats.scanner import compiling


def module(path, text: str) -> ModuleType:
    path.write_text(text)
    made = ModuleType("made")
    made.__file__ = str(path)
    return made


def test_the_name_of_a_kernel_changes_with_any_source(tmp_path):
    def names(text: str) -> str:
        def kernel(x: int) -> int:
            return x + 1

        return compiling.kept(module(tmp_path / "a.py", "a"), module(tmp_path / "b.py", text))(kernel).py_func.__qualname__

    assert names("b") == names("b") != names("c")


def test_a_kernel_is_compiled_without_a_cache_folder(monkeypatch: pytest.MonkeyPatch):
    real = compiling.njit

    def refusing(**options: bool):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(compiling, "njit", refusing)

    def kernel(x: int) -> int:
        return x + 1

    assert compiling.kept()(kernel)(41) == 42
