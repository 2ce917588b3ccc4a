"""The texts of works in the trigram index: a work with titles in several languages has one text for each title.

The text with the title has the work's id as its id. A text with a translated title has the work's id followed by a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from reflink.entities import Work
from reflink.text import Mode, work_text

#: Maximum number of translated titles of a work that are searched and compared.
MAX_TRANSLATIONS: Final = 3
#: Between the id of a work and the number of a title. No id of a work has this character.
_MARK: Final = "\x1f"


def by_titles(work: Work) -> tuple[Work, ...]:
    """Return the work, and the work with each of its translated titles in place of the title."""
    if not work.translated_titles:
        return (work,)
    titles = islice(work.translated_titles, MAX_TRANSLATIONS)
    return (work, *(Work.made({**work.__dict__, "title": title}) for title in titles))


def lexical_texts(work: Work, mode: Mode) -> dict[str, str]:
    """Return the texts of a work in the trigram index by their ids."""
    if not work.translated_titles:
        return {work.id: work_text(work, mode, lexical=True)}
    texts: dict[str, str] = {}
    for number, each in enumerate(by_titles(work)):
        text = work_text(each, mode, lexical=True)
        if text not in texts.values():
            texts[f"{work.id}{_MARK}{number}" if number else work.id] = text
    return texts


def of_works(hits: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the hits of a search of texts as hits of works: each work once, with its best score."""
    found: dict[str, float] = {}
    for text_id, score in hits:
        found.setdefault(text_id.partition(_MARK)[0], score)
    return list(found.items())
