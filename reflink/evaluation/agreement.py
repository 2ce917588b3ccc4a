"""S2ORC's protocol for the accuracy of links (paper 004, section 4 and appendix D): do title and authors agree?

The publication compared the parsed bibliography entry with the linked paper by hand; here the same criteria are computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from reflink.entities import Reference, Work
from reflink.evaluation.proportions import wilson
from reflink.evaluation.rivals.rule import names_of, title_of
from reflink.folding import compact, fold

#: Min share of the shorter list of authors that is in the other list: the "substantial overlap" of the publication.
OVERLAP: Final = 0.5


def titles_agree(reference: Reference, work: Work) -> bool:
    """Return whether the titles have the same letters and digits: case, accents, spaces and punctuation do not count.

    A Greek letter equals its name, as in the publication's example ("γ" and "gamma").
    """
    title = compact(title_of(reference))
    return bool(title) and title == compact(work.title or "")


def authors_agree(reference: Reference, work: Work) -> bool:
    """Return whether the last names overlap substantially, by OVERLAP; False if the reference or the work has none.

    A name without letters and digits, such as "…", does not count.
    """
    cited, known = ({name for name in map(fold, names) if name} for names in (names_of(reference), work.authors))
    return bool(cited and known) and len(cited & known) >= OVERLAP * min(len(cited), len(known))


def agreement(pairs: Iterable[tuple[Reference, Work]]) -> dict[str, Any]:
    """Return the shares of links whose titles, and whose authors, agree, with Wilson's 95% intervals.

    ``without_title``, ``without_authors``: links of references that have none, not even recognised; they count as disagreeing.
    """
    known = list(pairs)
    titles = sum(titles_agree(reference, work) for reference, work in known)
    authors = sum(authors_agree(reference, work) for reference, work in known)
    return {
        "links": len(known),
        "title": round(titles / len(known), 6) if known else 0.0,
        "title_interval": wilson(titles, len(known)),
        "authors": round(authors / len(known), 6) if known else 0.0,
        "authors_interval": wilson(authors, len(known)),
        "without_title": sum(not title_of(reference) for reference, _ in known),
        "without_authors": sum(not names_of(reference) for reference, _ in known),
    }
