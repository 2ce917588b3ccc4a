"""The evidence of a pair is that of the plain reading, however little of it was computed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work
from reflink.verdict import Model, compare, describe_reference, describe_work, evidence, outline
from reflink.verdict.description import compact, fold
from reflink.verdict.evidence import FEATURES, LEFT_OUT, features
from reflink.verdict.judge import shipped
from tests.reflink.verdict import plain

#: Few letters, so that the sides have much in common; accents, Greek, what is deleted, what is no letter, what is scrambled.
text = st.text(alphabet="abe iI12xX'`’-.ßöØαÃ¶漢\t", max_size=30)
word = st.sampled_from(
    ["Reply", "type ii", "2nd", "Smith", "Müller", "mueller", "2009", "12", "e7", "", "an odd title of some length"]
)
field = st.none() | text | st.lists(word, max_size=5).map(" ".join)
year = st.none() | st.integers(2005, 2012) | st.just(0)
short = st.none() | st.sampled_from(["12", "XII", "Vol. 12", "e12", "S12", "012", " ", "xii"]) | text
names = st.lists(word | text, max_size=4).map(tuple)
ids = st.builds(Ids, doi=st.none() | st.sampled_from(["10.1/a", "10.1/b"]), pmid=st.none() | st.sampled_from(["1", "2"]))

#: A model whose weights mean nothing: a bound must not lean on their signs.
ADVERSE = Model(
    (0.0,) * len(FEATURES), (1.0,) * len(FEATURES), tuple((-1.0) ** at for at in range(len(FEATURES))), 0.0, 1.0, -1.0
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Reference, Work]:
    """Two records, some fields of which are the same."""
    title, venue, authors = draw(field), draw(field), draw(names)

    def mostly(value: object, other: st.SearchStrategy[object]) -> object:
        return value if draw(st.booleans()) else draw(other)

    work = Work.from_dict(
        {"id": "doi:10.1/x", "ids": draw(ids), "title": title, "authors": authors, "venue": venue, "year": draw(year),
         "volume": draw(short), "fpage": draw(short)}
    )  # fmt: skip
    raw = " ".join(part for part in (draw(field), title if draw(st.booleans()) else None, draw(field)) if part)
    reference = Reference.from_dict(
        {"id": "c#1", "citing": "c", "position": 1, "raw_text": raw, "title": mostly(title, field),
         "chapter_title": draw(field), "last_names": mostly(authors, names), "venue": mostly(venue, field),
         "year": mostly(work.year, year), "volume": mostly(work.volume, short), "first_page": mostly(work.fpage, short),
         "ids": draw(ids), "ids_weak": draw(ids)}
    )  # fmt: skip
    return reference, work


@settings(deadline=None, max_examples=1000)
@given(pairs(), st.booleans())
def test_evidence_and_reasons_are_those_of_the_plain_reading(pair: tuple[Reference, Work], by_identifier: bool) -> None:
    found = evidence(*pair, by_identifier=by_identifier)
    assert found == plain.evidence(*pair, by_identifier=by_identifier)
    model = shipped()
    assert model.reasons(found) == plain.reasons(found, model.contributions(found))


@settings(deadline=None, max_examples=500)
@given(pairs(), st.booleans())
def test_an_outline_tells_what_the_whole_can_be_at_most(pair: tuple[Reference, Work], by_identifier: bool) -> None:
    sides = describe_reference(pair[0]), describe_work(pair[1])
    outlined, whole = (told(*sides, by_identifier=by_identifier) for told in (outline, compare))
    for model in (shipped(), ADVERSE):
        assert model.probability(whole) <= model.at_most(outlined)
    left_out = {name for name, value in zip(FEATURES, features(outlined), strict=True) if not value}
    assert left_out >= LEFT_OUT
    assert all(features(whole)[FEATURES.index(name)] <= 1 for name in LEFT_OUT)


@settings(deadline=None)
@given(st.text() | st.text(alphabet=[chr(code) for code in range(128)]))
def test_folding_ascii_by_bytes_is_folding(text: str) -> None:
    assert fold(text) == plain.fold(text)
    assert compact(text) == plain.fold(text).replace(" ", "")
