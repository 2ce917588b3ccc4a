from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.evaluation.rivals.siamese.candidates import SHARES, YEARS_BEFORE, AuthorIndex
from reflink.folding import fold

NAMES = st.sampled_from(["Li", "Müller", "Wu", "Sato", "Ngo"])
YEARS = st.none() | st.integers(2000, 2006)
WORKS = st.lists(st.builds(lambda names, year: (tuple(names), year), st.lists(NAMES, max_size=3), YEARS), max_size=12).map(
    lambda rows: {f"w{at}": Work(id=f"w{at}", authors=names, year=year) for at, (names, year) in enumerate(rows)}
)


@given(works=WORKS, names=st.sets(NAMES.map(fold)), year=YEARS, share=st.sampled_from(SHARES), absent=st.sets(st.just("w0")))
def test_candidates_share_an_author_and_are_not_later(works, names, year, share, absent):
    def common(work: Work) -> int:
        return len(names & {fold(author) for author in work.authors})

    found = AuthorIndex(works.values()).candidates(names, year, share, absent)
    assert found == sorted(found)
    assert absent.isdisjoint(found)
    for id_ in found:
        assert common(works[id_]) > 0
        assert year is None or year - YEARS_BEFORE <= works[id_].year <= year
    same_year = [id_ for id_, work in works.items() if common(work) and work.year == year and id_ not in absent]
    if year is not None and same_year:
        assert set(found) <= set(same_year)
        if share == "any":
            assert set(found) == set(same_year)
        else:
            assert {common(works[id_]) for id_ in found} == {max(common(works[id_]) for id_ in same_year)}


def test_earlier_years_only_without_a_work_in_the_year():
    works = [Work(id=f"w{year}", authors=("Li",), year=year) for year in (2000, 2002, 2003, 2004)]
    index = AuthorIndex(works)
    assert index.candidates({"li"}, 2004, "any") == ["w2004"]
    assert index.candidates({"li"}, 2005, "any") == ["w2002", "w2003", "w2004"]
    assert index.candidates({"li"}, 1999, "any") == []
    assert index.candidates({"li"}, None, "any") == ["w2000", "w2002", "w2003", "w2004"]
    assert index.candidates(set(), 2004, "most") == []
