"""A citation of one work: the fields of a reference before it has an id."""

from __future__ import annotations

from typing import Any, Final

from reflink.bibliography.cleaning import cleaned, line
from reflink.entities import Ids
from reflink.stripping import REMOVED, separate

#: Fields of `reflink.entities.Reference` by name; missing fields are absent.
Citation = dict[str, Any]

#: Maximum length of a citation's text, in characters; it bounds the cost. Real citations have at most a quarter of it.
MAX_TEXT: Final = 10_000
#: Minimum number of digits of a PMID that is removed from the text without a label.
_MIN_BARE: Final = 6
#: Fields that describe a work. A citation without any of them is untagged.
DESCRIBING: Final = ("title", "chapter_title", "last_names", "collab", "editors", "venue", "year", "volume", "first_page")
#: The order of fields in the text of a citation that has no printed text.
_PRINTED: Final = ("year", "title", "chapter_title", "translated_title", "venue", "volume", "issue", "first_page", "last_page")


def tagged(citation: Citation) -> int:
    """Return the number of tagged fields that describe the work."""
    return sum(name in citation for name in DESCRIBING)


def raw_query(citation: Citation) -> str:
    """Return the text that `reflink.entities.Reference.raw_query` will return."""
    return str(citation["raw_noid" if "raw_noid" in citation else "raw_text"])


def described(text: str, fields: Citation | None = None, ids: Ids | None = None) -> Citation | None:
    """Return a citation of its printed text, the fields that its source states, and the identifiers that its source states.

    ``text``: of the citation, in one or more lines; "" if the source has fields only, which are then its text. Fields without a
    value are left out (`reflink.bibliography.cleaning`). Identifiers in the text that ``ids`` lacks are ``ids_weak``. None
    without text and identifiers.
    """
    stated = cleaned(fields or {})
    raw = line(text[: 4 * MAX_TEXT])[:MAX_TEXT].rstrip() or printed(stated)
    given = {kind: value for kind, value in ids or () if value}
    if not raw and not given:
        return None
    citation: Citation = {"raw_text": raw, **stated}
    if given:
        citation["ids"] = Ids.made(given)
    pmid = given.get("pmid", "")
    # A bare number without a label is no identifier in text, except where the source states that it is one.
    bare = raw.find(pmid) if len(pmid) >= _MIN_BARE else -1
    found, noid = separate(raw if bare < 0 else raw[:bare] + REMOVED + raw[bare + len(pmid) :])
    if weak := {kind: value for kind, value in found.items() if kind not in given}:
        citation["ids_weak"] = Ids.made(weak)
    if noid != raw:
        citation["raw_noid"] = noid
    return citation


def printed(fields: Citation) -> str:
    """Return the text of a citation that has fields only: names, year, title, venue, volume, issue and pages."""
    names = fields.get("last_names") or fields.get("collectives") or fields.get("editors") or ()
    given = fields.get("given_names") or ("",) * len(names)
    people = ", ".join(f"{last} {first}".strip() for last, first in zip(names, given, strict=False))
    return " ".join(str(part) for part in (people, *(fields.get(name) for name in _PRINTED)) if part)[:MAX_TEXT].rstrip()
