"""TeX in titles and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.sources.tex import plain


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"the Gr\"obner basis", "the Gröbner basis"), (r"C. Bal\'azs", "C. Balázs"), (r"M\"{u}ller", "Müller"),
        (r"{\O}rsted, \v{C}ech, \c c", "Ørsted, Čech, ç"), (r"Stra{\ss}e", "Straße"), (r"\'\i", "í"),
        (r"1T-TiSe$_{2}$", "1T-TiSe2"), (r"From $\Lambda_{\alpha}$ to $\pi$ and", "From Λα to π and"),
        (r"$^{12}$C at $\sqrt{s}=7$ TeV", "12C at s=7 TeV"), (r"A \& B 5\%", "A & B 5%"), ("snake_case", "snake_case"),
        ("two\n  lines", "two lines"), ("costs $5", "costs $5"), (r"{\it Spitzer} data", "Spitzer data"),
    ],
)  # fmt: skip
def test_plain_text(text: str, read: str):
    assert plain(text) == read


@given(st.text(max_size=300) | st.text("\\${}_^~`'\"vc o", max_size=100))
def test_any_text_is_read(text: str):
    found = plain(text)
    assert found == " ".join(found.split())
    assert len(found) <= len(text) * 2
