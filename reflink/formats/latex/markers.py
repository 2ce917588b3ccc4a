"""Markers of citations as the text prints them: "[3]", "(Smith et al. 2001)"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from reflink.bibliography.references import Entry
from reflink.formats.latex.rendering import Handler, Renderer

_TEXTUAL: Final = re.compile(r"(?i)citet|textcite|citealt|citeauthor|citeN|shortcite|citeA")
_AUTHOR_YEAR: Final = re.compile(r"(.{1,200}?)\s\((\d{4}[a-z]{0,2}|[^()]{1,20})\)")
_NUMERIC: Final = re.compile(
    r"\\usepackage\s*\[[^\]]{0,200}(?:numbers|super)[^\]]{0,200}\]\s*\{natbib\}|\\setcitestyle\{[^{}]{0,100}(?:numbers|super)"
    r"|\\bibpunct(?:\[[^\]]{0,20}\])?(?:\{[^{}]{0,9}\}){3}\{[ns]\}"
    r"|\\(?:documentclass|documentstyle)[^{]{0,300}\{?[^{}]{0,30}(?:revtex|elsarticle|IEEEtran)"
)
_KEYS: Final = re.compile(r"\s*,\s*")
_MAX_KEYS: Final = 500
#: Maximum length of a printed label that is not that of an author and year.
_MAX_LABEL: Final = 12


class Markers:
    """Prints the markers of a paper's entries, in the style that its source shows."""

    def __init__(self, text: str, entries: Sequence[Entry]) -> None:
        self._numbers: dict[str, str] = {}
        self._labels: dict[str, tuple[str, str]] = {}
        numeric = _NUMERIC.search(text) is not None
        for number, entry in enumerate(entries, start=1):
            if not entry.xml_id or entry.xml_id in self._numbers:
                continue
            label = "" if numeric else entry.label or ""
            if found := _AUTHOR_YEAR.fullmatch(label):
                self._labels[entry.xml_id] = found[1], found[2]
            short = label.strip("[] ")
            self._numbers[entry.xml_id] = short if short and not found and len(short) <= _MAX_LABEL else str(number)
        self._author_year = len(self._labels) * 2 > len(self._numbers)

    def any_cite(self, renderer: Renderer) -> None:
        """Cite with a command that only its name shows to be one, such as \\parencite or \\citealp."""
        self.cite(renderer, renderer.name)

    def cite(self, renderer: Renderer, name: str) -> None:
        """Print the marker of a command that cites, and mark its mentions."""
        several = name.endswith("s") and name.lower().endswith("cites")
        textual = _TEXTUAL.search(name) is not None
        bare = "alt" in name or "alp" in name or "author" in name or "year" in name
        opened = False
        for _ in range(_MAX_KEYS if several else 1):
            options = [option for option in (renderer.option(), renderer.option()) if option is not None]
            keys = [key for key in _KEYS.split(renderer.argument().strip())[:_MAX_KEYS] if key]
            if not keys:
                break
            before = renderer.plain(options[0]) if len(options) == 2 else ""
            after = renderer.plain(options[-1]) if options else ""
            if textual and self._author_year:
                self._textual(renderer, keys, after, bare=bare)
            else:
                if not opened and not bare:
                    renderer.emit("(" if self._author_year else "[")
                elif opened:
                    renderer.emit("; ")
                opened = True
                self._parenthetical(renderer, keys, before, after)
            if not (several and (renderer.follows("[") or renderer.follows("{"))):
                break
        if opened and not bare:
            renderer.emit(")" if self._author_year else "]")

    def _textual(self, renderer: Renderer, keys: list[str], after: str, *, bare: bool) -> None:
        for number, key in enumerate(keys):
            if number:
                renderer.emit(", ")
            authors, year = self._labels.get(key, (self._numbers.get(key, key), ""))
            start = renderer.length
            note = f", {after}" if after and number == len(keys) - 1 else ""
            renderer.emit(
                f"{authors} {year}{note}" if bare else f"{authors} ({year}{note})" if year or note else f"[{authors}]"
            )
            renderer.mark("mention", start, key)

    def _parenthetical(self, renderer: Renderer, keys: list[str], before: str, after: str) -> None:
        if before:
            renderer.emit(before + " ")
        for number, key in enumerate(keys):
            if number:
                renderer.emit("; " if self._author_year else ", ")
            start = renderer.length
            label = self._labels.get(key)
            renderer.emit(f"{label[0]} {label[1]}" if label and self._author_year else self._numbers.get(key, key))
            renderer.mark("mention", start, key)
        if after:
            renderer.emit(", " + after)

    def named(self, key: str) -> Handler:
        """Return the handler of a macro that is the name of an entry, as in harvmac."""

        def handle(renderer: Renderer) -> None:
            start = renderer.length
            renderer.emit(self._numbers.get(key, key))
            renderer.mark("mention", start, key)

        return handle
