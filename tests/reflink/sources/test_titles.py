"""Remarks in titles of retracted works."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.sources.titles import split_status


@pytest.mark.parametrize(
    "title",
    [
        "RETRACTED: Grass grows", "Retracted: Grass grows", "RETRACTED ARTICLE: Grass grows", "[RETRACTED] Grass grows",
        "WITHDRAWN: Grass grows", "Withdrawn – Grass grows", "Grass grows [Retracted]", "[Retracted]: Grass grows",
        "Grass grows (Retracted article. See 1, 2)", "RETRACTED CHAPTER: Grass grows",
    ],
)  # fmt: skip
def test_remarks_are_removed(title: str):
    assert split_status(title) == ("Grass grows", "retracted")


@pytest.mark.parametrize(
    "title",
    [
        "Retraction: Grass grows",
        "Retracted grass grows",
        "Lid retraction test",
        "Removed tonsils: a study",
        "RETRACTED:",
        "[Retracted]",
    ],
)
def test_other_titles_stay(title: str):
    assert split_status(title) == (title, None)


@given(st.text(max_size=80), st.sampled_from(["RETRACTED: ", "Withdrawn: ", "(retracted)", "[removed] "]))
def test_a_title_never_becomes_empty(text: str, remark: str):
    for title in (text, remark + text, text + remark):
        bare, status = split_status(title)
        assert (status is None) == (bare == title)
        assert bare.strip() or not title.strip()
