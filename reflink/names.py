"""Divide the name of a person that is written as one string, and tell groups from persons."""

from __future__ import annotations

import re
from typing import Final

_INITIALS: Final = re.compile(r"(?:[A-Z]\.?-?){1,4}")
_SUFFIX: Final = re.compile(r"(?i)(?:jr|sr|i{2,3}|iv|m\.?d|ph\.?d)\.?")
_PARTICLES: Final = frozenset(
    ("van", "von", "der", "den", "de", "del", "della", "di", "da", "dos", "das", "do", "du", "la", "le", "el", "al", "bin",
     "ibn", "ter", "ten", "zu", "zur", "st.")
)  # fmt: skip
_GROUPS: Final = frozenset(
    """agency association board bureau center centre collaboration collaborators college commission committee company
    consortium corporation council department federation foundation group gmbh inc. institute institut instituto investigators
    laboratory library ltd ltd. ministry museum network organisation organization society task team trust universidad
    université university universität union""".split()
)


def divided(text: str) -> tuple[str, str]:
    """Split an undivided name into last name and given names: "Wang, X.", "Wang X", "Xiao Wang" or a single name, "Suharto"."""
    last, comma, given = text.partition(",")
    if comma and last.strip() and not _SUFFIX.fullmatch(given.strip()):
        return last.strip(), given.strip()
    words = last.split()
    while len(words) > 1 and _SUFFIX.fullmatch(words[-1]):
        words.pop()
    end, longest = len(words), 2 if last.isupper() else 8  # in an all-capital name, a short name looks like initials
    while end > 1 and len(words[end - 1]) <= longest and _INITIALS.fullmatch(words[end - 1]):
        end -= 1
    if 0 < end < len(words):
        return " ".join(words[:end]), " ".join(words[end:])
    start = max(len(words) - 1, 0)
    while start > 1 and words[start - 1].lower() in _PARTICLES:
        start -= 1
    return " ".join(words[start:]), " ".join(words[:start])


def is_group(name: str) -> bool:
    """Whether a name written as one string is that of a group or organisation, by one of its words."""
    return not _GROUPS.isdisjoint(name.lower().split())
