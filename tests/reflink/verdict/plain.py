"""The evidence of a pair in its plainest form: every set built, every comparison made, nothing left out or remembered."""

from __future__ import annotations

from collections.abc import Mapping

from reflink.entities import ID_KINDS, Ids, Reference, Work
from reflink.verdict import Evidence, fields
from reflink.verdict.description import (
    _DIGITS,
    _FOLD,
    _MARKS,
    _ORDINAL,
    _ROMAN,
    _SCRAMBLED,
    _TRANSLITERATED,
    _YEAR,
    _unscramble,
    name_tokens,
    page_key,
    volume_key,
)
from reflink.verdict.reasons import _LEAST, _MOST, _SUBJECTS, _phrase


def fold(text: str) -> str:
    return " ".join(_SCRAMBLED.sub(_unscramble, text).translate(_FOLD).split())


def grams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text) - 2)} if len(text) > 2 else {text} - {""}


def numbers(words: list[str]) -> set[str]:
    return set(_DIGITS.findall(" ".join(words))) | {_ROMAN[word] for word in words if word in _ROMAN and len(word) > 1}


def shared(reference: Ids, work: Ids) -> bool | None:
    both = [(a, b) for kind in ID_KINDS if (a := getattr(reference, kind)) and (b := getattr(work, kind))]
    return any(a == b for a, b in both) if both else None


def evidence(reference: Reference, work: Work, *, by_identifier: bool = False) -> Evidence:
    """As reflink.verdict.evidence."""
    book = None if reference.volume else reference.venue
    words = fold((reference.title or reference.chapter_title or book or "")[:400]).split()
    work_words = fold((work.title or (None if work.volume else work.venue) or "")[:400]).split()
    title, work_title = "".join(words), "".join(work_words)
    raw = fold(reference.raw_query[:1500])
    raw_words = {*raw.split(), *_TRANSLITERATED.sub("", raw).split()}
    names = [name_tokens(name) for name in reference.last_names[:40]]
    work_names = [name_tokens(name) for name in work.authors[:40]]
    a, b = grams(title), grams(work_title)
    both = bool(title and work_title)
    extended = both and fields.extends(title, work_title)

    share: tuple[float, bool] | None = None
    if work_names and names:
        shorter, longer = sorted((names, work_names), key=len)
        there = set().union(*longer)
        share = sum(bool(name & there) for name in shorter) / len(shorter), fields._same_name(names[0], work_names[0])
    elif work_names and raw_words:
        found = [name <= raw_words for name in work_names[:3]]
        share = sum(found) / len(found), found[0]

    years = [reference.year] if reference.year is not None else [int(year) for year in _YEAR.findall(raw)]
    year = None if work.year is None or not years else min((y - work.year for y in years), key=lambda d: (abs(d), d))
    volume, work_volume = volume_key(reference.volume), volume_key(work.volume)
    same_volume = None if work_volume is None else volume == work_volume
    if volume is None and same_volume is False:
        same_volume = True if work_volume in raw_words else None
    same_page = page(page_key(reference.first_page), page_key(work.fpage), raw_words)

    differ = 0
    if both and not extended:
        x, y = numbers(words), numbers(work_words)
        differ = (not x <= y) + (not y - set(_ORDINAL.findall(raw)) <= x)
    identifier = True if by_identifier else shared(reference.ids, work.ids)
    if identifier is None and shared(reference.ids_weak, work.ids):
        identifier = True
    common = len(a & b)
    said = {"year": (reference.year, work.year), "volume": (reference.volume, work.volume)}
    return Evidence(
        title=2 * common / (len(a) + len(b) + min(len(a), len(b)) - common) if both else None,
        extended=extended,
        contained=len(b & grams(raw.replace(" ", ""))) / len(b) if work_title and raw else None,
        short=max(0.0, 1 - len(work_title) / 40),
        authors=share[0] if share else None,
        first_author=share[1] if share else None,
        year=year,
        volume=same_volume,
        page=same_page,
        venue=fields.venue_similarity(reference.venue, work.venue) if reference.venue and work.venue else None,
        numbers=differ,
        marks=both and _MARKS.intersection(words) != _MARKS.intersection(work_words),
        identifier=identifier,
        bare=not title and not names and len(raw) < 8,
        shown=()
        if not year and same_volume is not False and same_page is not False
        else tuple(
            (name, *(" ".join(str(value).split())[:20] for value in values))
            for name, values in {**said, "page": (reference.first_page, work.fpage)}.items()
            if all(values) and values[0] != values[1]
        ),
    )


def page(a: str | None, b: str | None, raw_words: set[str]) -> bool | None:
    if b is None:
        return None
    if a is None:
        return True if len(b) > 1 and b in raw_words else None
    digits_a, digits_b = (side.lstrip("abcdefghijklmnopqrstuvwxyz") for side in (a, b))
    return a == b or (digits_a == digits_b != "" and (digits_a == a or digits_b == b))


def reasons(found: Evidence, contributions: Mapping[str, float]) -> tuple[str, ...]:
    """As Model.reasons, from Model.contributions."""
    if found.bare:
        return ("identifier matches", "nothing else to compare") if found.identifier else ("nothing to compare",)
    weights: dict[str, float] = {}
    for name, value in contributions.items():
        weights[_SUBJECTS[name]] = weights.get(_SUBJECTS[name], 0.0) + value
    ranked = sorted(weights, key=lambda subject: (-abs(weights[subject]), subject))
    phrases = [_phrase(subject, found) for subject in ranked if abs(weights[subject]) >= _LEAST]
    return tuple(phrase for phrase in phrases if phrase)[:_MOST]
