"""Reading of content in tests of formats."""

from __future__ import annotations

from typing import Any

from reflink.formats import Content, Options, Parsed, format_named, parse
from reflink.formats.registry import NAMES

#: Fields of a reference that do not describe the cited work.
_OWN = ("id", "citing", "position", "raw_text", "raw_noid")


def parsed(data: bytes | str, *, text: bool = False, source: str | None = None, name: str | None = None) -> tuple[Parsed, ...]:
    """Return the papers, told by content, without inferred fields."""
    content = Content(data.encode() if isinstance(data, str) else data, source)
    return parse(content, format_name=name, options=Options(infer=False, text=text))


def fields(data: bytes | str, **options: Any) -> list[dict[str, Any]]:
    """Return the fields of the references of the only paper."""
    (one,) = parsed(data, **options)
    return [{name: value for name, value in each.to_dict().items() if name not in _OWN} for each in one.paper.references]


def recognising(data: bytes) -> list[str]:
    """Return the names of all formats that recognise the content."""
    content = Content(data)
    return [name for name in NAMES if format_named(name).recognises(content)]
