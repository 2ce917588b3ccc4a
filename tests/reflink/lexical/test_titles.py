"""TitleMatch and S2ORC's rule agree with their definitions."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.lexical import LexicalIndex
from reflink.lexical.titles import TitleMatch, s2orc
from reflink.lexical.trigrams import ALPHABET
from reflink.text import work_text
from tests.profiles import examples
from tests.reflink.lexical.plain import indexed
from tests.reflink.lexical.test_trigrams import defined

ids = st.sampled_from([f"doi:10.{n}" for n in range(12)] + ["pmid:1", "é", "z\U0001f600"])
titles = st.text(alphabet="ab ", max_size=3) | st.sampled_from(["x" * 200, "x" * 199 + "y", "wheat", "wheats"])
batches = st.lists(st.tuples(ids, titles), max_size=8)
steps = st.lists(st.tuples(st.sampled_from(["add", "remove"]), batches), max_size=12)


def matched(works: dict[str, str]) -> TitleMatch:
    index = TitleMatch()
    index.add(list(works), list(works.values()))
    return index


@settings(max_examples=examples(100))
@given(steps, st.lists(titles, max_size=5))
def test_title_match_agrees_with_scanning_all_works(steps: list[tuple[str, list[tuple[str, str]]]], queries: list[str]) -> None:
    index, works = TitleMatch(), dict[str, str]()
    for what, pairs in steps:
        if what == "add":
            index.add([id_ for id_, _ in pairs], [title for _, title in pairs])
            works |= dict(pairs)
        else:
            index.remove([id_ for id_, _ in pairs])
            works = {id_: title for id_, title in works.items() if id_ not in dict(pairs)}
        wanted = [*queries, *works.values()]
        same = [tuple(sorted(id_ for id_, known in works.items() if known == title != "")) for title in wanted]
        assert index.search(wanted) == same
        assert index.link(wanted) == [min(ids, default=None) for ids in same]
        assert len(index) == len(works)


def test_titles_are_truncated_to_200_characters_before_normalisation() -> None:
    long = "On the Rôle of “Wheat”; " * 20
    work, other = Work(id="a", title=long), Work(id="b", title=long[:199] + "!" + long[200:])
    index = matched({each.id: work_text(each, "T", lexical=True) for each in (work, other)})
    assert index.search([work_text(Work(id="q", title=long[:200] + "and more"), "T", lexical=True)]) == [("a",)]
    assert index.search(["on the r le of wheat"]) == [()]


def test_ties_go_to_the_smallest_id_or_to_a_seeded_draw() -> None:
    index = matched(dict.fromkeys(("b", "c", "a"), "wheat") | {"d": "rye"})
    assert index.link(["wheat", "rye", "maize"]) == ["a", "d", None]
    drawn = index.link(["wheat"] * 900, Random(7))
    assert drawn == index.link(["wheat"] * 900, Random(7)) != index.link(["wheat"] * 900, Random(8))
    assert {id_: 240 < drawn.count(id_) < 360 for id_ in "abc"} == dict.fromkeys("abc", True)


@pytest.mark.parametrize("text", ["Wheat", "wheat!", "blé", "a\tb", "日本"])
def test_a_title_that_is_not_normalised_is_refused_and_changes_nothing(text: str) -> None:
    index = matched({"a": "wheat"})
    for call in (lambda: index.add(["b", "a"], ["rye", text]), lambda: index.search(["rye", text])):
        with pytest.raises(ValueError, match="text not normalised for trigrams") as refused:
            call()
        assert repr(text) in str(refused.value)
    assert index.search(["wheat", "rye"]) == [("a",), ()]


def test_invalid_additions_are_refused_and_change_nothing() -> None:
    index = matched({"a": "wheat"})
    with pytest.raises(ValueError, match="2 ids for 1 titles"):
        index.add(["b", "c"], ["rye"])
    with pytest.raises(ValueError, match="an id is empty"):
        index.add(["b", ""], ["rye", "rye"])
    assert index.search(["rye"]) == [()]
    assert index.search([]) == []
    assert index.nbytes > 0


# S2ORC's rule


def test_the_s2orc_rule_excludes_four_fifths_and_includes_the_next_greater_score() -> None:
    # Seven trigrams each, six of them common: 12 / 15. Eight each, seven of them common: 14 / 17.
    assert defined("abcdefghi", "abcdefghx") == Fraction(4, 5)
    assert defined("abcdefghij", "abcdefghix") == Fraction(14, 17)
    index = indexed({"a": "abcdefghi"})
    assert s2orc(index, ["abcdefghx", "abcdefghi", "zzz", ""]) == [None, ("a", 1.0), None, None]
    assert s2orc(indexed({"a": "abcdefghij"}), ["abcdefghix"]) == [("a", 14 / 17)]
    assert s2orc(index, ["abcdefghx"], threshold=0.79) == [("a", 0.8)]


LETTERS = ALPHABET[1:]  # each once: every trigram is another


@pytest.mark.parametrize(
    ("known", "query"),
    # Of 7n trigrams each 6n common; and 2n of the 3n of the other.
    [(LETTERS[: 7 * n + 2], LETTERS[: 6 * n + 2] + LETTERS[-n:]) for n in (1, 2, 3)]
    + [(LETTERS[: 3 * n + 2], LETTERS[: 2 * n + 2]) for n in range(1, 12)],
)
def test_four_fifths_is_excluded_for_sets_of_any_size(known: str, query: str) -> None:
    assert defined(known, query) == Fraction(4, 5)
    assert s2orc(indexed({"a": known}), [query]) == s2orc(indexed({"a": query}), [known]) == [None]
    assert s2orc(indexed({"a": known}), [query], threshold=0.7999999) == [("a", 0.8)]


close = st.text(alphabet="ab", max_size=14)


@given(st.dictionaries(ids, close, max_size=8), st.lists(close, max_size=4))
def test_the_s2orc_rule_agrees_with_exact_arithmetic(works: dict[str, str], queries: list[str]) -> None:
    def expected(query: str) -> tuple[str, float] | None:
        best = min(((-defined(query, title), id_) for id_, title in works.items()), default=(Fraction(0), ""))
        return (best[1], float(-best[0])) if -best[0] > Fraction(4, 5) else None

    assert s2orc(indexed(works), queries) == [expected(query) for query in queries]


def test_an_index_of_another_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="has mode 'TV', not 'T'"):
        s2orc(LexicalIndex("TV"), ["wheat"])
