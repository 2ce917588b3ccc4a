"""HTML and SVG made of parts, so that text from outside is always text: whatever is not Markup is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

#: What may not be in a document, and what would turn the text around it: controls, lone surrogates, bidirectional overrides.
_UNSHOWN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_EMPTY: Final = frozenset(("meta", "br", "line", "path", "rect", "circle", "polygon", "polyline"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text as markup that shows it; what cannot be shown becomes U+FFFD."""
    return Markup(html.escape(_UNSHOWN.sub("\ufffd", text), quote=True))


def joined(content: object) -> Markup:
    """Markup, text, a number, nothing, or several of them, as one piece of markup."""
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
    """An element. Attributes: ``class_`` is class, other underscores are dashes; None and False are left out."""
    said = []
    for key, value in attributes.items():
        plain = key.rstrip("_").replace("_", "-")
        if value is not None and value is not False:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            said.append(f' {plain}="{escaped(shown)}"')
    opened = f"<{name}{''.join(said)}"
    if name in _EMPTY and not content:
        return Markup(f"{opened}/>")
    return Markup(f"{opened}>{joined(content)}</{name}>")
