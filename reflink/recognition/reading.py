"""Derive fields from labelled tokens, each with the probability that it is exactly right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reflink.recognition import labels as tag
from reflink.recognition.tagging import Span, Tagger, Tagging, spans
from reflink.recognition.tokens import Tokens, tokenise

#: Maximum tokens of a citation: the longest lists of authors are shorter, and a page of prose is not a citation.
MAX_TOKENS: Final = 1500

#: Fields that are one run of tokens, with their label and the pattern that a value must match.
_RUNS: Final[dict[str, tuple[int, re.Pattern[str]]]] = {
    "title": (tag.T, re.compile(r".*[^\W\d_]{2}.*", re.DOTALL)),
    "venue": (tag.V, re.compile(r".*[^\W\d_].*", re.DOTALL)),
    "volume": (tag.N, re.compile(r"[A-Za-z]{0,2}-?\d{1,4}[A-Za-z]?(?:\s?[-–/]\s?\d{1,4})?|[IVXLC]{1,8}")),
    "issue": (tag.I, re.compile(r"(?:\w{1,5}\.?\s)?\w{1,6}(?:\s?[-–/&,]?\s?\w{1,6}\.?){0,3}")),
    "first_page": (tag.F, re.compile(r"[A-Za-z]{0,6}[.-]?\d{1,9}(?:[.-]?[A-Za-z]{1,2}\d{0,4})?|[ivxlc]{1,7}")),
    "last_page": (tag.E, re.compile(r"[A-Za-z]{0,6}[.-]?\d{1,9}(?:[.-]?[A-Za-z]{1,2}\d{0,4})?|[ivxlc]{1,7}")),
}
_YEAR: Final = re.compile(r"1[5-9][0-9]{2}|20[0-3][0-9]")
_ACCESSED: Final = re.compile(r"(?i)access|retriev|\bcited|consult|visited|acess|abgerufen|\bepub\b")
#: After a number: shows that the number is the size of a book ("321 p.").
_SIZE: Final = re.compile(r"(?i)\s?(?:p|pp|pages?|s|seiten|с)\b")
#: After names: shows that they are editors.
_EDITORS: Final = re.compile(r"(?i)[\s.,]{0,3}[(\[]?\s?(?:eds?|editors?|hrsg|hg|dir|coords?|orgs?|translat\w+|trans)\b")
#: Share of the highest probability from which two first pages are about as probable.
_ALIKE: Final = 0.95
_PEOPLE: Final = (tag.L, tag.A)
_EDGE: Final = " .,;:-–—\"'“”‘’„«»*"
#: Maximum characters of a remark in brackets after a title: "[J]", "[Master's thesis]".
_REMARK: Final = 30
#: Sentences after a title that introduce a web address.
_AVAILABLE: Final = frozenset(("available", "available from", "available at", "available online", "accessed", "retrieved"))
_DASHES: Final = frozenset("-‐‑‒–—−~")


@dataclass
class Reading:
    """Recognised fields of one text.

    ``fields``: values by the field names of `reflink.entities.Inferred`. ``sure``: the probability of each. ``several``: True
    if the text cites more than one work.
    """

    fields: dict[str, str | int | tuple[str, ...]] = field(default_factory=dict)
    sure: dict[str, float] = field(default_factory=dict)
    several: bool = False


def read(text: str, tagger: Tagger) -> Reading:
    """Return all fields that the tagger finds in ``text``, whatever their probability."""
    tokens = tokenise(text)
    reading = Reading()
    if not 3 <= len(tokens.words) <= MAX_TOKENS:
        return reading
    tagging = tagger.tag(text, tokens)
    runs = spans(tagging)
    for name, (label, form) in _RUNS.items():
        found: dict[str, float] = {}
        for run in runs:
            if run.label != label or (label == tag.F and _is_size(text, tokens, runs, run)):
                continue
            if label == tag.E and _first_of(text, tokens, runs, run) != reading.fields.get("first_page"):
                continue
            value = _value(text, tokens, run)
            if label == tag.T:
                value = _without_remark(value)
            if form.fullmatch(value):
                found[value] = max(found.get(value, 0.0), run.probability)
        _choose(name, found, reading)
    _year(text, tokens, runs, reading)
    _names(text, tokens, tagging, runs, reading)
    reading.several = _several(runs)
    return reading


def _choose(name: str, found: Mapping[str, float], reading: Reading) -> None:
    """Set a field to the most probable of its values. The others make it less probable, by their share of the sum.

    ``found``: values in the order of the text, with probabilities. Of two first pages of about the same probability the earlier
    one counts, and later ones do not make it less probable: pages of a discussion or a comment follow.
    """
    if not found:
        return
    values = list(found)
    at = values.index(max(found, key=lambda value: found[value]))
    rivals = values
    if name == "first_page":
        at = next(row for row, value in enumerate(values) if found[value] >= _ALIKE * found[values[at]])
        rivals = values[: at + 1]
    value = values[at]
    total = sum(found[rival] for rival in rivals)
    reading.fields[name], reading.sure[name] = value, found[value] ** 2 / max(total, 1e-9)


def _without_remark(title: str) -> str:
    """Return the title without a remark in brackets, or the introduction of a web address, at its end."""
    opening = title.rfind("[")
    if title.endswith("]") and opening > 0 and len(title) - opening <= _REMARK + 2:
        title = title[:opening].rstrip(_EDGE)
    head, _, last = title.rpartition(". ")
    return head.rstrip(_EDGE) if last.lower() in _AVAILABLE else title


def _value(text: str, tokens: Tokens, run: Span) -> str:
    return text[tokens.starts[run.start] : tokens.ends[run.stop - 1]].strip(_EDGE)


def _is_size(text: str, tokens: Tokens, runs: list[Span], run: Span) -> bool:
    """Return whether a first page without a last one is the size of a book ("321 p.")."""
    alone = all(other.label != tag.E for other in runs)
    return alone and _SIZE.match(text, tokens.ends[run.stop - 1]) is not None


def _first_of(text: str, tokens: Tokens, runs: list[Span], last: Span) -> str:
    """Return the first page that belongs to a last page, which follows it after a dash; else an empty text."""
    before = next((run for run in reversed(runs) if run.stop == last.start), None)
    if before is None or before.stop - before.start > 3 or not _DASHES & set(tokens.words[before.start : before.stop]):
        return ""
    first = next((run for run in runs if run.label == tag.F and run.stop == before.start), None)
    return _value(text, tokens, first) if first else ""


def _year(text: str, tokens: Tokens, runs: list[Span], reading: Reading) -> None:
    years: dict[int, float] = {}
    for run in runs:
        if run.label == tag.Y:
            word, start = tokens.words[run.start], tokens.starts[run.start]
            if not _YEAR.fullmatch(word) or run.stop - run.start != 1 or _ACCESSED.search(text[max(0, start - 24) : start]):
                return
            years[int(word)] = max(years.get(int(word), 0.0), run.probability)
    if len(years) == 1:
        ((reading.fields["year"], reading.sure["year"]),) = years.items()


def _names(text: str, tokens: Tokens, tagging: Tagging, runs: list[Span], reading: Reading) -> None:
    """Set the last names to those of the first list of authors.

    Their probability is the product of the probabilities of all words in that list.
    """
    people = _list(tokens, runs)
    names = [run for run in people if run.label == tag.L]
    if not names or _EDITORS.match(text, tokens.ends[people[-1].stop - 1]):
        return
    sure = 1.0
    for run in names:
        sure *= run.probability
    for run in people:
        if run.label == tag.A:
            for at in range(run.start, run.stop):
                if tokens.words[at][0].isalpha():
                    sure *= float(tagging.sure[at, tag.A])
    values = tuple(_value(text, tokens, run) for run in names)
    if all(any(char.isupper() or char.islower() for char in value) or not value.isascii() for value in values):
        reading.fields["last_names"], reading.sure["last_names"] = values, sure


def _list(tokens: Tokens, runs: list[Span]) -> list[Span]:
    """Return the runs of the first list of authors; groups and single marks may stand in it."""
    found: list[Span] = []
    for at, run in enumerate(runs):
        if run.label in _PEOPLE:
            found.append(run)
        elif found and run.label != tag.C:
            mark = run.label == tag.O and run.stop - run.start == 1 and not tokens.words[run.start][0].isalnum()
            if not mark or at + 1 == len(runs) or runs[at + 1].label not in (*_PEOPLE, tag.C):
                break
    return found


def _several(runs: list[Span]) -> bool:
    """Return whether two of author list, title, volume, first page and year occur again after other fields."""
    seen: list[int] = []
    for run in runs:
        label = tag.L if run.label in _PEOPLE else run.label
        if label != tag.O and (not seen or seen[-1] != label):
            seen.append(label)
    return sum(seen.count(label) > 1 for label in (tag.L, tag.T, tag.N, tag.F, tag.Y)) > 1
