"""Escape control characters of the input, as ``\\u001b``, in the output of commands to a terminal or log.

A terminal obeys control characters: they can hide text, overwrite lines, change its title or its keys. ``guard`` covers printed
text, and ``Terminal`` text that rich renders; code that writes bytes or log lines must call ``printable``. The notation is that
of JSON, so a line of JSON keeps its meaning.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable
from typing import IO, Any, Final, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

#: C0 except tab and line feed, delete, C1, line and paragraph separator, text direction overrides, lone surrogates.
_CONTROL: Final = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Replace each control character except line feed and tab by ``\\uXXXX``."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: object) -> str:
    """Convert any object to text and escape control characters and line feeds, so that it cannot imitate another line."""
    return printable(str(text)).replace("\n", "\\u000a")


def complain(text: object) -> None:
    """Print one line on standard error."""
    print(one_line(text), file=sys.stderr)


def styled(*parts: str | tuple[str, str]) -> Text:
    """Return one line made of parts, each plain or with a style."""
    return Text.assemble(*(one_line(part) if isinstance(part, str) else (one_line(part[0]), part[1]) for part in parts))


def guard() -> None:
    """Make standard output and standard error escape control characters from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # a terminal with a small character set must not end the run
            stream.reconfigure(errors="backslashreplace")
        if not isinstance(stream, Guarded):
            setattr(sys, name, cast(TextIO, Guarded(stream)))


class Guarded:
    """A text stream that escapes control characters. Bytes written to its ``buffer`` are not changed."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write ``text``; return its number of characters."""
        self.stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)


class Terminal(Console):
    """A rich console on standard output, standard error or ``file`` that never interprets text as markup.

    A string, also one in a table, is one line. ``style=`` or ``styled`` sets a style.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None, **more: Any) -> None:
        stream = file or (sys.stderr if stderr else sys.stdout)
        # The raw stream lets rich's own control sequences pass; ``render`` escapes those in texts.
        raw = stream.stream if isinstance(stream, Guarded) else stream
        super().__init__(file=raw, width=width, markup=False, emoji=False, **more)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return ``text`` as one line."""
        return super().render_str(one_line(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape control characters in all segments. All printed text passes here, including Text objects made elsewhere."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))
