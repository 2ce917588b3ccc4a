"""The rules of other publications against their definitions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.evaluation.rivals.rule import title_of
from reflink.evaluation.rivals.s2orc import SimilarTitles
from reflink.evaluation.rivals.titlematch import EqualTitles
from reflink.evaluation.rivals.unarxive import TitleAndAuthor
from reflink.folding import compact
from reflink.lexical import similarity
from reflink.text import normalise
from tests.profiles import examples
from tests.reflink.evaluation.small import reference, work

TITLES = ["", "iron in rice", "Iron in Rice.", "iron in barley", "zinc", "Über zinc", "水稻"]
NAMES = ["Li", "Wu", "Müller"]
WORKS = st.lists(st.tuples(st.sampled_from(TITLES), st.lists(st.sampled_from(NAMES), max_size=2)), min_size=1, max_size=8)
CITING = st.dictionaries(st.sampled_from([f"w{n}" for n in range(8)]), st.sets(st.sampled_from("cdef"), min_size=1))


def made(works: list[tuple[str, list[str]]]) -> list[Work]:
    return [work(f"w{n}", title or None, *names) for n, (title, names) in enumerate(works)]


@settings(max_examples=examples(60))
@given(WORKS, st.sampled_from(TITLES), st.lists(st.sampled_from(["Li", "WU", "Muller", "Osei"]), max_size=2), CITING)
def test_unarxive_links_the_most_cited_of_equal_titles_with_an_author_in_the_text(
    works: list[tuple[str, list[str]]], title: str, names: list[str], citing: dict[str, set[str]]
) -> None:
    written = {compact(name) for name in names}
    candidates = [
        one for one in made(works)
        if compact(title) and compact(one.title or "") == compact(title) and written & {compact(name) for name in one.authors}
    ]  # fmt: skip
    query = reference(title=title, raw_text=f"{', '.join(names)}: {title} 1999")
    (link,) = TitleAndAuthor(made(works), citing).link([query])
    if not candidates:
        assert (link.cited, link.method) == (None, None)
        assert link.unresolved in ("no-candidate", "empty")
        return
    counts = {one.id: len(citing.get(one.id, set()) - {"c"}) for one in candidates}
    assert link.cited == min(counts, key=lambda id_: (-counts[id_], id_))


def test_unarxive_needs_a_whole_name_of_an_author() -> None:
    rule = TitleAndAuthor([work("a", "Iron in rice", "Li"), work("b", "Zinc in rice")], {})
    texts = {"Lim: Iron in rice": None, "Wu & Li. Iron in rice": "a", "Iron in rice": None}
    for text, cited in texts.items():
        (link,) = rule.link([reference(title="Iron in rice", raw_text=text)])
        assert link.cited == cited, text
    assert rule.link([reference(title="Zinc in rice", raw_text="Zinc in rice")])[0].cited is None, "no authors are known"


def test_unarxive_finds_names_of_scripts_without_spaces_anywhere() -> None:
    rule = TitleAndAuthor([work("a", "水稻", "李明"), work("b", "イネ", "たなか")], {})
    for title, text, cited in (
        ("水稻", "李明，水稻，1999", "a"), ("水稻", "王伟李明著水稻1999年", "a"), ("水稻", "王伟著水稻", None),
        ("イネ", "たなか著イネ", "b"),
    ):  # fmt: skip
        assert rule.link([reference(title=title, raw_text=text)])[0].cited == cited, text


def test_the_own_citation_of_a_paper_does_not_decide_its_ties() -> None:
    works = [work("a", "Iron in rice", "Li"), work("b", "Iron in rice", "Li")]
    query = reference(title="Iron in rice", raw_text="Li. Iron in rice", citing="c")
    assert TitleAndAuthor(works, {"b": {"c"}}).link([query])[0].cited == "a"
    assert TitleAndAuthor(works, {"b": {"d"}}).link([query])[0].cited == "b"
    assert TitleAndAuthor(works, {"a": {"c", "d"}, "b": {"d", "e"}}).link([query])[0].cited == "b"


@pytest.mark.parametrize("ids", [{"doi": "10.1/a"}, {"arxiv": "2001.00001"}])
@pytest.mark.parametrize("field", ["ids", "ids_weak"])
def test_unarxive_uses_an_identifier_first_if_the_reference_keeps_it(ids: dict[str, str], field: str) -> None:
    works = [Work.from_dict({"id": "a", "ids": ids, "title": "Iron"}), work("b", "Zinc", "Li")]
    fields: dict[str, Any] = {"title": "Zinc", "raw_text": "Li. Zinc"}
    (with_id, without) = TitleAndAuthor(works, {}).link([reference(**fields, **{field: ids}), reference(**fields)])
    assert (with_id.cited, with_id.method) == ("a", "identifier")
    assert (without.cited, without.method) == ("b", "lexical")
    (absent,) = TitleAndAuthor(works[1:], {}).link([reference(**fields, **{field: ids})])
    assert absent.cited == "b"


@settings(max_examples=examples(60))
@given(WORKS, st.sampled_from([*TITLES, "iron in the rice"]), st.sampled_from([0.3, 0.8]))
def test_title_rules_link_as_defined(works: list[tuple[str, list[str]]], title: str, threshold: float) -> None:
    query = reference(title=title, raw_text="")
    text = normalise(title, lexical=True)
    scores = {one.id: similarity(text, normalise(one.title or "", lexical=True)) for one in made(works)}
    best = max(scores.values())
    (similar,) = SimilarTitles(made(works), threshold).link([query])
    assert similar.cited == (min(id_ for id_ in scores if scores[id_] == best) if best > threshold else None)
    assert similar.unresolved == (None if similar.cited else "below-threshold" if text else "empty")
    same = [one.id for one in made(works) if text and normalise(one.title or "", lexical=True) == text]
    (equal,) = EqualTitles(made(works)).link([query])
    assert equal.cited == min(same, default=None)


def test_a_title_is_tagged_or_recognised_in_the_citation() -> None:
    raw = "Altschul SF, Gish W, Miller W. Basic local alignment search tool. J Mol Biol. 1990;215(3):403-410."
    assert title_of(reference(title="A title", raw_text=raw)) == "A title"
    assert title_of(reference(chapter_title="A chapter", raw_text=raw)) == "A chapter"
    assert title_of(reference(raw_text=raw)) == "Basic local alignment search tool"
    assert title_of(reference(raw_text="see page 3")) == ""
    (link,) = TitleAndAuthor([work("a", "Basic local alignment search tool", "Gish")], {}).link([reference(raw_text=raw)])
    assert link.cited == "a"
