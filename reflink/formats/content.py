"""The bytes of a paper, and what the formats look at to recognise them."""

from __future__ import annotations

import codecs
import re
from functools import cached_property
from typing import Any, Final

import orjson

from reflink.markup.encoding import wide_encoding
from reflink.markup.entities import doctype_end

#: Bytes of XML in another encoding in which the root element is searched.
_HEAD: Final = 1 << 20
_NAME: Final = rb"<((?:[\w.-]+:)?[A-Za-z_][\w.-]*)"
_ROOT: Final = re.compile(_NAME + rb"((?:[^\"'<>]|\"[^\"]*\"|'[^']*')*)")
_CHILD: Final = re.compile(_NAME)
_WHITE: Final = re.compile(rb"\s*")
_BOM: Final = codecs.BOM_UTF8
#: What may stand before an element, and its end.
_SKIPPED: Final = ((b"<?", b"?>"), (b"<!--", b"-->"))
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
        data = self.data
        if (wide := wide_encoding(data)) is not None:
            try:
                data = data[:_HEAD].decode(wide, "replace").encode("utf-8", "replace")
            except (LookupError, UnicodeError):  # a codec that does not decode text
                return None
        found = _ROOT.match(data, _element_start(data, len(_BOM) if data.startswith(_BOM) else 0))
        if found is None:
            return None
        prefix, _, local = found[1].rpartition(b":")
        spaces = {each[1]: each[2] for each in _SPACE.finditer(found[2])}
        closed = data[found.end() : found.end() + 1] == b">"
        child = _CHILD.match(data, _element_start(data, found.end() + 1)) if closed else None
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


def _element_start(data: bytes, at: int) -> int:
    """Return the place behind white space, processing instructions, comments and a DOCTYPE."""
    while True:
        white = _WHITE.match(data, at)
        at = white.end() if white else at
        end = -1
        for opening, closing in _SKIPPED:
            if data.startswith(opening, at) and (closed := data.find(closing, at)) >= 0:
                end = closed + len(closing)
        if data.startswith(b"<!DOCTYPE", at):
            end = doctype_end(data, at)
        if end < 0:
            return at
        at = end
