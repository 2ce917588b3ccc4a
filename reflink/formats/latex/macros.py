"""The macros that a paper defines: \\newcommand and its kin, \\def with delimited parameters, \\let."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: Maximum number of macros of a paper, and of characters of a macro's text; longer ones are layout.
MAX_MACROS: Final = 5_000
MAX_BODY: Final = 4_000
#: Maximum number of groups without an end that a search may meet, since each costs time.
MAX_UNCLOSED: Final = 100
#: Maximum number of characters of an argument.
MAX_ARGUMENT: Final = 50_000

DEFINING: Final = frozenset(
    ("newcommand", "renewcommand", "providecommand", "DeclareRobustCommand", "NewDocumentCommand", "RenewDocumentCommand",
     "ProvideDocumentCommand", "DeclareDocumentCommand", "DeclareMathOperator", "def", "gdef", "edef", "xdef", "let")
)  # fmt: skip
_DEFINITION: Final = re.compile(
    r"\\(?:(?P<new>newcommand|renewcommand|providecommand|DeclareRobustCommand)\*?\s*(?:\{\s*\\(?P<a>[A-Za-z@]+|.)\s*\}|\\(?P<b>[A-Za-z@]+|.))"
    r"\s*(?:\[(?P<count>\d)\]\s*)?(?:\[(?P<default>[^\[\]]{0,500})\]\s*)?(?=\{)"
    r"|(?:New|Renew|Provide|Declare)DocumentCommand\s*\{?\s*\\(?P<c>[A-Za-z@]+)\s*\}?\s*\{(?P<spec>[^{}]{0,100})\}\s*(?=\{)"
    r"|DeclareMathOperator\*?\s*\{?\s*\\(?P<d>[A-Za-z@]+)\s*\}?\s*(?=\{)"
    r"|[gex]?def\s*\\(?P<e>[A-Za-z@]+|.)(?P<parameters>[^{}\\]{0,100})(?=\{)"
    r"|let\s*\\(?P<f>[A-Za-z@]+|.)\s*=?\s*\\(?P<same>[A-Za-z@]+|.))"
)
_BRACE: Final = re.compile(r"[{}]|\\.", re.DOTALL)
#: Shows that a macro is layout or decides something; without it, the arguments are printed.
_LAYOUT: Final = re.compile(
    r"\\(?:fontdimen|spaceskip|csname|if(?![fF]?thenelse)[A-Za-z]+|expandafter|catcode|futurelet|setbox|dimen|afterassignment)(?![a-z])"
)
_PARAMETER: Final = re.compile(r"#([1-9])")


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro. ``delimiters``: the text before the first parameter, and after each; ``default``: of the first, if optional."""

    body: str
    delimiters: tuple[str, ...] = ("",)
    default: str | None = None

    @property
    def count(self) -> int:
        """The number of parameters."""
        return len(self.delimiters) - 1

    def expanded(self, arguments: list[str]) -> str:
        """Return the text that replaces the macro with these arguments."""
        if "#" not in self.body:
            return self.body
        return _PARAMETER.sub(lambda found: arguments[int(found[1]) - 1] if int(found[1]) <= len(arguments) else "", self.body)


def closing(text: str, start: int, limit: int = MAX_ARGUMENT) -> int:
    """Return the position of the brace that closes the one at ``start``; -1 if there is none within ``limit`` characters."""
    depth, stop = 0, start + limit
    for found in _BRACE.finditer(text, start, stop):
        mark = found[0]
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if not depth:
                return found.start()
    return -1


def definition(text: str, start: int) -> tuple[str, Macro | None, int] | None:
    """Return name, macro and end of the definition that begins at ``start``; None if there is none.

    The macro is None if it is too long.
    """
    found = _DEFINITION.match(text, start)
    if found is None:
        return None
    name = next(found[group] for group in "abcdef" if found[group])
    if found["same"]:
        return name, Macro("\\" + found["same"] + " "), found.end()
    end = closing(text, found.end(), MAX_BODY)
    if end < 0:
        return name, None, found.end()
    body = text[found.end() + 1 : end]
    if found["new"]:
        return name, Macro(body, ("",) * (int(found["count"] or 0) + 1), found["default"]), end + 1
    if found["spec"] is not None:
        count = sum(found["spec"].count(letter) for letter in "mo")
        return name, Macro(body, ("",) * (count + 1)), end + 1
    parameters = re.split(r"#\d", found["parameters"] or "")
    return name, Macro(body, tuple(each.strip() for each in parameters)), end + 1


def definitions(text: str) -> dict[str, Macro]:
    """Return the macros that the text defines, by name. Conditionals are not evaluated: the last definition counts."""
    macros: dict[str, Macro] = {}
    unclosed = 0
    for found in _DEFINITION.finditer(text):
        if len(macros) >= MAX_MACROS or unclosed >= MAX_UNCLOSED:
            break
        defined = definition(text, found.start())
        if defined is not None and defined[1] is not None:
            if not _LAYOUT.search(defined[1].body):
                macros[defined[0]] = defined[1]
        else:
            unclosed += 1
    return macros
