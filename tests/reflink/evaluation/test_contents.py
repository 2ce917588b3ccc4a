"""What a reference has: title, names without a title, or neither."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.entities import Reference
from reflink.evaluation.contents import CONTENTS, contents_of
from tests.profiles import examples


def reference(text: str = "", **fields: Any) -> Reference:
    return Reference.from_dict({"id": "c#1", "citing": "c", "position": 1, "raw_text": text, **fields})


@pytest.mark.parametrize(
    ("fields", "contents"),
    [
        ({"title": "Wheat", "last_names": ["Li"]}, "title"),
        ({"chapter_title": "Wheat"}, "title"),
        ({"last_names": ["Li"], "venue": "Nature"}, "names"),
        ({"collab": "The Wheat Group"}, "names"),
        ({"venue": "Nature", "year": 1970, "volume": "227"}, "neither"),
    ],
)
def test_tagged_fields_decide(fields: dict[str, Any], contents: str) -> None:
    assert contents_of(reference(**fields)) == contents


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("Li AB, Wu C. Yield of wheat under heat. J Crop Sci. 1999;12(3):45-9.", "title"),
        ("Li, A. B. et al. Wheat genomics. Nature 12, 45–49 (1999).", "title"),
        ("Wu CD (1999) Yield. J Crop Sci 12:45 and others ripen", "title"),
        ("Li AB. Yield Loss in Winter Wheat. Crop Sci. 1999;12:45.", "title"),
        ("A. B. Li, C. Wu and D.-E. Osei, J. Crop Sci., 1999, 12, 45–49.", "names"),
        ("A.B. Li, C. Wu, Science 339, 59–63 (2013)", "names"),
        ("Li AB, Wu C, et al. J Crop Sci. 1999;12:45–9.", "names"),
        ("J Crop Sci. 1999 Jun;12(3):45-9", "neither"),
        ("Eur Crop J. 2020 Sep 3;56(3):", "neither"),
        ("Crop Sci. 2020 Nov 20;:", "neither"),
        ("", "neither"),
    ],
)
def test_a_text_is_classified_by_its_letters(text: str, contents: str) -> None:
    assert contents_of(reference(text)) == contents


@given(st.text(max_size=200))
@settings(max_examples=examples(200))
def test_every_text_has_one_of_the_contents(text: str) -> None:
    assert contents_of(reference(text)) in CONTENTS
