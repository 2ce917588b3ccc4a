"""Names of journals as they are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.journals.names import abbreviates, issn_key, name_key, other_keys, parent_keys


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
    for key in (name_key(name), *other_keys(name), *parent_keys(name)):
        assert key == " ".join(key.split())
    assert name_key(name) not in {*other_keys(name), *parent_keys(name)}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("Rice (N Y)", ("rice",)),
        ("FASEB journal : official publication of a federation", ("faseb journal",)),
        ("Rivista medica = Medical review", ("rivista medica",)),
        ("Brain", ()),
    ],
)
def test_a_name_without_brackets_subtitle_and_parallel_title(name: str, keys: tuple[str, ...]):
    assert other_keys(name) == keys


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("Phys. Rev. B", "phys rev"),
        ("Acta crystallographica. Section D, Structural biology", "acta crystallographica"),
        ("American journal of physiology. Renal physiology", "american journal physiology"),
        ("Journal of physics. Part C", "journal physics"),
        ("Journal of applied physiology (1985)", "journal applied physiology"),
    ],
)
def test_a_section_names_its_journal(name: str, parent: str):
    assert parent in parent_keys(name)
    assert not parent_keys("Nature genetics")


def test_the_words_of_an_abbreviation_begin_those_of_the_title():
    assert abbreviates("j biol chem", "journal biological chemistry")
    assert not abbreviates("acta cryst", "acta crystallographica section d")
    assert not abbreviates("j biochem", "journal biological chemistry")


def test_issns():
    assert [issn_key(text) for text in ("0028-0836", " 00280836 ", "1234-567x", "28-0836", "")] == [
        "issn:0028-0836", "issn:0028-0836", "issn:1234-567X", None, None,
    ]  # fmt: skip
