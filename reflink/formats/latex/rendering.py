"""Plain text of LaTeX source, with marks: spans of the text that a command describes, such as a DOI or a last name.

A small TeX: groups, macros of the paper, accents, ligatures and formulas. Commands that it does not know print their arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from reflink.formats.latex.macros import DEFINING, MAX_BODY, MAX_MACROS, Macro, definition
from reflink.formats.latex.reader import Reader, skipped
from reflink.formats.latex.symbols import ACCENTS, CHARACTERS, MATHEMATICAL, accented, character

#: Maximum nesting of sources that are rendered for others, such as a title in a title.
_MAX_NESTED: Final = 5
#: Maximum number of characters between a macro's parameters' delimiters.
_MAX_DELIMITED: Final = 2_000
_LIGATURES: Final = {
    "---": "—", "--": "–", "``": "“", "''": "”", "`": "‘", "'": "’", "~": " ", "<<": "«", ">>": "»", "?`": "¿", "!`": "¡",
}  # fmt: skip
_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n")
_LETTER: Final = re.compile(r"\s*(?:\\([A-Za-z@]+)\s*|\\(.)\s*|(.))", re.DOTALL)
_ADDRESS_MARKS: Final = re.compile(
    r"\\(?:doibase|@@?)\s*|\\([%_#&~${}\\])(?:\{\})?|\\textasciitilde\s*(?:\{\})?|\\sim\s*|\\(?:\w+)\s?|[{}$]"
)


class Mark(NamedTuple):
    """What a command states about ``text[start:stop]``: its name, such as "doi", and a value if the text is not the value."""

    name: str
    start: int
    stop: int
    value: str = ""


class Rendered(NamedTuple):
    """Text as one line, and its marks in the order of their ends."""

    text: str
    marks: tuple[Mark, ...]


Handler = Callable[["Renderer"], None]


class Renderer(Reader):
    """Renders sources of one paper, whose macros and budget they share.

    ``commands``: what the commands do that these sources give a meaning; a handler reads arguments with `argument` and
    `option`, and prints with `emit`, `mark` and `push`.
    """

    def __init__(self, macros: dict[str, Macro], commands: dict[str, Handler], size: int) -> None:
        super().__init__(size)
        self.macros, self.commands = dict(macros), commands
        self.name = ""
        self._nested = 0
        self._restart("")

    def _restart(self, text: str) -> None:
        self._begin(text)
        self._groups: list[tuple[str, int, str] | None] = []
        self._next: tuple[str, str] | None = None
        self._out: list[str] = []
        self._length = 0
        self._spaced = True
        self._formula: int | None = None
        self._marks: list[Mark] = []

    def render(self, text: str) -> Rendered:
        """Return the text that the source prints. Time is linear in its length and the rest of the budget."""
        self._restart(text)
        while found := self._token():
            self._step(found)
        while self._groups:
            self._close()
        self._end_formula()
        return Rendered("".join(self._out).rstrip(), tuple(self._marks))

    def plain(self, text: str) -> str:
        """Return the text that the source prints, without marks; for use within a handler, too."""
        if self._nested >= _MAX_NESTED:
            return ""
        kept = dict(self.__dict__)
        self._nested += 1
        found = self.render(text).text
        kept["budget"] = self.budget
        self.__dict__.update(kept)
        return found

    # What handlers use.

    @property
    def in_formula(self) -> bool:
        """Whether a formula has begun."""
        return self._formula is not None

    @property
    def length(self) -> int:
        """The length of the text printed so far."""
        return self._length

    def emit(self, text: str) -> None:
        """Print text; white space at its ends separates words once."""
        if not text:
            return
        words = text.split()
        if not words:
            self.space()
            return
        if text[0].isspace():
            self.space()
        joined = words[0] if len(words) == 1 else " ".join(words)
        self._out.append(joined)
        self._length += len(joined)
        self._spaced = False
        if text[-1].isspace():
            self.space()

    def space(self) -> None:
        """Print a space unless the text ends with one."""
        if not self._spaced:
            self._out.append(" ")
            self._length += 1
            self._spaced = True

    def mark(self, name: str, start: int, value: str = "") -> None:
        """Mark the text printed since ``start``."""
        self._marks.append(Mark(name, start, self._length, value))

    def mark_next(self, name: str, value: str = "") -> None:
        """Mark what the next group prints; nothing if no group follows."""
        self._at = skipped(self._text, self._at)
        if self._text.startswith("{", self._at):
            self._next = (name, value)

    # The steps of reading.

    def _step(self, found: re.Match[str]) -> None:
        kind = found.lastgroup
        if kind == "plain":
            self._out.append(found[0])
            self._length += len(found[0])
            self._spaced = False
        elif kind == "space":
            self._blank(found[0])
        elif kind == "name":
            self.command(found["name"])
        elif kind == "symbol":
            self._symbol(found["symbol"])
        else:
            self._mark(found["mark"])

    def _blank(self, blank: str) -> None:
        if "\n" in blank and _PARAGRAPH.search(blank):
            self.command("par")
        else:
            self.space()

    def _mark(self, mark: str) -> None:
        if mark == "{":
            opened = self._next
            self._groups.append(None if opened is None else (opened[0], self._length, opened[1]))
            self._next = None
        elif mark == "}":
            self._close()
        elif mark == "$":
            if self._text.startswith("$", self._at):
                self._at += 1
            if self._formula is None:
                self._formula = self._length
            else:
                self._end_formula()
        elif mark in "^_" or mark == "%":
            if mark == "%" or self._formula is None:
                self.emit(mark)
        elif mark in ("'", "`") and self._formula is not None:
            self.emit("′")
        else:
            self.emit(_LIGATURES.get(mark, mark) if self._formula is None or mark in "~&" else mark)

    def begin_formula(self) -> None:
        """Begin a formula, if none has begun."""
        if self._formula is None:
            self._formula = self._length

    def _end_formula(self) -> None:
        if self._formula is not None:
            if self._length > self._formula:
                self.mark("formula", self._formula)
            self._formula = None

    def end_formula(self) -> None:
        """End the formula, if one has begun."""
        self._end_formula()

    def _close(self) -> None:
        if self._groups and (opened := self._groups.pop()) is not None:
            self.mark(opened[0], opened[1], opened[2])

    def _symbol(self, symbol: str) -> None:
        if symbol in ACCENTS:
            if self._formula is None:
                self._accent(symbol)
        elif symbol in ("(", "["):
            self.begin_formula()
        elif symbol in (")", "]"):
            self._end_formula()
        elif symbol == "\\":
            self.option()
            self.command("newline")
        elif text := CHARACTERS.get(symbol):
            self.emit(text)

    def command(self, name: str) -> None:
        """Carry out the command ``\\name``, whose arguments come next."""
        self.name = name
        if handler := self.commands.get(name):
            handler(self)
        elif name in DEFINING:
            self._define(name)
        elif name in ACCENTS and (name not in MATHEMATICAL or self._formula is not None):
            if self._formula is None:
                self._accent(name)
        elif (macro := self.macros.get(name)) is not None:
            self._expand(macro)
        elif text := character(name):
            self.emit(text)
        elif "cite" in name.lower() and (handler := self.commands.get("cite*")) and "style" not in name:
            handler(self)

    def _define(self, name: str) -> None:
        source = self._text
        start = source.rfind("\\", 0, self._at)
        if self.budget > 0 and (defined := definition(source, start)) is not None:
            self.budget -= defined[2] - start if defined[1] is not None else MAX_BODY
            if defined[1] is not None and len(self.macros) < MAX_MACROS:
                self.macros[defined[0]] = defined[1]
            self._at = max(defined[2], self._at)

    def _expand(self, macro: Macro) -> None:
        arguments: list[str] = []
        if macro.delimiters[0] and self._text.startswith(macro.delimiters[0], at := skipped(self._text, self._at)):
            self._at = at + len(macro.delimiters[0])
        for number, delimiter in enumerate(macro.delimiters[1:]):
            if number == 0 and macro.default is not None:
                option = self.option()
                arguments.append(macro.default if option is None else option)
            elif delimiter:
                end = self._text.find(delimiter, self._at, self._at + _MAX_DELIMITED)
                self.budget -= _MAX_DELIMITED if end < 0 else end - self._at
                arguments.append(self._text[self._at : end].strip() if end >= 0 else "")
                self._at = end + len(delimiter) if end >= 0 else self._at
            else:
                arguments.append(self.argument())
        self.push(macro.expanded(arguments))

    def _accent(self, accent: str) -> None:
        at = skipped(self._text, self._at)
        if self._text.startswith("{", at):
            content = self.argument()
            inner = _LETTER.match(content)
            if inner is None:
                return
            letter, rest = self._letter(inner), content[inner.end() :]
        else:
            inner = _LETTER.match(self._text, at)
            if inner is None or inner[0].strip() in ("}", "$"):
                return
            self._at = inner.end()
            letter, rest = self._letter(inner), ""
        if letter:
            self.emit(accented(letter[0], accent) + letter[1:])
        if rest:
            self.push(rest)

    def _letter(self, inner: re.Match[str]) -> str:
        """Return the letter that an accent stands on."""
        if inner[1]:
            return character(inner[1]) or ""
        return inner[3] or "" if inner[3] not in ("{", "}") else ""


def address(source: str) -> str:
    """Return the address or identifier that an argument such as that of \\url holds, without TeX's escapes."""
    if "\\" not in source and "{" not in source:
        return "".join(source.split())
    return "".join(_ADDRESS_MARKS.sub(_unescaped, source).split())


def _unescaped(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith(("\\textasciitilde", "\\sim")):
        return "~"
    return found[1] or ""
