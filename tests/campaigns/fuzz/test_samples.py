"""Fuzzing of the formats other than JATS: some of their inputs, and an oracle that finds defects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from reflink.contexts.paragraphs import Mention, Paragraph
from reflink.entities import Paper
from reflink.errors import TooLarge
from reflink.formats import Content, Format, Options, Parsed
from reflink.formats.registry import NAMES
from tests.campaigns.fuzz.checks import Broken
from tests.campaigns.fuzz.mutations import Input
from tests.campaigns.fuzz.samples import Samples
from tests.data import shared_data

#: Records without title, identifier and text, which a tool's tests consist of.
EMPTY = "rispy_example_multiline.ris"
OTHERS = [name for name in NAMES if name != "jats"]
RUNS = 150


@cache
def samples(name: str) -> Samples:
    shared_data()  # skips without the shared data
    return Samples.of(name)


@pytest.mark.parametrize("name", OTHERS)
def test_some_inputs_of_each_format(name: str):
    found = []
    for number in range(RUNS):
        item = samples(name).generate(1, number)
        try:
            samples(name).check(item)
        except Broken as error:
            found.append(f"{number} {item.base} {item.mutations}: {error}"[:400])
    assert found == []


@pytest.mark.parametrize("name", OTHERS)
def test_every_sample_of_a_format_is_read(name: str):
    for base, data in samples(name).files[::20]:
        if EMPTY in base:
            continue
        assert samples(name).check(Input(-1, data, "sample", None, base, ())).name == "Paper", base


def test_an_input_is_its_seed_and_number():
    twice = [[samples("ris").generate(7, number) for number in range(50)] for _ in range(2)]
    assert twice[0] == twice[1]
    assert len({item.data for item in twice[0]}) > 40


class Wrong(Format):
    name = "wrong"
    about = ""
    endings = ()

    def __init__(self, result: Callable[[], tuple[Parsed, ...]]) -> None:
        self.result = result

    def recognises(self, content: Content) -> bool:
        return False

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        return self.result()


PAPER = Paper(id="doi:10.1/a")


def too_large() -> tuple[Parsed, ...]:
    raise TooLarge("something is too large")


@pytest.mark.parametrize(
    ("result", "law"),
    [
        (lambda: (), "papers"),
        (lambda: (Parsed(PAPER), Parsed(PAPER)), "papers"),
        (lambda: (Parsed(PAPER.model_copy(update={"title": " "})),), "blank"),
        (lambda: (Parsed(PAPER, (Paragraph("a  b"),)),), "paragraph"),
        (lambda: (Parsed(PAPER, (Paragraph("ab", mentions=(Mention(1, 3, ("x",)),)),)),), "mention"),
        (lambda: (Parsed(PAPER, (Paragraph("ab", mentions=(Mention(0, 1, ()),)),)),), "mention"),
        (lambda: (Parsed(PAPER, (Paragraph("ab", formulas=((0, 3),)),)),), "formula"),
        (lambda: 1 / 0, "raises"),
        (too_large, "message"),
    ],
)
def test_wrong_formats_are_found(result: Callable[[], tuple[Parsed, ...]], law: str):
    with pytest.raises(Broken) as found:
        Samples(Wrong(result), ()).check(Input(1, b"x", "name", None, "", ()))
    assert found.value.law == law
