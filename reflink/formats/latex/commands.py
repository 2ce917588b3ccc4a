"""What commands do within an entry of a bibliography: addresses and identifiers, fields of BibTeX styles, layout."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from reflink.formats.latex.rendering import Handler, Renderer, address

_GLUE: Final = re.compile(r"\s*=?\s*[-+]?[\d.]+\s*(?:true)?\s*[a-z]{2}(?:\s*(?:plus|minus)\s*[-+]?[\d.]+\s*(?:fil+|[a-z]{2}))*")
_NUMBER: Final = re.compile(r"\s*=?\s*(?:[-+]?\d{1,6}|'\d{1,3}|\"[\dA-F]{1,2}|`\\?.)\s?")
_RESOLVER: Final = re.compile(
    r"(?i)(?:https?:)?/*(?:www\.|dx\.)?doi\.(?:org|acm\.org)/+(?:doi:)?(10\..+)|(?:doi:|info:doi/)\s*(10\..+)|(10\.\d{4,9}/.+)"
)
_ARXIV: Final = re.compile(
    r"(?i)(?:(?:https?:)?/*(?:[a-z.]{0,10}\.)?(?:arxiv\.org|xxx\.lanl\.gov|xxx\.arxiv\.org)/(?:abs|pdf|html|ps)/+(?:arxiv:)?|arxiv:\s*)([a-z.-]{2,15}/\d{7}|\d{4}\.\d{4,5})"
)
_BARE_ARXIV: Final = re.compile(
    r"(?i)\s*(?:arxiv:)?\s*([a-z]{2,8}(?:-[a-z]{2,3})?(?:\.[a-z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d{1,2})?\s*(?:\[.*)?"
)
_SPIRES: Final = re.compile(
    r"(?i)arxiv:(\d{4}\.\d{4,5}|[a-z-]{2,10}/\d{7})"
    r"|((?:hep|astro|cond|quant|nucl|gr|math|physics)(?:-[a-z]{2,3})?)\s*[/ ]\s*(\d{7})"
)


def doi_of(text: str) -> str | None:
    """Return the DOI of an address or DOI; None if it is not one of a resolver."""
    found = _RESOLVER.fullmatch(text.strip())
    return unquote(found[1] or found[2] or found[3]) if found else None


def arxiv_of(text: str) -> str | None:
    """Return the arXiv id of an address or id."""
    found = _ARXIV.match(text.strip()) or _BARE_ARXIV.fullmatch(text)
    return found[1] if found else None


def state(renderer: Renderer, text: str) -> None:
    """Mark the identifier that an address holds; the mark "address" of any other address."""
    if found := doi_of(text):
        renderer.mark("doi", renderer.length, found)
    elif found := arxiv_of(text):
        renderer.mark("arxiv", renderer.length, found)
    elif text:
        renderer.mark("address", renderer.length, text)


def _typed(kind: str) -> Handler:
    """Return the handler of a command whose argument is an identifier of a kind, such as \\doi."""

    def handle(renderer: Renderer) -> None:
        renderer.option()
        source = address(renderer.argument())
        value = (doi_of(source) or source) if kind == "doi" else (arxiv_of(source) or source) if kind == "arxiv" else source
        label = {"doi": "doi:", "arxiv": "arXiv:", "pmid": "PMID: "}[kind]
        if value:
            start = renderer.length
            renderer.emit(source if source.lower().startswith(("doi", "arxiv", "http")) else label + source)
            renderer.mark(kind, start, value)

    return handle


def _url(renderer: Renderer) -> None:
    text = address(renderer.argument())
    state(renderer, text)
    renderer.emit(text)


def _href(renderer: Renderer) -> None:
    renderer.option()
    source = renderer.argument().replace("\\doibase", "https://doi.org/")
    state(renderer, address(source))


def _eprint(renderer: Renderer) -> None:
    """\\eprint{id}, \\eprint[class]{id} of some styles; \\Eprint{address}{text} of REVTeX."""
    renderer.option()
    source = address(renderer.argument())
    if source.startswith("http"):
        state(renderer, source)
    elif source:
        start = renderer.length
        found = arxiv_of(source)
        renderer.emit(f"arXiv:{source}" if found and not source.lower().startswith("arxiv") else source)
        if found:
            renderer.mark("arxiv", start, found)


def _citation(renderer: Renderer) -> None:
    """INSPIRE's name of a work in a comment, which ends its citation."""
    text = renderer.argument()
    if found := _SPIRES.match(text):
        # It belongs to the work that ends here, not to the one that may follow.
        renderer.mark("arxiv", max(renderer.length - 1, 0), found[1] or f"{found[2].lower()}/{found[3]}")
    renderer.mark("work-end", renderer.length)


def _bibinfo(renderer: Renderer) -> None:
    name = renderer.argument().strip().lower()
    if name == "doi":
        source = renderer.argument()
        state(renderer, address(source))
        renderer.emit(address(source))
    else:
        renderer.mark_next("info:" + name)


def _bibfield(renderer: Renderer) -> None:
    renderer.mark_next("field:" + renderer.argument().strip().lower())


def _next(name: str) -> Handler:
    return lambda renderer: renderer.mark_next(name)


def _dropping(count: int) -> Handler:
    def handle(renderer: Renderer) -> None:
        renderer.option()
        for _ in range(count):
            renderer.argument()

    return handle


def _quoted(renderer: Renderer) -> None:
    renderer.push(f"``{renderer.argument()}''")


def _skipping(pattern: re.Pattern[str]) -> Handler:
    def handle(renderer: Renderer) -> None:
        renderer.skip(pattern)

    return handle


def _hskip(renderer: Renderer) -> None:
    renderer.skip(_GLUE)
    renderer.space()


def _break(renderer: Renderer) -> None:
    renderer.space()
    renderer.mark("break", renderer.length)


def _block(renderer: Renderer) -> None:
    renderer.space()
    renderer.mark("block", renderer.length)


def _space(renderer: Renderer) -> None:
    renderer.space()


def _xspace(renderer: Renderer) -> None:
    """A space, unless a mark of punctuation follows."""
    if renderer.following().isalnum() or renderer.following() in tuple("([\\$`"):
        renderer.space()


def _nothing(renderer: Renderer) -> None:
    """Nothing is printed."""


def _printing(text: str) -> Handler:
    return lambda renderer: renderer.emit(text)


def _environment(renderer: Renderer) -> None:
    renderer.argument()
    renderer.space()


_DROP: Final = {
    1: """label hspace vspace color selectlanguage BibitemShut href@noop noopsort SortNoop noop includegraphics ref pageref cite
    citep citet onlinecite citealt hypersetup phantom hphantom vphantom MR foreignlanguage textcolor index raisebox rotatebox
    scalebox bptok bmrnumber bidsource showISSN showISBNx showISBNxiii""",
    2: "setlength addtolength fontsize setcounter addtocounter MRhref rule resizebox",
}  # fmt: skip


def bibliography_commands() -> dict[str, Handler]:
    """Return the handlers by command."""
    found: dict[str, Handler] = {name: _dropping(count) for count, names in _DROP.items() for name in names.split()}
    for name in ("vskip", "kern", "mskip", "hangindent", "parindent", "baselineskip", "raise", "lower", "mkern"):
        found[name] = _skipping(_GLUE)
    for name in ("penalty", "hangafter", "char", "spacefactor", "tolerance", "clubpenalty", "hyphenpenalty"):
        found[name] = _skipping(_NUMBER)
    found["hskip"] = _hskip
    found |= dict.fromkeys(("url", "nolinkurl", "path", "burl", "urlalt", "bURL"), _url)
    found |= dict.fromkeys(("href", "Hurl", "hrefdoi", "bibhref"), _href)
    found |= dict.fromkeys(
        ("doi", "DOI", "dodoi", "Doi", "doiurl", "DOIprefix", "doilink", "bdoi", "refdoi", "bibdoi"), _typed("doi")
    )
    found |= dict.fromkeys(
        ("arxiv", "arXiv", "doarXiv", "arxivlink", "barxiv", "eprintarxiv", "ArXiv", "arxivid"), _typed("arxiv")
    )
    found |= dict.fromkeys(("pmid", "PMID", "pubmed", "bpmid"), _typed("pmid"))
    found |= dict.fromkeys(("eprint", "Eprint", "showeprint", "beprint", "doeprint"), _eprint)
    found |= {
        "reflinkcitation": _citation, "bibinfo": _bibinfo, "bibfield": _bibfield, "bibnamefont": _next("last"),
        "bibfnamefont": _next("first"), "enquote": _quoted, "mkbibquote": _quoted, "newblock": _block, "newline": _break,
        "par": _break,
        "begin": _environment, "end": _environment, "item": _space, "ensuremath": _next("formula"), "bysame": _printing("———"),
        "natexlab": _nothing, "newunit": _space, "and": _printing(" and "), "showDOI": _nothing, "showURL": _nothing,
        "hrulefill": _nothing, "urlprefix": _printing("URL "), "collaboration": _next("info:collaboration"),
        "reflinktitle": _nothing, "showarticletitle": _next("info:title"),
        "BIBforeignlanguage": _dropping(1), "xspace": _xspace,
    }  # fmt: skip
    found |= {name: _next(field) for name, field in _SPRINGER.items()}
    return found


#: Commands of Springer's and IMS's styles that mark fields.
_SPRINGER: Final = {
    "bauthor": "info:author", "bsnm": "last", "bfnm": "first", "binits": "first", "beditor": "info:editor",
    "bparticle": "particle",
    "batitle": "info:title", "bctitle": "info:title", "bbtitle": "info:booktitle", "bjtitle": "info:journal",
    "bjournal": "info:journal",
    "btitle": "info:title", "bbooktitle": "info:booktitle", "bseries": "info:series", "bvolume": "info:volume",
    "bissue": "info:number",
    "bnumber": "info:number", "bfpage": "info:pages", "blpage": "info:lastpage", "bpages": "info:pages", "byear": "info:year",
    "bpublisher": "info:publisher", "bschool": "info:school", "bcollab": "info:collaboration",
    "borganization": "info:organization",
}  # fmt: skip
