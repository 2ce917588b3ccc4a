"""The formats by name. Their modules are imported on demand, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final

from reflink.errors import NotAPaper
from reflink.formats.content import Content
from reflink.formats.format import Format

#: One line per format. A format whose content another one would recognise too comes before it.
_CLASSES: Final = {
    "jats": "reflink.formats.jats:Jats",
    "tei": "reflink.formats.tei:Tei",
    "s2orc": "reflink.formats.s2orc:S2orc",
    "crossref": "reflink.formats.crossref:Works",
    "crossref-xml": "reflink.formats.crossref:Deposits",
    "pubmed": "reflink.formats.pubmed:Pubmed",
    "csl": "reflink.formats.csl:Csl",
    "latex": "reflink.formats.latex:Latex",
    "bibtex": "reflink.formats.bibtex:Bibtex",
    "ris": "reflink.formats.ris:Ris",
    "elsevier": "reflink.formats.publishers.articles:Elsevier",
    "springer": "reflink.formats.publishers.articles:Springer",
    "wiley": "reflink.formats.publishers.articles:Wiley",
    "nature": "reflink.formats.publishers.articles:Nature",
    "rsc": "reflink.formats.publishers.articles:Rsc",
    "iop": "reflink.formats.publishers.articles:Iop",
    "references": "reflink.formats.publishers.fragments:References",
    "bits": "reflink.formats.bits:Bits",
    "meca": "reflink.formats.meca:Meca",
    "text": "reflink.formats.text:Text",
}
#: The names of the formats.
NAMES: Final = tuple(_CLASSES)
#: The formats that can be written with links (`Format.writes`), so that a command can name them without their modules.
WRITABLE: Final = ("jats", "tei", "s2orc", "bits")
#: The format of XML that no format recognises: articles inside other elements, and the errors of everything else.
_XML: Final = "jats"


@cache
def format_named(name: str) -> Format:
    """Return the format with this name, one of NAMES."""
    module, _, cls = _CLASSES[name].partition(":")
    found: type[Format] = getattr(import_module(module), cls)
    return found()


def formats() -> Iterator[Format]:
    """Yield all formats."""
    return map(format_named, NAMES)


def source_of(name: str) -> str:
    """Return the name of a paper from the name of its file: without folders and known endings."""
    # File names may contain bytes that are not valid text; an id may not.
    base = PurePosixPath(name).name.encode(errors="backslashreplace").decode()
    lower = base.lower()
    return next((base[: -len(ending)] for ending in endings() if lower.endswith(ending) and len(base) > len(ending)), base)


@cache
def endings() -> tuple[str, ...]:
    """Return the endings of the files of all formats, plain and gzipped, the longest first."""
    plain = {ending for each in formats() for ending in each.endings}
    return tuple(sorted(plain | {f"{ending}.gz" for ending in plain}, key=lambda ending: (-len(ending), ending)))


def format_of(content: Content) -> Format:
    """Return the first format that recognises the content. Raises NotAPaper, which states what the content looks like."""
    for each in formats():
        if each.recognises(content):
            return each
    if content.root is not None or content.data.lstrip()[:1] == b"<":
        return format_named(_XML)
    raise NotAPaper(f"{content.name}: {_likeness(content)}; known formats: {', '.join(NAMES)}")


def _likeness(content: Content) -> str:
    if not content.data:
        return "empty"
    if content.data.startswith(b"%PDF"):
        return "a PDF: convert it with GROBID and send its TEI"
    if content.json is not None:
        return "JSON of no known format"
    return "text of no known format" if content.text is not None else "bytes of no known format"
