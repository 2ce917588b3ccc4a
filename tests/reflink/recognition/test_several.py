"""Tests of the division of citations of several works."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reflink.recognition.several import MAX_PARTS, divide
from tests.profiles import examples


def queries(text: str) -> list[str]:
    return [part.query for part in divide(text)]


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("Smith J, Angew. Chem. 2004, 43, 1; Jones K, JACS 2005, 127, 3",
         ["Smith J, Angew. Chem. 2004, 43, 1", "Jones K, JACS 2005, 127, 3"]),
        ("(a) X. Wang, J. Am. Chem. Soc. 2004, 126, 1; (b) Z. Chen, Small 2005, 4, 5.",
         ["X. Wang, J. Am. Chem. Soc. 2004, 126, 1", "Z. Chen, Small 2005, 4, 5."]),
        ("For reviews, see: a) X. Wang, Small 2004, 1, 1; b) Z. Chen, unpublished.", []),
        ("Silva, A.; Souza, M.; Green Chem. 2012, 14, 15; Lima, P.; J. Braz. Chem. Soc. 2017, 28, 11.",
         ["Silva, A.; Souza, M.; Green Chem. 2012, 14, 15", "Lima, P.; J. Braz. Chem. Soc. 2017, 28, 11."]),
        ("X. Wang: The first title. Brain Res. 20(12), 855-867 (2002) 9. Chen, G.: Another one. Comput. Res. 19, 254 (1986)",
         ["X. Wang: The first title. Brain Res. 20(12), 855-867 (2002)", "Chen, G.: Another one. Comput. Res. 19, 254 (1986)"]),
        ("Wang A, Li W. Anxiety in rats. Autism. 2001;5(3):277. Chen A, Wu R. Two problems. Neurol. 1997;39(8):527-33.",
         ["Wang A, Li W. Anxiety in rats. Autism. 2001;5(3):277", "Chen A, Wu R. Two problems. Neurol. 1997;39(8):527-33."]),
        ("Smith, J. (2004). A title. Journal of X, 12(3), 45–67; Jones, K. (2005). Another. Journal of Y, 1, 2–3.",
         ["Smith, J. (2004). A title. Journal of X, 12(3), 45–67", "Jones, K. (2005). Another. Journal of Y, 1, 2–3."]),
        ("John Smith, The Title of It (New York: Press, 2004), 12; and Mary Jones, “Another,” Journal of X 3 (2005): 44.",
         ["John Smith, The Title of It (New York: Press, 2004), 12", "Mary Jones, “Another,” Journal of X 3 (2005): 44."]),
        ("Roe v. Wade, 410 U.S. 113 (1973); Planned Parenthood v. Casey, 505 U.S. 833 (1992).",
         ["Roe v. Wade, 410 U.S. 113 (1973)", "Planned Parenthood v. Casey, 505 U.S. 833 (1992)."]),
        ("Wang G. A rice. Am J Rice 2012; 96: 658–64. Retraction in: Wang G. Am J Rice 2015;102:715.",
         ["Wang G. A rice. Am J Rice 2012; 96: 658–64", "Wang G. Am J Rice 2015;102:715."]),
        ("SILVA, A. O livro. Letras, v. 20, n. 4, p. 147-162, 2010; LIMA, B. O mar. Letras, v. 2, n. 1, p. 1-9, 2011.",
         ["SILVA, A. O livro. Letras, v. 20, n. 4, p. 147-162, 2010", "LIMA, B. O mar. Letras, v. 2, n. 1, p. 1-9, 2011."]),
    ],
)  # fmt: skip
def test_works_that_are_complete_are_divided(text: str, works: list[str]) -> None:
    assert queries(text) == works or (not works and len(queries(text)) == 2)
    assert [text[part.start : part.stop] for part in divide(text)] == queries(text)


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("X. Wang, Angew. Chem. 2004, 43, 1; ibid. 2006, 45, 7", "X. Wang, Angew. Chem. 2006, 45, 7"),
        ("(a) X. Wang, Angew. Chem. 2004, 43, 1; (b) Y. Li, ibid. 2007, 46, 8", "Y. Li, Angew. Chem. 2007, 46, 8"),
        (
            "H. Li and C. Wu, Nucl. Phys. B 361 (1991) 469; Phys. Lett. B 36 (1991) 8",
            "H. Li and C. Wu, Phys. Lett. B 36 (1991) 8",
        ),
        ("C. LI. J. Am. Chem. Soc. 89, 2495 (1967); 89, 7017 (1967)", "C. LI, J. Am. Chem. Soc. 89, 7017 (1967)"),
        ("A. Li, J. Phys. A: Math. Gen. 24, L73 (1991); 24, 3311 (1991)", "A. Li, J. Phys. A: Math. Gen. 24, 3311 (1991)"),
        ("X. Wang, Small 2004, 43, 1; idem, Nature 2006, 45, 7", "X. Wang, Nature 2006, 45, 7"),
    ],
)
def test_omitted_persons_and_journals_are_those_of_the_work_before(text: str, second: str) -> None:
    assert queries(text)[1:] == [second]


@pytest.mark.parametrize(
    "text",
    [
        "Silva, J. A.; Souza, M. T.; Lima, P. The title of 1999 in 2001. J. Chem. 2004, 1, 2",
        "Wang X. A title. In Vivo 2005; 19: 895–909; discussion 910; author reply 2006;20:12.",
        "X. Li, Phys. Rev. D 46, 3169 (1992) [erratum: Phys. Rev. D 47, 2157 (1993)]",
        "Li C. Epidemics. [erratum published: Lancet 2003;361:1832] Lancet. 2003; 361: 1761–6",
        "Li B, Wu A. Sun exposure: a perspective on Fears. Am J Sun 1977; 105: 420-427. Cancer 2017; 48:147-56.",
        "X. Li, Green Energy & Environ. 2018, 3, 42-49; Environ. 2018, 3, 42-49.",
        "Wang X. A title (see Li Y, Nature 2001, 1, 2; Wu Z, Science 2002, 3, 4). Cell 2004, 5, 6.",
        "Hayes N (2012) A title. The Second Symposium; 27–28 Nov 2012; Crystal City, Virginia, US. Accessed 8 January 2015.",
        "Wu J. A title. Paper at: The Symposium; December 13, 2019; San Antonio, TX; 2020",
        "Wu J. Proceedings of the meeting of 2004; Li K, editor. Berlin: Springer; 2005.",
        "Griffiths M. D. (2005 a). Work. Theory, 13, 97–100, reprinted in (2005 b). Work. Theory, 14, 7–10.",
        "Effects of (a) light; (b) heat on plants. J. Ecol. 2004, 1, 2",
        "Wu K. A title. Dermatol. 2020;182(2):342-347. Erratum in: Br J Dermatol. 2020;183(5):980.",
        "", ";", "2004; 2005", "a) b) 2004 2005",
    ],
)  # fmt: skip
def test_a_text_of_one_work_is_not_divided(text: str) -> None:
    assert divide(text) == []


PIECES = st.lists(
    st.sampled_from(
        ["X. Wang, ", "Smith J, ", "Small ", "Angew. Chem. ", "2004, 43, 1", "43, 1 (2004)", "; ", ". ", "ibid. ", "idem, ",
         "(a) ", "(b) ", "c) ", "[", "]", "(", "doi:10.1000/x;1 ", "A Title", "é", "\u0301", "Retraction in: ", "7. ", " and "]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(max_size=200), PIECES))
@settings(max_examples=examples(300))
@example("a) X. Li, Small 2004, 43, 1; b) 2005, 1, 2; c) ibid. 2006, 3, 4")
def test_parts_are_in_order_and_not_empty(text: str) -> None:
    parts = divide(text)
    assert len(parts) != 1
    at = 0
    for part in parts:
        assert at <= part.start < part.stop <= len(text)
        assert part.query
        at = part.stop


@pytest.mark.parametrize(
    "unit",
    [";", "; ", "2004; ", "a) ", "X. Li, ", "; X. Li, Small 2004, 43, 1", "; ibid. 2004, 43, 1", "; 4, 3 (2004)", "(",
     "2004, 4, 3 ", "J. Li. ", "Li X; ", "a) 2004; b) "],
)  # fmt: skip
def test_repetitive_texts_of_the_maximum_length(unit: str) -> None:
    text = ("X. Li, Small 2003, 42, 1" + unit * 10_000)[:10_000]
    assert len(divide(text)) <= MAX_PARTS
