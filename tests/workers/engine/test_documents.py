"""A work as a document, and a reference as a query."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from tests.workers.engine.engines import cite, work
from workers.engine.documents import document, gone
from workers.engine.queries import query

SOIL = work(
    1, "Soil fungi of the wét forest", authors=("Müller", "O'Neil"), venue="J. Mycol.", year=2001, volume="12", fpage="e45",
    translated_titles=("Bodenpilze",), venue_abbreviations=("Journal of Mycology",),
)  # fmt: skip


def test_a_document_has_the_folded_words_of_a_citation():
    assert document(SOIL) == {
        "id": SOIL.id,
        "words": "soil fungi of the wet forest bodenpilze muller oneil j mycol journal of mycology 2001 12 e45",
    }
    assert gone(SOIL.id) == {"id": SOIL.id}


def match_of(reference: Reference, *, wide: bool = False) -> dict[str, Any]:
    """Return the part of the query that names the words."""
    found = query(reference, 5, wide=wide)
    assert found is not None
    match: dict[str, Any] = found["query"]["match"]["words"]
    return match


def words(reference: Reference, *, wide: bool = False) -> list[str]:
    return str(match_of(reference, wide=wide)["query"]).split()


def test_a_query_of_a_reference_has_words_of_the_document():
    """Folding is the same for both, so that a reference with a work's fields shares all its words."""
    assert set(words(cite(SOIL))) <= set(document(SOIL)["words"].split())
    assert words(cite(SOIL))[:2] == ["soil", "fungi"]


def test_the_text_counts_only_without_a_title_or_in_a_wide_search():
    tagged = cite(SOIL, raw_text="as written")
    assert "written" not in words(tagged)
    assert "written" in words(tagged, wide=True)
    untagged = Reference(id="c#1", citing="c", position=1, raw_text="as written")
    assert words(untagged) == words(untagged, wide=True) == ["as", "written"]
    assert query(Reference(id="c#1", citing="c", position=1), 5) is None
    assert "minimum_should_match" in match_of(tagged)
    assert "minimum_should_match" not in match_of(tagged, wide=True)
    assert "minimum_should_match" not in match_of(untagged)


@given(st.text(max_size=3000), st.lists(st.text(min_size=1, max_size=10), max_size=60))
def test_broken_records_make_documents_and_queries_of_limited_size(title: str, authors: list[str]):
    broken = Work(id="x", title=title, authors=tuple(authors), translated_titles=(title,))
    assert len(document(broken)["words"].split()) <= 300
    searched = Reference(id="c#1", citing="c", position=1, raw_text=title, title=title)
    assert query(searched, 10) is None or len(words(searched)) <= 80
