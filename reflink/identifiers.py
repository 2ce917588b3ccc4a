"""Find DOI, PMID, PMCID and arXiv id in text and normalise each, and ISSNs, to one spelling.

The spellings follow `reflink.entities.Ids`: ``10.1016/s0140-6736(00)02738-0`` (lower case), ``19693083``, ``PMC2707599``,
``1706.03762`` or ``hep-th/9901001`` (no version, no subject class). Every function accepts any text and raises no error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from reflink.entities import Ids

#: No identifiers. `extract` returns this object itself if it finds none.
NO_IDS: Final = Ids()
_MAYBE: Final = re.compile("pm(?:c|id|-)")
#: Maximum length of a DOI, in characters; the longest registered DOIs are much shorter.
MAX_DOI: Final = 256

# A registrant's prefix, a slash, and characters other than white space. Spaces are allowed where the meaning is unambiguous.
_DOI: Final = re.compile(
    r"(?<!\d)(?<!\d\.)10\.\s?(\d{4,9}(?:\.\d{1,9})*)\s?(?:/|%2[Ff])\s?([^\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+)"
)
# Words that publishers' software appends to a DOI without a space.
_GLUED: Final = re.compile(
    r"(?i)(?<=[^/])(?:\[?pub ?med|\(?pmc?id|[.;,|\]]pmc\d|https?:|www\.|doi:|[.;,]?epub(?=$|[ \d.])"
    r"|[.;,]available|[.;,]accessed|\|)"
)
# "<" ends a DOI (it opens a tag), except in a SICI: 10.1002/(SICI)1097-0134(199901)34:1<1::AID-PROT1>3.0.CO;2-#
_SICI: Final = re.compile(r"(?i)[^\s<>]+<[^\s<>]+>\d\.\d\.(?:co|tx);\d(?:-[\da-z#*])?|[^\s<>]*<[^\s<>]*::[^\s<>]*>[^\s<>\"]*")
# A text that is only a DOI and contains nothing that might have to be removed.
_PLAIN_DOI: Final = re.compile(
    r"(?i)(?!.*(?:pub ?med|pmc|pmid|https|www|epub|available|accessed))10\.\d{4,9}/(?:[a-z\d]|[-._()/](?=[a-z\d]))+", re.ASCII
)
_TAIL: Final = ".,;:!?'\"*|`´‘’“”«»…·、。，；&=~_-‐–—/\\<>^$"
_BRACKETS: Final = (("(", ")"), ("[", "]"), ("{", "}"))

_PMID: Final = re.compile(
    r"(?i)(?:(?<![a-z])pm-?id\s?(?:[:#.]\s?)*|pubmed(?:\s?id\s?:?|\s?:)\s?"
    r"|ncbi\.nlm\.nih\.gov/(?:entrez/)?pubmed/(?:\?term=)?|pubmed\.ncbi\.nlm\.nih\.gov/|(?<=info:)pmid/)0*([1-9][0-9]{0,7})(?!\d)"
)
_PMCID: Final = re.compile(
    r"(?i)(?:(?<![a-z])pmc-?id\s?:?\s?|ncbi\.nlm\.nih\.gov/(?:pmc/)?articles/)?"
    r"(?<![a-bd-z])(?:pmc){1,2}\s?0*([1-9]\d{2,8})(?!\d)"
)
_ARXIV: Final = re.compile(
    r"(?i)(?:arxiv\s?[:.]?\s?(?:preprint\s?)?(?:arxiv)?\s?[:.]?\s?|arxiv\.org/(?:abs|pdf|html)/)"
    r"(\d{4}\.\d{4,5}|[a-z]{2,8}(?:-[a-z]{2,3})?(?:\.[a-z]{2})?/\d{7})(?!\d)(?:v\d{1,2}(?!\d))?(?:\.pdf)?"
)
_BARE_ARXIV: Final = re.compile(r"(?i)(\d{4}\.\d{4,5}|[a-z]{2,8}(?:-[a-z]{2,3})?(?:\.[a-z]{2})?/\d{7})(?:v\d{1,2})?(?:\.pdf)?")
_ISSN: Final = re.compile(r"(?<!\d)(\d{4})\s?[-‐‑–—−]?\s?(\d{3}[\dXx])(?![\dA-Za-z])")
_ARXIV_DOI: Final = "10.48550/arxiv."


def normalise_doi(text: str) -> str | None:
    """Return the first DOI of ``text`` in lower case from ``10.``, or None.

    Resolver, label, escapes and trailing punctuation are removed.
    """
    if _PLAIN_DOI.fullmatch(text) and len(text) <= MAX_DOI:
        return text.lower()
    found = _first_doi(text)
    return found[2] if found else None


def normalise_pmid(text: str) -> str | None:
    """Return 1 to 8 digits without leading zeros, from a bare or labelled number, or None."""
    bare = text.strip().lstrip("0")
    if bare.isascii() and bare.isdigit():
        return bare if len(bare) <= 8 else None
    found = _PMID.search(text)
    return found[1] if found else None


def normalise_pmcid(text: str) -> str | None:
    """Return ``PMC`` and digits, from a number with or without ``PMC``, or None. A version (``PMC13900.2``) is removed."""
    bare = text.strip().lstrip("0")
    if bare.isascii() and bare.isdigit():
        return f"PMC{bare}" if len(bare) <= 9 else None
    found = re.fullmatch(r"(?i)\s*(?:pmc)+\s?0*([1-9]\d{0,8})(?:\.\d+)?\s*", text, re.ASCII) or _PMCID.search(text)
    return f"PMC{found[1]}" if found and found[1].isascii() else None


def normalise_arxiv(text: str) -> str | None:
    """Return ``1706.03762`` or ``hep-th/9901001``, without version and subject class, from an id, address or DOI, or None."""
    found = _BARE_ARXIV.fullmatch(text.strip()) or _ARXIV.search(text)
    if found:
        return _arxiv(found[1])
    doi = normalise_doi(text)
    return _arxiv_of_doi(doi) if doi else None


@lru_cache(maxsize=4096)
def normalise_issn(text: str) -> str | None:
    """Return the first ISSN in ``text`` as ``NNNN-NNNX``; None if there is none or its check digit is wrong."""
    found = _ISSN.search(text)
    digits = (found[1] + found[2]).upper() if found else ""
    if not digits.isascii() or not digits.strip("0"):
        return None
    total = sum(weight * (10 if digit == "X" else int(digit)) for weight, digit in zip(range(8, 0, -1), digits, strict=True))
    return f"{digits[:4]}-{digits[4:]}" if total % 11 == 0 else None


def extract(text: str) -> Ids:
    """Return the first identifier of each kind in free text. A number without a label is not an identifier."""
    first = first_of_each(occurrences(text)) if promising(text) else None
    return Ids(**first) if first else NO_IDS


def first_of_each(found: Iterable[tuple[str, int, int, str]]) -> dict[str, str]:
    """Return the first value of each kind in a result of `occurrences`; an arXiv DOI also gives the arXiv id."""
    first: dict[str, str] = {}
    for kind, _, _, value in found:
        first.setdefault(kind, value)
    if "arxiv" not in first and (arxiv := _arxiv_of_doi(first.get("doi", ""))):
        first["arxiv"] = arxiv
    return first


def promising(text: str) -> bool:
    """Whether a text may contain an identifier or address: a fast test that saves most texts the regular expressions."""
    if "10." in text:
        return True
    lower = text.lower()
    return (
        "http" in lower or "www." in lower or ("pm" in lower and _MAYBE.search(lower) is not None) or "arxiv" in lower
        or "ftp" in lower or "pubmed" in lower or "nih.gov" in lower
    )  # fmt: skip


NORMALISERS: Final[dict[str, Callable[[str], str | None]]] = {
    "doi": normalise_doi,
    "pmid": normalise_pmid,
    "pmcid": normalise_pmcid,
    "arxiv": normalise_arxiv,
}


def occurrences(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield (kind, start, end, value) of every identifier; spans may overlap."""
    if "10." in text:
        start = 0
        while found := _first_doi(text, start):
            yield "doi", found[0], found[1], found[2]
            start = found[1]
    lower = text.lower()
    if "pm" in lower or "pubmed" in lower or "nih.gov" in lower:
        for match in _PMID.finditer(text):
            if match[1].isascii():
                yield "pmid", *match.span(), match[1]
        for match in _PMCID.finditer(text):
            if match[1].isascii():
                yield "pmcid", *match.span(), f"PMC{match[1]}"
    if "arxiv" in lower:
        for match in _ARXIV.finditer(text):
            if match[1].isascii():
                yield "arxiv", *match.span(), _arxiv(match[1])


def _first_doi(text: str, start: int = 0) -> tuple[int, int, str] | None:
    """Return start, end and normalised value of the first DOI at or after ``start``, or None."""
    for match in _DOI.finditer(text, start):
        if (suffix := _doi_suffix(match[2])) and match[1].isascii():
            value = f"10.{match[1]}/{suffix}"
            cleaned = _clean_doi(value)
            if cleaned and len(cleaned) <= MAX_DOI:
                return match.start(), match.start(2) + len(suffix), cleaned
    return None


def _doi_suffix(rest: str) -> str:
    """Return the part of the text after the slash, without white space, that belongs to the DOI."""
    rest = rest[: 4 * MAX_DOI]  # bounds the cost; longer text is not a DOI
    sici = _SICI.match(rest) if "<" in rest else None
    if sici:
        rest = sici[0]
        if rest.endswith("#"):
            return rest
    else:
        rest = rest.split("<", 1)[0]
        hash_at = rest.find("#")
        if hash_at >= 0 and not rest[:hash_at].endswith(";2-"):
            rest = rest[:hash_at]
    while True:
        before = rest
        if glued := _GLUED.search(rest):
            rest = rest[: glued.start()]
        rest = rest.rstrip(_TAIL)
        for opening, closing in _BRACKETS:
            if (rest.endswith(closing) and rest.count(closing) > rest.count(opening)) or rest.endswith(opening):
                rest = rest[:-1]
        if "<" in rest and not _SICI.fullmatch(rest):  # without the removed end it is not a SICI
            rest = rest.split("<", 1)[0]
        hash_at = rest.find("#")
        if hash_at >= 0 and not (rest[:hash_at].endswith(";2-") or _SICI.fullmatch(rest)):
            rest = rest[:hash_at]
        if rest == before:
            return rest


def _clean_doi(doi: str) -> str | None:
    """Convert a DOI to lower case and resolve percent-escapes; idempotent. None if the result is not a DOI."""
    doi = doi.lower()
    plain_already = doi.isascii() and "%" not in doi and "&" not in doi
    while "%" in doi or "&" in doi:
        plain = unquote(doi, errors="strict") if _decodes(doi) else doi
        plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").lower()
        if plain == doi:
            break
        match = _DOI.match(plain)
        suffix = _doi_suffix(match[2]) if match else ""
        if match is None or not suffix:
            return None
        doi = f"10.{match[1]}/{suffix}"
    if plain_already:
        return doi
    again = _DOI.match(doi)
    return doi if again and again.end() == len(doi) and _doi_suffix(again[2]) == again[2] else None


def _decodes(text: str) -> bool:
    try:
        plain = unquote(text, errors="strict")
    except UnicodeDecodeError:
        return False
    return not any(char.isspace() or not char.isprintable() for char in plain)


def _arxiv(text: str) -> str:
    archive, slash, number = text.lower().rpartition("/")
    return f"{archive.split('.')[0]}{slash}{number}"


def _arxiv_of_doi(doi: str) -> str | None:
    if not doi.startswith(_ARXIV_DOI):
        return None
    found = _BARE_ARXIV.fullmatch(doi.removeprefix(_ARXIV_DOI))
    return _arxiv(found[1]) if found else None
