"""Two records of works are judged as one article or not: laws, and cases that must be kept apart or joined."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Ids, Work
from reflink.grouping import Sameness, keys
from tests.profiles import examples
from tests.reflink.merging.records import members
from tests.schemas.generated import instances

WORKS = instances(Work)
PAIRS = st.one_of(
    st.tuples(WORKS, WORKS), members().map(lambda found: (found[0].work, found[-1].work)), WORKS.map(lambda work: (work, work))
)


def record(**fields: Any) -> Work:
    ids = {kind: fields.pop(kind) for kind in ("doi", "pmid", "arxiv") if kind in fields}
    same = {
        "title": "Survival of spruces after drought in forests of the north", "authors": ("Berg", "Lind", "Holm"),
        "venue": "Journal of Forest Research", "year": 2014, "volume": "31", "fpage": "411", "type": "journal-article",
    }  # fmt: skip
    return Work(id="w", ids=Ids(**ids), **{**same, **fields})


def probability(a: Work, b: Work) -> float:
    (found,) = Sameness().probabilities([(a, b)])
    return found


@given(st.lists(PAIRS, max_size=4))
@settings(max_examples=examples(100))
def test_it_is_symmetrical_and_each_pair_is_judged_by_itself(pairs: list[tuple[Work, Work]]):
    found = Sameness().probabilities(pairs)
    assert all(0 <= each <= 1 for each in found)
    assert Sameness().probabilities([(b, a) for a, b in pairs]) == pytest.approx(found, abs=1e-9)
    assert [probability(*pair) for pair in pairs] == pytest.approx(found, abs=1e-9)


@given(WORKS)
def test_keys_are_few_and_distinct(work: Work):
    found = keys(work)
    assert len(found) == len(set(found)) <= 16
    assert bool(found) <= bool(work.title)


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"title": "Survival of spruces after drought in forests of the north."},
        {"title": "Survival of Spruces After Drought in Forests of the North", "venue": "J Forest Res", "authors": ("Berg",)},
        {"volume": None, "fpage": None},
        {"year": 2013},
        {"pmid": "5"},
        {"pmid": "6", "doi": "10.1/english"},
        {"title": "Überleben von Fichten", "translated_titles": ("Survival of spruces after drought in forests of the north",)},
    ],
)
def test_records_of_one_article(other: dict[str, Any]):
    one, second = record(doi="10.1/a", pmid="7") if "doi" in other else record(doi="10.1/a"), record(**other)
    assert probability(one, second) >= 0.95
    assert set(keys(one)) & set(keys(second))


@pytest.mark.parametrize(
    "other",
    [
        {"title": "Erratum: Survival of spruces after drought in forests of the north", "fpage": "900"},
        {"title": "Survival of spruces after drought in forests of the north: part 2", "fpage": "420"},
        {"type": "posted-content", "doi": "10.1101/012345", "venue": "bioRxiv", "volume": None, "fpage": None},
        {"arxiv": "1401.00001", "venue": None, "volume": None, "fpage": None, "type": None},
        {"year": 2019, "volume": "36", "fpage": "12"},
        {"fpage": "422", "doi": "10.1/b"},
        {"title": "Reply", "authors": ("Berg",)},
        {"title": None},
        {"authors": ("Rey", "Diaz"), "fpage": "415"},
    ],
)
def test_records_of_two_articles(other: dict[str, Any]):
    assert probability(record(doi="10.1/a"), record(**other)) < 0.95


def test_conference_abstract_and_article():
    abstract = record(venue="Annual Meeting of Forest Research Abstracts", year=2012, volume="8", fpage="S12", doi="10.1/abs")
    assert probability(abstract, record(doi="10.1/a")) < 0.95


def test_a_yearly_report_is_not_that_of_another_year():
    one = record(title="Forest fires in the north: report of 2014", authors=("Forest Agency",), fpage="S12")
    other = record(title="Forest fires in the north: report of 2015", authors=("Forest Agency",), fpage="S12", year=2015)
    assert probability(one, other) < 0.95


def test_a_short_title_needs_authors_and_page():
    short = record(title="Editorial")
    assert probability(short, record(title="Editorial.")) >= 0.5
    assert probability(short, record(title="Editorial", fpage=None)) == 0
    assert probability(record(title="Editorial", authors=()), record(title="Editorial", authors=())) == 0


def test_preprints_are_joined_on_request():
    preprint = record(type="posted-content", doi="10.1101/012345", venue="bioRxiv", volume=None, fpage=None)
    assert probability(preprint, record(doi="10.1/a")) == 0
    assert Sameness(join_preprints=True).probabilities([(preprint, record(doi="10.1/a"))])[0] > 0


def test_letters_of_different_authors_under_one_title_on_one_page_are_two_articles():
    both = {"title": "Estrogen use and endometrial cancer", "venue": "A journal", "year": 1979, "volume": "300", "fpage": "922"}
    one = Work(id="pmid:1", ids=Ids(pmid="1"), authors=("Boyers", "Buster"), **both)
    two = Work(id="pmid:2", ids=Ids(pmid="2"), authors=("Sturgis",), **both)
    again = Work(id="pmid:3", ids=Ids(pmid="3"), authors=("Boyers", "Buster"), **both)
    apart, same = Sameness().probabilities([(one, two), (one, again)])
    assert apart == 0
    assert same > 0.9


def test_two_parts_of_an_article_with_one_title_under_two_identifiers_are_two_articles():
    both = {"title": "Genetic analysis of a response in mice", "authors": ("Doe",), "year": 1977, "volume": "53"}
    one = Work(id="pmid:1", ids=Ids(pmid="1"), fpage="263", lpage="267", **both)
    two = Work(id="pmid:2", ids=Ids(pmid="2"), fpage="269", lpage="276", **both)
    assert Sameness().probabilities([(one, two)]) == [0]
