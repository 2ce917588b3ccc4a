"""Papers of the examples written in other formats, as a converter would write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any
from xml.sax.saxutils import escape

from reflink.entities import Ids, Paper, Reference


def _names(reference: Reference) -> list[tuple[str, str]]:
    given = reference.given_names or ("",) * len(reference.last_names)
    return list(zip(reference.last_names, given, strict=True))


def _stated(ids: Ids) -> list[tuple[str, str]]:
    return [(kind, value) for kind, value in ids if value]


def _element(name: str, value: object, **attributes: str) -> str:
    given = "".join(f' {key}="{escape(each)}"' for key, each in attributes.items())
    return f"<{name}{given}>{escape(str(value))}</{name}>" if value is not None else ""


def tei(paper: Paper) -> bytes:
    """GROBID's TEI."""

    def cited(at: int, reference: Reference) -> str:
        persons = "".join(
            f"<author><persName>{_element('forename', given, type='first') if given else ''}"
            f"{_element('surname', last)}</persName></author>"
            for last, given in _names(reference)
        )
        titles = _element("title", reference.title, level="a", type="main")
        idnos = "".join(
            _element("idno", value, type=kind.upper() if kind != "arxiv" else "arXiv") for kind, value in _stated(reference.ids)
        )
        article = f"<analytic>{titles}{persons}{idnos}</analytic>" if reference.title and reference.venue else ""
        scopes = _element("biblScope", reference.volume, unit="volume") + _element("biblScope", reference.issue, unit="issue")
        if reference.first_page:
            last = f' to="{escape(reference.last_page)}"' if reference.last_page else ""
            scopes += f'<biblScope unit="page" from="{escape(reference.first_page)}"{last}/>'
        date = f'<date type="published" when="{reference.year}"/>' if reference.year else ""
        host = (
            _element("title", reference.venue, level="j")
            if article
            else _element("title", reference.venue or reference.title, level="m")
        )
        host += "" if article else persons + idnos
        return (
            f'<biblStruct xml:id="b{at}">{article}<monogr>{host}<imprint>{scopes}{date}</imprint>'
            f"</monogr>{_element('note', reference.raw_text, type='raw_reference')}</biblStruct>"
        )

    entries = "".join(cited(at, reference) for at, reference in enumerate(paper.references))
    return (
        '<?xml version="1.0" encoding="UTF-8"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>'
        f"{_element('title', paper.title, level='a', type='main')}</titleStmt><sourceDesc><biblStruct><monogr/>"
        f"{_element('idno', paper.ids.doi, type='DOI')}</biblStruct></sourceDesc></fileDesc></teiHeader><text><back>"
        f'<div type="references"><listBibl>{entries}</listBibl></div></back></text></TEI>'
    ).encode()


_SPECIAL = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
)


def latex(paper: Paper) -> bytes:
    """A LaTeX document with its bibliography."""
    items = "".join(
        f"\\bibitem{{ref{at}}} {reference.raw_text.translate(_SPECIAL)}\n\n" for at, reference in enumerate(paper.references)
    )
    return (
        "\\documentclass{article}\n\\begin{document}\n\\title{" + (paper.title or "").translate(_SPECIAL) + "}\n"
        f"\\begin{{thebibliography}}{{99}}\n{items}\\end{{thebibliography}}\n\\end{{document}}\n"
    ).encode()


def s2orc(paper: Paper) -> bytes:
    """S2ORC's JSON as doc2json writes it."""

    def cited(at: int, reference: Reference) -> dict[str, Any]:
        people = [{"first": given, "middle": [], "last": last, "suffix": ""} for last, given in _names(reference)]
        pages = "--".join(filter(None, (reference.first_page, reference.last_page)))
        return {
            "ref_id": f"b{at}", "title": reference.title or "", "authors": people, "year": reference.year,
            "venue": reference.venue or "", "volume": reference.volume or "", "issue": reference.issue or "", "pages": pages,
            "other_ids": {kind.upper(): [value] for kind, value in _stated(reference.ids)}, "raw_text": reference.raw_text,
            "urls": [], "links": None,
        }  # fmt: skip

    entries = {f"BIBREF{at}": cited(at, reference) for at, reference in enumerate(paper.references)}
    parse = {"paper_id": "x", "abstract": [], "body_text": [], "back_matter": [], "bib_entries": entries, "ref_entries": {}}
    return json.dumps(
        {"paper_id": "x", "title": paper.title, "authors": [], "identifiers": {"doi": paper.ids.doi}, "pdf_parse": parse}
    ).encode()


def crossref(paper: Paper) -> bytes:
    """A work of Crossref's REST interface."""

    def cited(at: int, reference: Reference) -> dict[str, Any]:
        first = reference.last_names[0] if reference.last_names else None
        fields = {
            "DOI": reference.ids.doi, "article-title": reference.title, "author": first, "journal-title": reference.venue,
            "year": None if reference.year is None else str(reference.year), "volume": reference.volume,
            "first-page": reference.first_page, "unstructured": reference.raw_text,
        }  # fmt: skip
        return {"key": f"ref{at}", **{key: value for key, value in fields.items() if value}}

    references = [cited(at, reference) for at, reference in enumerate(paper.references)]
    message = {
        "DOI": paper.ids.doi,
        "title": [paper.title],
        "type": "journal-article",
        "reference-count": len(references),
        "reference": references,
    }
    return json.dumps({"status": "ok", "message-type": "work", "message": message}).encode()


def text(paper: Paper) -> bytes:
    """A numbered list of citations."""
    return "".join(f"[{at}] {reference.raw_text}\n" for at, reference in enumerate(paper.references, start=1)).encode()


def _csl_item(at: int, reference: Reference) -> dict[str, Any]:
    pages = "-".join(filter(None, (reference.first_page, reference.last_page)))
    fields = {
        "id": f"ref{at}", "type": "article-journal", "title": reference.title, "container-title": reference.venue,
        "author": [{"family": last, "given": given} for last, given in _names(reference)],
        "issued": {"date-parts": [[reference.year]]} if reference.year else None, "volume": reference.volume,
        "issue": reference.issue, "page": pages or None, "DOI": reference.ids.doi, "PMID": reference.ids.pmid,
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value}


def csl(references: Iterable[Reference]) -> bytes:
    """A list of CSL-JSON."""
    return json.dumps([_csl_item(at, reference) for at, reference in enumerate(references)]).encode()


def ris(references: Iterable[Reference]) -> bytes:
    """Records of RIS."""
    lines: list[str] = []
    for reference in references:
        lines += ["TY  - JOUR", *(f"AU  - {last}, {given}" for last, given in _names(reference))]
        fields = {
            "TI": reference.title, "JO": reference.venue, "PY": reference.year, "VL": reference.volume, "IS": reference.issue,
            "SP": reference.first_page, "EP": reference.last_page, "DO": reference.ids.doi,
        }  # fmt: skip
        lines += [f"{tag}  - {value}" for tag, value in fields.items() if value]
        lines.append("ER  - ")
    return "\n".join(lines).encode()


#: Formats in which a whole paper is written.
PAPERS: dict[str, Callable[[Paper], bytes]] = {"tei": tei, "latex": latex, "s2orc": s2orc, "crossref": crossref, "text": text}
#: Formats of bibliographies, which have no untagged references.
RECORDS: dict[str, Callable[[Iterable[Reference]], bytes]] = {"csl": csl, "ris": ris}
