"""Tests of the kinds of works that are neither articles nor books."""

from __future__ import annotations

from typing import get_args

import pytest

from reflink.entities import Kind
from reflink.recognition.kinds import kind_of

TEXTS: dict[Kind, tuple[str, ...]] = {
    "case": ("Roe v. Wade, 410 U.S. 113 (1973).", "Smith v Jones [1998] AC 12.", "Case C-131/12, Smith v Jones."),
    "data": ("Smith J (2015) Rice yields [dataset]. Dryad Digital Repository.", "Smith J. Base editing. PRJNA454659."),
    "note": ("Ibid., p. 12.", "See above, note 4.", "Smith, op. cit., p. 7.", "The numbers are those in ref. 1"),
    "patent": (
        "Smith J (2009) A method. US patent US20090038027A1",
        "Smith J. A method. WO/2006/123456.",
        "U.S. Pat. 4,683,202",
    ),
    "report": ("WHO. Global status report on safety. Geneva: WHO; 2013.", "Smith J. Food. Working Paper 74, IFPRI, 2015."),
    "software": ("R Core Team. R: a language and environment for statistical computing. Vienna, 2022.", "Tracer v1.6."),
    "standard": ("ISO 6885, Animal fats - Determination of a value.", "ASTM D638-14. Test method for plastics."),
    "statute": ("Regulation (EC) No 258/97 of the European Parliament.", "Nutrition Act of 1990. Pub L. No. 101-535 (1990)."),
    "thesis": ("Smith J. Tennis elbow [thesis]. Maastricht, 1992.", "Lima, J. O mar. Dissertação de Mestrado, UFBA, 2016."),
    "unpublished": ("Smith J, personal communication.", "Smith J. A title. Unpublished manuscript. 2016"),
    "web": ("Teens and phones. http://www.example.org/teens", "The World Bank. Indicators. Accessed: 24 January 2014."),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TEXTS.items() for text in texts])
def test_kinds(kind: Kind, text: str) -> None:
    assert kind_of(text) == kind


def test_every_kind_has_a_case() -> None:
    assert set(TEXTS) == set(get_args(Kind))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("data", "Smith J. Rice yields. GBIF Occurrence Download."),
        ("data", "Smith J. Rice. Zenodo, a data set."),
        ("data", "Smith J. A structure. ProteomeXchange."),
        ("report", "Smith J. A report on the reefs. Geneva."),
        ("software", "Smith J. lme4. R package."),
        ("software", "Smith J. The tracer, Release 4.2.1"),
        ("software", "Smith J. Tracer. v. 1.6"),
        ("statute", "Council, Off. J. Eur. L 12."),
        ("unpublished", "Smith J. A title (unpublished)"),
        ("web", "Smith J. Disponível em São Paulo."),
        ("web", "Smith J. Plants [cited 2014]."),
        ("web", "Smith J. Plants. www.example.org"),
        (None, "Smith J. A handbook of plants. Release 4.2.1"),
        (None, "Smith J. Xwww.example.org, XR package, areport on the, reunpublished data."),
    ],
)
def test_signs_count_at_the_beginning_of_a_word(kind: Kind | None, text: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "Wang X. A status report on the R package ecology version 7.0. J Ecol. 2004;92:1–9. http://example.org",
        "Smith J. A thesis on theses. Nature 227, 680-685.",
        "SILVA, A. O livro. Letras, v. 20, n. 4, p. 147-162, 2010. Disponível em: http://example.org",
        "Smith J. A chapter. In: Jones K, editor. A book. Berlin: Springer; 2004. http://example.org",
        "Chapin FS, Matson PA. Principles of ecology. Springer. 2011.",
        "Smith J. Patents and growth. Econ. J. 2004, 1, 2",
        "",
        "a" * 10_000,
    ],
)
def test_articles_and_books_have_none(text: str) -> None:
    assert kind_of(text) is None
