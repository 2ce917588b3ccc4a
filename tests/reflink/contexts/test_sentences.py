"""Sentences: where they end, where they do not, and the citation after the full stop."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.contexts.sentences import Opaque, sentences
from tests.profiles import examples
from tests.reflink.contexts.made import paragraph


def divided(marked: str) -> list[str]:
    """Return the sentences of a text with citations as ``<3|r3>`` and formulas as ``<x|=>``."""
    of = paragraph(marked)
    opaque = [Opaque(each.start, each.stop, True) for each in of.mentions] + [Opaque(*each, False) for each in of.formulas]
    return [of.text[start:stop] for start, stop in sentences(of.text, sorted(opaque))]


@pytest.mark.parametrize(
    "text",
    [
        "As Smith et al. Show, it is so.", "See Fig. 3 for more.", "See Figs. S1 and S2.", "In Eq. (3) it holds.",
        "A test (e.g. The Trail) was used.", "That is (i.e. A) so.", "Rice vs. Wheat was tested.", "About approx. 5 of them.",
        "Of J. Smith and A. B. Jones it is known.", "It was 0.5 in 3.5 of them.", "At p. 3 of No. 5 it is.",
        "The U.S. Department says so.", "Versions 1.5.2 and 2.0 exist.", "By Dr. Miller of St. Louis.", "1. Introduction",
        "Oryza sativa L. ssp. indica cv. Nipponbare was sown.", "It ended. but went on.", "In N. Africa it grows.",
        "product no. A-294 of them", "Ask at www.example.org/A.B/c for it.", "The 5 mg. and more",
    ],
)  # fmt: skip
def test_an_abbreviation_does_not_end_a_sentence(text: str) -> None:
    assert divided(text) == [text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It is so.", "We know it."), ("Is it so?", "It is."), ("It is so!", "“Yes,” he said."), ("It is “so.”", "We know it."),
        ("It is so (see Fig. 3).", "We know it."), ("It took 3 h.", "Eluates were mixed."), ("It had 5 mg/g.", "Light was on."),
        ("It was kept at 4 °C.", "Samples were taken."), ("It needs vitamin C.", "The others need none."),
        ("In group B.", "However, it fell."), ("It was 0.5.", "A second one was 0.7."), ("So in 2010.", "25 of them fell."),
        ("By Smith et al.", "The others did not."), ("Rice, wheat, etc.", "These were sown."), ("It is so.", "mRNA was taken."),
        ("It is so.", "β-Catenin was taken."), ("It is so…", "We know it."), ("The answer was no.", "We know it."),
        ("It is so.", "(We know it.)"), ("It is so.", "É assim."), ("それはそうです。", "私たちは知っている。"),
        ("In the U.S.", "The others are not."), ("It lasted 3 min.", "Then it ended."), ("It is so.", "(b) The other half."),
        ("It is so.", "( B) The other half."),
    ],
)  # fmt: skip
def test_a_sentence_ends_before_the_next_one(first: str, second: str) -> None:
    joined = first + second if first.endswith("。") else f"{first} {second}"
    assert divided(joined) == [first, second]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It was found.<3,4|r3 r4> We then did.", ["It was found.3,4", "We then did."]),
        ("It was found.<[3]|r3> We then did.", ["It was found.[3]", "We then did."]),
        ("It was found. <[3]|r3> We then did.", ["It was found. [3]", "We then did."]),
        ("It was found. <(Smith 2001)|r3> We did.", ["It was found. (Smith 2001)", "We did."]),
        ("It was found. <[3]|r3>. We then did.", ["It was found. [3].", "We then did."]),
        ("It was found. <[3]|r3> shows it.", ["It was found.", "[3] shows it."]),
        ("It was found. <Smith et al. (2001)|r3> did.", ["It was found.", "Smith et al. (2001) did."]),
        ("“It was found.”<3|r3> We then did.", ["“It was found.”3", "We then did."]),
        ("It was done by Smith et al.<3|r3> We then did.", ["It was done by Smith et al.3", "We then did."]),
        ("As Smith et al. <[3]|r3> say, it is.", ["As Smith et al. [3] say, it is."]),
        ("As Smith et al.<3|r3> say, it is.", ["As Smith et al.3 say, it is."]),
        ("It is <Smith et al. 2001. A|r1> so.", ["It is Smith et al. 2001. A so."]),
        ("It is <a. B. C|=> so. <x=1|=> holds.", ["It is a. B. C so.", "x=1 holds."]),
        ("It was found.<3|r3>", ["It was found.3"]),
        ("It was done by Smith et al. <3|r3> We then did.", ["It was done by Smith et al. 3", "We then did."]),
        ("It was done by Smith et al. <3|r3> (2001) and so.", ["It was done by Smith et al. 3 (2001) and so."]),
        ("It was done by Smith et al.<3|r3> (2001) and so.", ["It was done by Smith et al.3 (2001) and so."]),
    ],
)
def test_a_citation_after_the_full_stop_stays_with_its_sentence(text: str, parts: list[str]) -> None:
    assert divided(text) == parts


TEXTS = st.text(st.sampled_from('aB3 .?!([)]"”e.g.et al.Fig–,;\t\nµ。'), max_size=80) | st.text(max_size=40)


@settings(max_examples=examples(200))
@given(TEXTS, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 9), st.booleans()), max_size=6))
def test_sentences_cover_the_text_in_order_and_divide_nothing_opaque(text: str, spans: list[tuple[int, int, bool]]) -> None:
    opaque: list[Opaque] = []
    for start, size, citation in sorted(spans):
        stop = min(start + size, len(text))
        bare = text[start:stop] == text[start:stop].strip()
        if start <= stop and bare and (not opaque or start >= opaque[-1].stop):
            opaque.append(Opaque(start, stop, citation))
    found = sentences(text, opaque)
    assert all(start < stop for start, stop in found)
    assert all(stop <= start for (_, stop), (start, _) in pairwise(found))
    covered = set().union(*(range(start, stop) for start, stop in found))
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)
    assert not any(span.start < stop < span.stop for _, stop in found for span in opaque)


def test_hostile_texts_take_linear_time() -> None:
    """Quadratic time would be minutes."""
    for part in (".", ". ", ".A", "A. ", "a.b.", "et al. ", ".)", "?! ", "(.", "\u3002"):
        assert sentences(part * 50_000, [])
