"""Builds HTML from parts. Everything that is not Markup is escaped, so that external text always stays text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

#: Characters that a document must not contain (controls, lone surrogates) or that reorder other text (bidirectional overrides).
_UNSHOWN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_EMPTY: Final = frozenset(("meta", "br", "img"))


class Markup(str):
    """Text that is already markup."""

    __slots__ = ()


def shown(text: str) -> str:
    """Return the text with U+FFFD for each character that cannot be shown."""
    return _UNSHOWN.sub("\ufffd", text)


def escaped(text: str) -> Markup:
    """Return text escaped as markup; characters that cannot be shown become U+FFFD."""
    return Markup(html.escape(shown(text), quote=True))


def joined(content: object) -> Markup:
    """Return markup, text, a number, None, or several of these as one piece of markup."""
    if isinstance(content, Markup):
        return content
    if content is None:
        return Markup("")
    if isinstance(content, str):
        return escaped(content)
    if isinstance(content, Iterable):
        return Markup("".join(map(joined, content)))
    return escaped(str(content))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element. Attributes: ``class_`` is class, other underscores become dashes; None and False are left out."""
    written = []
    for key, value in attributes.items():
        plain = key.rstrip("_").replace("_", "-")
        if value is not None and value is not False:
            written.append(f' {plain}="{escaped(str(value))}"')
    opened = f"<{name}{''.join(written)}"
    if name in _EMPTY and not content:
        return Markup(f"{opened}/>")
    return Markup(f"{opened}>{joined(content)}</{name}>")
