"""The search of segments with several blocks and lists of rows, against counting in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from reflink.lexical import LexicalIndex, layout
from reflink.lexical.layout import BLOCK, LIST_BLOCK
from tests.reflink.lexical.plain import Counted, indexed, made, vocabulary

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def catalog(rng: np.random.Generator, number: int, words: list[str]) -> dict[str, str]:
    return {f"pmid:{at}": text for at, text in enumerate(made(rng, number, words))}


def queries_of(rng: np.random.Generator, texts: dict[str, str], words: list[str], number: int) -> list[str]:
    """Return slightly changed texts of the catalog, unrelated texts and unusual texts."""
    ids = rng.choice(list(texts), number)
    near = [texts[id_][2:-3].replace("a", "e", 2).strip() for id_ in ids]
    return [*near, *made(rng, number, words, 25), "", "ab", words[0], " ".join(words)]


@pytest.mark.parametrize("alphabet", ["ab", LETTERS])
@pytest.mark.parametrize("number", [BLOCK, 3 * BLOCK + 17, 2 * LIST_BLOCK + 5])
def test_hits_equal_those_of_counting(number: int, alphabet: str) -> None:
    rng = np.random.default_rng(number)
    words = vocabulary(rng, 3000, alphabet)
    texts = catalog(rng, number, words)
    index = indexed(texts)
    assert len(index._growth.parts[0].segment.layout.shares)
    plain, queries = Counted(texts), queries_of(rng, texts, words, 12)
    for k, floor in ((1, None), (2, None), (7, None), (1, 0.5), (3, 0.9)):
        want = [plain.best(query, k, floor or 0.0) for query in queries]
        assert list(index.search(queries, k, floor)) == want
        assert [next(iter(index.search([query], k, floor))) for query in queries] == want
        seeds = [[id_ for id_, _ in near[:1]] for near in want]
        assert list(index.search(queries, k, floor, seeds)) == want


def test_a_query_may_have_more_bitmaps_than_a_byte_counts() -> None:
    rng = np.random.default_rng(3)
    words = vocabulary(rng, 400, "abcde")
    texts = {f"{at}": text for at, text in enumerate(made(rng, BLOCK + 100, words, 150))}
    index, plain = indexed(texts), Counted(texts)
    queries = [" ".join(rng.choice(words, 200)) for _ in range(4)]
    assert list(index.search(queries, 4)) == [plain.best(query, 4) for query in queries]


def test_a_query_may_have_more_rare_trigrams_than_a_byte_counts() -> None:
    """A row with hundreds of them reaches the same count of eight bits more than once."""
    rng = np.random.default_rng(7)
    pages = ["".join(rng.choice(list(LETTERS), 900)) for _ in range(40)]
    texts = {f"{at}": text for at, text in enumerate(made(rng, 3 * BLOCK, vocabulary(rng, 500, "abc")))}
    texts |= {f"page {at}": text for at, text in enumerate(pages)}
    index, plain = indexed(texts), Counted(texts)
    queries = [" ".join(pages), " ".join(pages[:3]), pages[7][:600], " ".join(text[:300] for text in pages)]
    assert list(index.search(queries, 50)) == [plain.best(query, 50) for query in queries]


def test_the_number_of_threads_changes_no_hit() -> None:
    rng = np.random.default_rng(4)
    words = vocabulary(rng, 2000, LETTERS)
    texts = catalog(rng, 3 * BLOCK, words)
    queries = queries_of(rng, texts, words, 20)
    assert list(indexed(texts).search(queries, 3)) == list(indexed(texts, threads=3).search(queries, 3))


def test_of_many_equal_texts_the_smallest_ids_are_found() -> None:
    texts = {f"{at:05}": "soil fungi of the forest" for at in range(2 * BLOCK)} | {"0": "soil fungi of the forests"}
    index = indexed(texts)
    assert index.search(["soil fungi of a forest"], 3).ids[0].tolist() == ["00000", "00001", "00002"]
    index.remove(["00001"])
    assert index.search(["soil fungi of a forest"], 3).ids[0].tolist() == ["00000", "00002", "00003"]


def test_hits_equal_those_of_counting_after_thousands_of_changes(tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(5)
    words = vocabulary(rng, 1500, LETTERS)
    index, texts = LexicalIndex("T"), dict[str, str]()
    for turn in range(60):
        ids = [f"pmid:{at}" for at in rng.integers(0, 9000, rng.integers(1, 400))]
        added = dict(zip(ids, made(rng, len(ids), words), strict=True))
        index.add(list(added), list(added.values()))
        texts.update(added)
        gone = [f"pmid:{at}" for at in rng.integers(0, 9000, rng.integers(0, 150))]
        index.remove(gone)
        for id_ in gone:
            texts.pop(id_, None)
        if turn % 15 == 14:
            folder = tmp_path_factory.mktemp("index")
            index.save(folder)
            index = LexicalIndex.open(folder)
        if turn % 5 == 0:
            plain, queries = Counted(texts), queries_of(rng, texts, words, 4)
            assert list(index.search(queries, 3)) == [plain.best(query, 3) for query in queries]
            assert len(index) == len(texts)
    index.settle()
    assert len(index._growth.parts) < 10


def test_hits_of_real_texts_equal_those_of_counting_in_every_mode(real_texts: dict[str, dict[str, str]]) -> None:
    rng = np.random.default_rng(6)
    for mode, texts in real_texts.items():
        index, plain = indexed(texts, mode), Counted(texts)  # type: ignore[arg-type]
        queries = [texts[id_][4:90].strip() for id_ in rng.choice(list(texts), 25)]
        assert list(index.search(queries, 2)) == [plain.best(query, 2) for query in queries], mode
        assert list(index.search(queries, 1, 0.8)) == [plain.best(query, 1, 0.8) for query in queries], mode


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_the_shares_of_bitmaps_change_no_hit(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    monkeypatch.setattr(layout, "SHARED", share)
    rng = np.random.default_rng(8)
    words = vocabulary(rng, 800, LETTERS)
    texts = catalog(rng, 2 * BLOCK, words)
    index, plain = indexed(texts), Counted(texts)
    queries = queries_of(rng, texts, words, 8)
    assert list(index.search(queries, 2)) == [plain.best(query, 2) for query in queries]
