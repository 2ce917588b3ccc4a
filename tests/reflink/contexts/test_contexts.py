"""Contexts of references: sentences, groups, markers, and the laws that hold for any paragraphs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.contexts import CitationContext, contexts_of, engine
from reflink.contexts.paragraphs import Mention, Paragraph
from reflink.entities import Paper
from tests.profiles import examples
from tests.reflink.contexts.made import numbered, paper, paragraph


def contexts(text: str, of: Paper | None = None) -> dict[str, tuple[CitationContext, ...]]:
    """Return the contexts of references with a mention, by the names of their entries."""
    found = contexts_of(of or numbered(9), [paragraph(text)])
    return {name.removeprefix("p#"): each for name, each in found.items() if each}


def only(text: str, name: str = "r1.1") -> CitationContext:
    """Return the only context of a reference."""
    (found,) = contexts(text)[name]
    return found


def test_a_context_has_its_place_and_its_sentence_with_both_neighbours() -> None:
    given_paragraph = replace(paragraph("One. Two is [<1|r1>]. Three. Four."), section=("A", "B"), part="caption")
    found = contexts_of(numbered(2), [Paragraph("None."), given_paragraph])
    assert found == {
        "p#r1.1": (
            CitationContext(
                part="caption", section=("A", "B"), paragraph=2, start=13, stop=14, marker="1", before="One.",
                sentence="Two is [1].", sentence_start=5, after="Three.", text="One. Two is MAINCIT . Three.",
            ),
        ),
        "p#r2.1": (),
    }  # fmt: skip


def test_the_example_of_paper_003() -> None:
    """Its listing 2 shows this text and this context."""
    text = (
        "It has over 79 million images stored at the resolution of <32x32|=>. Each image is labeled with one of the 75,062 "
        "non-abstract nouns in English, as listed in the Wordnet<[1]|r1><[2]|r2> lexical database. It has been noted that many "
        "of the labels are not reliable <[3]|r3>."
    )
    found = only(text, "r2.1")
    assert found.text == (
        "It has over 79 million images stored at the resolution of FORMULA . Each image is labeled with one of the 75,062 "
        "non-abstract nouns in English, as listed in the Wordnet CIT MAINCIT lexical database. It has been noted that many of "
        "the labels are not reliable CIT ."
    )
    assert found.group == ("p#r1.1",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So [<1|r1>,<2|r2>].", "So MAINCIT CIT ."),
        ("So [<2|r2>; <1|r1>].", "So CIT MAINCIT ."),
        ("So.<1|r1>,<2|r2> We", "So. MAINCIT CIT We"),
        ("So <[1]|r1>, <[2]|r2> and <[3]|r3>.", "So MAINCIT CIT CIT ."),
        ("So [<1–3|r1>].", "So MAINCIT CIT CIT ."),
        ("So (<Ay, 2001|r1>; <Bee, 2003|r2>).", "So MAINCIT CIT ."),
        ("So (Ay, <2001|r1>; Bee, <2003|r2>).", "So (Ay, MAINCIT ; Bee, CIT )."),
        ("So <Ay et al. (2001|r1>) say.", "So MAINCIT say."),
        ("So (see [<1|r1>]).", "So (see MAINCIT )."),
        ("So <1|r1> is <x = 1|=>.", "So MAINCIT is FORMULA ."),
        ("So <x|=><1|r1>.", "So FORMULA MAINCIT ."),
        ("So <|=><1|r1>.", "So FORMULA MAINCIT ."),
        ("So [<1|r1>, <7|unknown>].", "So MAINCIT CIT ."),
        ("So <|r1>.", "So MAINCIT ."),
    ],
)
def test_markers(text: str, expected: str) -> None:
    assert only(text).text == expected


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("So [<1|r1>,<2|r2>].", ["r2.1"]),
        ("So [<1|r1>], [<2|r2>].", ["r2.1"]),
        ("So [<1|r1>] and [<2|r2>].", ["r2.1"]),
        ("So [<1|r1>] 12345[<2|r2>].", []),
        ("So [<1|r1>]12345[<2|r2>].", ["r2.1"]),
        ("So [<1|r1>]123456[<2|r2>].", []),
        ("So [<1|r1>] or not [<2|r2>].", []),
        ("So (Ay, <2001|r1>; Bee and Cee, <2003|r2>).", ["r2.1"]),
        ("So (Ay, <2001|r1>) is; Bee and Cee (<2003|r2>).", []),
        ("So Ay, <2001|r1>; Bee and Cee, <2003|r2>.", []),
        ("So [<1|r1>] through [<3|r3>].", ["r2.1", "r3.1"]),
        ("So <[1, 3]|r1 r3>.", ["r3.1"]),
        ("So [<1|r1>, <1|r1>].", []),
    ],
)
def test_groups(text: str, group: list[str]) -> None:
    assert contexts(text)["r1.1"][0].group == tuple(f"p#{name}" for name in group)


def test_an_entry_of_several_works_gives_each_of_them_a_context() -> None:
    found = contexts("So [<1|r1>,<2|r2>].", paper(["1", "2"], {1: 2}))
    assert list(found) == ["r1.1", "r1.2", "r2.1"]
    assert found["r1.2"][0].group == ("p#r1.1", "p#r2.1")
    assert found["r2.1"][0].group == ("p#r1.1", "p#r1.2")
    assert found["r1.1"][0].text == found["r1.2"][0].text == "So MAINCIT CIT ."


def test_a_name_of_several_entries_is_as_an_unknown_one() -> None:
    of = paper(["1", "2"])
    twice = of.model_copy(
        update={
            "references": tuple(each.model_copy(update={"xml_id": "r", "id": f"p#{each.position}.1"}) for each in of.references)
        }
    )
    assert not contexts("So [<1|r>].", twice)


def test_long_sentences_are_cut_around_the_marker() -> None:
    words = "word " * 1_000
    (found,) = contexts(f"Long {words}. So {words} [<1|r1>] {words}. Short {words}.")["r1.1"]
    for each in (found.before, found.sentence, found.after):
        assert each is not None
        assert 0 < len(each) <= engine.MAX_SENTENCE
    at = found.start - found.sentence_start
    assert found.sentence[at : at + 1] == "1"
    assert "MAINCIT" in found.text
    assert len(found.text) < 4 * engine.MAX_SENTENCE


def test_contexts_of_one_reference_are_bounded() -> None:
    many = [paragraph("So it is [<1|r1>].")] * 300
    assert len(contexts_of(numbered(1), many)["p#r1.1"]) == engine.MAX_MENTIONS
    long = [paragraph("Before " + "word " * 190 + ". So " + "word " * 190 + "[<1|r1>].")] * 300
    found = contexts_of(numbered(1), long)["p#r1.1"]
    assert 1 < len(found) < engine.MAX_MENTIONS
    assert sum(len(each.text) + len(each.sentence) for each in found) < 2 * engine.MAX_CHARACTERS


def test_contexts_of_one_paper_are_bounded() -> None:
    ranges = [paragraph(", ".join(["[<1|r1>–<150|r150>]"] * 40))] * 40
    found = contexts_of(numbered(400), ranges)
    assert sum(map(len, found.values())) <= engine.MAX_CONTEXTS
    assert all(len(each.group) <= engine.MAX_GROUP for contexts in found.values() for each in contexts)


def test_a_group_of_thousands_takes_bounded_time_and_room() -> None:
    """Quadratic time or room would be minutes or gigabytes."""
    size = 10_000
    all_of_them = paragraph("So [" + ",".join(f"<{number}|r{number}>" for number in range(1, size + 1)) + "].")
    one = paragraph("So <it|" + " ".join(f"r{number}" for number in range(1, size + 1)) + ">.")
    found = contexts_of(numbered(size), [all_of_them, one])
    middle = found["p#r5000.1"]
    assert len(middle) == 2
    assert all(len(each.group) == engine.MAX_GROUP and "p#r5001.1" in each.group for each in middle)
    assert all(each.text.split().count("MAINCIT") == 1 for each in middle)


NAMES = st.sampled_from(["r1", "r2", "r3", "r4", "r5", "r6", "none"])
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [" ", ". ", "–", "-", ",", "; ", " and ", "[", "]", "(", ")", "et al. ", "We say so. ", " to ", "x", "3 "]
        ),
        st.tuples(st.sampled_from(["1", "3", "[5]", "2–4", "", "–", "Ay (2001", "6, 2", "S3"]), st.lists(NAMES, max_size=3)),
        st.sampled_from(["x=1", "", "a. B"]).map(lambda text: (text, None)),
    ),
    max_size=25,
)
LABELS = st.lists(st.sampled_from([None, "1", "2.", "[3]", "4", "5", "6", "S3", "Ay 2001"]), max_size=7)


def _paragraph(pieces: list[str | tuple[str, list[str] | None]]) -> Paragraph:
    text = ""
    mentions: list[Mention] = []
    formulas: list[tuple[int, int]] = []
    for piece in pieces:
        start = len(text)
        text += piece if isinstance(piece, str) else piece[0]
        if not isinstance(piece, str):
            if piece[1] is None:
                formulas.append((start, len(text)))
            else:
                mentions.append(Mention(start, len(text), tuple(piece[1])))
    return Paragraph(text, mentions=tuple(mentions), formulas=tuple(formulas))


@settings(max_examples=examples(200))
@given(st.lists(PIECES.map(_paragraph), max_size=4), LABELS)
def test_laws_of_contexts(paragraphs: list[Paragraph], labels: list[str | None]) -> None:
    of = paper(labels)
    found = contexts_of(of, paragraphs)
    assert list(found) == [each.id for each in of.references]
    for name, contexts in found.items():
        assert [(each.paragraph, each.start) for each in contexts] == sorted((each.paragraph, each.start) for each in contexts)
        for each in contexts:
            text = paragraphs[each.paragraph - 1].text
            assert each.marker == text[each.start : each.stop]
            assert text[each.sentence_start :].startswith(each.sentence)
            assert each.text.split().count("MAINCIT") == 1
            assert set(each.group) <= set(found) - {name}
            assert CitationContext.from_json(each.to_json()) == each
    # Every link to a known entry is a context of it; every other context is implied.
    linked = {
        (number, one.start, one.stop, entry)
        for number, each in enumerate(paragraphs, start=1)
        for one in each.mentions
        for entry in one.entries
        if f"p#{entry}.1" in found
    }
    given_by = {
        (each.paragraph, each.start, each.stop, name.removeprefix("p#").removesuffix(".1")): each.implied
        for name, contexts in found.items()
        for each in contexts
    }
    assert linked <= given_by.keys()
    assert all(implied for place, implied in given_by.items() if place not in linked)
    # Adjacency is mutual.
    for name, contexts in found.items():
        for each in contexts:
            for other in each.group:
                assert any(back.paragraph == each.paragraph and name in back.group for back in found[other])


@settings(max_examples=examples(100))
@given(
    st.text(max_size=30),
    st.lists(st.builds(Mention, st.integers(-3, 40), st.integers(-3, 40), st.tuples(NAMES)), max_size=6),
    st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 40)), max_size=4),
)
def test_wrong_spans_raise_no_error(text: str, mentions: list[Mention], formulas: list[tuple[int, int]]) -> None:
    """A format must give exact spans, in order; a defect of one must not stop a worker."""
    given_paragraph = Paragraph(text, mentions=tuple(mentions), formulas=tuple(formulas))
    for contexts in contexts_of(numbered(6), [given_paragraph]).values():
        for each in contexts:
            assert 0 <= each.start <= each.stop <= len(text)


@settings(max_examples=examples(50))
@given(st.lists(PIECES.map(_paragraph), max_size=3), st.randoms())
def test_the_order_of_mentions_and_formulas_in_a_paragraph_does_not_matter(paragraphs: list[Paragraph], random) -> None:  # type: ignore[no-untyped-def]
    def shuffled(each: Paragraph) -> Paragraph:
        mentions, formulas = list(each.mentions), list(each.formulas)
        random.shuffle(formulas)
        spans = [(one.start, one.stop) for one in mentions]
        if len(set(spans)) == len(spans):
            random.shuffle(mentions)
        return replace(each, mentions=tuple(mentions), formulas=tuple(formulas))

    assert contexts_of(numbered(6), list(map(shuffled, paragraphs))) == contexts_of(numbered(6), paragraphs)
