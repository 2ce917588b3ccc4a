"""Candidates from a real engine: versions, forbidden works, scores, and links equal to those of the native search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reflink.catalog import Catalog
from reflink.entities import Reference, Work
from reflink.evaluation.records import without_identifiers
from reflink.lexical.trigrams import similarity
from reflink.linking.candidates import lexical_query
from reflink.linking.linker import Linker
from reflink.linking.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.text import work_text
from tests.workers.corpus import catalog_works, example_papers, parsed
from tests.workers.engine.engines import candidates, catalog_of, cite, indexed, settings, work
from workers.devkit.search_engine import SearchEngine
from workers.engine.candidates import EngineCandidates
from workers.engine.client import Engine
from workers.engine.errors import EngineUnavailable
from workers.engine.index import Version

POLICY = Policy()
WORKS = [
    work(1, "Soil fungi of the wet forest", authors=("Ahn",), venue="Mycologia", year=2001),
    work(2, "Soil fungi of the dry forest", authors=("Ahn",), venue="Mycologia", year=2002),
    work(3, "Photosynthesis of maize", authors=("Diaz",), venue="Planta", year=1990),
    work(4, "Nutrition of wheat", translated_titles=("Photosynthese von Mais",), year=1991),
]


@pytest.fixture(scope="module")
def served(search_engine: SearchEngine) -> EngineCandidates:
    chosen = settings(search_engine)
    indexed(chosen, WORKS)
    return candidates(chosen, catalog_of(WORKS))


def near(source: EngineCandidates, *references: Reference, forbidden: list[tuple[str, ...]] | None = None):
    return source.near(references, POLICY, Stopwatch(), forbidden)


def test_hits_are_ranked_by_trigram_similarity(served: EngineCandidates):
    reference = cite(WORKS[0])
    (hits,) = near(served, reference)
    text = lexical_query(reference, POLICY)
    expected = {each.id: similarity(text, work_text(each, "Raw", lexical=True)) for each in WORKS[:2]}
    assert {work_id: score for work_id, score in hits if work_id in expected} == expected
    assert [work_id for work_id, _ in hits[:2]] == [WORKS[0].id, WORKS[1].id]
    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)


def test_a_translated_title_finds_its_work_once(served: EngineCandidates):
    (hits,) = near(served, cite(WORKS[3], title="Photosynthese von Mais", raw_text="Photosynthese von Mais. 1991"))
    assert [work_id for work_id, _ in hits].count(WORKS[3].id) == 1
    assert hits[0][0] == WORKS[3].id


def test_a_reference_without_words_has_no_hits_and_is_not_searched(served: EngineCandidates):
    empty = Reference(id="c#1", citing="c", position=1)
    unwritten = Reference(id="c#2", citing="c", position=2, raw_text="—")
    assert near(served, empty, unwritten) == [[], []]
    assert near(served) == []


def test_forbidden_works_are_left_out_and_do_not_reduce_the_hits(search_engine: SearchEngine):
    twins = [work(number, "Soil fungi of the wet forest", year=2000 + number) for number in range(8)]
    chosen = settings(search_engine)
    indexed(chosen, twins)
    source = candidates(chosen, catalog_of(twins), hits=5, wider_hits=5)
    never = tuple(each.id for each in twins[:3])
    (free,), (hits,) = near(source, cite(twins[0])), near(source, cite(twins[0]), forbidden=[never])
    assert len(free) == len(hits) == 5
    assert not {work_id for work_id, _ in hits} & set(never)
    opened = Open(reference=cite(twins[0]), forbidden=never)
    (wider,) = source.wider([opened], [lexical_query(opened.reference, POLICY)], POLICY)
    assert len(wider) == 5
    assert not {work_id for work_id, _ in wider} & set(never)


def test_a_work_that_only_the_index_has_is_not_a_candidate(search_engine: SearchEngine):
    """The index may be ahead of the local catalog; the version of the result is the older one."""
    chosen = settings(search_engine)
    indexed(chosen, WORKS)
    behind = catalog_of(WORKS[1:])
    behind.offset = 2
    source = candidates(chosen, behind)
    assert source.offset == 2
    (hits,) = near(source, cite(WORKS[0]))
    assert WORKS[0].id not in {work_id for work_id, _ in hits}
    ahead = catalog_of(WORKS)
    ahead.offset = 9
    assert candidates(chosen, ahead).offset == len(WORKS)


def test_a_deleted_index_is_an_outage_and_no_reference_is_blamed(search_engine: SearchEngine, served: EngineCandidates):
    engine = Engine(settings(search_engine))
    gone = EngineCandidates(engine, served.catalog, Version("no-such-index", 4), hits=5, wider_hits=5)
    with pytest.raises(EngineUnavailable, match="no-such-index"):
        near(gone, cite(WORKS[0]))


def test_a_floor_removes_less_similar_hits(served: EngineCandidates):
    opened = Open(reference=cite(WORKS[0]))
    text = lexical_query(opened.reference, POLICY)
    (every,) = served.wider([opened], [text], POLICY)
    (some,) = served.wider([opened], [text], replace(POLICY, lexical_floor=every[0][1]))
    assert some == every[:1]
    assert served.wider([opened], [""], POLICY) == [[]]


def test_the_examples_have_the_links_of_the_native_search(search_engine: SearchEngine):
    works: list[Work] = catalog_works()
    references = [without_identifiers(each) for paper in parsed(example_papers()) for each in paper.references]
    chosen, native = settings(search_engine), Catalog.empty(lexical_mode="Raw")
    native.add(works)
    indexed(chosen, works)
    expected = Linker(native).link(references)
    found = Linker.over(candidates(chosen, catalog_of(works))).link(references)
    assert len(references) > 400
    differ = [
        (one.reference, one.cited, other.cited) for one, other in zip(expected, found, strict=True) if one.cited != other.cited
    ]
    assert differ == []


def test_another_mode_of_texts_scores_the_same_pairs(served: EngineCandidates):
    titles = replace(POLICY, lexical_mode="T")
    (hits,) = served.near([cite(WORKS[0])], titles, Stopwatch())
    assert hits[0] == (WORKS[0].id, 1.0)
