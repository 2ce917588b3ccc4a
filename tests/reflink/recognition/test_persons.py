"""Tests of the recognition of lists of persons."""

from __future__ import annotations

import pytest

from reflink.recognition.persons import persons


@pytest.mark.parametrize(
    ("names", "rest"),
    [
        ("X. Wang, Y.-L. Chen and P. de la Cruz", ", Small 2004"),
        ("Wang X, van der Berg JP, O’Brien K.", " A title"),
        ("Silva, J. A.; Souza, M.", "; Green Chem."),
        ("Wendhausen Jr., R.", "; Nature"),
        ("R. Aaij et al. [LHCb]", ", JHEP 09"),
        ("LIANG ZT, WANG X-n.", " Phys. Rev."),
        ("A. Li", ", J. Phys. A: Math. Gen. 24"),
        ("C. X. Wang", ", J. Power Sources 2018"),
        ("", "The title of a book"),
        ("", "J. Am. Chem. Soc. 2004"),
        ("", "Smith J, editor. A book"),
        ("", ""),
    ],
)
def test_persons(names: str, rest: str) -> None:
    assert (names + rest)[: persons(names + rest)] == names
    assert persons("; " + names + rest, 2) == 2 + len(names)


def test_a_given_name_in_full_needs_a_comma_and_a_title() -> None:
    text = "John Smith, The Title of It (New York, 2004)"
    assert text[: persons(text, in_full=True)] == "John Smith,"
    assert persons(text) == persons("John Smith went home", in_full=True) == 0
