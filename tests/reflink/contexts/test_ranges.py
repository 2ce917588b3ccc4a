"""Ranges of citations, checked by hand: which entries a marker names, and which are only like a range."""

from __future__ import annotations

import pytest

from reflink.contexts import contexts_of
from reflink.entities import Paper
from tests.reflink.contexts.made import numbered, paper, paragraph


def cited(text: str, of: Paper | None = None) -> list[int]:
    """Return the numbers of the entries with a context, in order."""
    found = contexts_of(of or numbered(12), [paragraph(text)])
    return [int(name.split("#r")[1].split(".")[0]) for name, contexts in found.items() if contexts]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("so [<3|r3>–<5|r5>].", [3, 4, 5], id="en dash"),
        pytest.param("so [<3|r3>-<5|r5>].", [3, 4, 5], id="hyphen"),
        pytest.param("so [<3|r3>\N{NON-BREAKING HYPHEN}<5|r5>].", [3, 4, 5], id="non-breaking hyphen"),
        pytest.param("so [<3|r3>−<5|r5>].", [3, 4, 5], id="minus"),
        pytest.param("so (<3|r3> – <6|r6>).", [3, 4, 5, 6], id="spaces"),
        pytest.param("so [<3|r3>]–[<5|r5>].", [3, 4, 5], id="two pairs of brackets"),
        pytest.param("so <[3]|r3>–<[5]|r5>.", [3, 4, 5], id="brackets within the links"),
        pytest.param("so <[3|r3>–<5]|r5>.", [3, 4, 5], id="one pair of brackets in two links"),
        pytest.param("so [<3|r3>] to [<5|r5>].", [3, 4, 5], id="to"),
        pytest.param("so [<3|r3>] through [<5|r5>].", [3, 4, 5], id="through"),
        pytest.param("so.<3|r3>–<5|r5> We", [3, 4, 5], id="superscript"),
        pytest.param("so.<1|r1>,<3|r3>–<5|r5>,<9|r9> We", [1, 3, 4, 5, 9], id="within a group"),
        pytest.param("so [<2,3|r2 r3>–<5,7|r5 r7>].", [2, 3, 4, 5, 7], id="links of several entries"),
        pytest.param("so [<3|r3><–|r4><5|r5>].", [3, 4, 5], id="the dash is a link"),
        pytest.param("so [<3–|r3><5|r5>].", [3, 4, 5], id="the dash is in the first link"),
        pytest.param("so [<3|r3><–5|r5>].", [3, 4, 5], id="the dash is in the second link"),
        pytest.param("so [<3|r3>–<|r4><5|r5>].", [3, 4, 5], id="hidden links between the ends"),
        pytest.param("so [<3–5|r3>].", [3, 4, 5], id="one link to the first"),
        pytest.param("so [<3–5|r3 r5>].", [3, 4, 5], id="one link to both ends"),
        pytest.param("so [<3–5|r3 r4 r5>].", [3, 4, 5], id="one link to all"),
        pytest.param("so <[3-5, 8]|r3>.", [3, 4, 5, 8], id="one link of a list with a range"),
        pytest.param("so.<9 11–12|r9>", [9, 11, 12], id="a list with spaces, linked to its first entry"),
        pytest.param("so <refs. 3 and 5|r3 r5>.", [3, 5], id="a list in words"),
        pytest.param("so [<3|r3>–<4|r4>].", [3, 4], id="neighbours"),
        pytest.param("so [<3|r3>–5].", [3, 4, 5], id="the last is no link"),
        pytest.param("so [<1|r1>, <3|r3>–5, <9|r9>].", [1, 3, 4, 5, 9], id="the last is no link, within a list"),
        pytest.param("so <[3|r3>–5].", [3, 4, 5], id="the last is no link, a bracket within the link"),
        pytest.param("so [<3|r3>]–[5].", [3, 4, 5], id="the last is no link, two pairs of brackets"),
        pytest.param("so [3–<5|r5>].", [3, 4, 5], id="the first is no link"),
        pytest.param("so [<1|r1>, 3–<5|r5>].", [1, 3, 4, 5], id="the first is no link, within a list"),
        pytest.param("so [3]–[<5|r5>].", [3, 4, 5], id="the first is no link, two pairs of brackets"),
        pytest.param("so [<10|r10>–<2|r12>].", [10, 11, 12], id="the last one is shortened"),
        pytest.param("so [<10–2|r10 r12>].", [10, 11, 12], id="the last one is shortened, one link"),
    ],
)
def test_a_range_names_the_entries_between_its_ends(text: str, numbers: list[int]) -> None:
    assert cited(text) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("so [<3|r3>, <5|r5>].", [3, 5], id="a list"),
        pytest.param("so [<3|r3>] and [<5|r5>].", [3, 5], id="and"),
        pytest.param("so [<5|r5>–<3|r3>].", [3, 5], id="backwards"),
        pytest.param("so [<3|r3>–<5|r6>].", [3, 6], id="the second link is another entry"),
        pytest.param("so [<3|r4>–<5|r5>].", [4, 5], id="the first link is another entry"),
        pytest.param("so [<3|r3>]–0.8 [<5|r5>].", [3, 5], id="a number between"),
        pytest.param("so <3|r3>-fold <5|r5>.", [3, 5], id="a word between"),
        pytest.param("so [<3|r3>]. – [<5|r5>].", [3, 5], id="a full stop between"),
        pytest.param("so <Smith 3|r3>–4 of 9.", [3], id="the second end is no link"),
        pytest.param("so (<Smith, p. 3-5|r1>).", [1], id="pages"),
        pytest.param("so (<p. 1–3|r1>).", [1], id="pages that look like the entries' numbers"),
        pytest.param("so [<3–5|r9>].", [9], id="the number of another entry"),
        pytest.param("so [<3–50|r3>].", [3], id="beyond the end"),
        pytest.param("so [<3|r3>–50].", [3], id="beyond the end, no link"),
        pytest.param("so <3|r3>–5, we", [3], id="the last is no link, without brackets"),
        pytest.param("so (x) <3|r3>–5; we (y)", [3], id="the last is no link, outside brackets"),
        pytest.param("so (<2|r2>-4 Kb).", [2], id="a measure"),
        pytest.param("so (10<3|r3>–5).", [3], id="an exponent"),
        pytest.param("so (<Smith 3|r3>–5).", [3], id="the last is no link, a name before"),
        pytest.param("so (0.3–<5|r5>).", [5], id="a decimal before"),
        pytest.param("so (IL-3–<5|r5>).", [5], id="a name before"),
        pytest.param("so 3–<5|r5>.", [5], id="the first is no link, without brackets"),
        pytest.param("so [<3|r4>–5].", [4], id="the last is no link, the first is another entry"),
        pytest.param("so [3–<5|r6>].", [6], id="the first is no link, the last is another entry"),
        pytest.param("so [<3|r3>–<5|r9>, 6].", [3, 9], id="a link that is no plain number"),
        pytest.param("so [<10|r10>–<2|r2>].", [2, 10], id="a last one that is not shortened"),
        pytest.param("so [<10–2|r10>].", [10], id="a shortened last one without a link"),
    ],
)
def test_what_is_no_range_names_only_its_links(text: str, numbers: list[int]) -> None:
    assert cited(text) == numbers


@pytest.mark.parametrize("text", ["(<2001|r1>–<2003|r3>)", "(<Smith 2001-2003|r1>)", "(<2001–2003|r1 r3>)"])
def test_years_are_no_range(text: str) -> None:
    for labels in ([None] * 12, [f"Smith {year}" for year in range(2001, 2013)]):
        assert 2 not in cited(text, paper(labels))


def test_years_are_no_range_in_a_bibliography_of_thousands() -> None:
    assert cited("(<2001|r1>–<2003|r3>)", paper([None] * 2_500)) == [1, 3]
    assert cited("(<2001|r2001>–2003)", paper([None] * 2_500)) == [2001]
    assert cited("(2001–<2003|r2003>)", paper([None] * 2_500)) == [2003]


def test_without_labels_the_place_is_the_number() -> None:
    assert cited("[<3|r3>–<5|r5>]", paper([None] * 12)) == [3, 4, 5]
    assert cited("[<3–5|r3>]", paper([None] * 12)) == [3, 4, 5]
    assert cited("[<3–5|r4>]", paper([None] * 12)) == [4]
    assert cited("[<3|r3>–5]", paper([None] * 12)) == cited("[3–<5|r5>]", paper([None] * 12)) == [3, 4, 5]
    assert cited("[<3|r4>–5]", paper([None] * 12)) == [4]
    assert cited("[3–<5|r6>]", paper([None] * 12)) == [6]


def test_labels_count_more_than_places() -> None:
    labels = ["1", "2", "4", "5", "6"]
    assert cited("[<2|r2>–<5|r4>]", paper(labels)) == [2, 3, 4]
    assert cited("[<2|r2>–<4|r4>]", paper(labels)) == [2, 4]


def test_labels_may_have_letters_brackets_and_parts() -> None:
    assert cited("[<S2|r2>–<S4|r4>]", paper(["[S1]", "[S2]", "[S3]", "[S4]"])) == [2, 3, 4]
    assert cited("[<2|r2>–<S4|r4>]", paper(["1", "2", "3", "S4"])) == [2, 4]
    assert cited("[<2|r2>–<4|r5>]", paper(["1", "2", "3", "3", "4"])) == [2, 3, 4, 5]


def test_a_second_list_has_numbers_of_its_own() -> None:
    labels = [str(number) for number in (*range(1, 7), *range(1, 7))]
    assert cited("[<2|r8>–<4|r10>]", paper(labels)) == [8, 9, 10]
    assert cited("[<2, 4|r8>]", paper(labels)) == [8, 10]
    assert cited("[<2|r2>–<4|r10>]", paper(labels)) == [2, 10]
    assert cited("[<2|r8>–4]", paper(labels)) == cited("[2–<4|r10>]", paper(labels)) == [8, 9, 10]


def test_a_number_of_several_entries_elsewhere_names_none() -> None:
    labels = ["7", "1", "2", "4", "1", "2", "4"]
    assert cited("[<7, 2|r1>]", paper(labels)) == [1]


def test_a_range_is_bounded() -> None:
    many = numbered(3_000)
    assert len(cited("[<1|r1>–<3000|r3000>]", many)) == 2
    assert len(cited("[<1|r1>–<150|r150>]", many)) == 150


def test_the_entries_between_are_implied_and_belong_to_the_first_end() -> None:
    found = contexts_of(numbered(6), [paragraph("so [<3|r3>–<5|r5>].")])
    (first,), (between,), (last,) = found["p#r3.1"], found["p#r4.1"], found["p#r5.1"]
    assert [each.implied for each in (first, between, last)] == [False, True, False]
    assert (between.start, between.stop, between.marker) == (4, 5, "3")
    assert between.group == ("p#r3.1", "p#r5.1")
    assert between.text == "so CIT MAINCIT CIT ."


def test_the_entries_before_a_link_are_implied_and_in_order() -> None:
    found = contexts_of(numbered(6), [paragraph("so [3–<5|r5>].")])
    assert [found[f"p#r{number}.1"][0].implied for number in (3, 4, 5)] == [True, True, False]
    assert found["p#r5.1"][0].group == ("p#r3.1", "p#r4.1")


def test_an_entry_that_is_named_is_not_implied_again() -> None:
    found = contexts_of(numbered(6), [paragraph("so [<3|r3>–<|r4><5|r5>].")])
    assert [len(found[f"p#r{number}.1"]) for number in range(1, 7)] == [0, 0, 1, 1, 1, 0]
