"""Tests of lists of authors that are tagged as one string."""

from __future__ import annotations

import pytest

from reflink.recognition import labels as tag
from reflink.recognition.authors import divide
from reflink.recognition.labels import label_runs
from reflink.recognition.tokens import tokenise


def divided(text: str, label: int) -> list[str]:
    tokens = tokenise(text)
    found = divide(text, tokens, 0, len(tokens.words))
    assert len(found) == len(tokens.words)
    return [text[tokens.starts[start] : tokens.ends[stop - 1]] for mark, start, stop in label_runs(found) if mark == label]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Wang X, Li Y.", ["Wang", "Li"]),
        ("Wang XY, van den Berg JP, O'Brien K", ["Wang", "van den Berg", "O'Brien"]),
        ("X. Wang, Y.-L. Chen, and P. de la Cruz,", ["Wang", "Chen", "de la Cruz"]),
        ("Smith-Jones, A. B., & Müller, K.", ["Smith-Jones", "Müller"]),
        ("SILVA, J. A.; SOUZA, M.", ["SILVA", "SOUZA"]),
        ("Spengler, Oswald.", ["Spengler"]),
        ("Lakoff, George, and Mark Johnson.", ["Lakoff", "Johnson"]),
        ("Brown, Peter, and White, Mary", ["Brown", "White"]),
        ("Peter van den Berg and Anna Maria Rossi", ["van den Berg", "Rossi"]),
        ("Robin C. Williamson", ["Williamson"]),
        ("CASSARD Jean-Christophe,", ["CASSARD"]),
        ("Dressler, B. O., Crabtree, D. and Schuraytz ,B.C.,", ["Dressler", "Crabtree", "Schuraytz"]),
        ("Ferren, W. R., Jr.", ["Ferren"]),
        ("Wright, et al.", ["Wright"]),
        ("K. MARUYAMA, Y. NARUTA et Y. YAMAMOTO", ["MARUYAMA", "NARUTA", "YAMAMOTO"]),
        ("World Health Organization.", []),
        ("Department of Health and Human Services", []),
        ("OECD", []),
        ("X.", []),
        (".,;", []),
    ],
)
def test_last_names(text: str, names: list[str]):
    assert divided(text, tag.L) == names


def test_groups():
    assert divided("World Health Organization.", tag.C) == ["World Health Organization"]
    assert divided("OECD", tag.C) == ["OECD"]


def test_punctuation_behind_the_list_does_not_belong_to_it():
    assert divided("Wang, X.,", tag.A) == [", X."]
    assert divided("Oswald Spengler :", tag.O) == [":"]
