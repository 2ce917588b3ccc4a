"""Reading of TeX: the next token, arguments, and the texts of macros in place of their names."""

from __future__ import annotations

import re
from typing import Final

from reflink.formats.latex.macros import MAX_ARGUMENT, closing

#: Maximum nesting of macros that use each other.
_MAX_FRAMES: Final = 60
#: What a paper may cost: characters that macros and arguments add, for each character of the source and at least.
_SHARE: Final = 20
_LEAST: Final = 200_000

TOKEN: Final = re.compile(
    r"(?P<plain>[^\\{}$~%^_&\s`'\-<>?!]+)|(?P<space>\s+)|\\(?P<name>[A-Za-z@]++)\*?+(?:[ \t]*+(?:\n(?![ \t]*\n)[ \t]*+)?)"
    r"|\\(?P<symbol>.?)|(?P<mark>---?|``|''|<<|>>|[?!]`|.)",
    re.DOTALL,
)
#: Maximum length of an optional argument: labels of natbib with hundreds of names are as long.
_MAX_OPTION: Final = 20_000
_GAP: Final = re.compile(r"(?:[ \t]*\n?[ \t]*)")
_BRACKET: Final = re.compile(r"[{}\]]|\\.", re.DOTALL)


class Reader:
    """A source, and the texts of macros that are read before the rest of it.

    ``budget``: number of characters that macros and arguments may add; nothing is added beyond it. ``size``: length
    of all sources together.
    """

    def __init__(self, size: int) -> None:
        self.budget = _SHARE * size + _LEAST
        self._begin("")

    def _begin(self, text: str) -> None:
        self._frames: list[tuple[str, int]] = []
        self._text, self._at = text, 0

    def _token(self) -> re.Match[str] | None:
        """Return the next token; None at the end."""
        while self._at >= len(self._text):
            if not self._frames:
                return None
            self._text, self._at = self._frames.pop()
        found = TOKEN.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def push(self, text: str) -> None:
        """Read ``text`` next."""
        self.budget -= len(text) + 1
        if self.budget > 0 and len(self._frames) < _MAX_FRAMES:
            if self._at < len(self._text) or not self._frames:  # a macro at the end of another one needs no frame
                self._frames.append((self._text, self._at))
            self._text, self._at = text, 0

    def argument(self) -> str:
        """Return the source of the next argument, without its braces; "" at the end of a group."""
        while self._frames and not self._text[self._at :].strip():
            self._text, self._at = self._frames.pop()
        at = skipped(self._text, self._at)
        if at >= len(self._text) or self._text[at] == "}":
            return ""
        if self._text[at] != "{":
            found = TOKEN.match(self._text, at)
            assert found is not None
            if found["plain"] or found["mark"]:
                self._at = at + 1
                return self._text[at]
            self._at = found.end()
            return found[0]
        end = closing(self._text, at) if self.budget > 0 else -1
        self.budget -= end - at if end >= 0 else min(len(self._text) - at, MAX_ARGUMENT)
        if end < 0:
            self._at = at + 1
            return ""
        self._at = end + 1
        return self._text[at + 1 : end]

    def option(self) -> str | None:
        """Return the source of the next optional argument; None if there is none."""
        at = skipped(self._text, self._at)
        if not self._text.startswith("[", at):
            return None
        found = bracket(self._text, at) if self.budget > 0 else -1
        self.budget -= found - at if found >= 0 else min(len(self._text) - at, _MAX_OPTION)
        if found < 0:
            return None
        self._at = found + 1
        return self._text[at + 1 : found]

    def following(self) -> str:
        """Return the next character, also behind the end of a macro; "" at the end of the source."""
        for text, at in ((self._text, self._at), *reversed(self._frames)):
            if at < len(text):
                return text[at]
        return ""

    def follows(self, text: str) -> bool:
        """Return whether ``text`` comes next, behind white space."""
        return self._text.startswith(text, skipped(self._text, self._at))

    def until(self, end: str) -> str | None:
        """Return the source up to ``end`` and skip both; None if ``end`` does not follow."""
        stop = self._text.find(end, self._at)
        if stop < 0:
            self.budget -= len(self._text) - self._at
            return None
        source = self._text[self._at : stop]
        self._at = stop + len(end)
        return source

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Skip what the pattern matches at the place of reading."""
        if found := pattern.match(self._text, self._at):
            self._at = found.end()


def skipped(text: str, at: int) -> int:
    """Return the position after white space, up to a paragraph's end."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def bracket(text: str, start: int, limit: int = _MAX_OPTION) -> int:
    """Return the position of the bracket that closes the one at ``start``, outside of braces; -1 if there is none."""
    depth = 0
    for found in _BRACKET.finditer(text, start + 1, start + limit):
        mark = found[0]
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth < 0:
                return -1
        elif mark == "]" and not depth:
            return found.start()
    return -1
