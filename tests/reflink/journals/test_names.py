"""Names of journals as they are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.journals.names import abbreviates, are_alike, code_key, issn_key, name_key, other_keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Journal of Biological Chemistry", "Journal of biological chemistry"),
        ("J. Biol. Chem.", "J Biol Chem"),
        ("Proc. Natl. Acad. Sci. U.S.A.", "Proc Natl Acad Sci USA"),
        ("Zeitschrift für Naturforschung", "Zeitschrift fur Naturforschung"),
        ("Revista de biología y química", "Revista biologia quimica"),
        ("A New Journal", "New Journal"),
    ],
)
def test_names_that_differ_in_case_accents_articles_and_initials_are_equal(one: str, other: str):
    assert name_key(one) == name_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Phys. Rev. A", "Phys. Rev."),  # a section's letter is not an article
        ("Phys. Rev. A", "Phys. Rev. E"),
        ("J Biol Chem", "J Biochem"),
        ("Rice (N Y)", "Rice"),
    ],
)
def test_names_of_different_journals_differ(one: str, other: str):
    assert name_key(one) != name_key(other)


@given(st.text(max_size=400))
def test_any_text_has_keys(name: str):
    for key in (name_key(name), *other_keys(name)):
        assert key == " ".join(key.split())
    assert name_key(name) not in other_keys(name)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("Rice (N Y)", ("rice",)),
        ("FASEB journal : official publication of a federation", ("faseb journal",)),
        ("Rivista medica = Medical review", ("rivista medica",)),
        ("Brain", ()),
        ("Brain " + " " * 100_000 + ": a journal", ()),
        ("A" + " (" * 50_000, ()),
    ],
)
def test_a_name_without_brackets_subtitle_and_parallel_title(name: str, keys: tuple[str, ...]):
    assert other_keys(name) == keys


def test_the_words_of_an_abbreviation_begin_those_of_the_title():
    assert abbreviates("j biol chem", "journal biological chemistry")
    assert not abbreviates("acta cryst", "acta crystallographica section d")
    assert not abbreviates("j biochem", "journal biological chemistry")


def test_issns():
    assert [issn_key(text) for text in ("0028-0836", " 00280836 ", "1234-567x", "28-0836", "")] == [
        "issn:0028-0836", "issn:0028-0836", "issn:1234-567X", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Plant Physiol.", "Journal of Plant Physiology", True),
        ("PNAS", "Proceedings of the National Academy of Sciences", True),
        ("Soil Letters", "Wheat Reports", False),
        ("PNAS", "Proc Natl Acad Sci USA", True),
        ("SL", "Soil Letters of Wheat", False),
        ("", "Wheat Reports", True),
        ("Journal of Physiology", "Journal of Neurology", False),
        ("J. Physiol.", "Archives internationales de physiologie", True),
        ("Nature", "Neuron", False),
    ],
)
def test_names_of_one_journal_are_alike(one: str, other: str, expected: bool) -> None:
    assert are_alike(one, other) is are_alike(other, one) is expected


@pytest.mark.parametrize(
    ("doi", "code"),
    [
        ("10.1371/journal.pone.0012345", "10.1371/journal.pone"),
        ("10.1111/j.1365-313x.2012.04969.x", "10.1111/j.1365-313x"),
        ("10.1186/s13059-019-1234-5", "10.1186/s13059-"),
        ("10.1038/nature12345", "10.1038/nature"),
        ("10.1080/19440049.2012.680613", "10.1080/19440049"),
        ("10.1016/0003-2697(76)90527-3", "10.1016/0003-2697"),
        ("10.1007/978-1-59745-413-1_21", None),
        ("", None),
        (None, None),
    ],
)
def test_the_code_of_a_journal_in_a_doi(doi: str | None, code: str | None):
    assert code_key(doi) == code
