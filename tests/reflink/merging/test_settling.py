"""Records become works: laws of settling, and which records share a work and its identifiers."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.entities import Ids, Work
from reflink.merging import Member, Rules, settle
from tests.profiles import examples
from tests.reflink.merging.records import TITLE, article, judged, member, members


@given(judged(), st.randoms(use_true_random=False))
@settings(max_examples=examples(400))
def test_the_order_of_the_records_does_not_matter(
    drawn: tuple[list[Member], list[tuple[int, int, float]]], shuffle: random.Random
):
    found, same = drawn
    order = list(range(len(found)))
    shuffle.shuffle(order)
    moved = [found[at] for at in order]
    turned = [(order.index(b), order.index(a), probability) for a, b, probability in same]
    shuffle.shuffle(turned)
    assert settle(moved, turned) == settle(found, same)


@given(judged())
@settings(max_examples=examples(400))
def test_an_identifier_and_an_id_belong_to_one_work(drawn: tuple[list[Member], list[tuple[int, int, float]]]):
    merged, conflicts = settle(*drawn)
    keys = [key for each in merged for key in (*each.work.ids.keys(), *each.aliases)]
    assert len(keys) == len(set(keys))
    ids = [work.id for each in merged for work in each.works()]
    assert len(ids) == len(set(ids))
    # No identifier is lost without a report.
    whole = [each for each in drawn[0] if not each.partial]
    assert {key for each in whole for key in each.work.ids.keys()} <= {*keys, *(each.identifier for each in conflicts)}  # noqa: SIM118


@given(judged())
@settings(max_examples=examples(400))
def test_each_record_is_in_one_work(drawn: tuple[list[Member], list[tuple[int, int, float]]]):
    merged, _ = settle(*drawn)
    placed = [each.name for work in merged for each in work.members]
    assert len(placed) == len(set(placed))
    assert {each.name for each in drawn[0] if not each.partial} <= set(placed)
    assert all(not all(each.partial for each in work.members) for work in merged)


@given(members(), st.integers(0, 7))
@settings(max_examples=examples(400))
def test_a_merged_work_merged_again_with_its_records_is_the_same(found: list[Member], at: int):
    for each in settle(found)[0]:
        rules = Rules(order=tuple(dict.fromkeys(member.source for member in each.members)), join_preprints=True)
        again = list(each.members)
        source = again[min(at, len(again) - 1)].source
        again.append(Member(source, f"{at}~", each.work))
        same = [(a, b, 1.0) for a in range(len(again)) for b in range(a)]
        first, _ = settle(list(each.members), [(a, b, 1.0) for a, b, _ in same if a < len(each.members)], rules)
        if len(first) == 1 < len(each.members):
            base = first[0].work
            again[-1] = Member(source, f"{at}~", base)
            second, conflicts = settle(again, same, rules)
            assert not conflicts
            # Without an identifier the first record names the work, and that may be the merged one.
            assert [merged.work.model_copy(update={"id": base.id} if base.ids == Ids() else {}) for merged in second] == [base]


@given(members())
def test_a_record_alone_is_its_own_work(found: list[Member]):
    for each in found:
        merged, conflicts = settle([each])
        assert not conflicts
        assert [one.work for one in merged] == ([] if each.partial else [each.work])
        assert all(one.work is each.work for one in merged)


@given(judged())
def test_a_catalog_joins_the_aliases_of_a_work_and_no_two_works(drawn: tuple[list[Member], list[tuple[int, int, float]]]):
    merged, _ = settle(*drawn)
    catalog = Catalog.empty(lexical_mode="Raw")
    catalog.add([work for each in merged for work in each.works()])
    canonical = [{catalog.canonical(work.id) for work in each.works()} for each in merged]
    assert all(len(each) == 1 for each in canonical)
    assert len(set.union(*canonical, set())) == len(merged)
    for each in merged:
        for key in (*each.work.ids.keys(), *each.aliases):
            assert catalog.canonical(key) in set.union(*canonical)


def test_records_of_two_sources_make_one_work():
    merged, conflicts = settle(
        [
            article("crossref", "10.1/a", doi="10.1/a", lpage="19", issns=("1234-5678",), title=f"{TITLE}."),
            article("medline", "1", pmid="1", doi="10.1/a", authors=("Berg",)),
        ]
    )
    assert not conflicts
    (one,) = merged
    assert one.work.id == "doi:10.1/a"
    assert one.work.ids == Ids(doi="10.1/a", pmid="1")
    assert (one.work.title, one.work.authors, one.work.lpage) == (TITLE, ("Berg", "Lind"), "19")
    assert one.provenance["title"] == "medline/1"
    assert one.provenance["authors"] == "crossref/10.1/a"
    assert one.provenance["ids.doi"] == "medline/1 crossref/10.1/a"


def test_a_partial_record_joins_two_records_and_is_no_work_alone():
    line = member("pmc", "PMC5", partial=True, pmcid="PMC5", pmid="1", doi="10.1/a", volume="7")
    (one,), conflicts = settle([article("medline", "1", pmid="1"), article("crossref", "x", doi="10.1/a"), line])
    assert not conflicts
    assert one.work.ids == Ids(doi="10.1/a", pmid="1", pmcid="PMC5")
    assert settle([line]) == ([], [])
    assert settle([line, line]) == ([], [])


def test_an_erratum_loses_the_doi_of_its_article():
    found, conflicts = settle(
        [
            article("medline", "1", pmid="1", doi="10.1/a"),
            article("medline", "2", pmid="2", doi="10.1/a", title=f"Erratum: {TITLE}", volume="8", fpage="90"),
        ]
    )
    assert [each.work.ids for each in found] == [Ids(doi="10.1/a", pmid="1"), Ids(pmid="2")]
    (conflict,) = conflicts
    assert (conflict.identifier, conflict.kept, conflict.lost) == ("doi:10.1/a", ("medline/1",), ("medline/2",))
    assert b'"identifier":"doi:10.1/a"' in conflict.to_json()


def test_of_unlike_records_the_one_that_the_identifier_names_keeps_it():
    found, conflicts = settle(
        [
            member("medline", "1", pmid="1", doi="10.1/a", title="Soil of rivers and lakes", authors=("Rey",), year=1980),
            article("crossref", "10.1/a", doi="10.1/a"),
        ]
    )
    assert [each.work.ids for each in found] == [Ids(pmid="1"), Ids(doi="10.1/a")]
    assert conflicts[0].kept == ("crossref/10.1/a",)


def test_a_book_and_its_chapters_are_not_one_work():
    chapters = [
        member(
            "openalex",
            f"W{at}",
            doi="10.1/book",
            title=f"The chapter about {what}",
            type="book-chapter",
            year=2000,
            fpage=str(at),
        )
        for at, what in enumerate(["forests and birds", "rivers", "mountains", "seas"])
    ]
    found, (conflict,) = settle(chapters)
    assert [each.work.id for each in found] == [f"openalex:W{at}" for at in range(4)]
    assert conflict.kept == ()
    book = member("crossref", "10.1/book", doi="10.1/book", title="A book about nature", type="book", year=2000)
    found, (conflict,) = settle([*chapters, book])
    assert found[0].work == book.work
    assert len(found) == 5
    assert conflict.kept == ("crossref/10.1/book",)


def test_a_preprint_names_the_published_article_whose_doi_it_loses():
    preprint = article("arxiv", "2001.00001", arxiv="2001.00001", doi="10.1/a", type="posted-content", volume=None, fpage=None)
    published = article("crossref", "10.1/a", doi="10.1/a", type="journal-article")
    found, _ = settle([preprint, published])
    assert [each.work.ids for each in found] == [Ids(doi="10.1/a"), Ids(arxiv="2001.00001")]
    (related,) = found[1].work.related
    assert (related.kind, related.ids) == ("preprint-of", Ids(doi="10.1/a"))
    (one,), conflicts = settle([preprint, published], rules=Rules(join_preprints=True))
    assert not conflicts
    assert one.work.ids == Ids(doi="10.1/a", arxiv="2001.00001")


def test_two_dois_of_one_article_are_one_work_with_an_alias():
    (one,), conflicts = settle(
        [
            article("medline", "1", pmid="1", doi="10.1/b"),
            article("crossref", "10.1/b", doi="10.1/b"),
            article("crossref", "10.1/a", doi="10.1/a"),
        ],
        [(0, 2, 0.99), (1, 2, 0.99)],
    )
    assert not conflicts
    assert one.aliases == ("doi:10.1/b",)
    assert [work.id for work in one.works()] == ["doi:10.1/a", "doi:10.1/b"]


def test_two_abstracts_on_one_page_with_one_doi_are_two_works():
    found, (conflict,) = settle(
        [
            article("medline", "420122", pmid="420122", doi="10.1/page"),
            article(
                "medline", "420123", pmid="420123", doi="10.1/page", title="Soil of rivers and lakes", authors=("Rey", "Diaz")
            ),
        ]
    )
    assert [each.work.ids for each in found] == [Ids(doi="10.1/page", pmid="420122"), Ids(pmid="420123")]
    assert conflict.reason == "other titles and other fields"


def test_a_translated_title_is_kept():
    german = "Das Wachstum der Fichten im Norden"
    (one,), _ = settle([article("medline", "1", pmid="1", doi="10.1/a"), article("crossref", "c", doi="10.1/a", title=german)])
    assert (one.work.title, one.work.translated_titles) == (TITLE, (german,))


def test_a_wrong_judgement_does_not_chain_records():
    records = [article("s2", str(at), title=f"{TITLE}, part {at}", year=2000 + at) for at in range(6)]
    chain = [(a, b, 0.96) for a, b in pairwise(range(6))]
    apart = [(a, b, 0.01) for a in range(6) for b in range(a) if a - b > 1]
    found, _ = settle(records, chain + apart)
    assert [len(each.members) for each in found] == [2, 2, 2]


def test_a_junk_identifier_joins_nothing():
    records = [article("s2", str(at), doi="10.1/junk", title=f"Report on forests {at}") for at in range(300)]
    found, (conflict,) = settle(records)
    assert len(found) == 300
    assert all(each.work.ids == Ids() for each in found)
    assert len(conflict.lost) == 300
    # The caller knows that the identifier has more bearers than these.
    found, (conflict,) = settle(records[:1], crowded=["doi:10.1/junk"])
    assert found[0].work.id == "s2:0"
    owner = article("crossref", "10.1/junk", doi="10.1/junk")
    assert settle([owner], crowded=["doi:10.1/junk"])[0][0].work == owner.work


def test_one_work_has_a_limited_number_of_records():
    records = [article("s2", str(at)) for at in range(9)]
    same = [(a, b, 1.0) for a in range(9) for b in range(a)]
    found, _ = settle(records, same, Rules(max_records=4))
    assert max(len(each.members) for each in found) <= 4


def test_a_retracted_title_is_the_same_work():
    (one,), conflicts = settle(
        [
            article("medline", "1", pmid="1", doi="10.1/a", status="concern"),
            article("crossref", "a", doi="10.1/a", title=f"RETRACTED ARTICLE: {TITLE}", status="retracted"),
        ]
    )
    assert (one.work.title, one.work.status) == (TITLE, "retracted")
    assert not conflicts


def test_an_unknown_source_comes_last_and_equal_records_by_their_key():
    known, first, second = (
        article(name, key, title=title)
        for name, key, title in (("ris", "9", None), ("zeta", "1", f"{TITLE}!"), ("zeta", "2", f"{TITLE}?"))
    )
    (one,), _ = settle([second, first, known], [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)])
    assert [each.name for each in one.members] == ["ris/9", "zeta/1", "zeta/2"]
    assert one.work.title == f"{TITLE}!"


def test_no_record_is_no_work():
    assert settle([]) == ([], [])
    assert Work(id="a") != Work(id="b")
