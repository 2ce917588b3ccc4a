"""Year, volume, issue and pages by patterns alone: the baseline of the trained recogniser (benchmarks.parsing.recognition)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_YEAR: Final = re.compile(r"(?<![\w/.-])(1[5-9]\d\d|20[0-3]\d)(?=[a-z]?(?![\w/]))", re.ASCII)
_DASH: Final = r"\s?[-‐‑‒–—−]{1,2}\s?"
_PAGE: Final = r"[A-Za-z]{0,2}\d{1,7}"
_ISSUE: Final = r"\(\s?([\dA-Za-z][\dA-Za-z .,/&‐–-]{0,20})\)"
#: 12(3):45-67, 12: 45–67, 12, 45–67, where the volume is not part of a longer number.
_VOLUME_PAGES: Final = re.compile(
    rf"(?<![\d.\-–/])(\d{{1,4}})\s?(?:{_ISSUE})?\s?[:,]\s?(?:pp?\.?\s?)?({_PAGE})(?:{_DASH}({_PAGE}))?(?!\d)"
)
_VOLUME: Final = re.compile(r"(?i)(?<![a-z])vol(?:ume|\.)?\s?(\d{1,4})(?![\d.])")
_NUMBER: Final = re.compile(r"(?i)(?<![a-z])(?:no|nr|issue|iss|№)[.:]?\s?(\d{1,4}(?:[-–/]\d{1,3})?)(?![\d.])")
_PAGES: Final = re.compile(rf"(?i)(?<![a-z])pp?(?:ages?)?[.:]?\s?({_PAGE}){_DASH}({_PAGE})(?!\d)")
_NOT_NOW: Final = re.compile(r"(?i)access|retriev|cited|consult|visited|epub")


class Numbers(NamedTuple):
    """The matched values as written; None where the patterns find no value or two different values."""

    year: int | None = None
    volume: str | None = None
    issue: str | None = None
    first_page: str | None = None
    last_page: str | None = None


def numbers(text: str) -> Numbers:
    """Return the numbers of a citation, found by patterns alone."""
    years = {
        int(found[1]) for found in _YEAR.finditer(text) if not _NOT_NOW.search(text, max(0, found.start() - 25), found.start())
    }
    year = years.pop() if len(years) == 1 else None
    volume = issue = first = last = None
    places = [m for m in _VOLUME_PAGES.finditer(text) if not _YEAR.fullmatch(m[1]) and (m[2] or m[4] or ":" in m[0])]
    if len(places) == 1 and (places[0][2] is None or not _YEAR.fullmatch(places[0][2])):
        volume, issue, first, last = places[0].groups()
    elif not places:
        volumes, issues, pages = _VOLUME.findall(text), _NUMBER.findall(text), _PAGES.findall(text)
        volume = volumes[0] if len(volumes) == 1 else None
        issue = issues[0] if len(issues) == 1 and volume else None
        first, last = pages[0] if len(pages) == 1 else (None, None)
    if first and _YEAR.fullmatch(first) and not last:
        first = None
    return Numbers(year, volume, issue and issue.strip(), first, last)
