"""Remove the DOCTYPE of a document, since the parser must not expand its entities, and replace its named entities."""

from __future__ import annotations

import html.entities
import re
from typing import Final

#: Entities of the ISO sets in the JATS DTDs that HTML does not define, or defines as another character.
ISO_ENTITIES: Final[dict[str, str]] = {"Thetas": "Θ", "thetas": "θ", "b.alpha": "α", "b.beta": "β", "rang": "⟩", "lang": "⟨"}
_PREDEFINED: Final = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
#: Maximum length, in bytes, of an entity that the paper declares. Longer or nested entities are dropped.
_SHORT: Final = 64
#: An entity, or the beginning of a comment or CDATA section, which contain no entities.
_ENTITY: Final = re.compile(rb"&([A-Za-z_][A-Za-z0-9_.:-]{0,63});|<!--|<!\[CDATA\[")
_ENDS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}
_NAMED: Final = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
#: The next token of a DOCTYPE that may end it, open or close its internal subset, or contain such characters.
_DOCTYPE_STEP: Final = re.compile(rb"[\[\]>]|\"[^\"]*\"|'[^']*'|<!--|<\?|<!")
_DECLARED: Final = re.compile(
    rb"<!ENTITY\s+([A-Za-z_][\w.:-]*)\s+(?:\"((?:[^\"%&<]|&#x?[0-9A-Fa-f]{1,6};)*)\"|'((?:[^'%&<]|&#x?[0-9A-Fa-f]{1,6};)*)')\s*>"
)


def without_doctype(data: bytes, warnings: list[str]) -> bytes:
    """Remove the DOCTYPE, since the parser must not expand its entities, and replace named entities by their characters."""
    declared: dict[bytes, bytes] = {}
    start, end = doctype_span(data)
    if end:
        declared = {m[1]: m[2] or m[3] or b"" for m in _DECLARED.finditer(data[start:end])}
        data = data[:start] + data[end:]
    return _with_characters(data, declared, warnings) if _NAMED.search(data) else data


def doctype_span(data: bytes) -> tuple[int, int]:
    """Return start and end of the DOCTYPE; zeros if there is none that can be delimited."""
    start = data.find(b"<!DOCTYPE")
    end = doctype_end(data, start) if start >= 0 else -1
    return (start, end) if end >= 0 else (0, 0)


def doctype_end(data: bytes, start: int) -> int:
    """Return the end of the DOCTYPE that begins at ``start``; -1 if it cannot be determined."""
    at, depth = start + len(b"<!DOCTYPE"), 0  # depth: 1 in the internal subset, 2 in a declaration there
    while found := _DOCTYPE_STEP.search(data, at):
        at, step = found.end(), found[0]
        if step in (b"<!--", b"<?"):
            closing = b"-->" if step == b"<!--" else b"?>"
            closed = data.find(closing, at)
            if not depth or closed < 0:
                return -1
            at = closed + len(closing)
        elif step == b"<!" and depth == 1:
            depth = 2
        elif step == b">":
            if not depth:
                return at
            depth = 1
        elif step == b"[":
            if depth:
                return -1
            depth = 1
        elif step == b"]":
            if depth != 1:
                return -1
            depth = 0
    return -1


def _with_characters(data: bytes, declared: dict[bytes, bytes], warnings: list[str]) -> bytes:
    """Replace the paper's own short entities and the entities of the ISO sets and HTML; drop all other named entities."""
    unknown: set[str] = set()
    parts: list[bytes] = []
    at = 0
    while found := _ENTITY.search(data, at):
        name: bytes | None = found[1]
        if name is None:
            closed = data.find(_ENDS[found[0]], found.end())
            stop = closed if closed >= 0 else len(data)
            parts.append(data[at:stop])
            at = stop
            continue
        parts.append(data[at : found.start()])
        parts.append(found[0] if name in _PREDEFINED else _characters(name, declared, unknown))
        at = found.end()
    parts.append(data[at:])
    if unknown:
        some = ", ".join(sorted(unknown)[:5])
        warnings.append(f"undefined entities dropped: {some}")
    return b"".join(parts)


def _characters(name: bytes, declared: dict[bytes, bytes], unknown: set[str]) -> bytes:
    own = declared.get(name)
    if own is not None and len(own) <= _SHORT:
        return own
    characters = ISO_ENTITIES.get(name.decode()) or html.entities.html5.get(name.decode() + ";")
    if characters is None:
        unknown.add(name.decode())
        return b""
    return "".join(f"&#{ord(character)};" for character in characters).encode()
