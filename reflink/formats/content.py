"""The bytes of a paper, and what the formats look at to recognise them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final

import orjson

from reflink.errors import NotAPaper
from reflink.markup.encoding import as_ascii_like

#: Bytes in which the root element is searched.
_HEAD: Final = 1 << 16
_BEFORE: Final = (
    rb"(?:\s|<\?(?:[^?]|\?(?!>)){0,2000}\?>|<!--(?:[^-]|-(?!->)){0,20000}-->|<!DOCTYPE(?:[^\[<>]|\[[^\]]{0,20000}\])*>)*"
)
_NAME: Final = rb"<((?:[\w.-]+:)?[A-Za-z_][\w.-]*)"
_ROOT: Final = re.compile(_BEFORE + _NAME + rb"((?:[^\"'<>]|\"[^\"]*\"|'[^']*')*)")
_CHILD: Final = re.compile(rb">" + _BEFORE + _NAME)
_SPACE: Final = re.compile(rb"\sxmlns(?::([\w.-]+))?\s*=\s*[\"']([^\"']*)[\"']")


class Content:
    """The bytes of a paper. Everything that is read off them is computed once, on first use, and raises no error.

    ``source``: the caller's name of the bytes (file name without ending, message key), which is the id of a paper without
    identifier. ``name``: its name in errors.
    """

    def __init__(self, data: bytes, source: str | None = None) -> None:
        self.data, self.source = data, source
        self.name = source or "paper"

    @property
    def root(self) -> tuple[str, str] | None:
        """The root element's name without prefix, and its namespace ("" if it has none); None if the bytes are not XML."""
        return None if self._start is None else self._start[:2]

    @property
    def first_child(self) -> str:
        """The name without prefix of the element that begins the root element; "" if there is none."""
        return "" if self._start is None else self._start[2]

    @cached_property
    def _start(self) -> tuple[str, str, str] | None:
        head = self.data[:_HEAD]
        if head.lstrip()[:1] != b"<":
            try:
                head = as_ascii_like(head, self.name, [])
            except NotAPaper:
                return None
        found = _ROOT.match(head)
        if found is None:
            return None
        prefix, _, local = found[1].rpartition(b":")
        spaces = {each[1]: each[2] for each in _SPACE.finditer(found[2])}
        child = _CHILD.match(head, found.end())
        names = (local, spaces.get(prefix or None, b""), child[1].rpartition(b":")[2] if child else b"")
        first, space, second = (name.decode("utf-8", "replace") for name in names)
        return first, space, second

    @cached_property
    def json(self) -> Any:
        """The value of the JSON that the bytes are; None if they are not JSON."""
        if self.data.lstrip()[:1] not in (b"{", b"["):
            return None
        try:
            return orjson.loads(self.data)
        except orjson.JSONDecodeError:
            return None

    @cached_property
    def text(self) -> str | None:
        """The bytes as text, in UTF-8 or, if they are not, Windows-1252; None if they hold a null byte."""
        if b"\0" in self.data:
            return None
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.data.decode("cp1252", "replace")
