"""Pairs of awkward records with many common parts, for properties of the verdict."""

from __future__ import annotations

from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work

#: Few letters, so that both sides agree often: accents, Greek, deleted characters, punctuation, wrongly decoded letters.
text = st.text(alphabet="abe iI12xX'`’-.ßöØαÃ¶漢\t", max_size=30)
phrase = st.sampled_from(
    ["Reply", "Erratum:", "Part II", "part B", "Trial A", "I:", "type ii", "2nd", "Smith", "Müller", "mueller", "2009", "2011",
     "12", "e7", "", "an odd title of some length", "Data from:", "[correction appears in J Nutr 2009;12:7]", "2009;12:7",
     "executive summary", "comments on"]
)  # fmt: skip
field = st.none() | text | st.lists(phrase, max_size=5).map(" ".join)
year = st.none() | st.integers(2005, 2012) | st.just(0)
short = st.none() | st.sampled_from(["12", "XII", "Vol. 12", "e12", "S12", "012", " ", "xii", "7", "CD001234"]) | text
name = st.sampled_from(["Smith", "Smyth", "Schmittgen", "Schmitgen", "Müller", "mueller", "de Li", "Garcia-Li", "A B C"]) | text
names = st.lists(name, max_size=4).map(tuple)
ids = st.builds(Ids, doi=st.none() | st.sampled_from(["10.1/a", "10.1/b"]), pmid=st.none() | st.sampled_from(["1", "2"]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Reference, Work]:
    """Return a reference and a work with some equal fields."""
    title, venue, authors = draw(field), draw(field), draw(names)

    def mostly(value: object, other: st.SearchStrategy[object]) -> object:
        return value if draw(st.booleans()) else draw(other)

    work = Work.from_dict(
        {"id": "doi:10.1/x", "ids": draw(ids), "title": title, "authors": authors, "venue": venue, "year": draw(year),
         "volume": draw(short), "fpage": draw(short)}
    )  # fmt: skip
    parts = [draw(field), title, venue, *authors, work.year, work.volume, work.fpage, draw(field)]
    raw = " ".join(str(part) for part in parts if part and draw(st.booleans()))
    reference = Reference.from_dict(
        {"id": "c#1", "citing": "c", "position": 1, "raw_text": raw, "title": mostly(title, field),
         "chapter_title": draw(field), "last_names": mostly(authors, names), "collab": draw(st.none() | name),
         "venue": mostly(venue, field), "year": mostly(work.year, year), "volume": mostly(work.volume, short),
         "first_page": mostly(work.fpage, short), "ids": draw(ids), "ids_weak": draw(ids)}
    )  # fmt: skip
    return reference, work
