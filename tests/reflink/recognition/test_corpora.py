"""Tests of the readers of other corpora, and of the folds of their texts."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.recognition.corpora import anystyle, folds, grobid
from reflink.recognition.labelled import Labelled
from reflink.recognition.tokens import tokenise
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.recognition.corpus_files import TEI, anystyle_file, archive
from tests.reflink.recognition.test_training import by_label


def test_strings_of_anystyle_are_divided(tmp_path: Path):
    (citation,) = anystyle(anystyle_file(tmp_path))
    found = by_label(citation)
    assert citation.text.startswith("Abe, B., & Chen, C. (1999). Plants [J]. In D. Dent (Ed.), In: Flora of the Alps (Vol. 3,")
    assert "10.1000" not in citation.text
    assert (found["L"], found["T"], found["D"], found["V"]) == ("Abe Chen", "Plants", "D . Dent", "Flora of the Alps")
    assert (found["Y"], found["N"], found["F"], found["E"], found["P"]) == ("1999", "3", "12", "19", "Rome Press")


def test_a_book_is_a_title_unless_it_contains_the_work(tmp_path: Path):
    article, book, inside = grobid(archive(tmp_path, kisti_ab_fr=TEI))
    found = by_label(article)
    assert (found["L"], found["T"], found["V"]) == ("Abe", "Plants of Rome", "J . Ecol")
    assert (found["Y"], found["N"], found["I"], found["F"], found["E"]) == ("2004", "92", "1", "12", "19")
    assert (by_label(book)["T"], by_label(inside)["V"]) == ("Flora", "Flora")
    assert "V" not in by_label(book)
    assert {article.kind, book.kind} == {"fr"}


def test_a_container_is_not_part_of_its_introduction(tmp_path: Path):
    text = TEI.replace(">J. Ecol.<", ">In Aevum<").replace("Flora</title>", "In vitro flora</title>").replace("in <", "<")
    article, book, _ = grobid(archive(tmp_path, a=text))
    assert (by_label(article)["V"], by_label(book)["T"]) == ("Aevum", "In vitro flora")
    edited = TEI.replace("in <title", "in <editor>D. Dent</editor> (ed.), <title")
    assert by_label(list(grobid(archive(tmp_path, a=edited)))[2])["V"] == "Flora"


def test_the_letter_of_a_journals_section_belongs_to_the_journal(tmp_path: Path):
    text = TEI.replace(">J. Ecol.<", ">Phys. Rev.<").replace(">92<", ">D92<")
    found = by_label(next(iter(grobid(archive(tmp_path, a=text)))))
    assert (found["V"], found["N"]) == ("Phys . Rev . D", "92")


def test_a_file_without_citations_is_ignored(tmp_path: Path):
    assert list(grobid(archive(tmp_path, empty="<TEI/>", broken="<TEI><bibl>"))) == []


def test_every_token_of_the_real_corpora_has_a_label():
    folder = shared_data() / "benchmarks"
    citations: list[Labelled] = list(anystyle(folder / "anystyle" / "core.xml.gz"))
    assert len(citations) > 1500
    assert all(len(citation.labels) == len(tokenise(citation.text).words) for citation in citations)
    found = folds([citation.text for citation in citations])
    assert min(found.count(fold) for fold in range(5)) > 0.15 * len(citations)


WORDS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8).map(" ".join)


@given(st.lists(WORDS, max_size=12))
@settings(max_examples=examples(100))
def test_equal_texts_are_in_one_fold(texts: list[str]):
    found = folds(texts + [f"{text.upper()}." for text in texts])
    assert found[: len(texts)] == found[len(texts) :]
    assert set(found) <= set(range(5))


def test_near_equal_texts_are_in_one_fold():
    text = "Abe B {} plants of the alps in a warmer world J Ecol {} 92 1"
    apart = [text.format(f"name{at}", 1900 + at) for at in range(20)]
    assert len(set(folds(apart))) == 1
    assert len(set(folds([f"{at} a {at} b {at}" for at in range(20)]))) > 1
