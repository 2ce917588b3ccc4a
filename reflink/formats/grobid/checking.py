"""Notice identifiers that contradict the printed citation.

GROBID's consolidation replaces the fields of a citation by those of the record that a service found for it, with the record's
identifiers. If the record is of another work, only the printed citation (``note type="raw_reference"``) still tells.

1. An identifier that stands in the printed citation is never doubted.
2. A printed identifier of the same kind that is clearly another one makes the stated one doubtful.
3. Otherwise persons, year, title and locator (volume, first page) are compared with the printed words. The record is of another
   work if at least two of them disagree, more than agree; if some agree, the title or three of them must disagree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

from reflink.bibliography.citation import Citation
from reflink.identifiers import extract
from reflink.text import normalise

#: ``identifier``: the citation prints another identifier; ``work``: its fields are those of another work as well.
Doubt = Literal["identifier", "work"]

_YEAR: Final = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
#: Similarity of two DOIs from which they count as one, with an error of character recognition.
_SAME_DOI: Final = 0.85
#: Share of the words of a title in the printed citation from which they agree, and up to which they disagree.
_AGREE, _DISAGREE = 0.6, 0.25
#: Number of long words of a title, and of the printed citation, below which titles are not compared.
_MIN_WORDS: Final = 3
_MIN_PRINTED: Final = 10
#: Lengths that bound the cost.
_MAX_PRINTED: Final = 2_000
_MAX_PEOPLE: Final = 50


def doubted(printed: str, fields: Citation, ids: dict[str, str]) -> Doubt | None:
    """Return why the stated identifiers of a citation are not to be trusted; None if nothing contradicts them."""
    if not ids or not printed:
        return None
    printed = printed[:_MAX_PRINTED]
    compact = _compact(printed)
    if any(_compact(value) in compact for value in ids.values()):
        return None
    if _disagree(printed, fields):
        return "work"
    own = extract(printed)
    for kind, value in own:
        stated = ids.get(kind)
        if value and stated and not _same(kind, _compact(value), _compact(stated)):
            return "identifier"
    return None


def warning(doubts: Sequence[str]) -> str:
    """Return the warning of a paper. ``doubts``: the names of its citations with doubted identifiers."""
    some = ", ".join(doubts[:5]) + (", …" if len(doubts) > 5 else "")
    return f"identifiers of {len(doubts):,} citations contradict their printed text and were not used: {some}"


def _compact(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _same(kind: str, printed: str, stated: str) -> bool:
    """Whether two identifiers can be the same: a printed DOI may be cut at a line break, or hold a wrong character."""
    if kind != "doi":
        return printed == stated
    if stated.startswith(printed) or printed.startswith(stated):
        return True
    return SequenceMatcher(None, printed, stated, autojunk=False).ratio() >= _SAME_DOI


def _disagree(printed: str, fields: Citation) -> bool:
    words = frozenset(normalise(printed, lexical=False).split())
    title = _title(words, fields)
    verdicts = (_people(words, fields), _year(printed, fields), _locator(words, fields), title)
    agree, disagree = verdicts.count(True), verdicts.count(False)
    return disagree >= 2 and disagree > agree and (not agree or title is False or disagree >= 3)


def _people(words: frozenset[str], fields: Citation) -> bool | None:
    last_names = fields.get("last_names", ())[:_MAX_PEOPLE]
    parts = [frozenset(normalise(name, lexical=False).split()) for name in last_names]
    return any(part <= words for part in parts if part) if any(parts) else None


def _year(printed: str, fields: Citation) -> bool | None:
    """Compare years; one of the neighbouring years, of print or online, neither agrees nor disagrees."""
    year = fields.get("year")
    years = {int(found) for found in _YEAR.findall(printed)}
    if year is None or not years:
        return None
    return True if year in years else None if years & {year - 1, year + 1} else False


def _locator(words: frozenset[str], fields: Citation) -> bool | None:
    values = [normalise(str(value), lexical=False) for name in ("volume", "first_page") if (value := fields.get(name))]
    found = sum(value in words for value in values)
    if found == len(values):
        return True if found else None
    # One of two numbers may be in the text by chance.
    return False if not found and len(values) == 2 else None


def _title(words: frozenset[str], fields: Citation) -> bool | None:
    long = frozenset(word for word in normalise(fields.get("title") or "", lexical=False).split() if len(word) > 3)
    if len(long) < _MIN_WORDS:
        return None
    share = len(long & words) / len(long)
    if share >= _AGREE:
        return True
    # Some styles print no titles, so few words do not disagree with one.
    return False if share <= _DISAGREE and sum(len(word) > 3 for word in words) >= _MIN_PRINTED else None
