"""What a LaTeX source states of the paper itself: title, authors, year, identifiers, abstract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from reflink.formats.latex.commands import bibliography_commands
from reflink.formats.latex.macros import MAX_UNCLOSED, closing
from reflink.formats.latex.project import Project
from reflink.formats.latex.reader import bracket
from reflink.formats.latex.rendering import Handler, Renderer
from reflink.names import divided, is_group
from reflink.sources import values

_TITLE: Final = re.compile(r"\\(?:title|icmltitle|papertitle)\*?(?![A-Za-z@])\s*")
#: The title behind the number of a report, in harvmac.
_HARVMAC: Final = re.compile(r"\\Title\s{0,9}\{[^{}]{0,300}(?:\{[^{}]{0,300}\}[^{}]{0,300}){0,3}\}\s{0,9}(?=\{)")
_AUTHOR: Final = re.compile(r"\\(?:author|icmlauthor|Author|authors)\*?(?![A-Za-z@])\s*")
_BLOCK: Final = re.compile(r"\\IEEEauthorblockN\s*(?=\{)")
_COLLABORATION: Final = re.compile(r"\\collaboration\s*(?=\{)")
_DATE: Final = re.compile(r"\\date\s*\{([^{}]{0,200})\}")
_DOI: Final = re.compile(
    r"\\(?:doi|DOI|acmDOI|articledoi|paperdoi)\s*\{\s*(?:https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/[^\s{}]{1,200})\}"
)
_PLACEHOLDER: Final = re.compile(r"(?i)x{3}|n{3}|\d{4,9}/(?:1234567|0000000|9999999|12345\.67890)")
_ARXIV: Final = re.compile(
    r"\\(?:arxivnumber|arxivid|preprint)\s*\{\s*(?:arXiv:\s*)?(\d{4}\.\d{4,5}|[a-z-]{2,10}/\d{7})(?:v\d+)?\s*(?:\[[^\]{}]{0,20}\]\s*)?\}"
)
_NAMED_ARXIV: Final = re.compile(
    r"(?:arXiv[-:_.]?)?(\d\d(?:0[1-9]|1[0-2])\.\d{4,5}|(?:hep-(?:th|ph|ex|lat)|astro-ph|gr-qc|quant-ph|cond-mat|nucl-(?:th|ex)|math-ph|math|cs|physics|nlin|q-bio)(?:\.[A-Z]{2})?[/_]?\d{7})(?:v\d{1,2})?"
)
_ENDINGS: Final = re.compile(r"(?:\.(?:tar|gz|tgz|tex|zip|src|bbl))+$", re.IGNORECASE)
_ABSTRACT: Final = re.compile(r"\\begin\s{0,10}\{(abstract|Abstract|onecolabstract)\}|\\abstracts?\s*(?=\{)")
_YEAR: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_SPLIT: Final = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+(?:and|und|et)\s+|\s*&\s*|;)\s*")
_NAME: Final = re.compile(r"(?:[^\W\d_][\w.'’‐-]{0,40}\s?){2,6}")
_PLACE: Final = re.compile(
    r"(?i)\b(?:univ|depart|institut|laborator|school|center|centre|college|facult|fakult|street|academy|observator|email|@)"
)
#: A mark of an affiliation.
_FORMULA: Final = re.compile(r"\$[^$]{0,100}\$")
_MAX_ABSTRACT: Final = 50_000
_MAX_AUTHORS: Final = 10_000


def front(project: Project, source: str | None) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Paper` that the source states. ``source``: its name, which may be its arXiv id."""
    renderer = Renderer(project.macros, _commands(), len(project.text) // 4)
    text = _HARVMAC.sub(r"\\title", project.text)
    found: dict[str, Any] = {
        "title": next(filter(None, (renderer.render(each).text for each in _arguments(text, _TITLE))), None)
    }
    names, groups = _authors(text, renderer)
    if names:
        found["authors"] = tuple(last for last, _ in names)
        if any(given for _, given in names):
            found["given_names"] = tuple(given for _, given in names)
        if groups:
            found["collectives"] = tuple(groups)
    date = _DATE.search(text)
    year = _YEAR.search(date[1]) if date else None
    doi = _DOI.search(project.preamble)
    named = _NAMED_ARXIV.fullmatch(_ENDINGS.sub("", (source or "").rpartition("/")[2])) or _ARXIV.search(text)
    ids = values.ids(
        doi=None if doi is None or _PLACEHOLDER.search(doi[1]) else doi[1].replace("\\_", "_"),
        arxiv=_slashed(named[1]) if named else None,
    )
    found |= {"year": int(year[1]) if year else None, "ids": ids, "abstract": _abstract(text, renderer)}
    return {name: value for name, value in found.items() if value is not None}


def _slashed(name: str) -> str:
    """Return an arXiv id with the slash that file names lack: "hep-th9901001"."""
    return name if "." in name and name[0].isdigit() else f"{name[:-7].rstrip('/_')}/{name[-7:]}"


def _arguments(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the source of the argument of each command that the pattern finds, behind its optional ones."""
    unclosed = 0
    for count, found in enumerate(pattern.finditer(text)):
        if unclosed >= MAX_UNCLOSED or count > _MAX_AUTHORS:
            return
        at = found.end()
        while text.startswith("[", at) and (end := bracket(text, at)) >= 0:
            at = end + 1
            while text[at : at + 1].isspace():
                at += 1
        close = closing(text, at) if text.startswith("{", at) else -1
        unclosed += close < 0
        if close >= 0:
            yield text[at + 1 : close]


def _authors(text: str, renderer: Renderer) -> tuple[list[tuple[str, str]], list[str]]:
    """Return last and given names of the authors, groups among them, and the groups."""
    found: list[tuple[str, str]] = []
    groups: list[str] = []
    for argument in _arguments(text, _AUTHOR):
        blocks = list(_arguments(argument, _BLOCK)) or [argument]
        for block in blocks:
            printed, marks = renderer.render(_FORMULA.sub("", block))
            cuts = [0, *(mark.start for mark in marks if mark.name == "and"), len(printed)]
            for start, stop in pairwise(cuts):
                line = min((mark.start for mark in marks if mark.name == "break" and start < mark.start < stop), default=stop)
                for name in _SPLIT.split(printed[start:line].strip(" ,;*")):
                    if is_group(name) and "ollaboration" in name:
                        groups.append(name)
                        found.append((name, ""))
                    elif len(name) < 100 and _NAME.fullmatch(name) and not _PLACE.search(name):
                        found.append(divided(name))
    for argument in _arguments(text, _COLLABORATION):
        if name := renderer.render(argument).text.strip("() "):
            groups.append(name)
            found.append((name, ""))
    return found, list(dict.fromkeys(groups))


def _abstract(text: str, renderer: Renderer) -> str | None:
    found = _ABSTRACT.search(text)
    if found is None:
        return None
    if found[1]:
        stop = text.find("\\end{" + found[1], found.end(), found.end() + _MAX_ABSTRACT)
        content = text[found.end() : stop] if stop >= 0 else ""
    else:
        close = closing(text, found.end(), _MAX_ABSTRACT)
        content = text[found.end() + 1 : close] if close >= 0 else ""
    return renderer.render(content).text or None


def _commands() -> dict[str, Handler]:
    """Return what commands do within titles and lists of authors: notes and affiliations print nothing."""
    found = bibliography_commands()

    def drop(renderer: Renderer) -> None:
        renderer.option()
        renderer.argument()

    def separate(renderer: Renderer) -> None:
        renderer.space()
        renderer.mark("and", renderer.length)

    names = """thanks footnote inst affil affiliation altaffilmark altaffiliation altaffiltext fnref corref tnoteref thanksref
    orcidlink orcid email ead address institute IEEEauthorblockA IEEEmembership textsuperscript footnotemark authormark aff
    orcidID ref label cite fnmsep tnotetext Thanks IEEEauthorrefmark iconfont href acknowledgement affilnum authornote"""
    found |= dict.fromkeys(names.split(), drop)
    found |= dict.fromkeys(("and", "And", "AND", "authorand", "quad", "qquad", "hfill", "enspace"), separate)
    found["formula"] = drop
    return found
