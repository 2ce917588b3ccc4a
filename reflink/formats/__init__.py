"""The formats of papers: read any of them, told by content, to `reflink.entities.Paper`."""

from __future__ import annotations

from reflink.formats.content import Content
from reflink.formats.format import Decision, Format, Options, Parsed
from reflink.formats.registry import endings, format_named, format_of, source_of

__all__ = ["Content", "Decision", "Format", "Options", "Parsed", "endings", "format_named", "format_of", "parse", "source_of"]


def parse(content: Content, *, format_name: str | None = None, options: Options | None = None) -> tuple[Parsed, ...]:
    """Parse the papers that ``content`` holds: one in most formats.

    ``format_name``: one of `reflink.formats.registry.NAMES`; by default it is told by content. Raises NotAPaper, TooLarge, and
    PackageMissing if the format needs an optional package.
    """
    found = format_of(content) if format_name is None else format_named(format_name)
    return found.parse(content, options or Options())
