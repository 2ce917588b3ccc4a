"""The format of plain lists of citations."""

from __future__ import annotations

import codecs
from typing import ClassVar, Final

from reflink.bibliography import papers
from reflink.bibliography.citation import described
from reflink.bibliography.references import Entry
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.text.lists import Item, items, share
from reflink.recognition import recognise

#: Characters of a text that is looked at to recognise it, and minimum share of items that look like citations.
_HEAD: Final = 1 << 16
_SHARE: Final = 0.7
#: Number of items whose fields are recognised to tell citations from prose, and minimum share of those with fields.
_TRIED: Final = 8
_READ: Final = 0.6


class Text(Format):
    """Plain text: citations, one a line, numbered, separated by blank lines or with hanging indents."""

    name: ClassVar[str] = "text"
    about: ClassVar[str] = "plain text: a list of citations, one a line, numbered or wrapped"
    #: No ending: the files of folders that end in .txt are notes as a rule.
    endings: ClassVar[tuple[str, ...]] = ()

    def recognises(self, content: Content) -> bool:
        """Return whether most items of the text look like citations, and fields are found in most of a few of them."""
        text = _text(content.data[: 4 * _HEAD])
        if text is None or content.root is not None or content.json is not None or "\\bibitem" in text or "\nTY  - " in text:
            return False
        found = items(text[:_HEAD])
        if len(content.data) > _HEAD and len(found) > 1:
            found = found[:-1]  # it may be cut
        if not found or share(found) < _SHARE:
            return False
        tried = found[:: max(len(found) // _TRIED, 1)][:_TRIED]
        return sum(_is_read(each.text) for each in tried) >= _READ * len(tried)

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the paper that has these references, and nothing else. Raises NotAPaper if there is no text."""
        limits = options.limits
        if len(content.data) > limits.size:
            raise TooLarge(f"{content.name}: {len(content.data)} bytes of text, the limit is {limits.size}")
        text = _text(content.data)
        if text is None:
            raise NotAPaper(f"{content.name}: bytes that are not text")
        found = items(text)
        if len(found) > limits.references:
            raise TooLarge(f"{content.name}: more than {limits.references} references")
        entries = [entry for item in found if (entry := _entry(item)) is not None]
        if not entries:
            raise NotAPaper(f"{content.name}: text without citations")
        own = papers.own_name(content.data, content.source)
        return (Parsed(papers.paper({}, entries, own_name=own, source=content.source, limits=limits, infer=options.infer)),)


def _text(data: bytes) -> str | None:
    """Return the bytes as text: UTF-16 with its byte order mark, UTF-8 or Windows-1252; None if they hold a null byte."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data[: len(data) // 2 * 2].decode("utf-16", "replace")
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start > len(data) - 4 and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8-sig")
        return data.decode("cp1252", "replace")


def _is_read(text: str) -> bool:
    citation = described(text)
    if citation is None:
        return False
    query = citation.get("raw_noid", text)
    return ("ids_weak" in citation and len(query) < 3) or recognise(query) is not None


def _entry(item: Item) -> Entry | None:
    citation = described(item.text)
    return None if citation is None else Entry(None, item.label, [citation])
