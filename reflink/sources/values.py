"""Read values of the expected type from JSON of any shape: a value of another type counts as missing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from reflink.entities import Ids, Related
from reflink.identifiers import normalise_arxiv, normalise_doi, normalise_issn, normalise_pmcid, normalise_pmid
from reflink.names import divided, is_group
from reflink.sources.languages import language_code
from reflink.sources.markup import plain

#: Maximum number of authors, ISSNs, relations and similar of a work.
MAX_MANY: Final = 10_000
#: Maximum number of titles or of names of a venue, and of relations of a work.
MAX_TEXTS: Final = 100
MAX_RELATED: Final = 1000
#: Maximum number of characters of a name, volume or number.
MAX_SHORT: Final = 300
#: The versions of records are less than this.
MAX_VERSION: Final = 2**63
_YEAR: Final = re.compile(r"\s*(\d{4})(?!\d)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_FIRST_YEAR, _LAST_YEAR = 1000, 2100
#: The usual resolver. Without it most DOIs need no search.
_RESOLVER: Final = "https://doi.org/"
#: Maximum number of characters of a DOI with its resolver and label.
_MAX_DOI: Final = 1000
_DOI: Final = re.compile(r"10\.\d{4,9}(?:\.\d{1,9})*/\S{1,500}", re.ASCII)
_ARXIV_DOI: Final = "10.48550/"


def text(value: Any) -> str | None:
    """Return a string without markup, or the digits of a whole number; None without a letter or digit."""
    if type(value) is str:
        if value.isalnum():  # most values: nothing to remove
            return value[:MAX_SHORT]
        found = plain(value)
        return found if any(map(str.isalnum, found)) else None
    return str(value) if type(value) is int and abs(value) < MAX_VERSION else None


def short(value: Any) -> str | None:
    """Return a volume, issue or similar as text."""
    found = text(value)
    return found if found is None or len(found) <= MAX_SHORT else found[:MAX_SHORT].rstrip()


def decoded(data: bytes) -> str:
    """Return text in UTF-8, else in Windows-1252, the usual encoding of old exports."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def listed(value: Any) -> list[Any]:
    """Return the list, at most ``MAX_MANY`` of its values; an empty one for None; a list of the value for another value."""
    if type(value) is list:
        return value if len(value) <= MAX_MANY else value[:MAX_MANY]
    return [] if value is None else [value]


def texts(value: Any) -> list[str]:
    """Return the texts of a list, at most ``MAX_TEXTS``, or of one value, without repetitions."""
    return list(dict.fromkeys(found for each in listed(value)[:MAX_TEXTS] if (found := text(each))))


def mapping(value: Any) -> dict[str, Any]:
    """Return the object; an empty one for any other value."""
    return value if type(value) is dict else {}


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, or the object itself."""
    return (each for each in listed(value) if type(each) is dict)


def year(value: Any) -> int | None:
    """Return the year of a number, or of a text that begins with four digits, such as a date."""
    if type(value) is str:
        found = _YEAR.match(value)
        value = int(found[1]) if found else None
    return value if type(value) is int and _FIRST_YEAR <= value <= _LAST_YEAR else None


def version(value: Any) -> int | None:
    """Return a number that can be the version of a record."""
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if type(value) is int and 0 <= value < MAX_VERSION else None


def milliseconds(value: Any) -> int | None:
    """Return the milliseconds since 1970 of an ISO date or time, or of a datetime; without a zone it is in UTC."""
    if type(value) is str:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    found = ((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND
    return found if found >= 0 else None


def doi_key(value: Any) -> str | None:
    """Return a registered DOI in lower case, without a resolver, as the key of a record; None if the value is no DOI.

    Every character is kept, so ``10.1/a*`` differs from ``10.1/a``; `reflink.identifiers.normalise_doi` is for DOIs in text.
    """
    if type(value) is not str:
        return None
    value = value[:_MAX_DOI]
    found = value.removeprefix(_RESOLVER).strip().lower()
    return found if _DOI.fullmatch(found) and found.isprintable() else normalise_doi(value)


def ids(doi: Any = None, pmid: Any = None, pmcid: Any = None, arxiv: Any = None) -> Ids:
    """Return the valid ones of these identifiers, as text or number. An arXiv DOI also gives the arXiv id."""
    found: dict[str, str | None] = {}
    if type(doi) is str and (known := normalise_doi(doi[:_MAX_DOI].removeprefix(_RESOLVER))):
        found["doi"] = known
        if known.startswith(_ARXIV_DOI):
            found["arxiv"] = normalise_arxiv(known)
    for kind, value, normalise in (("pmid", pmid, normalise_pmid), ("pmcid", pmcid, normalise_pmcid),
                                   ("arxiv", arxiv, normalise_arxiv)):  # fmt: skip
        if value is not None and (short_form := short(value)) and (known := normalise(short_form)):
            found[kind] = known
    return Ids.made(found)


def issns(value: Any) -> tuple[str, ...]:
    """Return the valid ISSNs of a list, in order and without repetitions."""
    found = (_issn(each[:MAX_SHORT]) for each in listed(value) if type(each) is str)
    return tuple(dict.fromkeys(each for each in found if each))


@lru_cache(maxsize=1 << 16)
def _issn(value: str) -> str | None:
    return normalise_issn(value)


def language(value: Any) -> str | None:
    """Return the ISO 639 code of a language from its code or English name."""
    return language_code(value[:MAX_SHORT]) if type(value) is str else None


def status(related: Iterable[Related]) -> str | None:
    """Return the status that its relations give a work: ``retracted``, else ``concern``."""
    kinds = {each.kind for each in related}
    return "retracted" if "retracted-by" in kinds else "concern" if "concern-by" in kinds else None


def people(names: Iterable[tuple[str | None, str | None]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return last names and names of groups in order, and the groups, from (last name, whole name) of each author.

    A whole name is used if there is no last name. It is a person's unless one of its words names groups.
    """
    found: list[str] = []
    groups: list[str] = []
    for last, whole in names:
        if last is None and whole is not None:
            if is_group(whole):
                groups.append(whole)
                last = whole
            else:
                last = divided(whole)[0]
        if last:
            found.append(last)
    return tuple(found), tuple(groups)


def key(own: str, *fields: Any) -> str:
    """Return an id within a file, without white space and control characters, with a digest of these fields.

    The ids of reference managers are unique in one library only.
    """
    safe = "".join(char if char.isprintable() and not char.isspace() else "_" for char in own.strip()[:MAX_SHORT])
    digest = hashlib.sha256(repr(fields).encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{safe}~{digest}" if safe else digest
