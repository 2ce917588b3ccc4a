"""Codes of languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.sources.languages import language_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("eng", "en"), ("ger", "de"), ("deu", "de"), ("de", "de"), ("de-AT", "de"), ("pt_BR", "pt"),
        ("German", "de"), (" EN ", "en"), ("chi", "zh"), ("cze", "cs"), ("rum", "ro"), ("slo", "sk"), ("slv", "sl"),
        ("scr", "hr"), ("iw", "he"), ("haw", "haw"), ("und", None), ("mul", None), ("zxx", None), ("qaa", None),
        ("", None), ("xx", None), ("x", None), ("12", None), ("çà", None), ("english-us", "en"), ("Klingon", None),
        ("e n g", None),
    ],
)  # fmt: skip
def test_codes_tags_and_names_become_one_code(text: str, code: str | None):
    assert language_code(text) == code


def test_every_code_of_medlines_documentation_is_known():
    medline = (
        "afr alb amh ara arm aze ben bos bul cat chi cze dan dut eng epo est fin fre geo ger gla gre heb hin hrv hun ice "
        "ind ita jpn kin kor lat lav lit mac mal mao may nor per pol por pus rum rus san slo slv spa srp swe tha "
        "tur ukr urd vie wel"
    )
    assert all(len(language_code(code) or "") == 2 for code in medline.split())


@given(st.text(max_size=60))
def test_the_result_is_a_code_and_its_own_code(text: str):
    code = language_code(text)
    assert code is None or (2 <= len(code) <= 3 and code.islower() and language_code(code) == code)
