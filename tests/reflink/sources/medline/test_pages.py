"""Pages of MEDLINE."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.sources.medline.pages import page_range


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("123-33", "123", "133"), ("1-8", "1", "8"), ("17", "17", None), ("998-1002", "998", "1002"), ("S12-9", "S12", "S19"),
        ("S12-S19", "S12", "S19"), ("E24-34", "E24", "E34"), ("123S-9S", "123S", "129S"), ("e1021", "e1021", None),
        ("12-15, 19", "12", "15"), ("58, 61", "58", None), ("Suppl 1:123-30", "123", "130"), ("suppl 116", "116", None),
        ("SUPPL 7-9", "7", "9"), ("123-33 contd", "123", "133"), ("62 p.", "62", None), ("vii-xxii", "vii", "xxii"),
        ("45.e1-45.e9", "45.e1", "45.e9"), ("968-975.e2", "968", "975.e2"), ("123-123", "123", None), ("33-2", "33", "2"),
        ("1109–15", "1109", "1115"), ("", None, None), ("-", None, None), ("x" * 50, None, None),
    ],
)  # fmt: skip
def test_first_and_full_last_page(text: str, first: str | None, last: str | None):
    assert page_range(text) == (first, last)


@given(st.text(max_size=200) | st.text("0123456789-,;SsuplE .", max_size=60))
def test_any_text_gives_short_pages(text: str):
    first, last = page_range(text)
    assert first is None or 0 < len(first) <= 40
    assert last is None or (first is not None and last != first and len(last) <= 80)
