"""Records of made-up works for the tests of merging."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reflink.entities import Ids, Work
from reflink.merging import Member
from reflink.workids import work_id

TITLE = "The growth of spruces in the forests of the north"


def member(source: str, key: str, *, partial: bool = False, **fields: Any) -> Member:
    """Return a record; identifiers are given as fields."""
    ids = Ids(**{kind: fields.pop(kind) for kind in ("doi", "pmid", "pmcid", "arxiv") if kind in fields})
    return Member(source, key, Work(id=work_id(ids, f"{source}:{key}"), ids=ids, **fields), partial)


def article(source: str, key: str, **fields: Any) -> Member:
    """Return a record of one and the same article."""
    same = {"title": TITLE, "authors": ("Berg", "Lind"), "venue": "Forests", "year": 2001, "volume": "7", "fpage": "11"}
    return member(source, key, **{**same, **fields})


_TITLES = st.sampled_from(
    [None, TITLE, f"{TITLE}.", f"Erratum: {TITLE}", "Das Wachstum der Fichten im Norden", "Soil of rivers and lakes", "Reply"]
)
_NAMES = st.lists(st.sampled_from(["Berg", "Lind", "Müller", "O'Hara"]), max_size=4).map(tuple)


@st.composite
def members(draw: st.DrawFn) -> list[Member]:
    """Draw records with few different values, so that they share identifiers and contradict each other."""
    found = []
    for at in range(draw(st.integers(1, 7))):
        source = draw(st.sampled_from(["medline", "crossref", "openalex", "zeta"]))
        given = {
            "doi": draw(st.sampled_from([None, "10.1/a", "10.1/b"])),
            "pmid": draw(st.sampled_from([None, None, "1", "2"])),
            "title": draw(_TITLES),
            "translated_titles": draw(st.sampled_from([(), ("Das Wachstum der Fichten im Norden",)])),
            "authors": draw(_NAMES),
            "year": draw(st.sampled_from([None, 2000, 2001, 2009])),
            "online_year": draw(st.sampled_from([None, None, 1999, 2000])),
            "volume": draw(st.sampled_from([None, "7", "8"])),
            "fpage": draw(st.sampled_from([None, "11", "40"])),
            "lpage": draw(st.sampled_from([None, "19"])),
            "venue": draw(st.sampled_from([None, "Forests", "Journal of Forests"])),
            "issns": draw(st.sampled_from([(), ("1234-5678",), ("0000-0001", "1234-5678")])),
            "type": draw(st.sampled_from([None, "journal-article", "posted-content", "book", "book-chapter"])),
            "status": draw(st.sampled_from([None, "retracted", "concern", "other"])),
        }
        found.append(member(source, str(at), partial=draw(st.sampled_from([False, False, True])), **given))
    return found


@st.composite
def judged(draw: st.DrawFn) -> tuple[list[Member], list[tuple[int, int, float]]]:
    """Draw records and judgements of some of their pairs."""
    found = draw(members())
    positions = st.integers(0, len(found) - 1)
    same = st.lists(st.tuples(positions, positions, st.sampled_from([0.1, 0.6, 0.96, 0.99, 1.0])), max_size=6)
    return found, draw(same)
