"""The published normalisation, character by character, and the texts made with it."""

import string
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.text import LIMITS, MODES, normalise, reference_text, work_text

SUNFLOWER = Work(
    id="doi:10.1/x",
    title="Direct Metatranscriptomics Survey of the Sunflower Microbiome and Virome",
    authors=("Wang", "Naupane", "Feng", "Pedersen", "Marzano"),
    venue="Viruses",
    year=2021,
)


def plain(text: str, lexical: bool, limit: int | None) -> str:
    """Normalise as published: truncate, lowercase, delete punctuation, (replace the rest), collapse, strip."""
    out = ""
    for char in text[:limit].lower():
        if unicodedata.category(char)[0] == "P" or char in string.punctuation:
            continue
        out += char if not lexical or char in string.ascii_lowercase + string.digits else " "
    return " ".join(out.split())


@given(st.text(), st.booleans(), st.none() | st.integers(0, 20))
@example("İstanbul’s ﬁrst—“β‑cell”\u00a0$5\tx", True, None)
@example("\ufeffA\x00b\x85c_d`e^f~g+h<i=j>k|l", False, None)
def test_normalise_equals_the_published_description(text: str, lexical: bool, limit: int | None) -> None:
    assert normalise(text, lexical=lexical, limit=limit) == plain(text, lexical, limit)


@given(st.text())
def test_lexical_text_has_37_characters_and_is_stable(text: str) -> None:
    once = normalise(text, lexical=True)
    assert set(once) <= set(string.ascii_lowercase + string.digits + " ")
    assert "  " not in once
    assert once == once.strip()
    assert normalise(once, lexical=True) == once


def test_paper_table_3() -> None:
    expected = "direct metatranscriptomics survey of the sunflower microbiome and virome wang naupane feng pedersen marzano"
    assert work_text(SUNFLOWER, "TL", lexical=True) == expected


def test_semantic_fields_are_joined_by_sep_and_lexical_by_a_space() -> None:
    assert work_text(SUNFLOWER, "VY", lexical=False) == "viruses [SEP] 2021"  # type: ignore[arg-type]
    assert work_text(SUNFLOWER, "VY", lexical=True) == "viruses 2021"  # type: ignore[arg-type]
    assert work_text(SUNFLOWER, "VY", lexical=False, separator=" ") == "viruses 2021"  # type: ignore[arg-type]


def test_empty_fields_keep_their_sep_and_leave_no_double_space() -> None:
    work = Work(id="w", title="Soil", year=2020)
    assert work_text(work, "TVY", lexical=False) == "soil [SEP]  [SEP] 2020"
    assert work_text(work, "TVY", lexical=False, separator=" ") == "soil 2020"
    assert work_text(work, "TVY", lexical=True) == "soil 2020"
    assert work_text(Work(id="w"), "T", lexical=True) == ""


def test_raw_text_is_an_entry_made_of_a_work_and_the_citation_of_a_reference() -> None:
    names = "wang naupane feng pedersen marzano"
    title = "direct metatranscriptomics survey of the sunflower microbiome and virome"
    for lexical in (True, False):
        assert work_text(SUNFLOWER, "Raw", lexical=lexical) == f"{names} {title} 2021 viruses"
    reference = Reference(id="r", citing="c", position=1, raw_text="Wang, Z. doi:10.1/x", raw_noid="Wang, Z. " + "x" * 300)
    assert reference_text(reference, "Raw", lexical=True) == "wang z " + "x" * 300
    bare = reference.model_copy(update={"raw_noid": None})
    assert reference_text(bare, "Raw", lexical=True) == "wang z doi101x"


def test_fields_are_cut_before_they_are_cleaned() -> None:
    work = Work(id="w", title="." * 199 + "ab", authors=("x" * 200,), venue="v" * 61, year=20211)
    assert work_text(work, "T", lexical=True) == "a"
    assert work_text(work, "TVLY", lexical=True) == f"a {'v' * 60} {'x' * 120} 2021"


@pytest.mark.parametrize("mode", MODES)
def test_both_sides_agree_in_every_mode_but_raw(mode: str) -> None:
    reference = Reference(
        id="r", citing="c", position=1, title=SUNFLOWER.title, last_names=SUNFLOWER.authors, venue="Viruses", year=2021
    )
    for lexical in (True, False):
        same = reference_text(reference, mode, lexical=lexical) == work_text(SUNFLOWER, mode, lexical=lexical)  # type: ignore[arg-type]
        assert same == (mode != "Raw")


def test_an_abstract_is_part_of_the_text() -> None:
    class WithAbstract(Work):
        abstract: str | None = None

    work = WithAbstract(id="w", title="Soil", abstract="Wet. " * 600)
    assert work_text(work, "TA", lexical=True) == "soil " + normalise("Wet. " * 600, lexical=True, limit=LIMITS["A"])


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown field 'X'"):
        work_text(SUNFLOWER, "TX", lexical=True)  # type: ignore[arg-type]


def test_a_megabyte_is_normalised() -> None:
    assert len(normalise("Ab, é\n" * 200_000, lexical=True)) == 200_000 * 3 - 1
