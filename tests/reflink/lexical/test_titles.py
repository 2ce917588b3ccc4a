from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.lexical import LexicalIndex
from reflink.lexical.titles import Hash, TitleMatch, fnv, s2orc
from reflink.lexical.trigrams import ALPHABET, letters
from reflink.text import work_text
from tests.profiles import examples
from tests.reflink.lexical.test_trigrams import defined

ids = st.sampled_from([f"doi:10.{n}" for n in range(12)] + ["pmid:1", "é", "z\U0001f600"])
titles = st.text(alphabet="ab ", max_size=3) | st.sampled_from(["x" * 200, "x" * 199 + "y", "wheat", "wheats"])
batches = st.lists(st.tuples(ids, titles), max_size=8)
steps = st.lists(st.tuples(st.sampled_from(["add", "remove"]), batches), max_size=12)


def all_equal(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The worst hash there is."""
    return np.full(len(offsets) - 1, 2**64 - 1, np.uint64)


def of_length(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """One under which only titles of another length differ."""
    return np.diff(offsets).astype(np.uint64)


def matched(works: dict[str, str], **options: Hash) -> TitleMatch:
    index = TitleMatch(**options)
    index.add(list(works), list(works.values()))
    return index


class Twin:
    """The same in a dictionary."""

    def __init__(self) -> None:
        self.works: dict[str, str] = {}

    def search(self, title: str) -> tuple[str, ...]:
        return tuple(sorted(id_ for id_, known in self.works.items() if known == title != ""))


@settings(max_examples=examples(150))
@given(steps, st.lists(titles, max_size=5), st.sampled_from([fnv, all_equal, of_length]))
def test_whatever_happens_the_answer_is_that_of_a_dictionary(
    steps: list[tuple[str, list[tuple[str, str]]]], queries: list[str], hashed: Hash
) -> None:
    index, twin = TitleMatch(hashed=hashed), Twin()
    for what, pairs in steps:
        if what == "add":
            index.add([id_ for id_, _ in pairs], [title for _, title in pairs])
            twin.works |= dict(pairs)
        else:
            index.remove([id_ for id_, _ in pairs])
            for id_, _ in pairs:
                twin.works.pop(id_, None)
        asked = [*queries, *twin.works.values()]
        assert index.search(asked) == [twin.search(title) for title in asked]
        assert index.link(asked) == [min(twin.search(title), default=None) for title in asked]
        assert len(index) == len(twin.works)


def test_titles_added_one_by_one_are_all_found_and_merged_now_and_then() -> None:
    index, random = TitleMatch(), Random(1)
    works = {f"doi:10.{number}": f"title {random.randrange(200)}" for number in range(600)}
    for id_, title in works.items():
        index.add([id_], [title])
    assert len(index._segments) <= 11
    for id_ in list(works)[::3]:
        index.remove([id_])
        del works[id_]
    assert len(index) == len(works)
    assert sum(len(segment.ids) for segment in index._segments) <= 2 * len(works)
    assert 12 * len(works) < index.nbytes < 300 * len(works)
    asked = [f"title {number}" for number in range(201)]
    expected = [tuple(sorted(id_ for id_, known in works.items() if known == title)) for title in asked]
    assert index.search(asked) == expected


def test_a_collision_is_no_match() -> None:
    index = matched({"a": "wheat", "b": "maize", "c": "wheats", "d": ""}, hashed=all_equal)
    assert index.search(["wheat", "sorgo", "", "maize"]) == [("a",), (), (), ("b",)]


def test_an_empty_title_matches_nothing_not_even_another_empty_one() -> None:
    index = matched({"a": "", "b": ""})
    assert index.search(["", "a"]) == [(), ()]
    assert index.link([""], Random(1)) == [None]
    assert len(index) == 2


def test_titles_are_those_of_the_method_cut_to_200_characters_before_all_else() -> None:
    long = "On the Rôle of “Wheat”; " * 20
    work, other = Work(id="a", title=long), Work(id="b", title=long[:199] + "!" + long[200:])
    index = matched({each.id: work_text(each, "T", lexical=True) for each in (work, other)})
    assert index.search([work_text(Work(id="q", title=long[:200] + "and more"), "T", lexical=True)]) == [("a",)]
    assert index.search(["on the r le of wheat"]) == [()]


def test_a_later_title_replaces_the_earlier_one() -> None:
    index = matched({"a": "wheat", "b": "wheat"})
    index.add(["a", "a"], ["rye", "maize"])
    assert index.search(["wheat", "rye", "maize"]) == [("b",), (), ("a",)]
    assert len(index) == 2


def test_ties_go_to_the_smallest_id_or_to_one_drawn_by_a_seed() -> None:
    index = matched(dict.fromkeys(("b", "c", "a"), "wheat") | {"d": "rye"})
    assert index.link(["wheat", "rye", "maize"]) == ["a", "d", None]
    drawn = index.link(["wheat"] * 900, Random(7))
    assert drawn == index.link(["wheat"] * 900, Random(7)) != index.link(["wheat"] * 900, Random(8))
    assert {id_: 240 < drawn.count(id_) < 360 for id_ in "abc"} == dict.fromkeys("abc", True)


@pytest.mark.parametrize("text", ["Wheat", "wheat!", "blé", "a\tb", "日本"])
def test_a_title_that_is_not_normalised_is_refused_as_by_trigrams_and_changes_nothing(text: str) -> None:
    with pytest.raises(ValueError) as expected:
        letters(["rye", text])
    index = matched({"a": "wheat"})
    for call in (lambda: index.add(["b", "a"], ["rye", text]), lambda: index.search(["rye", text])):
        with pytest.raises(ValueError) as refused:
            call()
        assert str(refused.value) == str(expected.value)
    assert index.search(["wheat", "rye"]) == [("a",), ()]


def test_what_cannot_be_added_is_refused_and_changes_nothing() -> None:
    index = matched({"a": "wheat"})
    with pytest.raises(ValueError, match="2 ids for 1 titles"):
        index.add(["b", "c"], ["rye"])
    with pytest.raises(ValueError, match="an id is empty"):
        index.add(["b", ""], ["rye", "rye"])
    assert index.search(["rye"]) == [()]
    assert index.search([]) == TitleMatch().search([]) == []


def test_the_default_hash_is_fnv_1a_and_rarely_collides() -> None:
    def reference(text: str) -> int:
        value = 0xCBF29CE484222325
        for letter in text:
            value = (value ^ ALPHABET.index(letter)) * 0x100000001B3 % 2**64
        return value

    texts = ["", "a", "wheat", "x" * 200, *(f"title {number}" for number in range(20_000))]
    hashes = fnv(*letters(texts)).tolist()
    assert hashes[:50] == [reference(text) for text in texts[:50]]
    assert len(set(hashes)) == len(texts)


# S2ORC's rule


def lexical(works: dict[str, str]) -> LexicalIndex:
    index = LexicalIndex("T")
    index.add(list(works), list(works.values()))
    return index


def test_a_score_of_four_fifths_is_no_link_and_the_next_greater_one_is() -> None:
    # Seven trigrams each, six of them common: 12 / 15. Eight each, seven of them common: 14 / 17.
    assert defined("abcdefghi", "abcdefghx") == Fraction(4, 5)
    assert defined("abcdefghij", "abcdefghix") == Fraction(14, 17)
    index = lexical({"a": "abcdefghi"})
    assert s2orc(index, ["abcdefghx", "abcdefghi", "zzz", ""]) == [None, ("a", 1.0), None, None]
    assert s2orc(lexical({"a": "abcdefghij"}), ["abcdefghix"]) == [("a", 14 / 17)]
    assert s2orc(index, ["abcdefghx"], least=0.79) == [("a", 0.8)]


LETTERS = ALPHABET[1:]  # each once: every trigram is another


@pytest.mark.parametrize(
    ("known", "asked"),
    # Of 7n trigrams each 6n common; and 2n of the 3n of the other.
    [(LETTERS[: 7 * n + 2], LETTERS[: 6 * n + 2] + LETTERS[-n:]) for n in (1, 2, 3)]
    + [(LETTERS[: 3 * n + 2], LETTERS[: 2 * n + 2]) for n in range(1, 12)],
)
def test_four_fifths_is_excluded_whatever_the_sizes(known: str, asked: str) -> None:
    assert defined(known, asked) == Fraction(4, 5)
    assert s2orc(lexical({"a": known}), [asked]) == s2orc(lexical({"a": asked}), [known]) == [None]
    assert s2orc(lexical({"a": known}), [asked], least=0.7999999) == [("a", 0.8)]


close = st.text(alphabet="ab", max_size=14)


@given(st.dictionaries(ids, close, max_size=8), st.lists(close, max_size=4))
def test_the_rule_is_that_of_exact_arithmetic(works: dict[str, str], queries: list[str]) -> None:
    def expected(query: str) -> tuple[str, float] | None:
        best = min(((-defined(query, title), id_) for id_, title in works.items()), default=(Fraction(0), ""))
        return (best[1], float(-best[0])) if -best[0] > Fraction(4, 5) else None

    assert s2orc(lexical(works), queries) == [expected(query) for query in queries]


def test_an_index_of_another_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="has mode 'TV', not 'T'"):
        s2orc(LexicalIndex("TV"), ["wheat"])
