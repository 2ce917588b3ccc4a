"""Correct GROBID's fields by the printed citation, where the text shows that they are wrong.

All other fields stay as GROBID states them. `benchmarks/formats/tei.py` compares them with those of the recogniser, which is
better at authors only.
"""

from __future__ import annotations

import re
from typing import Final

from reflink.bibliography.citation import Citation

#: A word divided at the end of a printed line. A hyphen before "and" is that of "pre- and postnatal".
_BROKEN: Final = re.compile(r"(?<=[^\W\d_]{2})[-‐] (?!(?:and|or|to|und|oder|bis|et|ou|y|e|o|en|of)\b)(?=[a-zß-öø-ÿ]{2})")
#: What follows a first page: a dash and the last page.
_RANGE: Final = re.compile(r"\s?[-‐‑–—−]\s?([A-Za-z]?\d{1,7})(?!\d)")
#: Number of places in a text where a first page is searched.
_TRIALS: Final = 8


def unbroken(text: str) -> str:
    """Return a printed citation with the words joined that were divided at the ends of lines."""
    return _BROKEN.sub("", text) if "- " in text or "‐ " in text else text


def corrected(fields: Citation, printed: str) -> None:
    """Correct pages and names in place."""
    _correct_pages(fields, printed)
    last_names: tuple[str, ...] = fields.get("last_names", ())
    if any(len(name) == 1 for name in last_names):
        _remove_initials(fields, last_names)


def _correct_pages(fields: Citation, printed: str) -> None:
    """Take the last page from the text, as GROBID adds the digits of a shortened one ("1361-2" gives 1363), and a letter.

    GROBID omits the letter of pages such as "F433-F440".
    """
    first, last = fields.get("first_page"), fields.get("last_page")
    if not first or not first.isdigit():
        return
    at = -1
    for _ in range(_TRIALS):
        at = printed.find(first, at + 1)
        if at < 0:
            return
        if at and printed[at - 1].isdigit():
            continue
        letter = printed[at - 1] if at and printed[at - 1].isalpha() and printed[at - 1].isascii() else ""
        if letter and at > 1 and printed[at - 2].isalnum():
            continue
        if (found := _RANGE.match(printed, at + len(first))) is None:
            continue
        stop = found[1]
        if letter:
            fields["first_page"] = letter + first
            if last:
                fields["last_page"] = stop if stop[0].isalpha() else letter + stop
        elif last and stop.isdigit() and len(stop) < len(first) and last == str(int(first) + int(stop)):
            fields["last_page"] = first[: -len(stop)] + stop
        return


def _remove_initials(fields: Citation, last_names: tuple[str, ...]) -> None:
    """Remove authors of whom GROBID has one letter only, which is an initial of the author before."""
    given: tuple[str, ...] = fields.get("given_names") or ("",) * len(last_names)
    kept = [(last, first) for last, first in zip(last_names, given, strict=True) if len(last) > 1 or first]
    if kept and len(kept) < len(last_names):
        fields["last_names"] = tuple(last for last, _ in kept)
        if "given_names" in fields:
            fields["given_names"] = tuple(first for _, first in kept)
