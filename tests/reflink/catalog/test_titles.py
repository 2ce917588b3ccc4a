"""A work with titles in several languages has one text for each title in the trigram index."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.catalog.titles import MAX_TRANSLATIONS, by_titles, lexical_texts, of_works
from reflink.entities import Work
from tests.profiles import examples

_TITLES = st.sampled_from(["The pineal body", "Die pineale klier", "Il corpo pineale", "Tela", "", "..."])
_WORKS = st.builds(
    Work,
    id=st.sampled_from(["a", "b", "c"]),
    title=st.none() | _TITLES,
    translated_titles=st.lists(_TITLES, max_size=5).map(tuple),
)


def texts_of(catalog: Catalog) -> dict[str, str]:
    """Return the texts that the index should have, by a plain rule."""
    return {text_id: text for work in catalog for text_id, text in lexical_texts(work, "Raw").items()}


@given(st.lists(st.lists(_WORKS, max_size=3) | st.sampled_from(["a", "b", "c"]), max_size=6))
@settings(max_examples=examples(100))
def test_the_index_has_the_texts_of_the_works_that_the_catalog_has(changes: list[list[Work] | str]):
    catalog = Catalog.empty()
    for change in changes:
        _ = catalog.remove([change]) if isinstance(change, str) else catalog.add(change)
    expected = texts_of(catalog)
    assert catalog.trigrams is not None
    assert len(catalog.trigrams) == len(expected)
    assert all(text_id in catalog.trigrams for text_id in expected)
    for text in filter(None, expected.values()):
        hits = of_works(next(iter(catalog.trigrams.search([text], 20))))
        same = {text_id.partition("\x1f")[0] for text_id, other in expected.items() if other == text}
        assert {work_id for work_id, score in hits if score == 1.0} == (same if len(text) > 2 else set())
        assert len({work_id for work_id, _ in hits}) == len(hits)


def test_the_number_of_titles_is_limited_and_equal_texts_are_one():
    work = Work(id="a", title="One", translated_titles=("One!", "Two", "Three", "Four", "Five"))
    assert [each.title for each in by_titles(work)] == ["One", "One!", "Two", "Three"]
    assert len(by_titles(work)) == MAX_TRANSLATIONS + 1
    assert list(lexical_texts(work, "T").values()) == ["one", "two", "three"]
    plain = Work(id="a", title="One")
    assert by_titles(plain) == (plain,)
    assert lexical_texts(plain, "T") == {"a": "one"}


def test_a_snapshot_keeps_the_texts(tmp_path: Path):
    catalog = Catalog.empty()
    catalog.add([Work(id="a", title="The pineal body", translated_titles=("Die pineale klier",))])
    assert catalog.save(tmp_path / "catalog").trigrams == 2
    opened = Catalog.open(tmp_path / "catalog")
    assert opened.trigrams is not None
    assert of_works(next(iter(opened.trigrams.search(["die pineale klier"], 2)))) == [("a", 1.0)]
    assert opened.remove(["a"]) == 1
    assert len(opened.trigrams) == 0
