"""The elements that `with_links` adds: how they look, and how they are removed again without a trace.

Each is put directly behind a character that is not white space, on a line of its own if the elements around it have one each.
So removing them with the line break before them gives the bytes that were there before.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

_MARK: Final = "reflink"
_ADDED: Final = re.compile(
    rb"(?:\r?\n[ \t]{0,200})?<((?:[\w.-]{1,40}:)?(?:idno|ptr))((?:\s[\w:]{1,40}=\"[^\"<>]{0,3000}\"){0,5})"
    rb"(?:/>|>[^<]{0,3000}</\1>)"
)
_OURS: Final = re.compile(rb"\s(?:sub)?type=\"reflink\"")
#: Characters of an id that a URI may hold.
_SAFE: Final = ":/?#[]@!$&'()*+,;=-._~%"


def removed(data: bytes) -> bytes:
    """Return a document without the elements that `with_links` added."""
    if _MARK.encode() not in data:
        return data
    return _ADDED.sub(lambda found: b"" if _OURS.search(found[2]) else found[0], data)


def identifier(prefix: str, kind: str, value: str, certainty: str) -> str:
    """Return the ``idno`` of a cited work. ``certainty``: its attribute, or ""."""
    return f'<{prefix}idno type="{kind}" subtype="{_MARK}"{certainty}>{_escaped(value)}</{prefix}idno>'


def target(prefix: str, work: str, number: int, certainty: str) -> str:
    """Return the ``ptr`` to a cited work. ``number``: of the work, if its citation has several."""
    several = f' n="{number}"' if number > 1 else ""
    return f'<{prefix}ptr type="{_MARK}"{several} target="{_escaped(quote(work, safe=_SAFE))}"{certainty}/>'


def _escaped(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text
