"""Find the entries of a bibliography in LaTeX source, by the patterns of paper 001 and those of newer styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from reflink.formats.latex.macros import MAX_UNCLOSED, closing
from reflink.formats.latex.reader import bracket

#: Maximum number of characters of an entry.
MAX_ITEM: Final = 60_000


class Item(NamedTuple):
    """One entry: its key, the source of its printed label, and its source. ``pattern``: what it was found by."""

    key: str | None
    label: str | None
    source: str
    pattern: str


_BIBITEM: Final = re.compile(r"\\(?:bibitem|bibit|rbibitem|Bibitem)(?![A-Za-z@])(?:\s*\([^()\n]{1,200}\))?(?:\s*(?=[\[{])|\s)")
_BIBITEM_END: Final = re.compile(
    r"\\end\s{0,10}\{(?:thebibliography|references|bibliography|numberedbib|refs|biblist|mcitethebibliography|acknowledgments?"
    r"|document|list|enumerate|itemize)\}|\\(?:endthebibliography|endreferences|end\s{0,5}\{thebibliography)|\\(?:section|chapter|appendix"
    r"|vfill\\eject|begin\s{0,10}\{(?:figure|table|appendix|appendices|thebibliography))\b"
)
_KEY: Final = re.compile(r"[^{}#\\]{0,300}")

#: The environments of a bibliography; its entries are \bibitem, \reference, \item, or numbers.
_ENVIRONMENT: Final = re.compile(
    r"\\begin\s{0,10}\{(thebibliography|references|numberedbib|refs|bibliography|reflist|literature)\}|\\beginrefs(?![A-Za-z])|\\references(?![A-Za-z])|\\Refs(?![A-Za-z])"
)
#: A heading: in braces, or at the beginning of a line of its own.
_HEADING: Final = re.compile(
    r"(?:\{|^[ \t]{0,40})(?:\\[A-Za-z]{1,30}[ \t]{0,9}|[{ \t]){0,6}(?:\d{1,2}\.?[ ]{0,3})?"
    r"(?:References?(?:\s+and\s+Notes)?|REFERENCES?|Bibliography|BIBLIOGRAPHY|Literature(?: Cited)?|Literatur(?:verzeichnis)?"
    r"|Bibliographie|R\\'ef\\'erences|Références)\s{0,9}[:.]?\s{0,9}(?:\}|\\\\|\\par\b|\\hfil|$)",
    re.MULTILINE,
)
_AFTER: Final = re.compile(
    r"\\end\s{0,10}\{(?:thebibliography|references|numberedbib|refs|bibliography|reflist|literature|document)\}|\\(?:bye|endrefs|endRefs|endreferences|enddocument)(?![A-Za-z])|\\end(?![A-Za-z{])"
    r"|\\(?:section|appendix|figurecaption|listoffigures)(?![A-Za-z])|\\begin\s{0,10}\{(?:figure|table)"
    r"|(?:\{|^)(?:\\[A-Za-z]+\s*|\s){0,4}(?:Figure|FIGURE|Table|TABLE)\s?(?:Captions?|CAPTIONS?)"
)
_LAYOUT: Final = r"(?m)^(?:[ \t]|\\(?:noindent|hang|par|smallskip|medskip|hskip|quad|item)(?![A-Za-z@])|\{|\\bf|\\rm){0,20}"
#: The ways in which entries begin, in the order in which they are tried. The first group is a label, the second a key.
_STARTS: Final = (
    ("\\reference", re.compile(
        r"\\(?:reference|refitem|rf|refb|refis|refno|refbr|rref|oneref|bref)(?![A-Za-z@])\s*(?:\[([^\]]{0,300})\])?\s*"
        r"(?:\{([^\s{},.]{0,100})\}(?!\s*,))?"
    )),
    ("\\item", re.compile(r"\\(?:item|itemitem)(?![A-Za-z@])\s*(?:\[([^\]]{0,100})\]|\{([^{}]{0,100})\})?")),
    ("\\ref", re.compile(
        r"\\(?:ref|REF|Ref|nref)(?![A-Za-z@])\s*(?:\\([A-Za-z]{1,60})\s*)?(?:(\d{1,3})[.)]|(?=\{)|(?<=[a-z]))"
    )),
    ("[NUMBER]", re.compile(_LAYOUT + r"\[(?:\\bf\s{0,9})?(\d{1,3}[a-z]?)()\]\}?")),
    ("NUMBER.", re.compile(_LAYOUT + r"\(?(\d{1,3})()[.)]\}?(?=[\s~\\])")),
    ("\\noindent", re.compile(r"(?m)^[ \t]*\\(?:noindent|hang|hangindent|parindent|par)(?![A-Za-z])\s*()()(?=[^\s\\])")),
    ("paragraph", re.compile(r"\n[ \t]{0,80}\n[ \t]{0,80}()()(?=[^\s\\]|\\[`'\"^~=.uvHckbd{])")),
)  # fmt: skip
_FEWEST: Final = 2
_LREF: Final = re.compile(r"\\(?:lref|nref|REF|ref|refdef)\s*\\([A-Za-z]{1,60})\s*\{")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)|\bin press|\bto appear|/\d{7}")


def items(text: str, *, alone: bool = False) -> list[Item]:
    """Return the entries of the bibliographies in the source, in order.

    ``alone``: the source is no document, so a blank line ends an entry that nothing else ends.
    """
    found = list(_bibitems(text, alone))
    if found:
        return found
    found = list(_defined(text))
    if found:
        return found
    regions = list(_regions(text))
    styles = _STARTS if regions or not alone else _STARTS[:1]
    for start, stop in regions or [(0, len(text))]:
        region = text[start:stop]
        for name, pattern in styles if regions or alone else ():
            starts = list(pattern.finditer(region))
            if name == "paragraph" and starts:
                starts = [each for each in starts if _YEAR.search(region, each.end(), each.end() + 1_000)]
            if len(starts) >= _FEWEST or (starts and name in ("\\reference", "\\item")):
                stops = [each.start() for each in starts[1:]] + [len(region)]
                found += [
                    Item(
                        _word(each[2]) if name == "\\reference" else None,
                        each[1] or each[2] or None,
                        region[each.end() : end][:MAX_ITEM],
                        name,
                    )
                    for each, end in zip(starts, stops, strict=True)
                ]
                break
    return found


def _word(key: str | None) -> str | None:
    return key.strip() or None if key else None


def _bibitems(text: str, alone: bool) -> Iterator[Item]:
    """Yield the entries that \\bibitem begins."""
    starts, unclosed = list(_BIBITEM.finditer(text)), 0
    for number, found in enumerate(starts):
        stop = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        at, label = found.end(), None
        if text.startswith("[", at) and unclosed < MAX_UNCLOSED:
            end = bracket(text, at)
            unclosed += end < 0
            label, at = (text[at + 1 : end], end + 1) if end >= 0 else (None, at)
        while at < len(text) and text[at] in " \t\n%":
            at += 1
        close = closing(text, at, 500) if text.startswith("{", at) else -1
        key = text[at + 1 : close] if close >= 0 else ""
        if not _KEY.fullmatch(key):
            if "#" in key:  # the definition of a macro
                continue
            close, key = -1, ""
        at = max(at, close + 1)
        stop = min(stop, at + MAX_ITEM)
        ended = _BIBITEM_END.search(text, at, stop)
        source = text[at : ended.start() if ended else stop]
        if alone and not ended and (blank := re.search(r"\S[ \t]*\n[ \t]*\n", source)):
            source = source[: blank.end()]
        yield Item(" ".join(key.split()) or None, label, source, "\\bibitem")


def _defined(text: str) -> Iterator[Item]:
    """Yield the entries that macros of harvmac and phyzzx define: \\lref\\name{...}."""
    at = unclosed = 0
    while unclosed < MAX_UNCLOSED and (found := _LREF.search(text, at)):
        close = closing(text, found.end() - 1, MAX_ITEM)
        at = close + 1 if close >= 0 else found.end()
        unclosed += close < 0
        if close >= 0:
            yield Item(found[1], None, text[found.end() : close], "\\lref")


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each bibliography: its environments, else what follows the last heading."""
    at, several = 0, False
    while found := _ENVIRONMENT.search(text, at):
        after = _AFTER.search(text, found.end())
        at = after.end() if after else len(text)
        several = True
        yield found.end(), after.start() if after else len(text)
    if several:
        return
    headings = list(_HEADING.finditer(text))
    if headings:
        start = headings[-1].end()
        after = _AFTER.search(text, start)
        yield start, after.start() if after else len(text)
